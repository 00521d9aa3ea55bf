//! The largest of many standard normal numbers.
//!
//! `E[F(X)^n]` is the chance that X exceeds the largest of n normal numbers. That largest one, Y, varies less
//! than X does, so the average of `P(X > Y)` over a Gauss rule for Y needs few points, whereas the average
//! of the steep function `F^n` over X needs many.

use crate::quadrature::{Rule, of_points};

use super::{cdf_power, density, survival};

/// Points of the grid that the rule is made from.
const GRID: usize = 72;

/// The law of the largest of `count` standard normal numbers.
#[derive(Clone, Debug)]
pub(crate) struct Maximum {
    /// The largest one; without any numbers it is below everything.
    pub rule: Rule,
    /// Its standard deviation.
    pub deviation: f64,
}

impl Maximum {
    /// The law for `count` numbers.
    pub fn of(count: f64) -> Maximum {
        if count < 1.0 {
            return Maximum { rule: Rule::certain(f64::NEG_INFINITY), deviation: 0.0 };
        }
        // From where all lie below with a chance of e^-30 to where one lies above with a chance of e^-30.
        let low = quantile(-30.0, count);
        let high = (2.0 * (count.ln() + 30.0)).sqrt();
        let law: Vec<(f64, f64)> = (0..GRID)
            .map(|i| {
                let x = low + (high - low) * (i as f64 + 0.5) / GRID as f64;
                (x, cdf_power(x, count - 1.0) * density(x))
            })
            .collect();
        // The largest of a few varies as much as what it is compared with.
        let points = if count < 16.0 { 16 } else { 8 };
        let rule = of_points(&law, points);
        let mean = rule.mean(|x| x);
        let deviation = rule.mean(|x| (x - mean).powi(2)).sqrt();
        Maximum { rule, deviation }
    }
}

/// A point where `count ln F` is about `ln_power`, to four digits.
fn quantile(ln_power: f64, count: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..20 {
        let middle = 0.5 * (low + high);
        let ln = if middle > 0.0 { libm::log1p(-survival(middle)) } else { libm::log(survival(-middle)) };
        if count * ln < ln_power { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::cdf;

    #[test]
    fn known_means_and_deviations() {
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
    fn agrees_with_the_power() {
        // E[F(centre + width z)^count] both ways, slowly by a fine grid over z.
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
    fn nothing_to_exceed() {
        let maximum = Maximum::of(0.0);
        assert_eq!(maximum.rule.mean(|x| cdf(0.0 - x)), 1.0);
    }
}
