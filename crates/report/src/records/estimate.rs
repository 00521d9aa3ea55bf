//! The estimated cost of a run.

use schemars::JsonSchema;
use superpose_core::Settings;
use superpose_core::config::Group;
use superpose_lab::estimate::{EstimateRecord, estimate as lab};
use superpose_lab::memory::readable;

use super::sizes;
use crate::document::{Block, Document};
use crate::experiment::{Experiment, Finding};
use crate::numbers::{duration, plural};

pub const EXPERIMENT: Experiment = Experiment {
    name: "estimate",
    about: "Estimate the time and memory of a run without running it",
    settings: Settings::definitions,
    device: false,
    cpu_part: |_| None,
    run: |values, context| {
        Ok(Finding::new(lab(values, context.backend.threads(), context.memory)?, estimate))
    },
    records: &[("", EstimateRecord::json_schema)],
};

/// Time and memory, and whether the run fits into the memory of this machine.
fn estimate(record: &EstimateRecord) -> Document {
    let repeats = plural(record.config.repeats, "repeat", "repeats");
    let mut page = Document::new(format!("Estimated cost: {}, {repeats}", sizes(&record.config)));
    let fits = if record.fits { "the run fits" } else { "the run does not fit" };
    let threads = plural(record.threads, "thread", "threads");
    let rows = [
        ["time", &duration(record.thread_seconds), "on one thread, to about a factor of 2"],
        ["memory", &readable(record.memory), &format!("peak, with {threads}")],
        ["available", &readable(record.available), fits],
    ];
    page.blocks.push(Block::Fields([11, 10], rows.map(|row| row.map(str::to_string)).to_vec()));
    page
}
