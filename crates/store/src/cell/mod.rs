//! Cells: one configuration, one seed, one outcome. Thresholds, sweeps and studies are many of them.
//!
//! An outcome is a function of the configuration alone: bit for bit the same whatever the threads, the machine or the
//! day, as long as [`NUMERICS_REVISION`] is the same. So a cell that has been run once, anywhere, need not be run again.

mod cost;
mod error;
mod input;
mod key;
mod order;
mod outcome;
mod results;

pub use cost::seconds as estimated_seconds;
pub(crate) use error::FileId;
pub use error::StoreError;
pub(crate) use input::SETTINGS as INPUT_SETTINGS;
pub use input::{InputFile, InputFiles, check_input};
pub use key::{Key, NUMERICS_REVISION, fingerprint};
pub use order::{deal, longest_first, wide};
pub use outcome::{Noise, Outcome};
pub use results::{Entry, Known, Memory, Results};
pub(crate) use results::{learn, replaces};

use superpose_core::config::{Config, ConfigError};

/// Checks that a configuration is a cell: one repeat, and nothing that its key could not hold. Of files it holds the digest.
pub fn check(config: &Config) -> Result<(), ConfigError> {
    let refused = |parameter, value: &str, allowed| Err(ConfigError::value(parameter, value, allowed));
    if config.repeats != 1 {
        return refused("repeats", &config.repeats.to_string(), "a cell is one run of one seed");
    }
    if let (Some((parameter, file)), None) = (config.input_file(), &config.input_digest) {
        let allowed = "needs input_digest, since a result must follow from its configuration; threshold, phase and sweep compute it";
        return refused(parameter, file, allowed);
    }
    if i64::try_from(config.seed).is_err() {
        return refused("seed", &config.seed.to_string(), "must be below 2^63 to be kept");
    }
    Ok(())
}

/// Checks that a configuration reads no files, for callers that take none.
pub fn check_no_files(config: &Config) -> Result<(), ConfigError> {
    let allowed = "files are not taken here; superpose run takes them";
    config.input_file().map_or(Ok(()), |(name, file)| Err(ConfigError::value(name, file, allowed)))
}
