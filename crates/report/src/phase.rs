//! Part 4: phase diagrams.

use superpose_figure::{Axis, Cell, Chart, Figure, Region, Series};
use superpose_lab::phase::{Axis as Sizes, Diagram, Scale, Size};
use superpose_lab::study::{LEVEL, MlpPhase};
use superpose_theory::critical::Parameter;
use superpose_theory::predict::{Dominant, Part};

use crate::table::{Table, Value};
use crate::{Picture, Section};

pub fn section(phase: &MlpPhase) -> Section {
    let MlpPhase { config, x, y, diagram: map, rms } = phase;
    let cells = map.cells.len();
    let headline = format!(
        "Phase diagram of the attention-MLP model: {} of {cells} cells run; measured and predicted accuracy differ by {rms:.3} rms there.",
        map.measured
    );
    let model = format!(
        "Model: {}, V = {}, d = {}, L = {}, trigger in the {}; the width m varies.",
        config.activation, config.vocab, config.dim, config.length, config.trigger
    );
    let rows = map
        .cells
        .iter()
        .map(|cell| {
            vec![
                (cell.x as usize).into(),
                (cell.y as usize).into(),
                cell.value.into(),
                if cell.measured { "measured" } else { "filled in" }.into(),
                cell.predicted.into(),
                cell.dominant.map_or(Value::Absent, |dominant| name(&dominant).as_str().into()),
            ]
        })
        .collect::<Vec<_>>();
    let partition: Vec<String> = map
        .shares(LEVEL)
        .iter()
        .map(|(dominant, share)| format!("{} in {:.0}%", name(dominant), 100.0 * share))
        .collect();
    Section {
        title: "Phase diagram of the attention-MLP model",
        sentences: vec![
            model,
            headline.clone(),
            format!("Below the boundary the closed form blames: {}.", partition.join(", ")),
        ],
        headline,
        pictures: vec![Picture {
            name: "phase",
            caption: "Left: accuracy (dots mark cells that were run, the rest is filled in) with the measured and the predicted boundary at 0.5. Right: what limits recall.".into(),
            figure: diagram("Attention-MLP: parameters against samples", x, y, "accuracy", map),
        }],
        tables: vec![Table {
            name: "phase",
            caption: "Every cell of the diagram.".into(),
            columns: vec!["parameters", "samples", "accuracy", "source", "predicted", "limited by"],
            rows,
        }],
    }
}

/// What limits recall, in words.
fn name(dominant: &Dominant) -> String {
    let part = match dominant.part {
        Part::Memory => "memory",
        Part::Attention => "attention",
    };
    format!("{part}: {}", dominant.term.word().replace('_', " "))
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
        let name = name(&dominant);
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
