//! The end of a sweep.

use std::collections::BTreeMap;
use std::path::Path;

use superpose_core::config::{Config, Settings, Value, Values};
use superpose_core::{Measure, Measures};
use superpose_figure::{Axis, Chart, Figure, Series};
use superpose_lab::cell::{CellError, Outcome};
use superpose_lab::interval::{SampleMean, intervals};

use crate::document::Document;
use crate::numbers::{count, duration, plural};

/// Reasons that are listed for cells that failed, and for cells that were not run.
const MAX_REASONS: usize = 5;

/// How many of the cells are done, and why others failed or were not run. `store` is the file with the results, if there is one.
pub fn sweep(
    store: Option<&Path>,
    cells: usize,
    outcomes: &[Result<Outcome, CellError>],
    seconds: f64,
) -> Document {
    // The reasons why cells failed, and those why cells were not run, with the number of cells of each.
    let mut reasons: [BTreeMap<String, usize>; 2] = Default::default();
    for error in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        *reasons[usize::from(!error.is_final())].entry(error.to_string()).or_default() += 1;
    }
    let [failed, left] = [0, 1].map(|kind: usize| reasons[kind].values().sum::<usize>());
    let done = cells.saturating_sub(failed + left);
    let store = store.map_or(String::new(), |store| format!(" in {}", store.display()));
    let (all, done, failed, time) = (cell_count(cells), count(done), count(failed), duration(seconds));
    let not_run = if left > 0 { format!(", {} not run", count(left)) } else { String::new() };
    let mut page = Document::default();
    page.line(format!("{all}{store}: {done} done, {failed} failed{not_run}. Took {time}."));
    for (reasons, what) in reasons.iter().zip(["failed", "not run"]) {
        for (reason, &cells) in reasons.iter().take(MAX_REASONS) {
            page.note(format!("{} {what}: {reason}", cell_count(cells)));
        }
    }
    page
}

/// A number of cells with its noun: `1 cell`, `1,200 cells`.
pub fn cell_count(cells: usize) -> String {
    plural(cells, "cell", "cells")
}

/// Series that a figure shows.
const MAX_SERIES: usize = 12;

/// Accuracy over the first number that varies, a series for each combination of the other settings that vary; means over seeds with
/// 95% intervals. `None` where no number varies.
pub fn sweep_figure(cells: &[Config], outcomes: &[Result<Outcome, CellError>]) -> Option<Figure> {
    let values: Vec<Values> = cells.iter().map(|cell| Values::of(&**cell)).collect();
    let of = |values: &Values, name: &str| values.get(name).cloned().unwrap_or(Value::Null);
    let varies = |name: &str| values.iter().any(|one| of(one, name) != of(&values[0], name));
    let names = || Settings::settings().iter().map(|setting| setting.name).filter(|name| *name != "seed");
    let varying: Vec<&str> = names().filter(|name| varies(name)).collect();
    let number = |value: Value| match value {
        Value::Count(count) => Some(count as f64),
        Value::Number(x) => Some(x),
        _ => None,
    };
    let along = *varying.iter().find(|name| values.iter().all(|one| number(of(one, name)).is_some()))?;
    type Group = BTreeMap<u64, (usize, Vec<Measures<SampleMean>>)>;
    let mut series: Vec<(String, Group)> = Vec::new();
    for ((one, cell), outcome) in values.iter().zip(cells).zip(outcomes) {
        let Ok(outcome) = outcome else { continue };
        let others = varying.iter().filter(|name| **name != along);
        let name = others.map(|name| format!("{name} = {}", of(one, name))).collect::<Vec<_>>().join(", ");
        let place = series.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            series.push((name, Group::new()));
            series.len() - 1
        });
        // Positive numbers are ordered as their bits are.
        let x = number(of(one, along)).unwrap_or(0.0).to_bits();
        series[place].1.entry(x).or_insert_with(|| (cell.vocab, Vec::new())).1.push(outcome.measures);
    }
    let ends = values.iter().filter_map(|one| number(of(one, along)));
    let (low, high) = ends.fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(x), high.max(x)));
    let axis = if low > 0.0 && high / low > 8.0 { Axis::log(along) } else { Axis::linear(along) };
    let mut chart = Chart::new("", axis, Axis::linear(Measure::Accuracy.label()).range(0.0, 1.0));
    for (i, (name, group)) in series.iter().take(MAX_SERIES).enumerate() {
        let point = |(x, (facts, seeds)): (&u64, &(usize, Vec<Measures<SampleMean>>))| {
            let value = intervals(seeds, *facts)[Measure::Accuracy];
            (f64::from_bits(*x), value.mean, value.low, value.high)
        };
        let points: Vec<_> = group.iter().map(point).collect();
        let line = points.iter().map(|point| (point.0, point.1));
        chart = chart.with(Series::points(name.clone(), points.clone()).color(i));
        chart = chart.with(Series::line("", line).color(i));
    }
    let rest = series.len().saturating_sub(MAX_SERIES);
    let note = if rest > 0 { format!("{rest} more series are not shown.") } else { String::new() };
    Some(Figure::new().note(note).frames(440.0, 280.0).panel(chart))
}
