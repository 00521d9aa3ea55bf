//! Runs the early phase and, if `steps > 0`, the training.

use std::time::Instant;

use superpose_core::Measure;
use superpose_core::backend::{Backend, Real, Solution, wide};
use superpose_core::config::Config;
use superpose_core::early_phase::{EarlyPhase, fact_frequency};
use superpose_core::evaluate::{Evaluation, evaluate};
use superpose_core::model::Model;
use superpose_core::task::Samples;
use superpose_core::train::{CpuLearner, End, Event, Learner, Network, State, Trainer, warm_start};

use super::{Instance, Progress, RunError, Stage, not_finite, train};

pub(crate) struct Learned<T> {
    pub phase: EarlyPhase<T>,
    pub frequency: Vec<f64>,
    pub early: Evaluation,
    /// The measures of the trained network, with the one-step accuracy of the early phase; without steps, those of the early phase.
    pub evaluation: Evaluation,
    pub trained: Option<(State<T>, End)>,
}

/// Runs the early phase and evaluates it, on the backend's device if it has one.
pub(crate) fn early<T: Real>(
    config: &Config,
    instance: &Instance<T>,
    samples: &dyn Samples,
    test: &dyn Samples,
    backend: &Backend,
    progress: &dyn Progress,
) -> Result<Solution<T>, RunError> {
    let solution = match backend.device() {
        Some(device) => {
            let observe = |count: usize| progress.samples(count);
            T::solver(&**device).solve(&instance.problem(config, None, backend, &observe))?
        }
        None => {
            let (model, task) = (Model::new(config, instance.embeddings(config, backend)?), &instance.task);
            let started = Instant::now();
            let phase = train(config, &model, samples, backend)?;
            let train_seconds = started.elapsed().as_secs_f64();
            progress.stage(Stage::Evaluating);
            let frequency = fact_frequency(samples, config.vocab, backend)?;
            let evaluation = evaluate(config, &model, task, &phase, &frequency, test, backend)?;
            Solution { phase, frequency, evaluation, train_seconds }
        }
    };
    let finite = solution.phase.is_finite() && solution.evaluation[Measure::Margin].mean().is_finite();
    if finite { Ok(solution) } else { Err(not_finite(config, &solution.phase)) }
}

/// Runs the early phase and the steps of a configuration, from a saved state if there is one. `observe` receives every event and
/// ends the training by returning `false`; with `own_loss` it also computes the loss.
pub(crate) fn learn<T: Real>(
    config: &Config,
    instance: &Instance<T>,
    samples: &dyn Samples,
    backend: &Backend,
    saved: Option<State<T>>,
    own_loss: bool,
    observe: &mut dyn FnMut(Event<'_, T>) -> bool,
) -> Result<Learned<T>, RunError> {
    let task = &instance.task;
    let test = instance.test(config);
    let Solution { phase, frequency, evaluation: early, .. } =
        early(config, instance, samples, &*test, backend, &())?;
    let Some(training) = &config.training else {
        return Ok(Learned { phase, frequency, evaluation: early, early, trained: None });
    };
    let mut state = match saved {
        Some(state) => state,
        None => {
            let mut network =
                Network::new(config, training, instance.embeddings(config, backend)?.clone(), backend)?;
            if training.warm_start {
                warm_start(config, &mut network, &phase, samples, backend)?;
            }
            State::new(network)
        }
    };
    let direction = wide(&phase.w1);
    let trainer = Trainer { config, training, task, samples, test: &*test, early: &direction, own_loss };
    let problem = instance.problem(config, None, backend, &|_| {});
    let mut learner: Box<dyn Learner<T> + '_> = match backend.device() {
        Some(device) => T::solver(&**device).learner(&problem, &mut state)?,
        None => Box::new(CpuLearner::new(&trainer, &mut state, backend)),
    };
    let end = trainer.run_with(&mut *learner, observe)?;
    let mut evaluation = learner.read()?.measures;
    // A device copies the trained parameters into the state here.
    learner.state()?;
    drop(learner);
    evaluation[Measure::OneStepAccuracy] = early[Measure::OneStepAccuracy];
    Ok(Learned { phase, frequency, early, evaluation, trained: Some((state, end)) })
}
