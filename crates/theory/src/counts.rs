//! The distribution of the number of samples that contain a fact, as a short weighted sum (theory: memory).

use crate::quadrature::Rule;

/// Up to this mean the distribution is summed over all counts from zero.
const FROM_ZERO: f64 = 30.0;

/// The resolution of counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Detail {
    /// Every count is a point.
    Every,
    /// Two points per standard deviation, for averages of functions that are smooth on that scale.
    Smooth,
    /// Three points per standard deviation to far into the tails.
    Tails,
}

/// The number of samples, out of `samples`, that contain a fact of probability `chance`.
///
/// Large counts may be summed with a stride. The distribution and the averaged functions are smooth on the scale of the
/// standard deviation, so a regular grid at half that spacing is exact to about 1e-8.
pub(crate) fn binomial(samples: f64, chance: f64, detail: Detail) -> Rule {
    Law { mean: samples * chance, trials: Some(samples), chance }.rule(detail)
}

pub(crate) fn poisson(mean: f64, detail: Detail) -> Rule {
    Law { mean, trials: None, chance: 0.0 }.rule(detail)
}

struct Law {
    mean: f64,
    trials: Option<f64>,
    chance: f64,
}

impl Law {
    fn rule(&self, detail: Detail) -> Rule {
        let mut points = if self.mean <= FROM_ZERO { self.whole() } else { self.strided(detail) };
        let total: f64 = points.iter().map(|p| p.1).sum();
        points.iter_mut().for_each(|p| p.1 /= total);
        Rule { points }
    }

    fn whole(&self) -> Vec<(f64, f64)> {
        let last = self.trials.unwrap_or(f64::INFINITY).floor();
        let ln_none = match self.trials {
            Some(trials) => trials * libm::log1p(-self.chance),
            None => -self.mean,
        };
        let mut weight = libm::exp(ln_none);
        let (mut n, mut mass) = (0.0, 0.0);
        let mut points = Vec::new();
        while n <= last && (n <= self.mean || weight > 1e-9 * mass) {
            points.push((n, weight));
            mass += weight;
            weight *= match self.trials {
                Some(trials) => (trials - n) / (n + 1.0) * (self.chance / (1.0 - self.chance)),
                None => self.mean / (n + 1.0),
            };
            n += 1.0;
        }
        points
    }

    fn strided(&self, detail: Detail) -> Vec<(f64, f64)> {
        let deviation = (self.mean * (1.0 - self.chance)).sqrt();
        // All but 2e-7 of the mass is within 5.2 standard deviations.
        let (stride, reach) = match detail {
            Detail::Every => (1.0, 5.2),
            Detail::Smooth => ((deviation / 2.0).floor().max(1.0), 5.2),
            Detail::Tails => ((deviation / 3.0).floor().max(1.0), 10.0),
        };
        let steps = (reach * deviation / stride).ceil();
        let last = self.trials.unwrap_or(f64::INFINITY);
        let middle = self.mean.round();
        (0..=2 * steps as u32)
            .map(|i| middle + (f64::from(i) - steps) * stride)
            .filter(|&n| n >= 1.0 && n <= last)
            .map(|n| (n, libm::exp(self.ln_weight(n))))
            .collect()
    }

    /// Logarithm of the probability of n >= 1, up to a constant, by Stirling's series around the deviance (Loader 2000);
    /// factorials of 10^12 would lose all digits.
    fn ln_weight(&self, n: f64) -> f64 {
        let ln = -deviance(n, self.mean) - 0.5 * libm::log(n) - 1.0 / (12.0 * n);
        let rest = |trials: f64| {
            let others = trials - n;
            if others < 1.0 {
                // All samples contain the fact: the factor of the others is 1, and so is their factorial.
                return -trials * (1.0 - self.chance) + 0.5 * libm::log(2.0 * std::f64::consts::PI);
            }
            -deviance(others, trials * (1.0 - self.chance)) - 0.5 * libm::log(others) - 1.0 / (12.0 * others)
        };
        ln + self.trials.map_or(0.0, rest)
    }
}

/// `x ln(x / mean) - x + mean`
fn deviance(x: f64, mean: f64) -> f64 {
    let relative = (x - mean) / mean;
    mean * ((1.0 + relative) * libm::log1p(relative) - relative)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(rule: &Rule) -> (f64, f64, f64) {
        let mean = rule.mean(|n| n);
        let variance = rule.mean(|n| (n - mean).powi(2));
        (mean, variance, rule.mean(|n| (n - mean).powi(3)) / variance.powf(1.5))
    }

    #[test]
    fn moments_of_both_laws() {
        for mean in [0.01, 1.0, 7.0, 29.0, 31.0, 130.0, 1e4, 5e11] {
            let (m, v, s) = moments(&poisson(mean, Detail::Smooth));
            assert!((m / mean - 1.0).abs() < 1e-6 && (v / mean - 1.0).abs() < 2e-5, "{mean}: {m} {v}");
            assert!((s - mean.sqrt().recip()).abs() < 1e-3, "{mean}: {s}");
            for chance in [0.5, 0.1, 1e-6] {
                let (m, v, _) = moments(&binomial((mean / chance).ceil(), chance, Detail::Smooth));
                let exact = (mean / chance).ceil() * chance;
                assert!((m / exact - 1.0).abs() < 1e-6, "{mean} {chance}: {m}");
                assert!((v / exact / (1.0 - chance) - 1.0).abs() < 2e-5, "{mean} {chance}: {v}");
            }
        }
    }

    #[test]
    fn rules_have_few_points() {
        for mean in [1e-12, 1.0, 10.0, 30.0, 31.0, 100.0, 1e3, 1e12] {
            let points = poisson(mean, Detail::Smooth).points.len();
            assert!(points <= 70, "{mean}: {points}");
        }
    }

    #[test]
    fn single_sample_has_two_counts() {
        assert_eq!(binomial(1.0, 0.5, Detail::Smooth).points, vec![(0.0, 0.5), (1.0, 0.5)]);
    }
}
