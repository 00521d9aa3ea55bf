//! Cells: one configuration, one seed, one outcome. Thresholds, sweeps and studies are many of them.
//!
//! An outcome is a function of the configuration alone: bit for bit the same whatever the threads, the machine or the
//! day, as long as [`NUMERICS_REVISION`] is the same. So a cell that has been run once, anywhere, need not be run again.

mod cost;
mod error;
mod key;
mod order;
mod outcome;
mod results;

pub use cost::seconds as estimated_seconds;
pub(crate) use error::FileId;
pub use error::StoreError;
pub use key::{Key, NUMERICS_REVISION};
pub use order::{deal, longest_first, wide};
pub use outcome::{Noise, Outcome};
pub use results::{Entry, Known, Memory, Results};
pub(crate) use results::{learn, replaces};

use superpose_core::config::{Config, ConfigError, Embedding};

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
