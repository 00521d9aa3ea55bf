//! Where an axis is marked: round values, as many as have room for their labels.

use crate::scale::{Axis, Scale};
use crate::text::{self, size};

/// A mark on an axis. Without a label it is a small one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub value: f64,
    pub label: String,
}

/// Which way an axis runs on the page, which decides what room a label needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Across,
    Up,
}

/// More labels than this are a crowd.
const MOST: usize = 7;

/// The ticks of an axis, those with labels first.
pub(crate) fn ticks(axis: &Axis, scale: &Scale, way: Way) -> Vec<Tick> {
    if !axis.marked.is_empty() {
        return marked(axis, scale, way);
    }
    if scale.log { logarithmic(scale, way) } else { linear(scale, way) }
}

/// The values that the caller asked for: every one, or every second, and so on, as there is room.
fn marked(axis: &Axis, scale: &Scale, way: Way) -> Vec<Tick> {
    let values: Vec<f64> = axis.marked.iter().copied().filter(|&value| scale.covers(value)).collect();
    for step in 1..=values.len() {
        let some: Vec<f64> = values.iter().copied().step_by(step).collect();
        let mut ticks = labelled(&some, plain_or_powers(&some, 0));
        if fits(&ticks, scale, way) {
            let rest = values.iter().filter(|value| !some.contains(value));
            ticks.extend(rest.map(|&value| Tick { value, label: String::new() }));
            return ticks;
        }
    }
    Vec::new()
}

fn linear(scale: &Scale, way: Way) -> Vec<Tick> {
    let span = scale.high - scale.low;
    if !span.is_finite() {
        return Vec::new();
    }
    let first = (span / MOST as f64).log10().floor() as i32;
    for power in first..first + 3 {
        for digit in [1.0, 2.0, 2.5, 5.0] {
            // Dividing by a power of ten is exact where multiplying by a negative one is not.
            let value = |index: f64| match power {
                0.. => index * digit * 10f64.powi(power),
                _ => index * digit / 10f64.powi(-power),
            };
            let step = value(1.0);
            let (from, to) = ((scale.low / step - 1e-9).ceil(), (scale.high / step + 1e-9).floor());
            let count = to - from + 1.0;
            if !(1.0..=MOST as f64).contains(&count) {
                continue;
            }
            let values = (0..count as usize).map(|i| value(from + i as f64));
            let values: Vec<f64> = values.filter(|&value| scale.covers(value)).collect();
            let decimals = (-power).max(0) as usize + usize::from(digit == 2.5 && power <= 0);
            let ticks = labelled(&values, plain_or_powers(&values, decimals));
            if fits(&ticks, scale, way) {
                return ticks;
            }
        }
    }
    Vec::new()
}

fn logarithmic(scale: &Scale, way: Way) -> Vec<Tick> {
    let (low, high) = (scale.low.log10(), scale.high.log10());
    let decades = high - low;
    let choices: &[&[u32]] = match decades {
        ..0.5 => &[],
        ..1.1 => &[&[1, 2, 3, 4, 6, 8], &[1, 2, 5], &[1, 3]],
        ..1.7 => &[&[1, 2, 5], &[1, 3], &[1]],
        ..3.2 => &[&[1, 3], &[1]],
        _ => &[&[1]],
    };
    let (first, last) = (low.floor() as i32, high.ceil() as i32);
    let at = |digits: &[u32], step: usize| -> Vec<f64> {
        let powers = (first..=last).filter(|power| power.rem_euclid(step as i32) == 0);
        let values = powers.flat_map(|power| digits.iter().map(move |&digit| power_of_ten(digit, power)));
        values.filter(|&value| scale.covers(value)).collect()
    };
    let with_minor = |values: &[f64], minor: Vec<f64>| {
        let mut ticks = labelled(values, plain_or_powers(values, 0));
        let rest = minor.into_iter().filter(|value| !values.contains(value));
        ticks.extend(rest.map(|value| Tick { value, label: String::new() }));
        ticks
    };
    let good = |values: &[f64]| {
        (2..=MOST).contains(&values.len()) && fits(&labelled(values, plain_or_powers(values, 0)), scale, way)
    };
    let whole = at(&[1], 1);
    // Where labels need powers of ten, whole powers read best.
    let enough = whole.len() > 2 && needs_powers(&whole);
    for digits in choices.iter().filter(|digits| !enough || digits.len() == 1) {
        let values = at(digits, 1);
        if good(&values) {
            let fine = if decades < 7.0 { at(&[1, 2, 3, 4, 5, 6, 7, 8, 9], 1) } else { Vec::new() };
            return with_minor(&values, fine);
        }
    }
    for step in [2, 3, 4, 5, 10, 20, 50, 100, 200] {
        let values = at(&[1], step);
        if decades > 1.7 && good(&values) {
            return with_minor(&values, if decades < 60.0 { at(&[1], 1) } else { Vec::new() });
        }
    }
    // Less than a decade, with too few round powers in it: equal steps.
    linear(scale, way)
}

fn power_of_ten(digit: u32, power: i32) -> f64 {
    // Through text, so that 10^-3 is the number that is written 0.001.
    format!("{digit}e{power}").parse().unwrap_or(f64::NAN)
}

fn labelled(values: &[f64], label: impl Fn(f64) -> String) -> Vec<Tick> {
    values.iter().map(|&value| Tick { value, label: label(value) }).collect()
}

/// How to write these values: in full, or, where one is very large or very small, all with powers of ten.
fn plain_or_powers(values: &[f64], decimals: usize) -> impl Fn(f64) -> String + use<> {
    let powers = needs_powers(values);
    move |value| match powers {
        true => with_power(value),
        false => plain(value, decimals),
    }
}

fn needs_powers(values: &[f64]) -> bool {
    let sizes = values.iter().map(|value| value.abs()).filter(|&size| size > 0.0);
    sizes.clone().any(|size| size >= 999_999.5) || sizes.fold(1.0, f64::min) < 0.000_99
}

fn with_power(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let text = format!("{:e}", round_to(value, 6));
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let power = power.replace('-', "−");
    match digits {
        "1" => format!("10^{{{power}}}"),
        "-1" => format!("−10^{{{power}}}"),
        digits => format!("{}×10^{{{power}}}", digits.replace('-', "−")),
    }
}

fn round_to(value: f64, digits: usize) -> f64 {
    format!("{value:.digits$e}").parse().unwrap_or(value)
}

/// A number in full, with groups of three digits. Without decimals asked for it has as many as it needs.
pub(crate) fn plain(value: f64, decimals: usize) -> String {
    let text = match decimals {
        0 => format!("{}", round_to(value, 6)),
        _ => format!("{value:.decimals$}"),
    };
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("−", rest));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut out = String::from(if value == 0.0 { "" } else { sign });
    for (i, digit) in whole.chars().enumerate() {
        // Four digits read well without a comma only in years; sizes keep it.
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// Whether no two labels come too close.
fn fits(ticks: &[Tick], scale: &Scale, way: Way) -> bool {
    let room = |tick: &Tick| match way {
        Way::Across => text::width(&tick.label, size::SMALL, false) + 12.0,
        Way::Up => 2.0 * size::SMALL,
    };
    ticks.windows(2).all(|pair| {
        let pixels = pair.iter().filter_map(|tick| scale.pixel(tick.value)).collect::<Vec<_>>();
        match pixels[..] {
            [a, b] => (b - a).abs() >= (room(&pair[0]) + room(&pair[1])) / 2.0,
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis, low: f64, high: f64, pixels: f64, way: Way) -> Vec<String> {
        let axis = axis.range(low, high);
        let scale = axis.scale([low, high].into_iter(), 0.0, pixels, true).unwrap();
        let ticks = ticks(&axis, &scale, way);
        ticks.into_iter().map(|tick| tick.label).filter(|label| !label.is_empty()).collect()
    }

    fn across(axis: Axis, low: f64, high: f64) -> String {
        labels(axis, low, high, 340.0, Way::Across).join(" ")
    }

    #[test]
    fn linear_ticks_are_round() {
        let linear = || Axis::linear("x");
        assert_eq!(across(linear(), 0.0, 1.0), "0.0 0.2 0.4 0.6 0.8 1.0");
        assert_eq!(across(linear(), 0.0, 70.0), "0 20 40 60");
        assert_eq!(across(linear(), -3.0, 3.0), "−3 −2 −1 0 1 2 3");
        assert_eq!(across(linear(), 0.0, 25_000.0), "0 5,000 10,000 15,000 20,000 25,000");
        assert_eq!(across(linear(), 0.0, 4e7), "0 10^{7} 2×10^{7} 3×10^{7} 4×10^{7}");
        assert_eq!(across(linear(), 0.0, 3e-4), "0 10^{−4} 2×10^{−4} 3×10^{−4}");
        assert_eq!(across(linear(), 0.9, 1.0), "0.90 0.92 0.94 0.96 0.98 1.00");
    }

    #[test]
    fn logarithmic_ticks_are_decades_where_there_are_some() {
        let log = || Axis::log("x");
        assert_eq!(across(log(), 1e2, 1e5), "100 300 1,000 3,000 10,000 30,000 100,000");
        assert_eq!(across(log(), 80.0, 2e6), "10^{2} 10^{3} 10^{4} 10^{5} 10^{6}");
        assert_eq!(across(log(), 7e6, 1.3e9), "10^{7} 10^{8} 10^{9}");
        assert_eq!(across(log(), 1e-3, 1.0), "0.001 0.003 0.01 0.03 0.1 0.3 1");
        assert_eq!(across(log(), 16.0, 600.0), "20 50 100 200 500");
        assert_eq!(across(log(), 100.0, 900.0), "100 200 300 400 600 800");
        assert_eq!(across(log(), 140.0, 190.0), "140 150 160 170 180 190");
        assert_eq!(across(log(), 1.0, 1e12), "10^{0} 10^{2} 10^{4} 10^{6} 10^{8} 10^{10} 10^{12}");
    }

    #[test]
    fn never_crowded() {
        for way in [Way::Across, Way::Up] {
            for pixels in [40.0, 90.0, 200.0, 340.0] {
                for (low, high) in
                    [(1.0, 2.0), (1.0, 9.0), (3.0, 4e3), (1e-9, 1e9), (1e-300, 1e300), (999.0, 1001.0)]
                {
                    for axis in [Axis::linear("x"), Axis::log("x")] {
                        let axis = axis.range(low, high);
                        let scale = axis.scale([low].into_iter(), 0.0, pixels, true).unwrap();
                        let ticks: Vec<Tick> = ticks(&axis, &scale, way);
                        let labelled: Vec<Tick> =
                            ticks.iter().filter(|tick| !tick.label.is_empty()).cloned().collect();
                        assert!(fits(&labelled, &scale, way), "{low} {high} {ticks:?}");
                        assert!(ticks.iter().all(|tick| scale.covers(tick.value)));
                        assert!(
                            pixels < 200.0 || labelled.len() > 1,
                            "{low} {high} {pixels} {way:?} {ticks:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn asked_for_ticks_are_thinned_where_they_crowd() {
        let axis = || Axis::log("d").ticks((4..10).map(|k| f64::from(1 << k)));
        assert_eq!(across(axis(), 16.0, 512.0), "16 32 64 128 256 512");
        assert_eq!(labels(axis(), 16.0, 512.0, 120.0, Way::Across).join(" "), "16 64 256");
    }
}
