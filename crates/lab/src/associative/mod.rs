//! Experiments on associative memories alone: the recall over repeats, and the capacity, with 95% intervals (theory: references).

mod capacity;
mod keys;

use std::time::Instant;

use serde::{Deserialize, Serialize};
use superpose_associative::{MemoryConfig, MemorySettings, Recall, Rule, recall};
use superpose_core::backend::{Backend, Cancelled, Device, DeviceError, MemorySizes, Numerics};
use superpose_core::config::ConfigError;
use superpose_core::evaluate::Tally;
use superpose_tensors::TensorError;
use superpose_theory::capacity::stored_bits;

pub use capacity::{Capacity, CapacityOptions, CapacityRecord, CapacitySearch, Find, HOPFIELD_LOAD};
pub use keys::open_keys;

use crate::interval::{Interval, SampleMean, number, share};
use crate::memory::{backend_for, readable};

/// Why an experiment on a memory failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages explain the fields.
pub enum MemoryError {
    /// The settings are invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The matrix of keys is missing or invalid.
    #[error(transparent)]
    Tensors(#[from] TensorError),
    /// Training diverged.
    #[error("rate = {rate}: the weights became infinite; try a smaller rate")]
    NotFinite { rate: f64 },
    /// The memory does not fit.
    #[error(
        "facts = {facts}: needs about {} of memory, and {} are available; fewer facts or threads need less",
        readable(*needed),
        readable(*available)
    )]
    TooLarge { facts: usize, needed: f64, available: f64 },
    /// The search was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The device has no result.
    #[error(transparent)]
    Device(DeviceError),
}

impl From<DeviceError> for MemoryError {
    fn from(error: DeviceError) -> MemoryError {
        match error {
            DeviceError::Cancelled(error) => error.into(),
            error => MemoryError::Device(error),
        }
    }
}

/// The recall of memories with consecutive seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MemoryRecord {
    /// Share of facts recalled, weighted by how often they are asked.
    pub accuracy: Interval,
    /// Share of repeats that reach the accuracy of the configuration.
    pub success: Interval,
    /// Logit of the right label minus the largest other; for a Hopfield network the final overlap.
    pub margin: Interval,
    /// Bits of labels stored per parameter, from the accuracy (theory: capacity); none with unequal frequencies, a list or a Hopfield
    /// network.
    #[serde(default)]
    pub bits_per_parameter: Option<Interval>,
    /// Mean number of training steps until the best evaluation; 0 without training.
    pub steps: f64,
    /// Duration in seconds.
    pub seconds: f64,
    /// The full configuration.
    pub config: MemorySettings,
    /// The arithmetic that made it.
    #[serde(default)]
    pub numerics: Numerics,
    /// The version of superpose.
    pub version: String,
}

/// Runs all repeats. `observe` receives the number done.
///
/// # Errors
/// Fails if training diverges, or when the backend's token was cancelled.
pub fn run(
    config: &MemoryConfig,
    backend: &Backend,
    observe: &mut dyn FnMut(usize),
) -> Result<MemoryRecord, MemoryError> {
    let started = Instant::now();
    let configs: Vec<MemoryConfig> = (0..config.repeats).map(|repeat| config.repeat(repeat)).collect();
    let mut found = Vec::with_capacity(configs.len());
    // Several memories per thread, since some train much longer than others.
    for part in configs.chunks((4 * backend.threads()).max(config.repeats / 64)) {
        found.extend(recalls(part, backend)?);
        observe(found.len());
    }
    let mut success = Tally::default();
    found.iter().for_each(|found| success.add(1.0, reaches(config, found)));
    let measures =
        |of: fn(&Recall) -> Tally| -> Vec<SampleMean> { found.iter().map(|r| of(r).into()).collect() };
    let accuracy = measures(|found| found.accuracy);
    // With unequal frequencies, facts are not equal items, so the interval comes from the repeats alone.
    let accuracy = match config.zipf {
        Some(_) if config.repeats > 1 => over_repeats(&accuracy),
        _ => share(&accuracy, config.facts),
    };
    Ok(MemoryRecord {
        bits_per_parameter: has_bits(config)
            .then(|| bits_per_parameter(accuracy, config.facts, config.label_count(), config.parameters())),
        accuracy,
        success: share(&[success], usize::MAX),
        margin: number(&measures(|found| found.margin)),
        steps: found.iter().map(|found| found.steps as f64).sum::<f64>() / found.len() as f64,
        seconds: started.elapsed().as_secs_f64(),
        config: (**config).clone(),
        numerics: numerics(config, backend),
        version: env!("CARGO_PKG_VERSION").into(),
    })
}

/// Bits of labels that facts of this accuracy are worth, per parameter. They grow with the accuracy, so the ends of its interval are
/// those of the bits.
pub fn bits_per_parameter(accuracy: Interval, facts: usize, labels: usize, parameters: usize) -> Interval {
    accuracy.map(|accuracy| facts as f64 * stored_bits(accuracy, labels) / parameters as f64)
}

/// Whether the recall of a memory is a number of bits: equally frequent facts with labels, of which it must name the right one.
fn has_bits(settings: &MemorySettings) -> bool {
    settings.zipf.is_none() && settings.top.is_none() && settings.rule != Rule::Hopfield
}

/// The arithmetic of a memory: that of the device for the rule that it computes.
fn numerics(settings: &MemorySettings, backend: &Backend) -> Numerics {
    if settings.rule.runs_on_device() { backend.numerics() } else { Numerics::this_cpu() }
}

/// Returns an estimate of the bytes that memories take when run on this many threads.
pub fn bytes(settings: &MemorySettings, threads: usize) -> f64 {
    const ROWS: usize = 256;
    let [facts, dim, inputs, labels] =
        [settings.facts, settings.dim, settings.inputs(), settings.label_count()].map(|size| size as f64);
    // The numbers of the facts in a batch, and the keys of a block of them.
    let batch = settings.batch.map_or(0.0, |batch| batch as f64 + ROWS as f64 * dim);
    let numbers = match settings.rule {
        Rule::Hopfield => dim * dim + 2.0 * facts * dim,
        // Keys, values and targets in 32 or, for least squares, 64 bits; a block of rows; weights with their moments.
        Rule::Hebbian | Rule::LeastSquares | Rule::Trained => {
            let block = ROWS as f64 * (labels + 3.0 * inputs) + batch;
            6.0 * facts * dim + block + 8.0 * dim * (inputs + dim)
        }
    };
    4.0 * numbers * threads.min(settings.repeats) as f64
}

/// Fails if memories on this many threads need more memory than is available.
///
/// # Errors
/// The error names the number of facts.
pub fn check_room(settings: &MemorySettings, threads: usize, available: f64) -> Result<(), MemoryError> {
    let needed = bytes(settings, threads);
    match needed <= available {
        true => Ok(()),
        false => Err(MemoryError::TooLarge { facts: settings.facts, needed, available }),
    }
}

/// Returns Student's interval of a mean share over repeats, without the error of each repeat.
pub fn over_repeats(repeats: &[SampleMean]) -> Interval {
    let exact = |repeat: &SampleMean| SampleMean { variance: 0.0, items: 2, ..*repeat };
    let Interval { mean, low, high } = number(&repeats.iter().map(exact).collect::<Vec<_>>());
    Interval { mean, low: low.max(0.0), high: high.min(1.0) }
}

/// Returns the recall of several memories, each run on one thread.
///
/// # Errors
/// Fails if training diverges, or when the backend's token was cancelled.
pub fn recalls(configs: &[MemoryConfig], backend: &Backend) -> Result<Vec<Recall>, MemoryError> {
    let sizes = |config: &MemoryConfig| MemorySizes {
        facts: config.facts,
        labels: config.label_count(),
        dim: config.dim,
        inputs: config.inputs(),
        parameters: config.parameters(),
    };
    let needs = |device: &dyn Device| {
        let there = configs.iter().filter(|config| config.rule.runs_on_device());
        there.map(|config| device.memory_needs(&sizes(config))).reduce(f64::max)
    };
    let backend = match backend.device().and_then(|device| needs(&**device)) {
        Some(needs) => &backend_for(needs, backend)?,
        None => backend,
    };
    let found = backend.try_map(configs.len(), |i| recall(&configs[i], &backend.alone()))?;
    match configs.iter().zip(&found).find(|(_, found)| !found.margin.mean().is_finite()) {
        Some((config, _)) => Err(MemoryError::NotFinite { rate: config.training_rate() }),
        None => Ok(found),
    }
}

fn reaches(config: &MemoryConfig, found: &Recall) -> f64 {
    f64::from(u8::from(found.accuracy.mean() >= config.accuracy))
}
