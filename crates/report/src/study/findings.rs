//! Sentences, points and tables about the thresholds that several parts of the study have found.

use superpose_core::Settings;
use superpose_figure::Chart;
use superpose_study::fit::{Comparison, Exponent};
use superpose_study::{Finding, Verdict};
use superpose_theory::Point;
use superpose_theory::bound::Bounds;

use super::spot;
use crate::table::Table;

pub fn exponent(exponent: &Exponent) -> String {
    format!("{:.2} ({:.2} to {:.2})", exponent.estimate, exponent.low, exponent.high)
}

/// Exponents of one fit, and whether they agree with the closed form.
pub fn exponents(comparison: Option<&Comparison>) -> String {
    let Some(comparison) = comparison else { return "too few thresholds for a fit".into() };
    let part = |(i, name): (usize, &String)| {
        let predicted = comparison.predicted[i];
        let verdict = if comparison.observed.exponents[i].holds(predicted) { "agrees" } else { "differs" };
        let sharper = if comparison.agrees[i] { "holds 0" } else { "does not hold 0" };
        let [observed, difference] =
            [&comparison.observed.exponents[i], &comparison.difference[i]].map(exponent);
        format!(
            "{name}: {observed} observed, {predicted:.2} closed form: {verdict} within the error bar (fitted to the ratio of both, where much of the scatter cancels, the difference is {difference}, which {sharper})"
        )
    };
    comparison.observed.names.iter().enumerate().map(part).collect::<Vec<_>>().join("; ")
}

/// How many verdicts are that the values agree, are within 15% and differ.
pub fn count(verdicts: &[Verdict]) -> [usize; 3] {
    [Verdict::Agrees, Verdict::Close, Verdict::Differs]
        .map(|verdict| verdicts.iter().filter(|&&other| other == verdict).count())
}

/// How many of the thresholds agree with the closed form.
pub fn tally<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> String {
    let ratios: Vec<_> = findings.into_iter().map(Finding::ratio).collect();
    let verdicts: Vec<Verdict> = ratios.iter().flatten().map(Verdict::of).collect();
    let (all, [agree, close, differ]) = (ratios.len(), count(&verdicts));
    let without = match all - verdicts.len() {
        0 => String::new(),
        without => format!(", {without} have no interval or no prediction"),
    };
    format!(
        "Of {all} thresholds, {agree} agree with the prediction (the 95% interval of observed over predicted holds 1), {close} more are within 15% of it, {differ} differ{without}."
    )
}

/// Adds observed thresholds as points and predicted ones as a line of the same name.
pub fn beside(chart: Chart, name: String, findings: &[&Finding], x: impl Fn(&Finding) -> usize) -> Chart {
    let seen = findings.iter().filter_map(|f| Some(spot(x(f) as f64, &f.observed()?)));
    let line = findings.iter().filter_map(|f| Some((x(f) as f64, f.predicted?)));
    chart.points(name.clone(), seen).line(name, line)
}

/// The table of thresholds, with the lower bound for one step.
pub fn thresholds(name: &'static str, algorithm: &str, findings: &[Finding]) -> Table {
    let caption = format!(
        "{algorithm}: number of samples at which mean accuracy over seeds crosses 0.5, with 95% intervals. Over bound: observed over the lower bound for linear decoders of the first gradient."
    );
    Table::new(
        name,
        caption,
        findings,
        &[
            ("measure", |f| f.measure.label().into()),
            ("embedding", |f| f.embedding.to_string().into()),
            ("d", |f| f.dim.into()),
            ("L", |f| f.length.into()),
            ("V", |f| f.vocab.into()),
            ("observed N", |f| f.observed().into()),
            ("predicted N", |f| f.predicted.into()),
            ("ratio", |f| f.ratio().into()),
            ("verdict", |f| f.ratio().map(|ratio| Verdict::of(&ratio).word()).into()),
            ("over bound", |f| f.observed().zip(bound(f)).map(|(seen, bound)| seen.mean / bound).into()),
            ("runs", |f| f.runs.into()),
        ],
    )
}

/// The lower bound for linear decoders at the sizes of a threshold.
fn bound(f: &Finding) -> Option<f64> {
    let &Finding { vocab, dim, length, embedding, trigger, level, .. } = f;
    let settings = Settings { vocab, dim, length, samples: 1, trigger, ..Settings::default() };
    Bounds::new(&Point { embedding, ..Point::from(&settings) }, level).largest_for_linear()
}
