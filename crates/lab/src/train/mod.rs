//! One training run with its trajectory: from the start or from a checkpoint, saved at every record.

mod checkpoint;

use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use superpose_core::backend::{Backend, Real};
use superpose_core::config::{Config, ConfigError, Settings};
use superpose_core::train::{End, Event, Network, Point, State};
use superpose_core::with_precision;
use superpose_tensors::Element;

use crate::cell::{Entry, Key, Outcome, Results};
use crate::run::{Inputs, Instance, RunError, learn};
use crate::store::{Store, StoreError};
pub use checkpoint::Checkpoint;

/// What a training run leaves behind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The full configuration.
    pub config: Settings,
    /// Steps taken.
    pub steps_taken: usize,
    /// Whether the loss on the test samples stopped falling before all steps were taken.
    pub stopped_early: bool,
    /// What was read off the trained network, as a cell has it.
    pub outcome: Outcome,
    /// The same of the early phase alone, whose three steps see the same samples.
    pub early_phase: Outcome,
    /// The trajectory.
    pub trajectory: Vec<Point>,
    /// The version that ran.
    pub version: String,
}

impl Record {
    /// Keeps the result as a cell like any other, and its trajectory.
    pub fn keep(&self, config: &Config, store: &mut Store) -> Result<(), StoreError> {
        let key = Key::new(config);
        store.keep(&[Entry::new(key, config, Ok(self.outcome))])?;
        store.keep_trajectory(key, &self.trajectory)
    }
}

/// Hears about a run.
pub trait Observer {
    /// So many of the steps are taken. With `false` the run is saved and ends.
    fn step(&mut self, step: usize, steps: usize) -> bool;

    /// The trajectory has one more point.
    fn point(&mut self, point: &Point);
}

/// Nobody listens.
impl Observer for () {
    fn step(&mut self, _: usize, _: usize) -> bool {
        true
    }
    fn point(&mut self, _: &Point) {}
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
    /// With a result, and the network as it was trained.
    Done(Box<Record>, Box<AnyNetwork>),
    /// By its observer's wish, after so many steps.
    Interrupted {
        /// Steps taken.
        step: usize,
    },
}

/// Trains the model of a configuration. `from` is a checkpoint to go on from; with `to` the run is saved there at every
/// record, at the end, and when it is interrupted.
pub fn train(
    config: &Config,
    inputs: &Inputs,
    from: Option<&Checkpoint>,
    to: Option<&Path>,
    backend: &Backend,
    observer: &mut dyn Observer,
) -> Result<Finish, RunError> {
    for (parameter, value, wrong, allowed) in [
        ("steps", config.steps, config.steps == 0, "training needs at least 1"),
        ("repeats", config.repeats, config.repeats > 1, "a training run has one seed; sweep runs many"),
    ] {
        if wrong {
            let value = value.to_string();
            return Err(ConfigError::Value { parameter, value, allowed: allowed.into() }.into());
        }
    }
    with_precision!(config.precision, T => train_as::<T>(config, inputs, from, to, backend, observer))
}

fn train_as<T: Real + Element>(
    config: &Config,
    inputs: &Inputs,
    from: Option<&Checkpoint>,
    to: Option<&Path>,
    backend: &Backend,
    observer: &mut dyn Observer,
) -> Result<Finish, RunError>
where
    AnyNetwork: From<Network<T>>,
{
    let started = Instant::now();
    let instance = Instance::<T>::new(config, inputs, backend)?;
    let samples = instance.samples(config);
    let mut trajectory: Vec<Point> = from.map_or(Vec::new(), |from| from.trajectory().to_vec());
    let network = || Network::new(config, instance.embeddings.clone(), backend);
    let saved = match from {
        Some(from) => Some(from.state(network()?)?),
        None => None,
    };

    // A checkpoint that cannot be written ends the run: its steps would be lost.
    let mut broken = None;
    let mut save = |state: &State<T>, trajectory: &[Point]| match to {
        Some(path) => match checkpoint::write(path, config, state, trajectory) {
            Ok(()) => true,
            Err(error) => {
                broken = Some(error);
                false
            }
        },
        None => true,
    };
    let learned = learn(config, &instance, &*samples, backend, saved, &mut |event| match event {
        Event::Recorded(point, state) => {
            trajectory.push(*point);
            observer.point(point);
            save(state, &trajectory)
        }
        Event::Stepped(state) => {
            observer.step(state.counters.step, config.steps) || {
                save(state, &trajectory);
                false
            }
        }
    })?;
    if let Some(error) = broken {
        return Err(error.into());
    }
    let early = learned.early;
    let Some((state, end)) = learned.trained else {
        return Ok(Finish::Interrupted { step: 0 });
    };
    let step = state.counters.step;
    if end == End::Interrupted {
        return Ok(Finish::Interrupted { step });
    }
    let sign = learned.phase.trigger_sign;
    let outcome =
        Outcome { seconds: started.elapsed().as_secs_f64(), ..Outcome::new(&learned.evaluation, sign) };
    let record = Record {
        config: (**config).clone(),
        steps_taken: step,
        stopped_early: end == End::Stopped,
        outcome,
        early_phase: Outcome::new(&early, sign),
        trajectory,
        version: env!("CARGO_PKG_VERSION").into(),
    };
    Ok(Finish::Done(Box::new(record), Box::new(state.network.into())))
}
