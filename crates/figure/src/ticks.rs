//! Ticks of an axis: round values, as many as there is room for labels.

use crate::scale::{Axis, Scale};
use crate::text::{self, size};

/// The value and the label of a tick. Without a label it is drawn small.
type Tick = (f64, String);

/// The direction of an axis on the page, which determines the room that a label needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Across,
    Up,
}

const MAX_LABELS: usize = 7;

/// The ticks of an axis as pixels and labels, those with labels first.
pub(crate) fn ticks(axis: &Axis, scale: &Scale, way: Direction) -> Vec<(f64, String)> {
    let ticks = values(axis, scale, way).into_iter();
    ticks.filter_map(|(value, label)| Some((scale.pixel(value)?, label))).collect()
}

fn values(axis: &Axis, scale: &Scale, way: Direction) -> Vec<Tick> {
    match (axis.marked.is_empty(), scale.log) {
        (false, _) => marked(axis, scale, way),
        (true, true) => logarithmic(scale, way),
        (true, false) => linear(scale, way),
    }
}

/// The values that the caller set. Every one has a label, or every second, and so on, as there is room.
fn marked(axis: &Axis, scale: &Scale, way: Direction) -> Vec<Tick> {
    let values: Vec<f64> = axis.marked.iter().copied().filter(|&value| scale.covers(value)).collect();
    let mut thinned =
        (1..=values.len()).map(|step| values.iter().copied().step_by(step).collect::<Vec<f64>>());
    let some = thinned.find(|some| fits(&labelled(some, 0), scale, way));
    some.map_or(Vec::new(), |some| with_minor(&some, &values))
}

fn linear(scale: &Scale, way: Direction) -> Vec<Tick> {
    let span = scale.high - scale.low;
    if !span.is_finite() {
        return Vec::new();
    }
    let first = (span / MAX_LABELS as f64).log10().floor() as i32;
    for power in first..first + 3 {
        for digit in [1.0, 2.0, 2.5, 5.0] {
            // Division by a power of ten is exact; multiplication by a negative power is not.
            let value = |index: f64| match power {
                0.. => index * digit * 10f64.powi(power),
                _ => index * digit / 10f64.powi(-power),
            };
            let step = value(1.0);
            let (from, to) = ((scale.low / step - 1e-9).ceil(), (scale.high / step + 1e-9).floor());
            let count = to - from + 1.0;
            if !(1.0..=MAX_LABELS as f64).contains(&count) {
                continue;
            }
            let values = (0..count as usize).map(|i| value(from + i as f64));
            let values: Vec<f64> = values.filter(|&value| scale.covers(value)).collect();
            let decimals = (-power).max(0) as usize + usize::from(digit == 2.5 && power <= 0);
            let ticks = labelled(&values, decimals);
            if fits(&ticks, scale, way) {
                return ticks;
            }
        }
    }
    Vec::new()
}

fn logarithmic(scale: &Scale, way: Direction) -> Vec<Tick> {
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
    let good =
        |values: &[f64]| (2..=MAX_LABELS).contains(&values.len()) && fits(&labelled(values, 0), scale, way);
    let whole = at(&[1], 1);
    // Where labels are powers of ten, only whole powers are labelled.
    let enough = whole.len() > 2 && needs_powers(&whole);
    for digits in choices.iter().filter(|digits| !enough || digits.len() == 1) {
        let values = at(digits, 1);
        if good(&values) {
            let fine = if decades < 7.0 { at(&[1, 2, 3, 4, 5, 6, 7, 8, 9], 1) } else { Vec::new() };
            return with_minor(&values, &fine);
        }
    }
    for step in [2, 3, 4, 5, 10, 20, 50, 100, 200] {
        let values = at(&[1], step);
        if decades > 1.7 && good(&values) {
            return with_minor(&values, if decades < 60.0 { &whole } else { &[] });
        }
    }
    // A range of less than a decade with too few round values has equal steps.
    linear(scale, way)
}

fn power_of_ten(digit: u32, power: i32) -> f64 {
    // Parsed from text, so that 10^-3 is exactly the number 0.001.
    format!("{digit}e{power}").parse().unwrap_or(f64::NAN)
}

/// Ticks with labels: plain numbers, or, where one of them is very large or very small, all with powers of ten.
fn labelled(values: &[f64], decimals: usize) -> Vec<Tick> {
    let powers = needs_powers(values);
    let label = |value| if powers { with_power(value) } else { plain(value, decimals) };
    values.iter().map(|&value| (value, label(value))).collect()
}

/// Ticks with labels at `values`, and small ones at the other values of `minor`.
fn with_minor(values: &[f64], minor: &[f64]) -> Vec<Tick> {
    let rest = minor.iter().filter(|value| !values.contains(value));
    labelled(values, 0).into_iter().chain(rest.map(|&value| (value, String::new()))).collect()
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

/// A number without an exponent, digits in groups of three. With 0 decimals it has as many as it needs.
fn plain(value: f64, decimals: usize) -> String {
    let text = match decimals {
        0 => format!("{}", round_to(value, 6)),
        _ => format!("{value:.decimals$}"),
    };
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("−", rest));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut out = String::from(if value == 0.0 { "" } else { sign });
    for (i, digit) in whole.chars().enumerate() {
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

/// Whether all labels have enough distance from each other.
fn fits(ticks: &[Tick], scale: &Scale, way: Direction) -> bool {
    let room = |tick: &Tick| match way {
        Direction::Across => text::width(&tick.1, size::SMALL, false) + 12.0,
        Direction::Up => 2.0 * size::SMALL,
    };
    ticks.windows(2).all(|pair| match [&pair[0], &pair[1]].map(|tick| scale.pixel(tick.0)) {
        [Some(a), Some(b)] => (b - a).abs() >= (room(&pair[0]) + room(&pair[1])) / 2.0,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis, low: f64, high: f64, pixels: f64, way: Direction) -> Vec<String> {
        let axis = axis.range(low, high);
        let scale = axis.scale([low, high].into_iter(), 0.0, pixels, true).unwrap();
        let ticks = values(&axis, &scale, way);
        ticks.into_iter().map(|tick| tick.1).filter(|label| !label.is_empty()).collect()
    }

    fn across(axis: Axis, low: f64, high: f64) -> String {
        labels(axis, low, high, 340.0, Direction::Across).join(" ")
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
    fn logarithmic_ticks_are_decades_where_possible() {
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
    fn labels_never_overlap() {
        for way in [Direction::Across, Direction::Up] {
            for pixels in [40.0, 90.0, 200.0, 340.0] {
                for (low, high) in
                    [(1.0, 2.0), (1.0, 9.0), (3.0, 4e3), (1e-9, 1e9), (1e-300, 1e300), (999.0, 1001.0)]
                {
                    for axis in [Axis::linear("x"), Axis::log("x")] {
                        let axis = axis.range(low, high);
                        let scale = axis.scale([low].into_iter(), 0.0, pixels, true).unwrap();
                        let ticks = values(&axis, &scale, way);
                        assert!(ticks.iter().all(|tick| scale.covers(tick.0)));
                        let case = format!("{low} {high} {pixels} {way:?} {ticks:?}");
                        let labelled: Vec<Tick> =
                            ticks.into_iter().filter(|tick| !tick.1.is_empty()).collect();
                        assert!(fits(&labelled, &scale, way), "{case}");
                        assert!(pixels < 200.0 || labelled.len() > 1, "{case}");
                    }
                }
            }
        }
    }

    #[test]
    fn marked_ticks_are_thinned_where_room_is_short() {
        let axis = || Axis::log("d").ticks((4..10).map(|k| f64::from(1 << k)));
        assert_eq!(across(axis(), 16.0, 512.0), "16 32 64 128 256 512");
        assert_eq!(labels(axis(), 16.0, 512.0, 120.0, Direction::Across).join(" "), "16 64 256");
    }
}
