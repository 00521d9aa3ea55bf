//! Part 6: lock rates, and what the second step contributes.

use superpose_figure::{Axis, Chart, Figure};
use superpose_lab::study::{Attention, Finding};

use crate::table::Table;
use crate::words::{interval, number, tally};
use crate::{Picture, Section};

pub fn section(attention: &Attention) -> Section {
    let points: Vec<_> = attention.curves.iter().flat_map(|curve| &curve.points).collect();
    let inside =
        points.iter().filter(|p| p.measured.low <= p.predicted && p.predicted <= p.measured.high).count();
    let (rms, seeds) = attention.rms();
    let gains: Vec<String> = attention
        .beyond
        .iter()
        .filter_map(|beyond| Some(format!("{} at L = {}", interval(&beyond.gain()?), beyond.one_step.length)))
        .collect();
    let headline = match gains.is_empty() {
        true => "No model has thresholds of both one step and three.".into(),
        false => format!("One-step over three-step critical N: {}.", gains.join(", ")),
    };
    let found: Vec<&Finding> =
        attention.beyond.iter().flat_map(|beyond| [&beyond.one_step, &beyond.three_step]).collect();
    Section {
        title: "Attention: what the second step learns",
        sentences: vec![
            format!(
                "Lock rate: the prediction lies inside the 95% interval at {inside} of {} points ({} seeds each); rms difference {}, of which seeds explain about {}.",
                points.len(),
                attention.seeds,
                number(rms),
                number(seeds),
            ),
            headline.clone(),
            tally(&found),
        ],
        pictures: vec![picture(attention)],
        tables: vec![rates(attention), gains_table(attention)],
        headline,
    }
}

fn picture(attention: &Attention) -> Picture {
    let mut lengths: Vec<usize> = attention.curves.iter().map(|curve| curve.length).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let mut figure = Figure::new()
        .title("Lock rate: how often the largest attention weight is on the trigger")
        .note("Points: observed with 95% intervals over seeds. Lines: closed form.");
    for length in lengths {
        let mut chart = Chart::new(
            format!("L = {length}"),
            Axis::log("samples N"),
            Axis::linear("lock rate").range(0.0, 1.0),
        );
        for curve in attention.curves.iter().filter(|curve| curve.length == length) {
            let name = format!("d = {}", curve.dim);
            let seen = curve
                .points
                .iter()
                .map(|p| (p.samples as f64, p.measured.mean, p.measured.low, p.measured.high));
            let line = curve.points.iter().map(|p| (p.samples as f64, p.predicted));
            chart = chart.points(name.clone(), seen.collect::<Vec<_>>()).line(name, line.collect::<Vec<_>>());
        }
        figure = figure.panel(chart);
    }
    Picture { name: "attention", caption: "Lock rate against the number of samples.".into(), figure }
}

fn rates(attention: &Attention) -> Table {
    let mut rows = Vec::new();
    for curve in &attention.curves {
        for point in &curve.points {
            rows.push(vec![
                curve.vocab.into(),
                curve.dim.into(),
                curve.length.into(),
                point.samples.into(),
                point.measured.into(),
                point.predicted.into(),
            ]);
        }
    }
    Table {
        name: "lock_rate",
        caption: "Lock rates over seeds with 95% intervals.".into(),
        columns: vec!["V", "d", "L", "N", "lock rate", "predicted"],
        rows,
    }
}

fn gains_table(attention: &Attention) -> Table {
    let rows = attention
        .beyond
        .iter()
        .map(|beyond| {
            vec![
                beyond.one_step.vocab.into(),
                beyond.one_step.dim.into(),
                beyond.one_step.length.into(),
                beyond.one_step.observed().into(),
                beyond.three_step.observed().into(),
                beyond.gain().into(),
                beyond
                    .one_step
                    .predicted
                    .zip(beyond.three_step.predicted)
                    .map(|(one, three)| one / three)
                    .into(),
            ]
        })
        .collect();
    Table {
        name: "beyond_the_first_gradient",
        caption:
            "Critical N of one step and of three steps, and their ratio: what the second step contributes."
                .into(),
        columns: vec!["V", "d", "L", "one step", "three steps", "gain", "predicted gain"],
        rows,
    }
}
