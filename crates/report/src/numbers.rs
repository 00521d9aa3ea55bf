//! Number formats: every number that people read in a sentence, a table or a figure is written by a function of this module.
//!
//! Whole numbers with thousands separators come from the lab, whose records have sentences of their own.

use superpose_lab::interval::Interval;
pub(crate) use superpose_lab::words::{grouped, plural};

/// A count with thousands separators.
pub(crate) fn count(count: usize) -> String {
    grouped(count as f64)
}

/// Symbols with their sizes: V = 1,024, d = 128.
pub(crate) fn sizes<const N: usize>(sizes: [(&str, usize); N]) -> String {
    sizes.map(|(symbol, size)| format!("{symbol} = {}", count(size))).join(", ")
}

/// A share in percent with one decimal.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// A share with four decimals, or with two digits of what it differs from 0 or 1 by where those would show none. A billionth is
/// too little to show.
pub fn share(x: f64) -> String {
    let rest = x.min(1.0 - x);
    match rest > 1e-9 && rest < 5e-5 {
        true if x < 0.5 => format!("{x:.1e}"),
        true => format!("{x:.*}", (1.0 - rest.log10().floor()) as usize),
        false => format!("{x:.4}"),
    }
}

/// Four decimals; one decimal from 100 on; powers of ten below 0.001 and from a million on.
pub(crate) fn decimal(x: f64) -> String {
    match x.abs() {
        0.0 => "0".into(),
        size if !(1e-3..1e6).contains(&size) => format!("{x:.2e}"),
        size if size >= 100.0 => format!("{x:.1}"),
        _ => format!("{x:.4}"),
    }
}

/// A fixed number of decimals, or powers of ten where those would show no digit or too many; a dash where there is no number.
pub(crate) fn fixed(x: f64, decimals: usize) -> String {
    match x.abs() {
        size if !size.is_finite() => "-".into(),
        0.0 => "0".into(),
        size if size >= 1e7 || size < 0.1_f64.powi(decimals as i32) => format!("{x:.2e}"),
        _ => format!("{x:.decimals$}"),
    }
}

/// Three significant digits; whole and grouped from a thousand on; a dash where there is no number.
pub(crate) fn significant(x: f64) -> String {
    match x.abs() {
        size if !size.is_finite() => "-".into(),
        0.0 => "0".into(),
        size if size >= 999.5 => grouped(x.round()),
        size if size >= 1e-3 => {
            let decimals = (2.0 - size.log10().floor()).clamp(0.0, 6.0) as usize;
            format!("{x:.decimals$}")
        }
        _ => format!("{x:.1e}"),
    }
}

/// A number with its 95% interval, three significant digits each.
pub(crate) fn interval(interval: &Interval) -> String {
    let Interval { mean, low, high } = *interval;
    format!("{} ({} to {})", significant(mean), significant(low), significant(high))
}

/// The ends of an interval, written as [`decimal`].
pub(crate) fn brackets(interval: &Interval) -> String {
    format!("[{}, {}]", decimal(interval.low), decimal(interval.high))
}

/// In full up to a million, then two digits and a power of ten in the markup of figures.
pub(crate) fn short(x: f64) -> String {
    let text = format!("{x:.1e}");
    match text.split_once('e') {
        Some((digits, power)) if x >= 1e6 => format!("{digits}×10^{{{power}}}"),
        _ => grouped(x),
    }
}

/// A time in milliseconds or seconds.
pub(crate) fn seconds(x: f64) -> String {
    if x < 1.0 { format!("{:.1} ms", x * 1e3) } else { format!("{x:.2} s") }
}

/// A time of any length: 3.1 s, 12 min, 5.2 h.
pub fn duration(x: f64) -> String {
    match x {
        x if x < 1.0 => seconds(x),
        x if x < 120.0 => format!("{x:.1} s"),
        x if x < 7200.0 => format!("{:.0} min", x / 60.0),
        x if x < 48.0 * 3600.0 => format!("{:.1} h", x / 3600.0),
        x => format!("{} days", grouped((x / 86400.0).round())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (x, text) in [
            (1_234_567.0, "1,234,567"),
            (-1234.4, "-1,234"),
            (123.4, "123"),
            (0.5, "0.500"),
            (0.9951, "0.995"),
            (0.0234, "0.0234"),
            (16.0, "16.0"),
            (999.7, "1,000"),
            (f64::NAN, "-"),
            (0.0, "0"),
        ] {
            assert_eq!(significant(x), text);
        }
        for (x, text) in [
            (1.0, "1.0000"),
            (0.0, "0.0000"),
            (0.9999, "0.9999"),
            (0.999_966, "0.999966"),
            (1.2e-5, "1.2e-5"),
            (1.0 - 1e-12, "1.0000"),
        ] {
            assert_eq!(share(x), text);
        }
        assert_eq!(sizes([("V", 1024), ("d", 64)]), "V = 1,024, d = 64");
        assert_eq!(short(999_999.0), "999,999");
        assert_eq!(short(222_259_324.0), "2.2×10^{8}");
    }
}
