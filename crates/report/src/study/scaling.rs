//! Part 1: exponents of the critical number of samples, and the collapse of all sizes onto one curve.

use superpose_figure::{Axis, Chart, Figure, Series};
use superpose_study::fit::Comparison;
use superpose_study::{Family, Finding, Scaling};

use super::findings::{beside, exponent_claims, exponents_table, thresholds, thresholds_claim, two_decimals};
use super::{Picture, Section, distinct};
use crate::numbers::count;

pub fn section(scaling: &Scaling) -> Section {
    let Scaling { one_step, three_step } = scaling;
    let families = [("One step", one_step), ("Three steps", three_step)];
    let mut sentences = Vec::new();
    for (name, family) in families {
        if let (Some(law), Some(prediction)) = (&family.onto_law, &family.onto_prediction) {
            let (less, still_less) = (100.0 * law.quality, 100.0 * prediction.quality);
            sentences.push(format!(
                "{name}: if all sizes had one common curve of recall against N over critical N, division by the critical N would remove all scatter about it. Division by the predicted critical N removes {still_less:.0}%, division by the simplest law {} removes {less:.0}%.",
                family.law
            ));
        }
    }
    let power = |family: &Family, which: fn(&Comparison) -> Vec<f64>| {
        let fit = family.exponents.as_ref()?;
        let powers = fit.observed.names.iter().zip(which(fit));
        Some(
            powers
                .map(|(name, power)| format!("{name}^{{{}}}", two_decimals(power)))
                .collect::<Vec<_>>()
                .join(" "),
        )
    };
    let observed = |fit: &Comparison| fit.observed.exponents.iter().map(|e| e.estimate).collect();
    let grows = families.map(|(name, family)| {
        match (power(family, observed), power(family, |fit| fit.predicted.clone())) {
            (Some(seen), Some(predicted)) => {
                format!("{name}: the critical N grows about as {seen}; the closed form predicts {predicted}.")
            }
            _ => format!("{name}: too few critical values for exponents."),
        }
    });
    let headline = grows.join(" ");
    let claims = families.iter().flat_map(|(name, family)| {
        let mut claims = exponent_claims(name, family.exponents.as_ref());
        claims.push(thresholds_claim(name, &family.findings));
        claims
    });
    let fits = families.map(|(name, family)| (name, family.exponents.as_ref()));
    Section {
        title: "A closed form predicts the critical number of samples",
        headline,
        sentences,
        claims: claims.collect(),
        pictures: vec![
            picture(one_step, "scaling_one_step", "one step"),
            picture(three_step, "scaling_three_step", "three steps"),
        ],
        tables: vec![
            exponents_table("exponents", &fits),
            thresholds("scaling_one_step", "One step", &one_step.findings),
            thresholds("scaling_three_step", "Three steps", &three_step.findings),
        ],
        ..Section::default()
    }
}

fn picture(family: &Family, name: &'static str, algorithm: &str) -> Picture {
    type Size = fn(&Finding) -> usize;
    let vocabs = distinct(&family.findings, |f| f.vocab);
    let middle = vocabs.get(vocabs.len() / 2).copied().unwrap_or(0);
    let vocab = count(middle);
    // Critical N against one size, a line for each value of the other.
    let chart = |(symbol, label, size): (&str, &str, Size), (other_symbol, other): (&str, Size)| {
        let sizes = distinct(&family.findings, size);
        let axis = Axis::log(label).ticks(sizes.iter().map(|&size| size as f64));
        let title = format!("against {symbol}, V = {vocab}");
        let mut chart = Chart::new(title, axis, Axis::log("critical samples N")).ordered();
        for value in distinct(&family.findings, other) {
            let mut found: Vec<&Finding> =
                family.findings.iter().filter(|f| f.vocab == middle && other(f) == value).collect();
            found.sort_by_key(|f| size(f));
            chart = beside(chart, format!("{other_symbol} = {}", count(value)), &found, size);
        }
        chart
    };
    let by_dim = chart(("d", "dimension d", |f| f.dim), ("L", |f| f.length));
    let by_length = chart(("L", "sequence length L", |f| f.length), ("d", |f| f.dim));
    let [before, after] = collapse(family);
    let figure = Figure::new()
        .title(format!("Critical number of samples, {algorithm}"))
        .note("Points: observed with 95% intervals. Lines: closed form.");
    let figure = figure.columns(2).panel(by_dim).panel(by_length).panel(before).panel(after);
    let caption = format!(
        "Above: critical N of {algorithm} against d and L at V = {vocab}, measured (points with 95% intervals) and predicted (lines). Below: mean accuracy against N for all {} combinations of d, L and V, coloured by their predicted critical N, before and after N is divided by the predicted critical N.",
        family.findings.len()
    );
    Picture { name, caption, figure }
}

/// Accuracy of every size against N, and against N over its predicted critical value. Colours go with that value.
fn collapse(family: &Family) -> [Chart; 2] {
    let mut curves = family.curves();
    curves.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all = curves.len();
    let chart = |title: &str, samples: Axis, scale: fn(f64) -> f64| {
        let accuracy = Axis::linear("mean accuracy").range(0.0, 1.0);
        let mut chart = Chart::new(title, samples, accuracy).horizontal(0.5, "one half");
        for (i, (critical, points)) in curves.iter().enumerate() {
            let spots = points.iter().map(|(n, accuracy)| (n / scale(*critical), *accuracy));
            chart = chart.with(Series::points("", spots).step(i, all).small());
        }
        chart
    };
    [
        chart("every size, before", Axis::log("samples N"), |_| 1.0),
        chart("after rescaling", Axis::log("N over predicted critical N").range(0.25, 4.0), |critical| {
            critical
        }),
    ]
}
