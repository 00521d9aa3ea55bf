//! How often a fact is seen: the law of a count, as a short weighted sum (theory section 5).

use crate::quadrature::Rule;

/// Below this mean the law starts at zero and is summed whole from there.
const FROM_ZERO: f64 = 30.0;
/// How finely counts are told apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Detail {
    /// Every count has a point of its own.
    Every,
    /// Two points per standard deviation are enough: what is averaged is smooth on that scale.
    Smooth,
    /// Tails matter: three points per standard deviation, far out.
    Tails,
}

/// The number of samples, out of `samples`, that carry a fact of chance `chance`.
///
/// Large counts may be summed with a stride. The law and what is averaged over it are smooth on the scale of
/// the standard deviation, so a regular grid at half that spacing is exact to about 1e-8.
pub(crate) fn binomial(samples: f64, chance: f64, detail: Detail) -> Rule {
    Law { mean: samples * chance, trials: Some(samples), chance }.rule(detail)
}

/// A count with Poisson's law.
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
        // Within 5.2 standard deviations lies all but 2e-7 of the mass.
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

    /// Logarithm of the chance of n >= 1, up to a constant, by Stirling's series around the deviance (Loader
    /// 2000): factorials of 10^12 would lose all digits.
    fn ln_weight(&self, n: f64) -> f64 {
        let ln = -deviance(n, self.mean) - 0.5 * n.ln() - 1.0 / (12.0 * n);
        let rest = |trials: f64| {
            let others = trials - n;
            if others < 1.0 {
                // All of them: the factor of the others is 1, and so is their factorial.
                return -trials * (1.0 - self.chance) + 0.5 * (2.0 * std::f64::consts::PI).ln();
            }
            -deviance(others, trials * (1.0 - self.chance)) - 0.5 * others.ln() - 1.0 / (12.0 * others)
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
    fn rules_are_short() {
        for mean in [1e-12, 1.0, 10.0, 30.0, 31.0, 100.0, 1e3, 1e12] {
            assert!(
                poisson(mean, Detail::Smooth).points.len() <= 70,
                "{mean}: {}",
                poisson(mean, Detail::Smooth).points.len()
            );
        }
    }

    #[test]
    fn one_sample_of_two() {
        assert_eq!(binomial(1.0, 0.5, Detail::Smooth).points, vec![(0.0, 0.5), (1.0, 0.5)]);
    }
}
