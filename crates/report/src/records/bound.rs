//! Decoders of the first gradient beside the lower bound.

use schemars::JsonSchema;
use superpose_core::Settings;
use superpose_core::config::Group;
use superpose_lab::decoders::{self, BoundOptions, BoundRecord, Critical, DECODERS, LIMIT_MARGIN};

use crate::document::{Document, Grid, Left, Right};
use crate::experiment::{Experiment, Finding};

pub const EXPERIMENT: Experiment = Experiment {
    name: "bound",
    about: "Compare the samples that decoders of the first gradient need with an approximate lower bound",
    settings: BoundOptions::with_model,
    run: |values, context| {
        let options = BoundOptions::read(values)?;
        let config = options.check(BoundOptions::model(values)?)?;
        let record = decoders::bound(&config, &options, context.backend, &mut |what, samples| {
            let at = if samples.is_finite() { format!(": trying N = {samples}") } else { String::new() };
            (context.observe)(0, 0, format!("{}{at}", what.replace('_', " ")));
        })?;
        Ok(Finding::new(record, bound))
    },
    records: &[("", BoundRecord::json_schema)],
};

/// Names of the decoders, in the order of [`DECODERS`].
const LABELS: [&str; 4] =
    ["argmax", "one-to-one assignment", "linear MMSE", "linear MMSE, then one-to-one assignment"];

/// Critical numbers of samples with their intervals, and how many times the bound they are.
fn bound(record: &BoundRecord) -> Document {
    let config = &record.config;
    let model = config.width.map_or(String::new(), |width| format!("m = {width} ({}), ", config.activation));
    let (percent, seeds) = (100.0 * record.accuracy, record.seeds);
    let Settings { vocab, dim, length, .. } = config;
    let mut page = Document::new(format!(
        "Reading {percent}% of V = {vocab} facts off the first gradient, {model}d = {dim}, L = {length}, {seeds} seeds"
    ));
    page.gap();
    let columns = ["", "critical N", "95% interval", "over the bound"];
    let mut table = Grid::new(&[Left, Right, Left, Right], &columns);
    let bound = record.bound.map_or("infinite".into(), |bound| format!("{bound:.0}"));
    table.row(["surrogate lower bound", &bound]);
    for (name, label) in DECODERS.iter().zip(LABELS) {
        if let Some(critical) = record.decoders.get(*name) {
            table.row(cells(record, label, critical));
        }
    }
    table.row(cells(record, "three-step algorithm", &record.three_step));
    page.table(table);
    page.paragraph("The bound is a surrogate: it takes the gradient's noise as Gaussian.");
    let best =
        record.decoders.values().filter_map(|critical| critical.estimate).fold(f64::INFINITY, f64::min);
    if let Some(three) = record.three_step.estimate.filter(|_| best.is_finite()) {
        let (times, word) = if best > three { (best / three, "fewer") } else { (three / best, "more") };
        page.line(format!(
            "Training the attention needs {times:.1} times {word} samples than the best decoder of the first gradient."
        ));
    }
    page.line(format!("Intervals: {}.", record.interval));
    page
}

fn cells(record: &BoundRecord, name: &str, critical: &Critical) -> [String; 4] {
    if let (Some(estimate), Some(low), Some(high)) = (critical.estimate, critical.low, critical.high) {
        let ratio = critical.ratio.map_or("-".into(), |ratio| format!("{ratio:.2}"));
        return [name.into(), format!("{estimate:.0}"), format!("[{low:.0}, {high:.0}]"), ratio];
    }
    let (above, reason) = match critical.limit {
        Some(limit) if limit + LIMIT_MARGIN < record.accuracy => {
            ("no N".into(), format!("accuracy {limit:.3} with unlimited data"))
        }
        _ => (format!("> {:.0}", record.most_samples), "not reached".into()),
    };
    [name.into(), above, reason, "-".into()]
}
