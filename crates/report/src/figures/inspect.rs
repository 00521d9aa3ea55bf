//! How many facts the rows of a matrix hold.

use superpose_figure::{Axis, Chart, Figure, Series};
use superpose_lab::inspect::{Held, Inspection};

use crate::numbers::count;

/// Memory accuracy against facts: the rows as they are, minus their mean, and Gaussian vectors beside them.
pub fn holdings(found: &Inspection, curve: &[Held]) -> Figure {
    let line = |name: &str, of: fn(&Held) -> f64| {
        let spots: Vec<(f64, f64)> = curve.iter().map(|held| (held.facts as f64, of(held))).collect();
        Series::line(name, spots)
    };
    let chart = Chart::new("", Axis::log("facts V"), Axis::linear("memory accuracy").range(0.0, 1.0))
        .with(line("rows as they are", |held| held.raw))
        .with(line("rows minus their mean", |held| held.centred))
        .with(line("Gaussian vectors", |held| held.gaussian).muted().dashed())
        .horizontal(found.accuracy, format!("accuracy {}", found.accuracy));
    Figure::new()
        .title(format!("What {} rows of dimension {} hold", count(found.rows), found.dim))
        .note(format!(
            "Predicted for attention on the trigger, trigger in the keys, {} samples per fact.",
            found.samples_per_fact
        ))
        .frames(440.0, 280.0)
        .panel(chart)
}
