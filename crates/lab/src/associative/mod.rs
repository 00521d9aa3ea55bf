//! Associative memories with intervals: what a memory recalls over repeats, and how many facts it holds.

mod capacity;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use superpose_core::associative::{MemoryConfig, MemorySettings, Recall, Rule, recall};
use superpose_core::backend::{Backend, Cancelled};
use superpose_core::config::ConfigError;
use superpose_core::evaluate::Tally;

pub use capacity::{Capacity, CapacityRecord, Hunt, USUAL_PRECISION, USUAL_RUNS};

use crate::interval::{Interval, Measure, number, share};
use crate::memory::readable;

/// A memory that gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The settings were refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Training left the range of numbers.
    #[error("rate = {rate}: weights grew beyond all numbers; try a smaller rate")]
    NotFinite {
        /// The rate.
        rate: f64,
    },
    /// It does not fit in memory.
    #[error(
        "facts = {facts}: needs about {} of memory, and {} are available; fewer facts or threads need less",
        readable(*needed),
        readable(*available)
    )]
    TooLarge {
        /// The facts asked for.
        facts: usize,
        /// Bytes that they would take.
        needed: f64,
        /// Bytes that there are.
        available: f64,
    },
    /// The search was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// What memories with consecutive seeds recall.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryRecord {
    /// Share of facts recalled, by how often they are asked.
    pub accuracy: Interval,
    /// Share of repeats that reach the accuracy of the configuration.
    pub success: Interval,
    /// Right label's logit minus the largest other; of a Hopfield network the final overlap.
    pub margin: Interval,
    /// Training steps until the best look, on average; 0 without training.
    pub steps: f64,
    /// Time it took.
    pub seconds: f64,
    /// The full configuration.
    pub config: MemorySettings,
    /// The version that ran.
    pub version: String,
}

/// Runs every repeat, until `stop` becomes true. `observe` hears how many are done.
pub fn run(
    config: &MemoryConfig,
    backend: &Backend,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(usize),
) -> Result<MemoryRecord, MemoryError> {
    let started = Instant::now();
    let configs: Vec<MemoryConfig> = (0..config.repeats).map(|repeat| config.repeat(repeat)).collect();
    let mut found = Vec::with_capacity(configs.len());
    for part in configs.chunks(backend.threads().max(config.repeats / 64)) {
        found.extend(recalls(part, backend, stop)?);
        observe(found.len());
    }
    let mut success = Tally::default();
    found.iter().for_each(|found| success.add(1.0, reaches(config, found)));
    let measures =
        |of: fn(&Recall) -> Tally| -> Vec<Measure> { found.iter().map(|r| of(r).into()).collect() };
    let accuracy = measures(|found| found.accuracy);
    Ok(MemoryRecord {
        // A fact that is asked more often than others is more than one item: there the repeats alone tell.
        accuracy: match config.zipf {
            Some(_) if config.repeats > 1 => over_repeats(&accuracy),
            _ => share(&accuracy, config.facts),
        },
        success: share(&[success], usize::MAX),
        margin: number(&measures(|found| found.margin)),
        steps: found.iter().map(|found| found.steps as f64).sum::<f64>() / found.len() as f64,
        seconds: started.elapsed().as_secs_f64(),
        config: (**config).clone(),
        version: env!("CARGO_PKG_VERSION").into(),
    })
}

/// Bytes that so many memories side by side take, roughly.
pub fn bytes(settings: &MemorySettings, threads: usize) -> f64 {
    const ROWS: usize = 256;
    let [facts, dim, inputs, labels] =
        [settings.facts, settings.dim, settings.inputs(), settings.label_count()].map(|size| size as f64);
    let numbers = match settings.rule {
        Rule::Hopfield => dim * dim + 2.0 * facts * dim,
        // Keys, values and targets in 32 or, for least squares, 64 bits; a block of rows; weights with their moments.
        _ => 6.0 * facts * dim + ROWS as f64 * (labels + 3.0 * inputs) + 8.0 * dim * (inputs + dim),
    };
    4.0 * numbers * threads.min(settings.repeats) as f64
}

/// Refuses memories side by side that would take more memory than is available.
pub fn check_room(settings: &MemorySettings, threads: usize, available: f64) -> Result<(), MemoryError> {
    let needed = bytes(settings, threads);
    match needed <= available {
        true => Ok(()),
        false => Err(MemoryError::TooLarge { facts: settings.facts, needed, available }),
    }
}

/// Student's interval of a mean over repeats, whatever they were tested on.
pub fn over_repeats(repeats: &[Measure]) -> Interval {
    let exact: Vec<Measure> =
        repeats.iter().map(|repeat| Measure { variance: 0.0, items: 2, ..*repeat }).collect();
    number(&exact)
}

/// The memories of several configurations, one thread each. None is begun after `stop` has become true.
pub fn recalls(
    configs: &[MemoryConfig],
    backend: &Backend,
    stop: &AtomicBool,
) -> Result<Vec<Recall>, MemoryError> {
    let found = backend.try_map(configs.len(), |i| {
        if stop.load(Ordering::Relaxed) {
            return Err(Cancelled);
        }
        recall(&configs[i], &backend.alone())
    })?;
    match configs.iter().zip(&found).find(|(_, found)| !found.margin.mean().is_finite()) {
        Some((config, _)) => Err(MemoryError::NotFinite { rate: config.training_rate() }),
        None => Ok(found),
    }
}

/// 1 if the memory recalls as much as was asked for, else 0.
fn reaches(config: &MemoryConfig, found: &Recall) -> f64 {
    f64::from(u8::from(found.accuracy.mean() >= config.accuracy))
}
