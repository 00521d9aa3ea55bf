//! The early phase of an instance and, where the configuration has steps, the training after it.

use superpose_core::backend::{Backend, Real};
use superpose_core::config::Config;
use superpose_core::early_phase::{EarlyPhase, fact_frequency};
use superpose_core::evaluate::{Evaluation, evaluate};
use superpose_core::model::Model;
use superpose_core::random::Stream;
use superpose_core::task::{Drawn, Samples};
use superpose_core::train::{End, Event, Network, State, Trainer, read, warm_start};

use super::{Instance, RunError, not_finite, train};

/// A model that has learned, and what is read off it.
pub(crate) struct Learned<T> {
    /// The three steps.
    pub phase: EarlyPhase<T>,
    /// How often each fact was seen.
    pub frequency: Vec<f64>,
    /// What is read off the early phase.
    pub early: Evaluation,
    /// The same, or the trained network's with the one-step accuracy of the early phase.
    pub evaluation: Evaluation,
    /// The network, where there was one to train.
    pub trained: Option<(State<T>, End)>,
}

/// Runs the early phase and the steps of a configuration, from a saved state if there is one; `observe` hears of every step and
/// can end them.
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
    if !early.margin.mean().is_finite() {
        return Err(not_finite(config, &phase));
    }
    if config.steps == 0 {
        return Ok(Learned { phase, frequency, evaluation: early.clone(), early, trained: None });
    }
    let mut state = match saved {
        Some(state) => state,
        None => {
            let mut network = Network::new(config, instance.embeddings.clone(), backend)?;
            if config.warm_start {
                warm_start(config, &mut network, &phase, samples, backend)?;
            }
            State::new(network)
        }
    };
    let direction: Vec<f64> = phase.w1.iter().map(|x| x.to_f64()).collect();
    let trainer = Trainer { config, task, samples, test: &test, early: &direction };
    let end = trainer.run(&mut state, backend, observe)?;
    let reading = read(config, &state.network, task, &test, backend)?;
    let evaluation = Evaluation {
        accuracy: reading.accuracy,
        memory_accuracy: reading.memory_accuracy,
        one_step_accuracy: early.one_step_accuracy,
        lock_rate: reading.lock_rate,
        attention_mass: reading.attention_mass,
        margin: reading.margin,
    };
    Ok(Learned { phase, frequency, early, evaluation, trained: Some((state, end)) })
}
