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
    use crate::record::Record;
    #[pymodule_export]
    use crate::run::{run, time_runs};
    #[pymodule_export]
    use crate::sweep::sweep;
    #[pymodule_export]
    use crate::task::{draw_task, read_sequences, write_sequences};
    #[pymodule_export]
    use crate::train::train;
}
