//! The extension module `superpose._engine`, wrapped by the package in `python/superpose`.
//!
//! A call validates its arguments, releases the interpreter lock, calls [`superpose_lab`] or [`superpose_theory`] and returns a
//! record or arrays.

mod arrays;
mod config;
mod decoder;
mod experiments;
mod given;
mod hook;
mod model;
mod network;
mod record;
mod run;
mod sweep;
mod task;
mod train;
mod work;

use pyo3::prelude::*;

/// The compiled part of the package.
#[pymodule]
mod _engine {
    use pyo3::prelude::*;

    /// Loads NumPy's interface now: where a signal is pending at its first use, loading it fails with a panic.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let _ = numpy::PyArray1::<f64>::zeros(module.py(), 0, false);
        Ok(())
    }

    /// The version that runs.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const version: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::config::{Config, definitions};
    #[pymodule_export]
    use crate::experiments::{experiment, inspect, phase, plan, predict, threshold};
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::network::Network;
    #[pymodule_export]
    use crate::record::{Record, share};
    #[pymodule_export]
    use crate::run::{run, time_runs};
    #[pymodule_export]
    use crate::sweep::sweep;
    #[pymodule_export]
    use crate::task::{draw_task, read_sequences, write_sequences};
    #[pymodule_export]
    use crate::train::train;
}
