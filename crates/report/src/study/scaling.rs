//! Part 1: exponents of the critical number of samples, and the collapse of all sizes onto one curve.

use superpose_figure::{Axis, Chart, Figure};
use superpose_study::{Family, Finding, Scaling};

use super::findings::{beside, exponent, exponents, tally, thresholds};
use super::{Picture, Section, distinct, spot};
use crate::numbers::significant;

pub fn section(scaling: &Scaling) -> Section {
    let Scaling { one_step, three_step } = scaling;
    let mut sentences = Vec::new();
    for (name, family) in [("One step", one_step), ("Three steps", three_step)] {
        sentences.push(format!("{name}: {}.", exponents(family.exponents.as_ref())));
        if let Some([d, l, v]) = family.leading {
            sentences.push(format!(
                "{name}: the leading-order law is N = {}, with the exponents {d:.2}, {l:.2} and {v:.2} of d, L and V at the middle sizes.",
                family.law
            ));
        }
        sentences.push(tally(&family.findings));
        if let (Some(law), Some(prediction)) = (&family.onto_law, &family.onto_prediction) {
            let [plain, over_law, over_prediction] =
                [law.plain, law.residual, prediction.residual].map(significant);
            let (less, still_less) = (100.0 * law.quality, 100.0 * prediction.quality);
            sentences.push(format!(
                "{name}: accuracies (means of runs within 15% in N) against N alone scatter about one monotone curve with mean square {plain}; against N over that law {over_law} ({less:.0}% less), against N over the predicted critical N {over_prediction} ({still_less:.0}% less)."
            ));
        }
    }
    let headline = match &one_step.exponents {
        Some(fit) => {
            let part = |(i, name): (usize, &String)| {
                let observed = exponent(&fit.observed.exponents[i]);
                format!("{name}^{observed}, closed form {:.2}", fit.predicted[i])
            };
            let parts: Vec<String> = fit.observed.names.iter().enumerate().map(part).collect();
            format!("One-step critical N scales as {}.", parts.join("; "))
        }
        None => "Too few one-step thresholds for exponents.".into(),
    };
    Section {
        title: "Scaling of the critical number of samples",
        headline,
        sentences,
        pictures: vec![
            picture(one_step, "scaling_one_step", "one step"),
            picture(three_step, "scaling_three_step", "three steps"),
        ],
        tables: vec![
            thresholds("scaling_one_step", "One step", &one_step.findings),
            thresholds("scaling_three_step", "Three steps", &three_step.findings),
        ],
    }
}

fn picture(family: &Family, name: &'static str, algorithm: &str) -> Picture {
    type Size = fn(&Finding) -> usize;
    let vocabs = distinct(&family.findings, |f| f.vocab);
    let vocab = vocabs.get(vocabs.len() / 2).copied().unwrap_or(0);
    // Critical N against one size, a line for each value of the other.
    let chart = |(symbol, label, size): (&str, &str, Size), (other_symbol, other): (&str, Size)| {
        let sizes = distinct(&family.findings, size);
        let axis = Axis::log(label).ticks(sizes.iter().map(|&size| size as f64));
        let title = format!("against {symbol}, V = {vocab}");
        let mut chart = Chart::new(title, axis, Axis::log("critical samples N")).ordered();
        for value in distinct(&family.findings, other) {
            let mut found: Vec<&Finding> =
                family.findings.iter().filter(|f| f.vocab == vocab && other(f) == value).collect();
            found.sort_by_key(|f| size(f));
            chart = beside(chart, format!("{other_symbol} = {value}"), &found, size);
        }
        chart
    };
    let by_dim = chart(("d", "dimension d", |f| f.dim), ("L", |f| f.length));
    let by_length = chart(("L", "sequence length L", |f| f.length), ("d", |f| f.dim));
    let runs: Vec<_> = family.collapsed().iter().map(|(x, seen)| spot(*x, seen)).collect();
    let samples = Axis::log("N over predicted critical N").range(0.25, 4.0);
    let accuracy = Axis::linear("mean accuracy").range(0.0, 1.0);
    let collapse = Chart::new("all sizes, collapsed", samples, accuracy)
        .points("all sizes together", runs)
        .horizontal(0.5, "level 0.5");
    let figure = Figure::new()
        .title(format!("Critical number of samples, {algorithm}"))
        .note("Points: observed with 95% intervals. Lines: closed form.");
    let figure = figure.panel(by_dim).panel(by_length).panel(collapse);
    let caption = format!(
        "Critical N of {algorithm} at mean accuracy 0.5 against d and L, observed and predicted; right: mean accuracy over all runs of all sizes, N in units of the predicted critical N."
    );
    Picture { name, caption, figure }
}
