//! Experiments: what is asked of the engine, how often, and how sure one can be of the answer.

pub mod advice;
pub mod associative;
pub mod bench;
pub mod cell;
pub mod csv;
pub mod decoders;
pub mod excess;
pub mod explore;
pub mod fit;
pub mod inspect;
pub mod interval;
pub mod memory;
mod normal;
pub mod phase;
pub mod plan;
pub mod predict;
pub mod run;
pub mod settings_file;
pub mod store;
pub mod study;
pub mod sweep;
pub mod threshold;
pub mod train;
pub mod words;
