//! Runs cells; a cell is one configuration with one seed. Thresholds, sweeps and studies run many cells.

mod batch;
mod event;
mod measure;
mod runner;

pub use batch::group_size;
pub use event::Event;
pub use measure::{measure, measure_with};
pub use runner::{LANES, Runner};
pub use superpose_store::cell::*;

use crate::memory::readable;
use superpose_core::backend::DeviceError;
use superpose_core::config::ConfigError;

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
    /// The device has no result. Elsewhere it may run, so this is never kept.
    #[error(transparent)]
    Device(DeviceError),
    /// The work was stopped before this cell was done.
    #[error("stopped before it was done")]
    Stopped,
}

impl CellError {
    /// Whether it follows from the configuration alone, so that the cell is kept as failed. Otherwise the cell may run elsewhere or later.
    pub fn is_final(&self) -> bool {
        match self {
            CellError::Failed { .. } => true,
            CellError::TooLarge { .. }
            | CellError::Refused(_)
            | CellError::Device(_)
            | CellError::Stopped => false,
        }
    }
}
