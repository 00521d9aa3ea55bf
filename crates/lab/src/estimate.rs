//! The time and memory that a run needs, estimated before it starts.

use serde::{Deserialize, Serialize};
use superpose_core::config::{Settings, Values};

use crate::cell::estimated_seconds;
use crate::memory::run_bytes;
use crate::run::{Inputs, RunError};

/// The estimated cost of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EstimateRecord {
    /// Seconds on one thread, all repeats together, to about a factor of 2.
    pub thread_seconds: f64,
    /// Peak memory in bytes, slightly too high.
    pub memory: f64,
    /// Bytes of memory that are available on this machine.
    pub available: f64,
    /// Whether the run fits into the available memory.
    pub fits: bool,
    /// Number of threads.
    pub threads: usize,
    /// The full configuration.
    pub config: Settings,
    /// The version of superpose.
    pub version: String,
}

/// Estimates the cost of the run that the values describe, on this many threads.
///
/// # Errors
/// Fails if a value is out of range, or a file that decides sizes cannot be read.
pub fn estimate(values: &Values, threads: usize, available: f64) -> Result<EstimateRecord, RunError> {
    let mut settings = Settings::given(values)?;
    let inputs = Inputs::open(&mut settings, |name| values.gives(name))?;
    let config = settings.check()?;
    let stored = inputs.import.as_ref().is_some_and(|import| import.has_samples());
    let memory = run_bytes(&config, threads, stored, false);
    Ok(EstimateRecord {
        thread_seconds: config.repeats as f64 * estimated_seconds(&config, true),
        memory,
        available,
        fits: memory <= available,
        threads,
        config: (*config).clone(),
        version: env!("CARGO_PKG_VERSION").into(),
    })
}
