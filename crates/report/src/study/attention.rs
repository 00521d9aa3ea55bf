//! Part 6: lock rates, and what the second step contributes.

use superpose_figure::{Axis, Chart, Figure};
use superpose_study::{Attention, Beyond};

use super::findings::tally;
use super::{Picture, Section, distinct, spot};
use crate::numbers::{interval, significant};
use crate::table::Table;

pub fn section(attention: &Attention) -> Section {
    let points: Vec<_> = attention.curves.iter().flat_map(|curve| &curve.points).collect();
    let inside =
        points.iter().filter(|p| p.measured.low <= p.predicted && p.predicted <= p.measured.high).count();
    let (all, seeds, (rms, explained)) = (points.len(), attention.seeds, attention.rms());
    let [rms, explained] = [rms, explained].map(significant);
    let rates = format!(
        "Lock rate: the prediction lies inside the 95% interval at {inside} of {all} points ({seeds} seeds each); rms difference {rms}, of which seeds explain about {explained}."
    );
    let gain =
        |beyond: &Beyond| Some(format!("{} at L = {}", interval(&beyond.gain()?), beyond.one_step.length));
    let gains: Vec<String> = attention.beyond.iter().filter_map(gain).collect();
    let headline = match gains.is_empty() {
        true => "No model has thresholds of both one step and three.".into(),
        false => format!("One-step over three-step critical N: {}.", gains.join(", ")),
    };
    let thresholds = attention.beyond.iter().flat_map(|beyond| [&beyond.one_step, &beyond.three_step]);
    Section {
        title: "Attention: what the second step learns",
        sentences: vec![rates, headline.clone(), tally(thresholds)],
        pictures: vec![picture(attention)],
        tables: vec![rates_table(attention), gains_table(attention)],
        headline,
    }
}

fn picture(attention: &Attention) -> Picture {
    let mut figure = Figure::new()
        .title("Lock rate: how often the largest attention weight is on the trigger")
        .note("Points: observed with 95% intervals over seeds. Lines: closed form.");
    for length in distinct(&attention.curves, |curve| curve.length) {
        let rate = Axis::linear("lock rate").range(0.0, 1.0);
        let mut chart = Chart::new(format!("L = {length}"), Axis::log("samples N"), rate);
        for curve in attention.curves.iter().filter(|curve| curve.length == length) {
            let name = format!("d = {}", curve.dim);
            let seen = curve.points.iter().map(|p| spot(p.samples as f64, &p.measured));
            let line = curve.points.iter().map(|p| (p.samples as f64, p.predicted));
            chart = chart.points(name.clone(), seen).line(name, line);
        }
        figure = figure.panel(chart);
    }
    Picture { name: "attention", caption: "Lock rate against the number of samples.".into(), figure }
}

fn rates_table(attention: &Attention) -> Table {
    let points = attention.curves.iter().flat_map(|curve| curve.points.iter().map(move |p| (curve, p)));
    Table::new(
        "lock_rate",
        "Lock rates over seeds with 95% intervals.",
        points,
        &[
            ("V", |(curve, _)| curve.vocab.into()),
            ("d", |(curve, _)| curve.dim.into()),
            ("L", |(curve, _)| curve.length.into()),
            ("N", |(_, point)| point.samples.into()),
            ("lock rate", |(_, point)| point.measured.into()),
            ("predicted", |(_, point)| point.predicted.into()),
        ],
    )
}

fn gains_table(attention: &Attention) -> Table {
    Table::new(
        "beyond_the_first_gradient",
        "Critical N of one step and of three steps, and their ratio: what the second step contributes.",
        &attention.beyond,
        &[
            ("V", |beyond| beyond.one_step.vocab.into()),
            ("d", |beyond| beyond.one_step.dim.into()),
            ("L", |beyond| beyond.one_step.length.into()),
            ("one step", |beyond| beyond.one_step.observed().into()),
            ("three steps", |beyond| beyond.three_step.observed().into()),
            ("gain", |beyond| beyond.gain().into()),
            ("predicted gain", |beyond| {
                let predicted = beyond.one_step.predicted.zip(beyond.three_step.predicted);
                predicted.map(|(one, three)| one / three).into()
            }),
        ],
    )
}
