//! Part 6: lock rates, and what the second step contributes.

use superpose_figure::{Axis, Chart, Figure};
use superpose_lab::interval::Interval;
use superpose_study::{Attention, Verdict};

use super::findings::thresholds_claim;
use super::{Claim, Picture, Section, distinct, spot};
use crate::numbers::{interval, significant};
use crate::table::Table;

pub fn section(attention: &Attention) -> Section {
    let points: Vec<_> = attention.curves.iter().flat_map(|curve| &curve.points).collect();
    let inside =
        points.iter().filter(|p| p.measured.low <= p.predicted && p.predicted <= p.measured.high).count();
    let (all, seeds, (rms, explained)) = (points.len(), attention.seeds, attention.rms());
    let [rms, explained] = [rms, explained].map(significant);
    let rates = format!(
        "The predicted lock rate lies inside the 95% interval at {inside} of {all} points ({seeds} seeds each). The root mean square difference is {rms}, of which the scatter of seeds explains about {explained}."
    );
    let gains: Vec<(usize, Interval)> =
        attention.beyond.iter().filter_map(|beyond| Some((beyond.one_step.length, beyond.gain()?))).collect();
    let by_gain = |a: &&(usize, Interval), b: &&(usize, Interval)| a.1.mean.total_cmp(&b.1.mean);
    let headline = match (gains.iter().min_by(by_gain), gains.iter().max_by(by_gain)) {
        (Some((_, least)), Some((length, most))) => format!(
            "Learning where to look saves samples: one step needs {} to {} times as many as three, most at L = {length}.",
            significant(least.mean),
            significant(most.mean)
        ),
        _ => "No model has a critical N of both one step and three.".into(),
    };
    let each = gains.iter().map(|(length, gain)| format!("{} at L = {length}", interval(gain)));
    let ratios = format!("One-step over three-step critical N: {}.", each.collect::<Vec<_>>().join(", "));
    let thresholds = || attention.beyond.iter().flat_map(|beyond| [&beyond.one_step, &beyond.three_step]);
    let verdict = if 20 * inside >= 17 * all { "agrees" } else { "differs" };
    let lock = Claim {
        claim: format!("Lock rate at {all} points"),
        measured: format!("prediction inside {inside} of {all} intervals"),
        predicted: format!("about {:.0}", 0.95 * all as f64),
        verdict: verdict.into(),
        agreement: verdict,
    };
    let mut claims = vec![lock];
    claims.extend(gains.iter().zip(&attention.beyond).map(|((length, gain), beyond)| {
        let predicted =
            beyond.one_step.predicted.zip(beyond.three_step.predicted).map(|(one, three)| one / three);
        let verdict = predicted
            .map(|p| Verdict::of(&Interval { mean: gain.mean / p, low: gain.low / p, high: gain.high / p }));
        let name = format!("One step over three steps, L = {length}");
        let predicted = predicted.map_or("-".into(), significant);
        Claim::new(name, interval(gain), predicted, verdict.as_slice())
    }));
    claims.push(thresholds_claim("One and three steps", thresholds().collect::<Vec<_>>()));
    Section {
        title: "Attention: what the second step learns",
        headline,
        sentences: vec![ratios, rates],
        pictures: vec![picture(attention)],
        tables: vec![rates_table(attention), gains_table(attention)],
        claims,
        ..Section::default()
    }
}

fn picture(attention: &Attention) -> Picture {
    let mut figure = Figure::new()
        .title("Lock rate: how often the largest attention weight is on the marked token")
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
    let caption = "Lock rate (how often the largest attention weight is on the marked token) against N, measured over seeds (points with 95% intervals) and predicted (lines).".into();
    Picture { name: "attention", caption, figure }
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
        "Critical N of one step and of three steps with their ratios to the prediction, and the gain: one step over three.",
        &attention.beyond,
        &[
            ("V", |beyond| beyond.one_step.vocab.into()),
            ("d", |beyond| beyond.one_step.dim.into()),
            ("L", |beyond| beyond.one_step.length.into()),
            ("one step", |beyond| beyond.one_step.observed().into()),
            ("one step over predicted", |beyond| beyond.one_step.ratio().into()),
            ("three steps", |beyond| beyond.three_step.observed().into()),
            ("three steps over predicted", |beyond| beyond.three_step.ratio().into()),
            ("gain", |beyond| beyond.gain().into()),
            ("predicted gain", |beyond| {
                let predicted = beyond.one_step.predicted.zip(beyond.three_step.predicted);
                predicted.map(|(one, three)| one / three).into()
            }),
        ],
    )
}
