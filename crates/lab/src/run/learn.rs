//! Runs the early phase and, if `steps > 0`, the training.

use superpose_core::Measure;
use superpose_core::backend::{Backend, Real};
use superpose_core::config::Config;
use superpose_core::early_phase::{EarlyPhase, fact_frequency};
use superpose_core::evaluate::{Evaluation, evaluate};
use superpose_core::model::Model;
use superpose_core::random::Stream;
use superpose_core::task::{Drawn, Samples};
use superpose_core::train::{End, Event, Network, State, Trainer, read, warm_start};

use super::{Instance, RunError, not_finite, train};

pub(crate) struct Learned<T> {
    pub phase: EarlyPhase<T>,
    pub frequency: Vec<f64>,
    pub early: Evaluation,
    /// The measures of the trained network, with the one-step accuracy of the early phase; without steps, those of the early phase.
    pub evaluation: Evaluation,
    pub trained: Option<(State<T>, End)>,
}

/// Runs the early phase and the steps of a configuration, from a saved state if there is one. `observe` receives every event and
/// ends the training by returning `false`.
pub(crate) fn learn<T: Real>(
    config: &Config,
    instance: &Instance<T>,
    samples: &dyn Samples,
    backend: &Backend,
    saved: Option<State<T>>,
    observe: &mut dyn FnMut(Event<'_, T>) -> bool,
) -> Result<Learned<T>, RunError> {
    let (model, task) = (Model::new(config, &instance.embeddings), &instance.task);
    let phase = train(config, &model, samples, backend)?;
    let frequency = fact_frequency(samples, config.vocab, backend)?;
    let test = Drawn::new(task, config.seed, Stream::Test, config.test_samples);
    let early = evaluate(config, &model, task, &phase, &frequency, &test, backend)?;
    if !early[Measure::Margin].mean().is_finite() {
        return Err(not_finite(config, &phase));
    }
    let Some(training) = &config.training else {
        return Ok(Learned { phase, frequency, evaluation: early, early, trained: None });
    };
    let mut state = match saved {
        Some(state) => state,
        None => {
            let mut network = Network::new(config, training, instance.embeddings.clone(), backend)?;
            if training.warm_start {
                warm_start(config, &mut network, &phase, samples, backend)?;
            }
            State::new(network)
        }
    };
    let direction: Vec<f64> = phase.w1.iter().map(|x| x.to_f64()).collect();
    let trainer = Trainer { config, training, task, samples, test: &test, early: &direction };
    let end = trainer.run(&mut state, backend, observe)?;
    let reading = read(config, &state.network, task, &test, backend)?;
    let mut evaluation = reading.measures;
    evaluation[Measure::OneStepAccuracy] = early[Measure::OneStepAccuracy];
    Ok(Learned { phase, frequency, early, evaluation, trained: Some((state, end)) })
}
