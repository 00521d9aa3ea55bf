//! Part 6: lock rates, and what the second step contributes.

use superpose_figure::{Axis, Chart, Figure};
use superpose_lab::interval::Interval;
use superpose_study::{Attention, Beyond, Verdict};

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
    let gains: Vec<(&Beyond, Interval)> =
        attention.beyond.iter().filter_map(|beyond| Some((beyond, beyond.gain()?))).collect();
    let by_gain = |a: &&(&Beyond, Interval), b: &&(&Beyond, Interval)| a.1.mean.total_cmp(&b.1.mean);
    let headline = match (gains.iter().min_by(by_gain), gains.iter().max_by(by_gain)) {
        (Some((_, smallest)), Some((beyond, largest))) => format!(
            "Learning where to look saves samples: one step needs {} to {} times as many as three, most at L = {}.",
            significant(smallest.mean),
            significant(largest.mean),
            beyond.one_step.length
        ),
        _ => "No model has a critical N of both one step and three.".into(),
    };
    let each =
        gains.iter().map(|(beyond, gain)| format!("{} at L = {}", interval(gain), beyond.one_step.length));
    let ratios = format!("One-step over three-step critical N: {}.", each.collect::<Vec<_>>().join(", "));
    let thresholds = || attention.beyond.iter().flat_map(|beyond| [&beyond.one_step, &beyond.three_step]);
    let mut claims = vec![Claim::new(
        format!("Lock rate at {all} points"),
        format!("prediction inside {inside} of {all} intervals"),
        format!("about {:.0}", 0.95 * all as f64),
        &[Verdict::of_coverage(inside, all)],
    )];
    claims.extend(gains.iter().map(|(beyond, gain)| {
        let predicted = beyond.predicted_gain();
        let verdict = predicted.map(|predicted| Verdict::of(&gain.map(|gain| gain / predicted)));
        let name = format!("One step over three steps, L = {}", beyond.one_step.length);
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
            ("predicted gain", |beyond| beyond.predicted_gain().into()),
        ],
    )
}

#[cfg(test)]
mod tests {
    use superpose_core::Measure;
    use superpose_core::config::{Embedding, Trigger};
    use superpose_lab::threshold::{Estimate, Threshold, Unreached, Why};
    use superpose_study::{Finding, LEVEL};

    use super::*;

    fn finding(length: usize, found: bool, predicted: f64) -> Finding {
        let (low, high) = (95, 105);
        let estimate = Estimate {
            estimate: 100,
            low,
            high,
            crossing: 100.0,
            crossing_low: 95.0,
            crossing_high: 105.0,
            slope: 1.0,
            spread: 1.0,
        };
        let unreached = Unreached { why: Why::Below, low, high, best: 0.4, least: 0.1 };
        Finding {
            vocab: 64,
            dim: 32,
            length,
            embedding: Embedding::Gaussian,
            trigger: Trigger::Keys,
            measure: Measure::Accuracy,
            level: LEVEL,
            seed: 0,
            threshold: if found { Threshold::Found(estimate) } else { Threshold::Unreached(unreached) },
            predicted: Some(predicted),
            runs: 4,
            points: Vec::new(),
        }
    }

    #[test]
    fn gains_keep_their_predictions_where_a_threshold_is_missing() {
        let beyond = |length, found, predicted| Beyond {
            one_step: finding(length, found, predicted),
            three_step: finding(length, true, 100.0),
        };
        let beyond = vec![beyond(8, false, 900.0), beyond(32, true, 100.0)];
        let section = section(&Attention { curves: Vec::new(), seeds: 4, beyond });
        let claim = &section.claims[1];
        assert_eq!(claim.claim, "One step over three steps, L = 32");
        assert_eq!((&*claim.predicted, claim.agreement), ("1.00", "agrees"));
    }
}
