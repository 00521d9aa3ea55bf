//! Part 1: exponents and collapse.

use superpose_figure::{Axis, Chart, Figure};
use superpose_lab::study::{Family, Finding, Scaling, Verdict};
use superpose_theory::Point;
use superpose_theory::bound::surrogate_lower_bound;

use crate::table::{Table, Value};
use crate::words::{exponent, exponents, number, tally};
use crate::{Picture, Section};

pub fn section(scaling: &Scaling) -> Section {
    let Scaling { one_step, three_step } = scaling;
    let mut sentences = Vec::new();
    for (name, family) in [("One step", one_step), ("Three steps", three_step)] {
        let leading = family.leading;
        sentences.push(format!(
            "{name}: {}. To leading order ({}) the exponents of d, L and V are {}, {} and {}; at finite sizes coverage, capacity and logarithms bend them, in the closed form as in the measurement.",
            exponents(family.exponents.as_ref()),
            family.product,
            leading[0],
            leading[1],
            leading[2],
        ));
        sentences.push(tally(&family.findings.iter().collect::<Vec<_>>()));
        if let (Some(product), Some(prediction)) = (&family.onto_product, &family.onto_prediction) {
            sentences.push(format!(
                "{name}: accuracies (means of runs within 15% in N) against N alone scatter about one monotone curve with mean square {}; against N over the leading-order product {} ({:.0}% less), against N over the predicted critical N {} ({:.0}% less).",
                number(product.plain),
                number(product.residual),
                100.0 * product.quality,
                number(prediction.residual),
                100.0 * prediction.quality,
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

/// The middle one of the sizes that a family has.
fn middle(findings: &[Finding], of: impl Fn(&Finding) -> usize) -> (Vec<usize>, usize) {
    let mut sizes: Vec<usize> = findings.iter().map(of).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let middle = sizes.get(sizes.len() / 2).copied().unwrap_or(0);
    (sizes, middle)
}

fn picture(family: &Family, name: &'static str, algorithm: &str) -> Picture {
    let (lengths, _) = middle(&family.findings, |f| f.length);
    let (dims, _) = middle(&family.findings, |f| f.dim);
    let (_, vocab) = middle(&family.findings, |f| f.vocab);
    let at = |length: usize, dim: usize| {
        family.findings.iter().filter(move |f| f.vocab == vocab && f.length == length && f.dim == dim)
    };
    let floats = |sizes: &[usize]| sizes.iter().map(|&size| size as f64).collect::<Vec<_>>();
    let points = |findings: &[&Finding], x: &dyn Fn(&Finding) -> usize| {
        findings
            .iter()
            .filter_map(|f| f.observed().map(|seen| (x(f) as f64, seen.mean, seen.low, seen.high)))
            .collect::<Vec<_>>()
    };
    let line = |findings: &[&Finding], x: &dyn Fn(&Finding) -> usize| {
        findings.iter().filter_map(|f| Some((x(f) as f64, f.predicted?))).collect::<Vec<_>>()
    };
    let mut by_dim = Chart::new(
        format!("against d, V = {vocab}"),
        Axis::log("dimension d").ticks(floats(&dims)),
        Axis::log("critical samples N"),
    )
    .ordered();
    for &length in &lengths {
        let found: Vec<&Finding> = dims.iter().flat_map(|&dim| at(length, dim)).collect();
        let name = format!("L = {length}");
        by_dim = by_dim.points(name.clone(), points(&found, &|f| f.dim)).line(name, line(&found, &|f| f.dim));
    }
    let mut by_length = Chart::new(
        format!("against L, V = {vocab}"),
        Axis::log("sequence length L").ticks(floats(&lengths)),
        Axis::log("critical samples N"),
    )
    .ordered();
    for &dim in &dims {
        let found: Vec<&Finding> = lengths.iter().flat_map(|&length| at(length, dim)).collect();
        let name = format!("d = {dim}");
        by_length = by_length
            .points(name.clone(), points(&found, &|f| f.length))
            .line(name, line(&found, &|f| f.length));
    }
    let runs = family.collapsed().into_iter().map(|(x, seen)| (x, seen.mean, seen.low, seen.high));
    let collapse = Chart::new(
        "all sizes, collapsed",
        Axis::log("N over predicted critical N").range(0.25, 4.0),
        Axis::linear("mean accuracy").range(0.0, 1.0),
    )
    .points("all sizes together", runs.collect::<Vec<_>>())
    .horizontal(0.5, "level 0.5");
    let figure = Figure::new()
        .title(format!("Critical number of samples, {algorithm}"))
        .note("Points: observed with 95% intervals. Lines: closed form.")
        .panel(by_dim)
        .panel(by_length)
        .panel(collapse);
    let caption = format!(
        "Critical N of {algorithm} at mean accuracy 0.5 against d and L, observed and predicted; right: mean accuracy over all runs of all sizes, N in units of the predicted critical N."
    );
    Picture { name, caption, figure }
}

/// The table of thresholds, with the surrogate bound for one step.
pub fn thresholds(name: &'static str, algorithm: &str, findings: &[Finding]) -> Table {
    let rows = findings
        .iter()
        .map(|f| {
            let point = Point {
                vocab: f.vocab as f64,
                dim: f.dim as f64,
                length: f.length as f64,
                samples: 1.0,
                width: None,
                activation: superpose_core::config::Activation::Relu,
                embedding: f.embedding,
                trigger: f.trigger,
            };
            let bound = surrogate_lower_bound(&point, f.level);
            let over = f.observed().zip(bound).map(|(seen, bound)| seen.mean / bound);
            let verdict = f.ratio().map(|ratio| Verdict::of(&ratio).word());
            vec![
                f.measure.label().into(),
                f.embedding.to_string().as_str().into(),
                f.dim.into(),
                f.length.into(),
                f.vocab.into(),
                f.observed().into(),
                f.predicted.into(),
                f.ratio().into(),
                verdict.map_or(Value::Absent, Value::from),
                over.into(),
                f.runs.into(),
            ]
        })
        .collect();
    Table {
        name,
        caption: format!(
            "{algorithm}: number of samples at which mean accuracy over seeds crosses 0.5, with 95% intervals. Last but one: observed over the surrogate lower bound for the first gradient."
        ),
        columns: vec![
            "measure",
            "embedding",
            "d",
            "L",
            "V",
            "observed N",
            "predicted N",
            "ratio",
            "verdict",
            "over bound",
            "runs",
        ],
        rows,
    }
}
