//! One function per kind of record that returns the [`Document`](crate::Document) about it, and the figures of single records.

mod bound;
mod estimate;
mod inspect;
mod memory;
mod partition;
mod phase;
mod plan;
mod predict;
mod run;
mod sweep;
mod threshold;
mod trade_off;
mod train;

use superpose_core::config::{EmbeddingSettings, Settings, Trigger};
use superpose_core::noise::Budget;
use superpose_core::{Measure, Measures};
use superpose_lab::run::TestSource;

pub use inspect::{holdings, inspect};
pub(crate) use phase::cause;
pub use phase::{diagram, phase, phase_csv, phase_figure};
pub use plan::plan;
pub use predict::predict;
pub use run::{run, run_figure};
pub use sweep::{cell_count, sweep, sweep_figure};
pub use threshold::{threshold, threshold_figure};
pub use trade_off::trade_off;
pub use train::{train, train_csv, trajectory};

use crate::experiment::Experiment;
use crate::numbers::{self, count, decimal, grouped};

/// The experiments that are defined by their settings and their record.
pub static EXPERIMENTS: [Experiment; 3] = [bound::EXPERIMENT, memory::EXPERIMENT, estimate::EXPERIMENT];

/// The layers of a configuration's model.
fn model(config: &Settings) -> String {
    match config.width {
        Some(width) => format!("attention and MLP (width m = {}, {})", count(width), config.activation),
        None => "attention only".into(),
    }
}

/// The measures to show with their values: all but the kept rate of a context that is kept whole, which is 1.
fn measured<'a, T>(config: &Settings, measures: &'a Measures<T>) -> impl Iterator<Item = (Measure, &'a T)> {
    let whole = config.keep.is_none();
    measures.iter().filter(move |(measure, _)| !(whole && *measure == Measure::KeptRate))
}

/// Where the test sequences come from, if the configuration alone does not tell, and how to give them.
fn tested_on(test: TestSource) -> Option<&'static str> {
    match test {
        TestSource::Drawn => None,
        TestSource::Given => Some("Test: given sequences."),
        TestSource::DrawnForGivenTraining => Some(
            "Test: sequences drawn from the configuration, although training sequences were given; give test_tokens, test_position and test_labels to test on your own.",
        ),
    }
}

/// The input embeddings of a configuration, in words: those of a file, others that were given, or the kind that is drawn.
fn embeddings(config: &Settings, given: bool) -> String {
    let kind = match &config.embedding {
        EmbeddingSettings::File { .. } => "file's",
        _ if given => "given",
        embedding => embedding.kind().word(),
    };
    format!("{kind} embeddings")
}

/// The sizes of a configuration, with their symbols.
fn sizes(config: &Settings) -> String {
    numbers::sizes([("V", config.vocab), ("d", config.dim), ("L", config.length), ("N", config.samples)])
}

/// The seeds of a configuration.
fn seeds(config: &Settings) -> String {
    match config.repeats {
        1 => format!("seed {}", config.seed),
        repeats => format!("seeds {} to {}", config.seed, config.seed + repeats as u64 - 1),
    }
}

/// The expected error of a prediction, or why it is not known.
fn expected_error(error: Option<f64>, reason: Option<&str>) -> String {
    match error {
        Some(error) => format!("rms {error:.3}"),
        None => format!("not known; {}", reason.unwrap_or("not checked")),
    }
}

/// A warning if given input embeddings are much longer or shorter than the trigger, with which drawn ones have the same length.
fn unequal_lengths(rows_over_trigger: Option<f64>) -> Option<String> {
    let ratio = rows_over_trigger.filter(|&ratio| ratio > 0.0 && !(0.8..=1.25).contains(&ratio))?;
    if ratio == f64::MAX {
        return Some("The trigger has length 0, so that attention cannot find it.".into());
    }
    let shown = decimal(ratio);
    Some(format!(
        "Input embeddings are {shown} times as long as the trigger; drawn ones are as long as it. This changes how well attention finds the trigger: divide the rows by {shown} to compare with drawn ones, and with what inspect predicts."
    ))
}

/// The parts of a token's vector that hold the trigger.
fn trigger(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Values => "keys and values",
        Trigger::Keys => "keys only",
    }
}

/// A 95% interval, of which a search may not have found both ends.
fn interval(low: Option<u64>, high: Option<u64>) -> String {
    let [low, high] = [low, high].map(|end| end.map_or("?".into(), |end| grouped(end as f64)));
    format!("[{low}, {high}]  95% interval")
}

/// Titles of the noise budgets of logits and token scores.
const NOISE: [&str; 2] = [
    "Noise in the logits, standard deviation divided by the signal",
    "Noise in the token scores, standard deviation divided by the trigger's score",
];

/// Standard deviations of the noise parts of a budget relative to the signal, in the order of the budget.
fn noise_parts(budget: &Budget) -> Vec<(String, f64)> {
    let signal = budget.signal.unwrap_or(0.0).sqrt();
    let size = |(name, part): (&str, &Option<f64>)| Some((name.replace('_', " "), (*part)?.sqrt() / signal));
    let parts = budget.named().into_iter().skip(1).filter_map(size);
    parts.filter(|(_, size)| size.is_finite() && *size > 0.0).collect()
}
