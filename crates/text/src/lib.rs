//! What the laboratory found, as text for people: the same on the command line and in a notebook.
//!
//! A function per kind of record; none of them prints.

mod bound;
mod inspect;
mod memory;
mod numbers;
mod phase;
mod plan;
mod predict;
mod run;
mod sweep;
mod threshold;
mod train;

pub use bound::bound;
pub use inspect::inspect;
pub use memory::{capacity, memory};
pub use numbers::{duration, number};
pub use phase::phase;
pub use plan::plan;
pub use predict::predict;
pub use run::run;
pub use sweep::{count, sweep};
pub use threshold::threshold;
pub use train::train;
