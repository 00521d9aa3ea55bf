//! Numbers and verdicts in words.

use superpose_lab::fit::{Comparison, Exponent};
use superpose_lab::interval::Interval;
use superpose_lab::study::{Finding, Verdict};
use superpose_lab::words::grouped;

/// A number with three significant digits; from a thousand on, whole and grouped.
pub fn number(x: f64) -> String {
    if !x.is_finite() {
        return "-".into();
    }
    match x.abs() {
        0.0 => "0".into(),
        size if size >= 999.5 => grouped(x.round()),
        size if size >= 1e-3 => {
            let digits = (2.0 - size.log10().floor()).clamp(0.0, 6.0) as usize;
            format!("{x:.digits$}")
        }
        _ => format!("{x:.1e}"),
    }
}

/// A count.
pub fn count(count: usize) -> String {
    grouped(count as f64)
}

/// A number with its 95% interval.
pub fn interval(interval: &Interval) -> String {
    format!("{} ({} to {})", number(interval.mean), number(interval.low), number(interval.high))
}

/// An exponent with its 95% interval.
pub fn exponent(exponent: &Exponent) -> String {
    format!("{:.2} ({:.2} to {:.2})", exponent.estimate, exponent.low, exponent.high)
}

/// Exponents of one fit, and whether they are those of the closed form.
pub fn exponents(comparison: Option<&Comparison>) -> String {
    let Some(comparison) = comparison else { return "too few thresholds for a fit".into() };
    let parts: Vec<String> = comparison
        .observed
        .names
        .iter()
        .enumerate()
        .map(|(i, name)| {
            let (observed, predicted) = (&comparison.observed.exponents[i], comparison.predicted[i]);
            let verdict = if observed.holds(predicted) { "agrees" } else { "differs" };
            let sharper = if comparison.agrees[i] { "holds 0" } else { "does not hold 0" };
            format!(
                "{name}: {} observed, {predicted:.2} closed form: {verdict} within the error bar (fitted to the ratio of both, where much of the scatter cancels, the difference is {}, which {sharper})",
                exponent(observed),
                exponent(&comparison.difference[i]),
            )
        })
        .collect();
    parts.join("; ")
}

/// How many of the thresholds agree with the closed form.
pub fn tally(findings: &[&Finding]) -> String {
    let verdicts: Vec<Verdict> =
        findings.iter().filter_map(|finding| finding.ratio()).map(|ratio| Verdict::of(&ratio)).collect();
    let count = |wanted: Verdict| verdicts.iter().filter(|&&verdict| verdict == wanted).count();
    let without = findings.len() - verdicts.len();
    let mut text = format!(
        "Of {} thresholds, {} agree with the prediction (the 95% interval of observed over predicted holds 1), {} more are within 15% of it, {} differ",
        findings.len(),
        count(Verdict::Agrees),
        count(Verdict::Close),
        count(Verdict::Differs),
    );
    if without > 0 {
        text += &format!(", {without} have no interval or no prediction");
    }
    text + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(1_234_567.0), "1,234,567");
        assert_eq!(number(-1234.4), "-1,234");
        assert_eq!(number(123.4), "123");
        assert_eq!(number(0.5), "0.500");
        assert_eq!(number(0.9951), "0.995");
        assert_eq!(number(0.0234), "0.0234");
        assert_eq!(number(16.0), "16.0");
        assert_eq!(number(999.7), "1,000");
        assert_eq!(number(f64::NAN), "-");
        assert_eq!(number(0.0), "0");
    }
}
