//! Results of cells: their keys and outcomes, the SQLite store, shards for clusters, and intervals over seeds.
//!
//! A cell is one configuration with one seed. Its outcome is a function of the configuration, so a result that was
//! computed once, anywhere, is looked up instead of computed again.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod cell;
pub mod csv;
pub mod interval;
pub mod shards;
pub mod store;
