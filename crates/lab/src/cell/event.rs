//! What a runner reports while cells run.

use superpose_core::config::Config;

use super::{CellError, Outcome};

/// An event while cells run, reported on the caller's thread.
#[derive(Debug)]
pub enum Event<'a> {
    /// Known cells have been looked up.
    Planned {
        /// Different cells asked for.
        cells: usize,
        /// How many of them have an outcome already.
        done: usize,
        /// How many are known to fail and are not tried again.
        failed: usize,
        /// Estimated seconds of one thread for the rest.
        seconds: f64,
    },
    /// A cell has been run.
    Finished {
        /// Its configuration.
        config: &'a Config,
        /// What came out.
        result: &'a Result<Outcome, CellError>,
        /// The seconds that had been estimated.
        estimated: f64,
    },
    /// Stopping: finished cells have been kept, and some cells still run. Repeated until they end; a caller that exits here
    /// loses only these cells.
    Waiting,
}

impl Event<'_> {
    /// Cells that the event adds to those that need not be run any more.
    pub fn finished(&self) -> usize {
        match self {
            Event::Planned { done, failed, .. } => done + failed,
            Event::Finished { .. } => 1,
            Event::Waiting => 0,
        }
    }
}
