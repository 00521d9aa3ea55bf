//! Experiments: runs, sweeps, thresholds and phase diagrams, with confidence intervals.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod advice;
pub mod associative;
pub mod bench;
pub mod cell;
pub mod decoders;
pub mod estimate;
pub mod excess;
pub mod explore;
pub mod inspect;
pub mod memory;
pub mod normal;
mod overlaps;
pub mod phase;
pub mod plan;
pub mod predict;
pub mod run;
pub mod settings_file;
pub mod sweep;
pub mod threshold;
pub mod train;
pub mod words;

pub use superpose_store::{csv, interval, store};
