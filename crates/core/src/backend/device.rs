//! The seam to accelerators: a [`Device`] runs the early phase of a [`Problem`] and its evaluation, and takes the steps of training.
//!
//! The engine on the CPU is one implementation of the mathematics, a device is another. Callers hold a
//! [`Backend`](super::Backend), which may have a device, and do not know which one works. Everything between the configuration and
//! the results stays in the memory of the device.

use std::fmt::Debug;

use super::cancel::{CancelToken, Cancelled};
use super::numerics::Numerics;
use super::tasks::Backend;
use crate::config::Config;
use crate::early_phase::EarlyPhase;
use crate::embedding::Embeddings;
use crate::evaluate::Evaluation;
use crate::task::{Stored, Task};
use crate::train::{Learner, State, Update};

/// Why a device has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)] // The messages explain the fields.
pub enum DeviceError {
    /// The work was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The device cannot be used.
    #[error("no CUDA device can be used: {reason}; use the device cpu")]
    Unavailable { reason: String },
    /// What was asked for runs on the CPU alone.
    #[error("{what} cannot run on a CUDA device yet; use the device cpu")]
    Unsupported { what: String },
    /// The work does not fit in the memory of the device.
    #[error("this needs about {:.1} GB of device memory, and {:.1} GB are free; use the device cpu", needed / 1e9, available / 1e9)]
    TooLarge { needed: f64, available: f64 },
    /// A sample does not fit in the memory that threads of the device share.
    #[error(
        "dim = {dim} with length = {length}: this needs {needed} bytes of a GPU's shared memory, and this GPU has {available}; use the device cpu"
    )]
    TooWide { dim: usize, length: usize, needed: usize, available: usize },
    /// A call of the device's libraries failed.
    #[error("the CUDA device failed: {reason}")]
    Failed { reason: String },
}

impl DeviceError {
    /// The error of work that runs on the CPU alone.
    pub fn unsupported(what: impl Into<String>) -> DeviceError {
        DeviceError::Unsupported { what: what.into() }
    }
}

/// What a device works on: a configuration with its data.
pub struct Problem<'a, T> {
    /// The configuration.
    pub config: &'a Config,
    /// Facts and token distributions.
    pub task: &'a Task,
    /// The embeddings; absent: the device draws them from the seed.
    pub embeddings: Option<&'a Embeddings<T>>,
    /// Training samples in memory; absent: drawn from the seed.
    pub stored: Option<&'a Stored>,
    /// Threads of the host, for what a device leaves to it, and the token that cancels the work.
    pub host: &'a Backend,
    /// Called with the number of samples read since the last call.
    pub observe: &'a (dyn Fn(usize) + Sync),
}

/// What a device returns: the trained matrices, how often each fact was seen, and the measures.
pub struct Solution<T> {
    /// The result of the three steps.
    pub phase: EarlyPhase<T>,
    /// The frequency of each fact's token as the informative one.
    pub frequency: Vec<f64>,
    /// The measures.
    pub evaluation: Evaluation,
    /// Seconds of the three steps, data included.
    pub train_seconds: f64,
}

/// An associative memory that a device trains.
pub struct Facts<'a, T> {
    /// Entries of a key and of a value.
    pub dim: usize,
    /// A row for each fact.
    pub keys: &'a [T],
    /// A row for each label.
    pub values: &'a [T],
    /// The label of each fact.
    pub labels: &'a [u32],
    /// Weights before training: `M`, `dim` rows, and a first layer `W` with its bias, which may be empty.
    pub weights: &'a [Vec<T>; 3],
    /// The optimiser.
    pub update: Update,
    /// Cancels the work.
    pub cancel: &'a CancelToken,
}

impl<T> Facts<'_, T> {
    /// Their sizes.
    pub fn sizes(&self) -> MemorySizes {
        MemorySizes {
            facts: self.labels.len(),
            labels: self.values.len() / self.dim,
            dim: self.dim,
            inputs: self.weights[0].len() / self.dim,
            parameters: self.weights.iter().map(Vec::len).sum(),
        }
    }
}

/// The sizes of an associative memory.
#[derive(Clone, Copy, Debug)]
pub struct MemorySizes {
    /// Facts, each with a key.
    pub facts: usize,
    /// Labels, each with a value.
    pub labels: usize,
    /// Entries of a key and of a value.
    pub dim: usize,
    /// Columns of the matrix.
    pub inputs: usize,
    /// Trained numbers.
    pub parameters: usize,
}

/// An associative memory in training.
pub trait MemoryLearner {
    /// Takes a step on the facts of a batch, or on all of them.
    fn step(&mut self, batch: Option<&[u32]>, rate: f64) -> Result<(), DeviceError>;

    /// Credit and margin of the right label of every fact.
    fn answers(&mut self) -> Result<Vec<[f64; 2]>, DeviceError>;
}

/// What a device returns of a run of many: the measures alone.
pub struct Measured<T> {
    /// The result of the three steps without its value matrices.
    pub phase: EarlyPhase<T>,
    /// The measures.
    pub evaluation: Evaluation,
    /// Whether the value matrices are finite.
    pub finite: bool,
}

/// Time and memory of the three steps on a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Seconds, the shortest of the repeats.
    pub seconds: f64,
    /// Peak memory in bytes.
    pub bytes: f64,
}

/// A device's implementation for one floating-point type.
pub trait Solver<T> {
    /// Trains and evaluates.
    fn solve(&self, problem: &Problem<'_, T>) -> Result<Solution<T>, DeviceError>;

    /// A learner that trains the network of `state` beyond the early phase, in the memory of the device.
    fn learner<'a>(
        &'a self,
        problem: &'a Problem<'a, T>,
        state: &'a mut State<T>,
    ) -> Result<Box<dyn Learner<T> + 'a>, DeviceError>;

    /// Copies an associative memory to the device.
    fn memory<'a>(&'a self, facts: Facts<'a, T>) -> Result<Box<dyn MemoryLearner + 'a>, DeviceError>;

    /// Trains and evaluates problems whose configurations differ in their seeds alone, with the bits of [`Solver::solve`]. There
    /// are at most [`Device::batch`] of them.
    fn measure(&self, problems: &[Problem<'_, T>]) -> Result<Vec<Measured<T>>, DeviceError>;

    /// Measures the three steps on data that is in the device's memory, of all problems together.
    fn cost(&self, problems: &[Problem<'_, T>], repeat: usize) -> Result<Cost, DeviceError>;
}

/// An accelerator.
pub trait Device: Solver<f32> + Solver<f64> + Debug + Send + Sync {
    /// The word by which `--device` selects it.
    fn word(&self) -> String;

    /// The arithmetic that its results come from.
    fn numerics(&self) -> Numerics;

    /// How many cells like this one fill the device, so that they are given to it together.
    fn batch(&self, config: &Config) -> usize;

    /// Fails for a configuration that the device cannot run, however much memory is free.
    fn check(&self, config: &Config) -> Result<(), DeviceError>;

    /// Bytes of memory that a run needs, slightly too high.
    fn needs(&self, config: &Config, stored: bool) -> f64;

    /// Bytes of memory that the training of an associative memory in 32 bits needs, slightly too high.
    fn memory_needs(&self, sizes: &MemorySizes) -> f64;

    /// Bytes of memory that are free.
    fn available(&self) -> Result<f64, DeviceError>;
}
