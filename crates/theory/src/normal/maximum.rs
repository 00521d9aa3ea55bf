//! The distribution of the largest of many standard normal numbers.
//!
//! `E[F(X)^n]` is the probability that X exceeds the largest of n normal numbers. That number, Y, varies less than X, so the
//! average of `P(X > Y)` over a Gauss rule for Y needs few points, whereas the average of the steep function `F^n` over X
//! needs many.

use std::sync::LazyLock;

use crate::quadrature::{Rule, Table, of_points};

use super::{cdf_power, density, ln_cdf};

/// Number of points of the grid that a rule is derived from.
const GRID: usize = 72;

/// The distribution of the largest of `count` standard normal numbers.
#[derive(Clone, Debug)]
pub(crate) struct Maximum {
    /// The largest number; without numbers it is negative infinity.
    pub rule: Rule,
    /// Its standard deviation.
    pub deviation: f64,
}

/// Number of points of a rule for many numbers. The largest of few varies more and has twice as many points.
const POINTS: usize = 8;
const FEW: f64 = 16.0;

/// Rules are smooth in the logarithm of the count: one set of tables is for few numbers, one for many.
static FEW_NUMBERS: LazyLock<Tables> = LazyLock::new(|| Tables::new(1.0, FEW, 0.08, 2 * POINTS));
static MANY_NUMBERS: LazyLock<Tables> = LazyLock::new(|| Tables::new(FEW, MAX_COUNT, 0.25, POINTS));
const MAX_COUNT: f64 = 1e10;

/// Points and weights of rules, and deviations, by the logarithm of the count.
struct Tables {
    points: Vec<(Table, Table)>,
    deviation: Table,
}

impl Tables {
    fn new(low: f64, high: f64, step: f64, points: usize) -> Tables {
        let (low, high) = (libm::log(low), libm::log(high));
        let steps = ((high - low) / step).ceil();
        let step = (high - low) / steps;
        let at = |i: u32| Maximum::computed(libm::exp(low + step * f64::from(i)), points);
        let laws: Vec<Maximum> = (0..=steps as u32).map(at).collect();
        let table = |f: &dyn Fn(&Maximum) -> f64| Table::of(low, step, laws.iter().map(f).collect());
        let points = (0..laws[0].rule.points.len())
            .map(|k| (table(&|law| law.rule.points[k].0), table(&|law| law.rule.points[k].1)))
            .collect();
        Tables { points, deviation: table(&|law| law.deviation) }
    }

    fn at(&self, count: f64) -> Maximum {
        let log = libm::log(count);
        let points = self.points.iter().map(|(x, weight)| (x.at(log), weight.at(log))).collect();
        Maximum { rule: Rule { points }, deviation: self.deviation.at(log) }
    }
}

impl Maximum {
    pub fn of(count: f64) -> Maximum {
        if count < 1.0 {
            Maximum { rule: Rule::certain(f64::NEG_INFINITY), deviation: 0.0 }
        } else if count < FEW {
            FEW_NUMBERS.at(count)
        } else if count <= MAX_COUNT {
            MANY_NUMBERS.at(count)
        } else {
            Maximum::computed(count, POINTS)
        }
    }

    fn computed(count: f64, points: usize) -> Maximum {
        let count = count.max(1.0);
        // The ends are exceeded with probability 1 - e^-30 and e^-30.
        let low = quantile(-30.0, count);
        let high = (2.0 * (libm::log(count) + 30.0)).sqrt();
        let point = |i: usize| {
            let x = low + (high - low) * (i as f64 + 0.5) / GRID as f64;
            (x, cdf_power(x, count - 1.0) * density(x))
        };
        let law: Vec<(f64, f64)> = (0..GRID).map(point).collect();
        let mut rule = of_points(&law, points);
        rule.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mean = rule.mean(|x| x);
        let deviation = rule.mean(|x| (x - mean).powi(2)).sqrt();
        Maximum { rule, deviation }
    }
}

/// A point where `count ln F` is about `ln_power`, to four digits.
pub(crate) fn quantile(ln_power: f64, count: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..20 {
        let middle = 0.5 * (low + high);
        if count * ln_cdf(middle) < ln_power { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::cdf;

    #[test]
    fn means_and_deviations_equal_known_values() {
        // Means of the largest of 1, 2, 10, 100, 1000 (Tippett 1925; Harter 1961), and two variances.
        for (count, mean) in
            [(1.0, 0.0), (2.0, 0.564_19), (10.0, 1.538_75), (100.0, 2.507_59), (1000.0, 3.241_44)]
        {
            let maximum = Maximum::of(count);
            assert!((maximum.rule.mean(|x| x) - mean).abs() < 1e-5, "{count}: {:?}", maximum.rule);
        }
        assert!((Maximum::of(1.0).deviation - 1.0).abs() < 1e-8);
        assert!((Maximum::of(10.0).deviation - 0.344_34_f64.sqrt()).abs() < 1e-4);
    }

    #[test]
    fn average_agrees_with_the_power() {
        // E[F(centre + width z)^count] by the rule and by a fine grid over z.
        let fine = |f: &dyn Fn(f64) -> f64| {
            (-400..=400).map(|i| 0.02 * density(0.02 * f64::from(i)) * f(0.02 * f64::from(i))).sum::<f64>()
        };
        for count in [1.0, 2.0, 30.0, 511.0, 1e6, 1e9] {
            let maximum = Maximum::of(count);
            for centre in [-1.0, 0.5, 2.0, 4.0, 6.0] {
                for width in [1.0, 1.4] {
                    let slow = fine(&|z| cdf_power(centre + width * z, count));
                    let fast = maximum.rule.mean(|x| cdf((centre - x) / width));
                    assert!((slow - fast).abs() < 3e-5, "{count} {centre} {width}: {slow} {fast}");
                }
            }
        }
    }

    #[test]
    fn tables_agree_with_computed_rules() {
        for count in [1.0, 1.37, 3.0, 9.2, 15.9, 16.0, 17.3, 511.0, 12_345.0, 3e9] {
            let points = if count < FEW { 2 * POINTS } else { POINTS };
            let (quick, slow) = (Maximum::of(count), Maximum::computed(count, points));
            assert!((quick.deviation - slow.deviation).abs() < 1e-5, "{count}");
            for x in [-2.0, 0.0, 1.0, 2.0, 3.0, 4.0, 6.0] {
                let [quick, slow] = [&quick, &slow].map(|law| law.rule.mean(|y| cdf(x - y)));
                assert!((quick - slow).abs() < 1e-6, "{count} {x}: {quick} {slow}");
            }
        }
    }

    #[test]
    fn maximum_of_no_numbers_is_exceeded() {
        let maximum = Maximum::of(0.0);
        assert_eq!(maximum.rule.mean(|x| cdf(0.0 - x)), 1.0);
    }
}
