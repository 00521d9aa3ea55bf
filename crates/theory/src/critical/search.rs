//! Search for the last whole number on one side of a threshold.

use crate::recall::log_odds;

/// Values closer to 0 or 1 are clamped, because they say little about the place of the crossing.
const FLOOR: f64 = 1e-12;

/// Where a function crosses a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Crossing {
    /// Between this number and the next; from there on the function stays on the same side as at the top of the range.
    Above(f64),
    /// No crossing: the whole range is on the expected side.
    Nowhere,
    /// The top of the range is not on the side expected of it.
    Contrary,
}

/// The topmost crossing of `f` and `target` between the whole numbers `first` and `last`; `top_reaches` is the side that is
/// expected at the top. Accuracy need not be monotone, so the search goes down from the top by a factor of `stride` at a
/// time to the first change of side, then narrows the bracket to neighbours. Two crossings within one stride may be missed.
pub(super) fn topmost_crossing(
    (first, last): (f64, f64),
    stride: f64,
    target: f64,
    top_reaches: bool,
    mut f: impl FnMut(f64) -> f64,
) -> Crossing {
    // The exact comparison determines the side; log odds only guide the interpolation.
    let mut height = |x: f64| {
        let y = f(x);
        let difference = log_odds(y, FLOOR) - log_odds(target, FLOOR);
        if y >= target { difference.max(1e-12) } else { difference.min(-1e-12) }
    };
    let mut high = (last, height(last));
    if (high.1 > 0.0) != top_reaches {
        return Crossing::Contrary;
    }
    while high.0 > first {
        let x = (high.0 / stride).floor().max(first);
        let low = (x, height(x));
        if (low.1 > 0.0) != top_reaches {
            return Crossing::Above(narrow(low, high, height));
        }
        high = low;
    }
    Crossing::Nowhere
}

/// Narrows a bracket to neighbours and returns the lower one. The method is regula falsi (Illinois variant) in the logarithm
/// of x, because accuracy is close to linear in these coordinates, with bisection steps in case of slow convergence.
fn narrow(mut low: (f64, f64), mut high: (f64, f64), mut height: impl FnMut(f64) -> f64) -> f64 {
    let side = low.1 > 0.0;
    let mut kept = 0_i32;
    for step in 0.. {
        if high.0 - low.0 <= 1.0 {
            break;
        }
        let (a, b) = (libm::log(low.0), libm::log(high.0));
        let share = match step % 4 {
            3 if step > 8 => 0.5,
            _ => (low.1 / (low.1 - high.1)).clamp(0.02, 0.98),
        };
        let share = if share.is_finite() { share } else { 0.5 };
        let x = libm::exp(a + share * (b - a)).round().clamp(low.0 + 1.0, high.0 - 1.0);
        let y = height(x);
        if (y > 0.0) == side {
            low = (x, y);
            kept = kept.max(0) + 1;
            if kept > 1 {
                high.1 *= 0.5;
            }
        } else {
            high = (x, y);
            kept = kept.min(0) - 1;
            if kept < -1 {
                low.1 *= 0.5;
            }
        }
    }
    low.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sigmoid(x: f64) -> f64 {
        1.0 / (1.0 + (-x).exp())
    }

    #[test]
    fn crossing_is_found_between_neighbours() {
        for middle in [1.5, 20.3, 777.0, 123_456.7, 9.9e11] {
            for steepness in [0.3, 2.0, 50.0] {
                for sign in [1.0, -1.0] {
                    let mut calls = 0;
                    let f = |x: f64| {
                        calls += 1;
                        sigmoid(sign * steepness * (x / middle).ln())
                    };
                    let Crossing::Above(low) = topmost_crossing((1.0, 1e15), 8.0, 0.5, sign > 0.0, f) else {
                        panic!("{middle} {steepness}");
                    };
                    assert!(low <= middle && middle <= low + 1.0, "{middle} {steepness}: {low}");
                    assert!(calls < 80, "{middle} {steepness}: {calls} calls");
                }
            }
        }
    }

    #[test]
    fn topmost_of_two_crossings_is_found() {
        // Above one half from 10 to 100 and from 10,000 on.
        let f = |x: f64| if (10.0..100.0).contains(&x) || x >= 1e4 { 0.9 } else { 0.1 };
        assert_eq!(topmost_crossing((1.0, 1e9), 8.0, 0.5, true, f), Crossing::Above(9999.0));
    }

    #[test]
    fn range_without_crossing_is_recognised() {
        assert_eq!(topmost_crossing((1.0, 1e9), 8.0, 0.5, true, |_| 0.3), Crossing::Contrary);
        assert_eq!(topmost_crossing((1.0, 1e9), 8.0, 0.5, false, |_| 0.3), Crossing::Nowhere);
        assert_eq!(topmost_crossing((2.0, 2.0), 8.0, 0.5, true, |_| 0.5), Crossing::Nowhere);
    }
}
