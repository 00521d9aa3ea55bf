//! Cells: one configuration, one seed, one outcome. Thresholds, sweeps and studies are many of them.
//!
//! An outcome is a function of the configuration alone: bit for bit the same whatever the threads, the machine or the
//! day, as long as [`NUMERICS_REVISION`] is the same. So a cell that has been run once, anywhere, need not be run again.

mod cost;
mod error;
mod key;
mod measure;
mod order;
mod outcome;
mod results;
mod runner;

pub use cost::seconds as estimated_seconds;
pub use error::StoreError;
pub use key::{Key, NUMERICS_REVISION};
pub use measure::measure;
pub use order::deal;
pub use outcome::Outcome;
pub use results::{Entry, Known, Memory, Results};
pub(crate) use results::{learn, replaces};
pub use runner::{Event, Runner};

use crate::memory::readable;
use superpose_core::config::{Config, ConfigError, Embedding};

/// Why there is no outcome for a cell.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)] // The messages explain the fields.
pub enum CellError {
    /// The run failed, now or when it was recorded.
    #[error("{reason}")]
    Failed { reason: String },
    /// The configuration is not that of a cell.
    #[error(transparent)]
    Refused(#[from] ConfigError),
    /// It does not fit in the memory that is free now. Elsewhere or later it may run, so this is never kept.
    #[error("needs about {} of memory, and {} are free: elsewhere, or with fewer threads, it may run", readable(*needed), readable(*available))]
    TooLarge { needed: f64, available: f64 },
    /// The work was stopped before this cell was done.
    #[error("stopped before it was done")]
    Stopped,
}

/// Checks that a configuration is a cell: one repeat, and nothing that its key could not hold.
///
/// Files are refused rather than hashed: a result would be lost with the file that made it, every worker of a sweep would
/// read the whole of it first, and `superpose run` takes files as they are.
pub fn check(config: &Config) -> Result<(), ConfigError> {
    let refused = |parameter, value: &str, allowed| Err(ConfigError::value(parameter, value, allowed));
    let files =
        "a cell takes no files, since its result must follow from its configuration; superpose run does";
    if config.repeats != 1 {
        return refused("repeats", &config.repeats.to_string(), "a cell is one run of one seed");
    }
    if let Some(file) = &config.import {
        return refused("import", file, files);
    }
    if config.embedding.kind() == Embedding::File {
        return refused("embedding", "file", files);
    }
    if i64::try_from(config.seed).is_err() {
        return refused("seed", &config.seed.to_string(), "must be below 2^63 to be kept");
    }
    Ok(())
}
