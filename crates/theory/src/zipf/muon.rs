//! Memory accuracy after steps by Muon's rule, trigger in the keys (theory: optimiser).
//!
//! The gradient is `G = sum_v f_v zeta_v z_v^T`, and Muon's step is its polar factor, the integral of `(2/pi) G (G^T G + x^2)^-1` over x
//! from 0. Each fact changes the resolvent by a term of rank one, so that its signal depends on the other facts only through
//! `m(x) = x E[1/(s^2 + x^2)]`, s a singular value of G:
//!
//! ```text
//! 1/m = x + (1/d) sum_v f_v^2 m/(1 + f_v^2 m^2),    S_v = (2/pi) int f_v m^2/(1 + f_v^2 m^2) dx
//! ```
//!
//! The polar factor keeps lengths, so a wrong logit has the variance `1/d`, whatever the frequencies.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use superpose_core::config::{EarlyRule, Trigger};
use superpose_core::{Config, Measure, Settings};

use super::classes::{Class, classes};
use super::race::{counts, points};
use crate::normal::cdf_power;
use crate::point::Point;
use crate::predict::uncovered;
use crate::quadrature::hermite;

/// Points of the integral over `x = g tan(angle)`.
const ANGLES: usize = 96;
/// Steps of the iteration for `m`. Each multiplies its error by about one half, by 0.9 where V is near d.
const STEPS: usize = 60;

/// For every class, the probability that a fact is recalled with attention placed on the informative position.
fn recalled(point: &Point, classes: &[Class]) -> Vec<f64> {
    let (dim, samples) = (point.dim, point.samples);
    let shares = |class: &Class| -> Vec<(f64, f64)> {
        points(&counts(samples, class)).into_iter().map(|(n, weight)| (n / samples, weight)).collect()
    };
    let laws: Vec<Vec<(f64, f64)>> = classes.iter().map(shares).collect();
    let sum = |of: &dyn Fn(f64) -> f64| -> f64 {
        let law = |(class, law): (&Class, &Vec<(f64, f64)>)| {
            class.count * law.iter().map(|&(f, weight)| weight * of(f)).sum::<f64>()
        };
        classes.iter().zip(&laws).map(law).sum::<f64>() / dim
    };
    let g = sum(&|f| f * f).sqrt();
    // The values of m with the weights of the integral.
    let step = FRAC_PI_2 / ANGLES as f64;
    let nodes: Vec<(f64, f64)> = (0..ANGLES)
        .map(|i| {
            let angle = (i as f64 + 0.5) * step;
            let x = g * libm::tan(angle);
            let mut m = 1.0 / (x + g);
            for _ in 0..STEPS {
                m = 0.5 * (m + 1.0 / (x + sum(&|f| f * f * m / (1.0 + f * f * m * m))));
            }
            (m, FRAC_2_PI * step * g / libm::cos(angle).powi(2))
        })
        .collect();
    let noise = hermite(21);
    let fact = |f: f64| {
        let (mut signal, mut slope) = (0.0, 0.0);
        for &(m, weight) in &nodes {
            let q = f * m;
            signal += weight * q * m / (1.0 + q * q);
            slope += weight * q * m * (1.0 - q * q) / (1.0 + q * q).powi(2);
        }
        // The lengths of value and key change f, and that of the value also the logit.
        let power = if signal > 0.0 { slope / signal } else { 1.0 };
        let lengths = if point.lengths_vary() { ((1.0 + power).powi(2) + power * power) / 2.0 } else { 0.0 };
        let variance = ((1.0 - signal * signal).powi(2) + lengths * signal * signal) / dim;
        noise.mean(|z| cdf_power((signal + variance.sqrt() * z) * dim.sqrt(), point.vocab - 1.0))
    };
    laws.iter().map(|law| law.iter().map(|&(f, weight)| weight * fact(f)).sum()).collect()
}

/// Memory accuracy by use and by fact after steps by Muon's rule; `None` where there is no formula.
pub(crate) fn memory_accuracies(config: &Config) -> Option<[f64; 2]> {
    let point = Point::from(config);
    let gradient = Settings { early_rule: EarlyRule::Gradient, ..(**config).clone() }.check().ok()?;
    let covered = config.early_rule == EarlyRule::Muon
        && config.trigger == Trigger::Keys
        && config.width.is_none()
        && !point.orthonormal()
        && uncovered(&gradient, Measure::MemoryAccuracy).is_none();
    covered.then(|| averages(&point))
}

fn averages(point: &Point) -> [f64; 2] {
    let classes = classes(point);
    let recalled = recalled(point, &classes);
    let mean = |weight: &dyn Fn(&Class) -> f64| -> f64 {
        let total: f64 = classes.iter().map(weight).sum();
        let sum: f64 = classes.iter().zip(&recalled).map(|(class, recalled)| weight(class) * recalled).sum();
        (sum / total).clamp(0.0, 1.0)
    };
    [mean(&|class| class.count * class.fact), mean(&|class| class.count)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict;

    /// Runs of the engine at models drawn after the formula was final, `bench/muon.py`.
    #[test]
    fn predictions_agree_with_the_engine() {
        let text = include_str!("../../../../docs/validation/muon.csv");
        let (mut squares, mut seeds, mut cells) = (0.0, 0.0, 0.0);
        for line in text.lines().skip(1) {
            let row: Vec<f64> = line.split(',').map(|number| number.parse().unwrap()).collect();
            let settings = Settings {
                vocab: row[0] as usize,
                dim: row[1] as usize,
                samples: row[2] as usize,
                length: 2,
                zipf: (row[3] > 0.0).then_some(row[3]),
                trigger: Trigger::Keys,
                early_rule: EarlyRule::Muon,
                ..Settings::default()
            };
            let predicted = predict(&settings.check().unwrap()).measures[Measure::MemoryAccuracy].unwrap();
            println!("{line}: {predicted:.4}");
            squares += (predicted - row[5]).powi(2);
            seeds += row[6].powi(2);
            cells += 1.0;
        }
        let [rms, seeds] = [squares, seeds].map(|sum| f64::sqrt(sum / cells));
        let net = (rms * rms - seeds * seeds).max(0.0).sqrt();
        println!("rms {rms:.4}, of which seeds {seeds:.4}, net {net:.4}");
        assert!(cells == 96.0 && net < 0.011, "rms {rms}, seeds {seeds}");
    }

    #[test]
    fn other_measures_and_models_have_no_formula() {
        let muon = Settings { early_rule: EarlyRule::Muon, ..Settings::default() };
        let silent = |settings: Settings| {
            let found = predict(&settings.check().unwrap());
            found.measures[Measure::MemoryAccuracy].is_none() && found.gaps.len() == 6
        };
        assert!(silent(Settings { trigger: Trigger::Values, ..muon.clone() }));
        assert!(silent(Settings { width: Some(64), trigger: Trigger::Keys, ..muon.clone() }));
        let found = predict(&Settings { trigger: Trigger::Keys, ..muon }.check().unwrap());
        assert!(found.measures[Measure::Accuracy].is_none() && found.by_fact.is_none());
        assert_eq!(found.gaps.len(), 5);
    }
}
