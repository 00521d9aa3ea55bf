//! A phase diagram: a map, the shares of the causes below the boundary, and the number of runs.

use superpose_figure::{Axis, Cell, Chart, Figure, Series};
use superpose_lab::csv;
use superpose_lab::phase::{Axis as Sizes, Diagram, PhaseRecord, Scale, Size};
use superpose_lab::words::{blame, capital};
use superpose_theory::critical::Parameter;
use superpose_theory::predict::Dominant;

use super::partition::partition;
use super::sweep::cell_count;
use crate::document::{Block, Document};
use crate::numbers::{count, duration, grouped, plural};

/// The map, the causes that the theory gives for the cells below the boundary, and the number of cells run.
pub fn phase(record: &PhaseRecord) -> Document {
    let map = &record.diagram;
    let (x, y) = (record.x.size, record.y.size);
    let measure = record.measure.label();
    let across = format!("{x} {} and {y} {}", x.symbol(), y.symbol());
    let mut page =
        Document::new(format!("{} over {across}, boundary at {}", capital(measure), record.accuracy));
    page.gap();
    page.blocks.push(Block::Figure(Box::new(titled("", record)), characters(record)));
    page.gap();
    let share = |(dominant, share): &(Dominant, f64)| format!("{} {:.0}%", cause(dominant), 100.0 * share);
    let causes: Vec<String> = map.shares(record.accuracy).iter().map(share).collect();
    if !causes.is_empty() {
        page.line(format!("Predicted limiting noise terms below the boundary: {}.", causes.join(", ")));
    }
    let compared: Vec<bool> = map.cells.iter().filter_map(|cell| cell.agrees()).collect();
    if !compared.is_empty() {
        let inside = count(compared.iter().filter(|&&agrees| agrees).count());
        let all = cell_count(compared.len());
        let wide = if record.repeats == 2 { ", which are wide with 2 seeds" } else { "" };
        page.line(format!("The prediction is inside {inside} of the 95% intervals of {all}{wide}."));
    }
    if map.predicted_boundary.is_empty() {
        page.line("No predicted boundary here.");
    }
    let (seeds, runs) = (plural(record.repeats, "seed", "seeds"), plural(record.runs, "run", "runs"));
    let cells = format!("{} of {} run, {seeds} each", count(map.measured), cell_count(map.cells.len()));
    page.line(format!("{cells}, the rest filled in; {runs} in {}.", duration(record.seconds)));
    page
}

/// The diagram of a record, to stand alone.
pub fn phase_figure(record: &PhaseRecord) -> Figure {
    let measure = record.measure.label();
    titled(&format!("{measure} over {} and {}", record.x.size, record.y.size), record)
}

fn titled(title: &str, record: &PhaseRecord) -> Figure {
    diagram(title, &record.x, &record.y, record.measure.label(), record.accuracy, &record.diagram)
}

/// The map in shades, a character for each column and for two rows.
fn characters(record: &PhaseRecord) -> String {
    const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];
    let map = &record.diagram;
    let (columns, rows) = (map.columns.len(), map.rows.len());
    let mut text = format!("{:>12}\n", grouped(map.rows[rows - 1] as f64));
    for row in map.cells.chunks(columns).rev().step_by(2) {
        let shades: String = row.iter().map(|cell| SHADES[((cell.value * 5.0) as usize).min(4)]).collect();
        text += &format!("{:>12} {shades}\n", "");
    }
    let [bottom, first, last] =
        [map.rows[0], map.columns[0], map.columns[columns - 1]].map(|value| grouped(value as f64));
    let symbol = record.x.size.symbol();
    text += &format!("{bottom:>12} {first} to {last} {symbol}\n");
    text + &format!("{:>12} · below 0.2  ░ 0.2  ▒ 0.4  ▓ 0.6  █ from 0.8", "")
}

/// The part that limits recall and its noise term, in words.
pub(crate) fn cause(dominant: &Dominant) -> String {
    let (part, term) = blame(dominant);
    format!("{part}: {term}")
}

/// A size in words, with its symbol.
fn label(size: Size) -> &'static str {
    match size {
        Size::Parameters => "parameters m d",
        Size::One(Parameter::Samples) => "samples N",
        Size::One(Parameter::Dim) => "dimension d",
        Size::One(Parameter::Width) => "width m",
        Size::One(Parameter::Length) => "sequence length L",
        Size::One(Parameter::Vocab) => "facts V",
    }
}

/// Edges of cells around values: half way between neighbours, on the axis's scale.
fn edges(values: &[u64], scale: Scale) -> Vec<(f64, f64)> {
    let to = |x: f64| if scale == Scale::Log { x.ln() } else { x };
    let back = |x: f64| if scale == Scale::Log { x.exp() } else { x };
    let at: Vec<f64> = values.iter().map(|&value| to(value as f64)).collect();
    let step = |i: usize| if at.len() > 1 { at[i + 1] - at[i] } else { 0.5 };
    let edge = |i: usize| {
        let left = step(i.saturating_sub(1));
        let right = if i + 1 < at.len() { step(i) } else { left };
        (back(at[i] - 0.5 * left), back(at[i] + 0.5 * right))
    };
    (0..at.len()).map(edge).collect()
}

/// A phase diagram: what was measured with both boundaries, and what limits recall below the level.
pub fn diagram(title: &str, x: &Sizes, y: &Sizes, measure: &str, level: f64, map: &Diagram) -> Figure {
    let axis = |sizes: &Sizes, edges: &[(f64, f64)]| {
        let label = label(sizes.size);
        let axis = if sizes.scale == Scale::Log { Axis::log(label) } else { Axis::linear(label) };
        match (edges.first(), edges.last()) {
            (Some(first), Some(last)) => axis.range(first.0, last.1),
            _ => axis,
        }
    };
    let (columns, rows) = (edges(&map.columns, x.scale), edges(&map.rows, y.scale));
    let place = |i: usize| (columns[i % columns.len()], rows[i / columns.len()]);
    let cells = map.cells.iter().enumerate().map(|(i, cell)| {
        let (across, up) = place(i);
        Cell::new(across, up, Some(cell.value))
    });
    let run = |agrees: Option<bool>| {
        let mine = map.cells.iter().filter(move |cell| cell.measured && cell.agrees() == agrees);
        mine.map(|cell| (cell.x as f64, cell.y as f64)).collect::<Vec<_>>()
    };
    let kinds = [
        ("cell that was run", None),
        ("cell run, prediction inside its 95% interval", Some(true)),
        ("cell run, prediction outside", Some(false)),
    ];
    let broken = |pieces: &[Vec<(f64, f64)>]| -> Vec<(f64, f64)> {
        pieces.iter().flat_map(|piece| piece.iter().copied().chain([(f64::NAN, f64::NAN)])).collect()
    };
    let mut measured = Chart::new("measured", axis(x, &columns), axis(y, &rows))
        .cells(measure, cells)
        .line("boundary", broken(&map.boundary))
        .with(Series::line("predicted boundary", broken(&map.predicted_boundary)).dashed());
    for (name, agrees) in kinds {
        let cells = run(agrees);
        if !cells.is_empty() {
            let points = Series::points(name, cells);
            measured = measured.with(if agrees == Some(false) { points } else { points.small() });
        }
    }
    let (names, regions) = partition(map, level, (&columns, x.scale), (&rows, y.scale));
    let limits =
        Chart::new(format!("what limits recall below {level}, predicted"), axis(x, &columns), axis(y, &rows))
            .regions(names, regions)
            .with(Series::line("predicted boundary", broken(&map.predicted_boundary)).dashed());
    Figure::new().title(title).columns(2).panel(measured).panel(limits)
}

/// Every cell as a line of CSV.
pub fn phase_csv(record: &PhaseRecord) -> String {
    let mut text = String::new();
    let names = [record.x.size.to_string(), record.y.size.to_string(), record.measure.to_string()];
    let others = ["measured", "low", "high", "predicted", "part", "term"].map(String::from);
    csv::line(&mut text, names.into_iter().chain(others));
    for cell in &record.diagram.cells {
        let (part, term) =
            cell.dominant.map_or(("", ""), |dominant| (blame(&dominant).0, dominant.term.word()));
        let numbers = [cell.x.to_string(), cell.y.to_string(), format!("{:.6}", cell.value)];
        let [low, high, predicted] = [cell.low, cell.high, cell.predicted]
            .map(|value| value.map_or(String::new(), |value| format!("{value:.6}")));
        let others = [u8::from(cell.measured).to_string(), low, high, predicted, part.into(), term.into()];
        csv::line(&mut text, numbers.into_iter().chain(others));
    }
    text
}
