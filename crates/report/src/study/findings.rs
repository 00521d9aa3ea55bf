//! Sentences, points and tables about the thresholds that several parts of the study have found.

use superpose_core::{Measure, Settings};
use superpose_figure::Chart;
use superpose_lab::interval::Interval;
use superpose_study::fit::{Comparison, Exponent};
use superpose_study::{Finding, Verdict};
use superpose_theory::Point;
use superpose_theory::bound::Bounds;

use super::{Claim, spot};
use crate::numbers::plural;
use crate::table::Table;

/// A number with two decimals; zero has no sign.
pub fn two_decimals(x: f64) -> String {
    let text = format!("{x:.2}");
    if text == "-0.00" { "0.00".into() } else { text }
}

pub fn exponent(exponent: &Exponent) -> String {
    let [estimate, low, high] = [exponent.estimate, exponent.low, exponent.high].map(two_decimals);
    format!("{estimate} ({low} to {high})")
}

/// A claim for each exponent of a fit. The difference decides: its interval is narrower than that of the exponent.
pub fn exponent_claims(what: &str, comparison: Option<&Comparison>) -> Vec<Claim> {
    let Some(comparison) = comparison else { return Vec::new() };
    let Comparison { observed, predicted, difference, .. } = comparison;
    let claim = |i: usize| {
        let (name, fitted, predicted) = (&observed.names[i], observed.exponents[i].estimate, predicted[i]);
        let Exponent { estimate, low, high } = difference[i];
        let mut ends = [low, high].map(|end| 1.0 + end / predicted);
        ends.sort_by(f64::total_cmp);
        let ratio = Interval { mean: 1.0 + estimate / predicted, low: ends[0], high: ends[1] };
        Claim::new(
            format!("{what}: exponent of {name}"),
            format!("{}, difference {}", two_decimals(fitted), exponent(&difference[i])),
            two_decimals(predicted),
            &[Verdict::of(&ratio)],
        )
    };
    (0..predicted.len()).map(claim).collect()
}

/// The exponents of several fits. The difference is fitted to the ratio of observed and predicted values, where much of the scatter
/// cancels, so its interval is narrower than that of the exponent.
pub fn exponents_table(name: &'static str, fits: &[(&'static str, Option<&Comparison>)]) -> Table {
    let rows = fits
        .iter()
        .filter_map(|(what, fit)| Some((*what, (*fit)?)))
        .flat_map(|(what, fit)| (0..fit.observed.names.len()).map(move |i| (what, fit, i)));
    Table::new(
        name,
        "Exponents of the critical N, fitted to measured and predicted values at the same sizes. The critical N is no exact power of the sizes, which makes the intervals of the exponents wide. Difference: fitted to the ratio of measured and predicted values, where this misfit cancels.",
        rows,
        &[
            ("model", |(what, ..)| (*what).into()),
            ("size", |(_, fit, i)| fit.observed.names[*i].clone().into()),
            ("measured", |(_, fit, i)| exponent(&fit.observed.exponents[*i]).into()),
            ("predicted", |(_, fit, i)| two_decimals(fit.predicted[*i]).into()),
            ("difference", |(_, fit, i)| exponent(&fit.difference[*i]).into()),
        ],
    )
}

/// How many verdicts are that the values agree, are within 15% and differ.
pub fn count(verdicts: &[Verdict]) -> [usize; 3] {
    [Verdict::Agrees, Verdict::Close, Verdict::Differs]
        .map(|verdict| verdicts.iter().filter(|&&other| other == verdict).count())
}

/// Counts of verdicts in words; those that are 0 are left out.
pub fn counted([agree, close, differ]: [usize; 3]) -> String {
    let verb = |count: usize, one: &str, many: &str| (count > 0).then(|| plural(count, one, many));
    let close = (close > 0).then(|| format!("{close} within 15%"));
    [verb(agree, "agrees", "agree"), close, verb(differ, "differs", "differ")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}

/// The verdicts on thresholds that have an interval and a prediction.
pub fn verdicts<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<Verdict> {
    findings.into_iter().filter_map(Finding::ratio).map(|ratio| Verdict::of(&ratio)).collect()
}

/// The claim that thresholds are where the closed form predicts them, with the range of the ratios.
pub fn thresholds_claim<'a>(what: &str, findings: impl IntoIterator<Item = &'a Finding> + Clone) -> Claim {
    let verdicts = verdicts(findings.clone());
    let all = findings.clone().into_iter().count();
    let ratios: Vec<f64> = findings.into_iter().filter_map(|f| Some(f.ratio()?.mean)).collect();
    let (low, high) = ratios.iter().fold((f64::MAX, 0.0_f64), |(low, high), &x| (low.min(x), high.max(x)));
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let range = format!("ratios {low:.2} to {high:.2}, mean {mean:.2}");
    let measured = match ratios.len() {
        0 => "none found".into(),
        found if found < all => format!("{range}; {} without an interval", all - found),
        _ => range,
    };
    Claim::new(format!("{what}: critical N at {all} sizes"), measured, "ratio 1", &verdicts)
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
        "{algorithm}: critical N with 95% intervals. Over bound: measured over the lower bound for methods that read only the first gradient, linearly; it does not apply to three steps."
    );
    Table::new(
        name,
        caption,
        findings,
        &[
            ("model", |f| steps(f).into()),
            ("embedding", |f| f.embedding.to_string().into()),
            ("d", |f| f.dim.into()),
            ("L", |f| f.length.into()),
            ("V", |f| f.vocab.into()),
            ("measured N", |f| f.observed().into()),
            ("predicted N", |f| f.predicted.into()),
            ("ratio", |f| f.ratio().into()),
            ("verdict", |f| f.ratio().map(|ratio| Verdict::of(&ratio).word()).into()),
            ("over bound", |f| f.observed().zip(bound(f)).map(|(seen, bound)| seen.mean / bound).into()),
            ("runs", |f| f.runs.into()),
        ],
    )
}

/// After how many steps a threshold was measured, in words.
pub fn steps(f: &Finding) -> &'static str {
    if f.measure == Measure::OneStepAccuracy { "one step" } else { "three steps" }
}

/// The lower bound for linear decoders of the first gradient at the sizes of a threshold of one step.
fn bound(f: &Finding) -> Option<f64> {
    if f.measure != Measure::OneStepAccuracy {
        return None;
    }
    let &Finding { vocab, dim, length, embedding, trigger, level, .. } = f;
    let settings = Settings { vocab, dim, length, samples: 1, trigger, ..Settings::default() };
    Bounds::new(&Point { embedding, ..Point::from(&settings) }, level).largest_for_linear()
}
