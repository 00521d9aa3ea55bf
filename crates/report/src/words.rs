//! Numbers and verdicts in words.

use superpose_lab::fit::{Comparison, Exponent};
use superpose_lab::interval::Interval;
use superpose_lab::study::{Finding, Verdict};

/// A number with three significant digits, or grouped by thousands.
pub fn number(x: f64) -> String {
    if !x.is_finite() {
        return "-".into();
    }
    match x.abs() {
        0.0 => "0".into(),
        size if size >= 1000.0 => grouped(x.round()),
        size if size >= 100.0 => format!("{x:.0}"),
        size if size >= 10.0 => format!("{x:.1}"),
        size if size >= 0.01 => format!("{x:.2}"),
        _ => format!("{x:.1e}"),
    }
}

/// A whole number with thousands apart.
fn grouped(x: f64) -> String {
    let digits = format!("{:.0}", x.abs());
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if x < 0.0 { format!("-{text}") } else { text }
}

/// A number with its 95% interval.
pub fn interval(interval: &Interval) -> String {
    format!("{} ({} to {})", number(interval.mean), number(interval.low), number(interval.high))
}

fn exponent(exponent: &Exponent) -> String {
    format!("{:.2} ({:.2} to {:.2})", exponent.estimate, exponent.low, exponent.high)
}

/// Exponents of one fit, and whether they are those of the closed form.
pub fn exponents(comparison: &Comparison) -> String {
    let parts: Vec<String> = comparison
        .observed
        .names
        .iter()
        .enumerate()
        .map(|(i, name)| {
            let verdict = if comparison.agrees[i] { "agrees" } else { "differs" };
            let difference = exponent(&comparison.difference[i]);
            format!(
                "{name}: {} observed, {:.2} closed form, difference {difference}: {verdict}",
                exponent(&comparison.observed.exponents[i]),
                comparison.predicted[i],
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
        "Of {} thresholds, {} agree with the prediction (the 95% interval of observed over predicted holds 1), {} more reach to within 15% of it, {} differ",
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
        assert_eq!(number(0.5), "0.50");
        assert_eq!(number(f64::NAN), "-");
        assert_eq!(number(0.0), "0");
    }
}
