//! Decoders of the first gradient beside the lower bound.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};
use superpose_lab::decoders::{BoundRecord, Critical, DECODERS, LIMIT_MARGIN};

/// Critical numbers of samples with their intervals, over the bound.
pub fn bound(record: &BoundRecord) -> String {
    let config = &record.config;
    let model = config.width.map_or(String::new(), |width| format!("m = {width} ({}), ", config.activation));
    let mut text = format!(
        "Reading {}% of V = {} facts off the first gradient, {model}d = {}, L = {}, {} seeds\n\n",
        100.0 * record.accuracy,
        config.vocab,
        config.dim,
        config.length,
        record.seeds
    );
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["", "critical N", "95% interval", "over the bound"]);
    let bound = record.bound.map_or("beyond all numbers".into(), |bound| format!("{bound:.0}"));
    table.add_row(["  surrogate lower bound".to_string(), bound]);
    let mut row = |name: &str, critical: &Critical| {
        let cells = match (critical.estimate, critical.low, critical.high) {
            (Some(estimate), Some(low), Some(high)) => {
                let ratio = critical.ratio.map_or("-".into(), |ratio| format!("{ratio:.2}"));
                [format!("  {name}"), format!("{estimate:.0}"), format!("[{low:.0}, {high:.0}]"), ratio]
            }
            _ => {
                let (above, why) = match critical.limit {
                    Some(limit) if limit + LIMIT_MARGIN < record.accuracy => {
                        ("no N".into(), format!("accuracy {limit:.3} with unlimited data"))
                    }
                    _ => (format!("> {:.0}", record.most_samples), "not reached".into()),
                };
                [format!("  {name}"), above, why, "-".into()]
            }
        };
        table.add_row(cells);
    };
    for (name, label) in DECODERS.iter().zip(LABELS) {
        if let Some(critical) = record.decoders.get(*name) {
            row(label, critical);
        }
    }
    row("three-step algorithm", &record.three_step);
    for i in [1, 3] {
        if let Some(column) = table.column_mut(i) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().for_each(|line| {
        let _ = writeln!(text, "{}", line.trim_end());
    });
    let _ = writeln!(text, "\nThe bound is a surrogate: it takes the gradient's noise as Gaussian.");
    let best =
        record.decoders.values().filter_map(|critical| critical.estimate).fold(f64::INFINITY, f64::min);
    if let Some(three) = record.three_step.estimate
        && best.is_finite()
    {
        let times = best / three;
        let _ = match times > 1.0 {
            true => writeln!(
                text,
                "Training the attention needs {times:.1} times fewer samples than the best decoder of the first gradient."
            ),
            false => writeln!(
                text,
                "Training the attention needs {:.1} times more samples than the best decoder of the first gradient.",
                1.0 / times
            ),
        };
    }
    let _ = writeln!(text, "Intervals: {}.", record.interval);
    text
}

/// Names for people, in the order of [`DECODERS`].
const LABELS: [&str; 4] =
    ["argmax", "one-to-one assignment", "linear MMSE", "linear MMSE, then one-to-one assignment"];
