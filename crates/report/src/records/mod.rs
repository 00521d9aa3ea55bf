//! One function per kind of record, each of which returns the [`Document`](crate::Document) about it.

mod bound;
mod inspect;
mod memory;
mod phase;
mod plan;
mod predict;
mod run;
mod sweep;
mod threshold;
mod train;

use superpose_core::config::{Settings, Trigger};
use superpose_core::noise::Budget;

pub use bound::bound;
pub use inspect::inspect;
pub use memory::{capacity, memory};
pub use phase::{phase, phase_csv};
pub use plan::plan;
pub use predict::predict;
pub use run::run;
pub use sweep::{cell_count, sweep};
pub use threshold::threshold;
pub use train::{train, train_csv};

use crate::numbers::{count, grouped};

/// The layers of a configuration's model.
fn model(config: &Settings) -> String {
    match config.width {
        Some(width) => format!("attention and MLP (width m = {}, {})", count(width), config.activation),
        None => "attention only".into(),
    }
}

/// The parts of a token's vector that hold the trigger.
fn trigger(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Values => "keys and values",
        Trigger::Keys => "keys only",
    }
}

/// An end of an interval, which a search may not have found.
fn end(end: Option<u64>) -> String {
    end.map_or("?".into(), |end| grouped(end as f64))
}

/// Standard deviations of the noise parts of a budget relative to the signal, in the order of the budget.
fn noise_parts(budget: &Budget) -> Vec<(String, f64)> {
    let signal = budget.signal.unwrap_or(0.0).sqrt();
    let size = |(name, part): (&str, &Option<f64>)| Some((name.replace('_', " "), (*part)?.sqrt() / signal));
    let parts = budget.named().into_iter().skip(1).filter_map(size);
    parts.filter(|(_, size)| size.is_finite() && *size > 0.0).collect()
}
