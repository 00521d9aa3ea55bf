//! A phase diagram: the measured map with both boundaries, and what limits recall.

use superpose_figure::{Axis, Cell, Chart, Figure, Region, Series};
use superpose_lab::phase::{Axis as Sizes, Diagram, Scale, Size};
use superpose_lab::words::blame;
use superpose_theory::critical::Parameter;
use superpose_theory::predict::Dominant;

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
    (0..at.len())
        .map(|i| {
            let left = if i > 0 { step(i - 1) } else { step(0) };
            let right = if i + 1 < at.len() { step(i) } else { left };
            (back(at[i] - 0.5 * left), back(at[i] + 0.5 * right))
        })
        .collect()
}

/// A phase diagram: what was measured with both boundaries, and what limits recall.
pub fn diagram(title: &str, x: &Sizes, y: &Sizes, measure: &str, map: &Diagram) -> Figure {
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
    let run: Vec<(f64, f64)> =
        map.cells.iter().filter(|cell| cell.measured).map(|cell| (cell.x as f64, cell.y as f64)).collect();
    let broken = |pieces: &[Vec<(f64, f64)>]| {
        let mut points = Vec::new();
        for piece in pieces {
            points.extend_from_slice(piece);
            points.push((f64::NAN, f64::NAN));
        }
        points
    };
    let measured = Chart::new("measured", axis(x, &columns), axis(y, &rows))
        .cells(measure, cells.collect::<Vec<_>>())
        .line("boundary", broken(&map.boundary))
        .with(Series::line("predicted boundary", broken(&map.predicted_boundary)).dashed())
        .with(Series::points("cell that was run", run).small());
    let mut names: Vec<String> = Vec::new();
    let mut regions = Vec::new();
    for (i, cell) in map.cells.iter().enumerate() {
        let Some(dominant) = cell.dominant else { continue };
        let name = cause(&dominant);
        let index = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        let (across, up) = place(i);
        regions.push(Region::new(across, up, index));
    }
    let limits = Chart::new("what limits recall, predicted", axis(x, &columns), axis(y, &rows))
        .regions(names, regions)
        .with(Series::line("predicted boundary", broken(&map.predicted_boundary)).dashed());
    Figure::new().title(title).columns(2).panel(measured).panel(limits)
}
