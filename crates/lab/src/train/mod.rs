//! One training run with its trajectory, from the start or a checkpoint, optionally saved at every trajectory point.
//!
//! The result also has the outcome of the early phase on the same samples, for comparison.

mod checkpoint;
mod precise;

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use superpose_core::backend::{Backend, DeviceError, Numerics};
use superpose_core::config::{Config, ConfigError, Settings, Training};
use superpose_core::early_phase::early_phase;
use superpose_core::measure::Missing;
use superpose_core::model::Model;
use superpose_core::task::Stored;
use superpose_core::train::{End, Event, Network, State, TrajectoryPoint, warm_start};
use superpose_core::{Measure, Measures, with_precision, words};
use superpose_tensors::{Tensor, TensorError};

use crate::associative::bits_per_parameter;
use crate::cell::{Entry, Outcome, Results};
use crate::interval::{Interval, intervals};
use crate::memory::check_device;
use crate::run::{Inputs, Instance, RunError, Split, TestSource, Trained, below, by_seed, learn, majority};
use crate::store::{Store, StoreError};
pub use checkpoint::{Checkpoint, Origin};
pub use precise::{AnyProposal, AnyScored, AnyState, Precise};

words! {
    /// A function of the caller in a training run.
    Function {
        /// Called before every step, which it may replace.
        Hook = "hook",
        /// Computes the loss.
        Loss = "loss",
    }
}

/// The result of a training run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TrainingRecord {
    /// The full configuration.
    pub config: Settings,
    /// Repeats run, with seeds `seed`, `seed + 1`, ...
    pub repeats: usize,
    /// Where the test sequences come from.
    pub test: TestSource,
    /// Functions of the caller that took part; with them the configuration alone does not make the run again.
    #[serde(default)]
    pub functions: Vec<Function>,
    /// Root mean square length of the input embeddings over the length of the trigger, if they are given.
    #[serde(default)]
    pub rows_over_trigger: Option<f64>,
    /// Number of steps taken by the first repeat.
    pub steps_taken: usize,
    /// Whether it stopped before all steps were taken: the loss on the test samples stopped falling, or the caller stopped it.
    pub stopped_early: bool,
    /// The measures of the trained network, with 95% intervals over repeats and test samples.
    pub outcome: Summary,
    /// The same of the early phase, whose three steps use the same samples.
    pub early_phase: Summary,
    /// Trained parameters.
    #[serde(default)]
    pub parameters: usize,
    /// Bits of labels stored per trained parameter, from the accuracy (theory: capacity); none with unequal frequencies or given data.
    #[serde(default)]
    pub bits_per_parameter: Option<Interval>,
    /// The measures of the trained network, repeat by repeat.
    pub by_seed: Measures<Vec<f64>>,
    /// What is kept of each repeat.
    #[serde(skip)]
    pub outcomes: Vec<Outcome>,
    /// The trajectory of the first repeat.
    pub trajectory: Vec<TrajectoryPoint>,
    /// The arithmetic that made it.
    #[serde(default)]
    pub numerics: Numerics,
    /// The version of superpose.
    pub version: String,
}

/// Measures of a network over repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Summary {
    /// The measures, means over repeats.
    #[serde(flatten)]
    pub measures: Measures<Interval>,
    /// Sign of what step 2 gave the trigger in more than half of the repeats; 0 where there is none.
    pub trigger_sign: i8,
    /// Time of one repeat.
    pub seconds: f64,
}

impl Summary {
    fn new(outcomes: &[Outcome], facts: usize) -> Summary {
        let measures: Vec<_> = outcomes.iter().map(|outcome| outcome.measures).collect();
        let signs: Vec<i8> = outcomes.iter().map(|outcome| outcome.trigger_sign).collect();
        let seconds = outcomes.iter().map(|outcome| outcome.seconds).sum::<f64>() / outcomes.len() as f64;
        Summary { measures: intervals(&measures, facts), trigger_sign: majority(&signs), seconds }
    }
}

impl TrainingRecord {
    /// Writes the results, a cell per repeat, and the trajectory of the first into a store.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    pub fn keep(&self, config: &Config, numerics: &Numerics, store: &mut Store) -> Result<(), StoreError> {
        let entry = |(i, outcome): (usize, &Outcome)| Entry::new(&config.repeat(i), numerics, Ok(*outcome));
        let entries: Vec<Entry> = self.outcomes.iter().enumerate().map(entry).collect();
        store.keep(&entries)?;
        store.keep_trajectory(entries[0].key, &self.trajectory)
    }
}

/// Receives the progress of a training run.
pub trait Observer {
    /// Called after every step. If it returns `false`, the run is saved and ends.
    fn step(&mut self, step: usize, steps: usize) -> bool;

    /// Called for every new point of the trajectory.
    fn point(&mut self, point: &TrajectoryPoint);

    /// Called before every step, whose result it may replace. If it returns `false`, the run ends here, with its result. On a
    /// device it is not called.
    fn proposal(&mut self, _: AnyProposal<'_, '_>) -> bool {
        true
    }

    /// The functions of the caller that the observer calls. Without [`Function::Loss`] the loss is the cross-entropy.
    fn functions(&self) -> Vec<Function> {
        Vec::new()
    }

    /// Called with the logits of every batch if there is a [`Function::Loss`]. If it returns `false`, the run is cancelled.
    fn scored(&mut self, _: AnyScored<'_, '_>) -> bool {
        false
    }
}

/// Ignores the progress.
impl Observer for () {
    fn step(&mut self, _: usize, _: usize) -> bool {
        true
    }
    fn point(&mut self, _: &TrajectoryPoint) {}
}

/// How a run ended.
pub enum Finish {
    /// Completed, with its record and the trained network of the first repeat.
    Done(Box<TrainingRecord>, Box<AnyState>),
    /// Cancelled by the observer.
    Interrupted {
        /// Steps taken.
        step: usize,
    },
}

/// Trains the model of a configuration, from the checkpoint `from` if there is one. With `to`, the run is saved there at every
/// record, at the end and when it is cancelled.
///
/// # Errors
/// Fails if the configuration cannot be trained, the training diverges or a checkpoint cannot be written.
pub fn train(
    config: &Config,
    inputs: &Inputs,
    from: Option<&Checkpoint>,
    to: Option<&Path>,
    backend: &Backend,
    observer: &mut dyn Observer,
) -> Result<Finish, RunError> {
    let training = steps_of(config)?;
    if config.repeats > 1 && (from.is_some() || to.is_some()) {
        let allowed = "a checkpoint holds one run; leave repeats out, or the checkpoint";
        return Err(ConfigError::value("repeats", config.repeats, allowed).into());
    }
    let (numerics, functions) = (backend.numerics(), observer.functions());
    let origin = Origin { numerics, inputs: inputs.digests(config)?, functions };
    from.map(|from| from.check_origin(&origin)).transpose()?;
    // They need the gradients or logits of every step on the host.
    if let (Some(_), Some(function)) = (backend.device(), origin.functions.first()) {
        return Err(DeviceError::unsupported(format!("training with a {function} of your own")).into());
    }
    let stored = inputs.import.as_ref().is_some_and(|import| import.has_samples());
    check_device(config, stored, backend)?;
    let to = to.map(|path| (path, &origin));
    to.inspect(|(path, _)| superpose_tensors::remove_leftovers(path));
    let (mut first, mut outcomes, mut early) = (None, Vec::new(), Vec::new());
    for repeat in 0..config.repeats {
        let config = &config.repeat(repeat);
        let finish = with_precision!(config.precision, T => {
            train_one::<T>(config, training, inputs, from, to, backend, observer)
        })?;
        match finish {
            ControlFlow::Continue(one) => {
                outcomes.push(one.outcome);
                early.push(one.early_phase);
                first.get_or_insert(one);
            }
            ControlFlow::Break(step) => return Ok(Finish::Interrupted { step }),
        }
    }
    let Some(One { rows_over_trigger, steps_taken, stopped_early, trajectory, state, .. }) = first else {
        return Ok(Finish::Interrupted { step: 0 });
    };
    let parameters = match &state {
        AnyState::F32(state) => state.network.parameters(),
        AnyState::F64(state) => state.network.parameters(),
    };
    let outcome = Summary::new(&outcomes, config.vocab);
    let accuracy = outcome.measures[Measure::Accuracy];
    let given = inputs.import.as_ref().is_some_and(|import| import.has_samples() || import.has_test());
    let record = TrainingRecord {
        config: (**config).clone(),
        repeats: config.repeats,
        test: inputs.test_source(),
        functions: observer.functions(),
        rows_over_trigger,
        steps_taken,
        stopped_early,
        parameters,
        bits_per_parameter: (config.zipf.is_none() && !given && !accuracy.is_missing())
            .then(|| bits_per_parameter(accuracy, config.vocab, config.label_count(), parameters)),
        outcome,
        early_phase: Summary::new(&early, config.vocab),
        by_seed: by_seed(outcomes.iter().map(|outcome| outcome.measures.map(|measure| measure.mean))),
        outcomes,
        trajectory,
        numerics: origin.numerics.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
    };
    Ok(Finish::Done(Box::new(record), Box::new(state)))
}

/// One repeat.
struct One {
    outcome: Outcome,
    early_phase: Outcome,
    rows_over_trigger: Option<f64>,
    steps_taken: usize,
    stopped_early: bool,
    trajectory: Vec<TrajectoryPoint>,
    state: AnyState,
}

/// Trains one repeat; breaks off with the number of steps taken if the observer cancels it.
fn train_one<T: Precise>(
    config: &Config,
    training: &Training,
    inputs: &Inputs,
    from: Option<&Checkpoint>,
    to: Option<(&Path, &Origin)>,
    backend: &Backend,
    observer: &mut dyn Observer,
) -> Result<ControlFlow<usize, One>, RunError> {
    let started = Instant::now();
    let instance = Instance::<T>::new(config, inputs, backend)?;
    let samples = instance.samples(config);
    let mut trajectory = from.map_or(Vec::new(), |from| from.trajectory.clone());
    let network = || Network::new(config, training, instance.embeddings(config, backend)?.clone(), backend);
    let saved = from.map(|from| Ok::<_, RunError>(from.state(network()?)?)).transpose()?;

    // A checkpoint that cannot be written ends the run, because its further steps would be lost.
    let mut failed = None;
    let mut save = |state: &State<T>, trajectory: &[TrajectoryPoint]| {
        let write =
            || to.and_then(|(path, origin)| checkpoint::write(path, config, origin, state, trajectory).err());
        failed = failed.take().or_else(write);
        failed.is_none()
    };
    let (own_loss, mut stopped) = (observer.functions().contains(&Function::Loss), false);
    let learned = learn(config, &instance, &*samples, backend, saved, own_loss, &mut |event| match event {
        Event::Recorded(point, state) => {
            trajectory.push(*point);
            observer.point(point);
            save(state, &trajectory)
        }
        Event::Scored(mut scored) => observer.scored(T::scored(&mut scored)),
        Event::Proposed(mut proposal) => {
            stopped = !observer.proposal(T::proposal(&mut proposal));
            !stopped
        }
        Event::Stepped(counters) => observer.step(counters.step, training.steps),
        Event::Interrupted(state) => save(state, &trajectory),
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    let Some((state, end)) = learned.trained else { return Ok(ControlFlow::Break(0)) };
    let steps_taken = state.counters.step;
    if end == End::Interrupted && !stopped {
        return Ok(ControlFlow::Break(steps_taken));
    }
    let (sign, seconds) = (learned.phase.trigger_sign, started.elapsed().as_secs_f64());
    Ok(ControlFlow::Continue(One {
        outcome: Outcome { seconds, ..Outcome::new(&learned.evaluation, sign) },
        early_phase: Outcome::new(&learned.early, sign),
        rows_over_trigger: instance.rows_over_trigger(inputs),
        steps_taken,
        stopped_early: end != End::Finished,
        trajectory,
        state: T::state(state),
    }))
}

/// The network of a configuration before its first step.
///
/// # Errors
/// Fails if the configuration has no training steps, or the early phase of a warm start fails.
pub fn untrained(config: &Config, inputs: &Inputs, backend: &Backend) -> Result<AnyState, RunError> {
    let training = steps_of(config)?;
    with_precision!(config.precision, T => {
        let instance = Instance::<T>::new(config, inputs, backend)?;
        let embeddings = instance.embeddings(config, backend)?.clone();
        let mut network = Network::new(config, training, embeddings, backend)?;
        if training.warm_start {
            let samples = instance.samples(config);
            let model = Model::new(config, instance.embeddings(config, backend)?);
            let phase = early_phase(config, &model, &*samples, backend)?;
            warm_start(config, &mut network, &phase, &*samples, backend)?;
        }
        Ok(T::state(State::new(network)))
    })
}

/// The training or test samples of a configuration.
///
/// # Errors
/// Fails if an input tensor is invalid or the backend's token was cancelled.
pub fn samples(
    config: &Config,
    inputs: &Inputs,
    split: Split,
    backend: &Backend,
) -> Result<Stored, RunError> {
    let instance = Instance::<f64>::new(config, inputs, backend)?;
    let samples = match split {
        Split::Train => instance.samples(config),
        Split::Test => instance.test(config),
    };
    Ok(Stored::copy(&*samples, backend)?)
}

fn steps_of(config: &Config) -> Result<&Training, ConfigError> {
    config.training.as_ref().ok_or_else(|| ConfigError::value("steps", 0, "training needs at least 1"))
}

/// Sequences for the network of a configuration, with the given labels or with zeros.
///
/// # Errors
/// Fails if a shape is wrong or an entry is out of range.
pub fn batch(
    config: &Config,
    tokens: Tensor<u32>,
    position: Tensor<u32>,
    labels: Option<Tensor<u32>>,
) -> Result<Stored, TensorError> {
    let (count, length) = Trained::<f64>::sequence_sizes(&tokens, &position)?;
    if length != config.length {
        return Err(
            tokens.shaped(format!("must have {} columns, the length of the sequences", config.length))
        );
    }
    if let Some(labels) = labels.as_ref().filter(|labels| labels.shape != [count]) {
        return Err(labels.shaped(format!("must be a vector of {count}, an entry per row of tokens")));
    }
    let labels = labels.map_or_else(|| vec![0; count], |labels| labels.data);
    below("tokens", &tokens.data, config.token_count(), "vocab + noise_vocab")?;
    below("position", &position.data, length, "the columns of tokens")?;
    below("labels", &labels, config.label_count(), "the number of labels")?;
    Ok(Stored::new(length, tokens.data, position.data, labels))
}
