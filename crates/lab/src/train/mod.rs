//! One training run with its trajectory, from the start or a checkpoint, optionally saved at every trajectory point.
//!
//! The result also has the outcome of the early phase on the same samples, for comparison.

mod checkpoint;

use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use superpose_core::backend::{Backend, DeviceError, Numerics, Real};
use superpose_core::config::{Config, ConfigError, Settings, Training};
use superpose_core::train::{End, Event, Network, State, TrajectoryPoint};
use superpose_core::with_precision;
use superpose_tensors::Element;

use crate::cell::{Entry, Outcome, Results};
use crate::run::{Inputs, Instance, RunError, learn};
use crate::store::{Store, StoreError};
pub use checkpoint::{Checkpoint, Origin};

/// The result of a training run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TrainingRecord {
    /// The full configuration.
    pub config: Settings,
    /// Number of steps taken.
    pub steps_taken: usize,
    /// Whether the loss on the test samples stopped falling before all steps were taken.
    pub stopped_early: bool,
    /// The measures of the trained network.
    pub outcome: Outcome,
    /// The measures of the early phase, whose three steps use the same samples.
    pub early_phase: Outcome,
    /// The trajectory.
    pub trajectory: Vec<TrajectoryPoint>,
    /// The version of superpose.
    pub version: String,
}

impl TrainingRecord {
    /// Writes the result, as a cell, and its trajectory into a store.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    pub fn keep(&self, config: &Config, numerics: &Numerics, store: &mut Store) -> Result<(), StoreError> {
        let entry = Entry::new(config, numerics, Ok(self.outcome));
        store.keep(std::slice::from_ref(&entry))?;
        store.keep_trajectory(entry.key, &self.trajectory)
    }
}

/// Receives the progress of a training run.
pub trait Observer {
    /// Called after every step. If it returns `false`, the run is saved and ends.
    fn step(&mut self, step: usize, steps: usize) -> bool;

    /// Called for every new point of the trajectory.
    fn point(&mut self, point: &TrajectoryPoint);
}

/// Ignores the progress.
impl Observer for () {
    fn step(&mut self, _: usize, _: usize) -> bool {
        true
    }
    fn point(&mut self, _: &TrajectoryPoint) {}
}

/// A network in either precision.
pub enum AnyNetwork {
    /// 32 bits.
    F32(Network<f32>),
    /// 64 bits.
    F64(Network<f64>),
}

impl From<Network<f32>> for AnyNetwork {
    fn from(network: Network<f32>) -> AnyNetwork {
        AnyNetwork::F32(network)
    }
}

impl From<Network<f64>> for AnyNetwork {
    fn from(network: Network<f64>) -> AnyNetwork {
        AnyNetwork::F64(network)
    }
}

/// How a run ended.
pub enum Finish {
    /// Completed, with its record and the trained network.
    Done(Box<TrainingRecord>, Box<AnyNetwork>),
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
    let Some(training) = &config.training else {
        return Err(ConfigError::value("steps", 0, "training needs at least 1").into());
    };
    if config.repeats > 1 {
        let allowed = "a training run has one seed; use sweep for several";
        return Err(ConfigError::value("repeats", config.repeats, allowed).into());
    }
    let origin = Origin { numerics: backend.numerics(), inputs: inputs.digests(config)? };
    from.map(|from| from.check_origin(&origin)).transpose()?;
    if backend.device().is_some() {
        return Err(DeviceError::unsupported("training beyond the early phase (steps)").into());
    }
    let to = to.map(|path| (path, &origin));
    to.inspect(|(path, _)| superpose_tensors::remove_leftovers(path));
    with_precision!(config.precision, T => train_as::<T>(config, training, inputs, from, to, backend, observer))
}

fn train_as<T: Real + Element>(
    config: &Config,
    training: &Training,
    inputs: &Inputs,
    from: Option<&Checkpoint>,
    to: Option<(&Path, &Origin)>,
    backend: &Backend,
    observer: &mut dyn Observer,
) -> Result<Finish, RunError>
where
    AnyNetwork: From<Network<T>>,
{
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
    let learned = learn(config, &instance, &*samples, backend, saved, &mut |event| match event {
        Event::Recorded(point, state) => {
            trajectory.push(*point);
            observer.point(point);
            save(state, &trajectory)
        }
        Event::Stepped(state) => {
            observer.step(state.counters.step, training.steps) || {
                save(state, &trajectory);
                false
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    let Some((state, end)) = learned.trained else { return Ok(Finish::Interrupted { step: 0 }) };
    let step = state.counters.step;
    if end == End::Interrupted {
        return Ok(Finish::Interrupted { step });
    }
    let (sign, seconds) = (learned.phase.trigger_sign, started.elapsed().as_secs_f64());
    let record = TrainingRecord {
        config: (**config).clone(),
        steps_taken: step,
        stopped_early: end == End::Stopped,
        outcome: Outcome { seconds, ..Outcome::new(&learned.evaluation, sign) },
        early_phase: Outcome::new(&learned.early, sign),
        trajectory,
        version: env!("CARGO_PKG_VERSION").into(),
    };
    Ok(Finish::Done(Box::new(record), Box::new(state.network.into())))
}
