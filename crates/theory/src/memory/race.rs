//! The right label against all wrong ones (theory section 5.1).
//!
//! Given the signal S and the common noise variance sigma^2, wrong labels are independent normal numbers of variance
//! `sigma^2 + S^2 overlap`, and the right one is `S b + sigma sqrt(b) z` with `b = |z_out|^2`. The chance that the right
//! one is largest depends on `x = S / sqrt(sigma^2 + S^2 overlap)` alone. It is tabulated once, and an average over
//! counts and keys is then a sum of look-ups.
//!
//! An entry of the table is an average over the largest of the wrong labels, see [`Maximum`]. For Gaussian output
//! embeddings b and z are averaged in one stroke: with d degrees of freedom,
//!
//! `ln E[e^(t (S b + sigma sqrt(b) z))] = -(d/2) ln(1 - (2 t S + t^2 sigma^2) / d)`,
//!
//! whose saddle point solves a quadratic equation.

use crate::normal::{Maximum, Saddle, cdf, cdf_power, upper_tail};
use crate::quadrature::{Table, hermite};

/// What output embeddings are like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// Mean square cosine of two of them.
    pub overlap: f64,
    /// Degrees of freedom of their squared length, absent when the length is fixed.
    pub freedom: Option<f64>,
}

/// A race between one right and many wrong labels.
#[derive(Clone, Debug)]
pub(crate) struct Race {
    labels: f64,
    output: Output,
    /// Root of the overlap.
    unit: f64,
    /// By the angle whose tangent is `S unit / sigma`.
    chance: Table,
}

/// Distance to either side of the middle of the race beyond which it is decided.
const REACH: f64 = 8.0;

impl Race {
    /// A race against `wrong` wrong labels.
    pub fn new(wrong: f64, output: Output) -> Race {
        let maximum = Maximum::of(wrong);
        let middle = maximum.rule.mean(|y| y);
        // The table runs over the angle whose tangent is S / sigma in units of 1 / sqrt(overlap): where the signal drowns
        // the noise, x comes close to its largest value and needs points close together.
        let unit = output.overlap.sqrt().max(1e-6);
        let angle = |x: f64| (x * unit).clamp(-1.0 + 1e-9, 1.0 - 1e-9).asin();
        let (low, high) = (angle(middle - REACH), angle(middle + REACH));
        let place = |angle: f64| (libm::sin(angle) / unit, libm::cos(angle));
        let chance = match output.freedom {
            Some(freedom) => Table::new(low, high, 0.2 * unit, |angle| {
                let (x, deviation) = place(angle);
                maximum.rule.mean(|y| upper_tail(saddle(x, deviation * deviation, freedom, y)))
            }),
            None => {
                let normal = hermite(9);
                // Lengths that vary would blur the step from 0 to 1. As they do not, it can be steep.
                Table::new(low, high, 0.07 * unit, |angle| {
                    let (x, deviation) = place(angle);
                    // The average over the quantity that varies less needs fewer points.
                    if deviation >= maximum.deviation {
                        maximum.rule.mean(|y| cdf((x - y) / deviation))
                    } else {
                        normal.mean(|z| cdf_power(x + deviation * z, wrong))
                    }
                })
            }
        };
        Race { labels: wrong + 1.0, output, unit, chance }
    }

    /// What output embeddings are like.
    pub fn output(&self) -> Output {
        self.output
    }

    /// The chance that the right label wins.
    pub fn win(&self, signal: f64, variance: f64) -> f64 {
        if signal == 0.0 && variance <= 0.0 {
            return 1.0 / self.labels;
        }
        self.chance.at(libm::atan2(signal * self.unit, variance.sqrt())).clamp(0.0, 1.0)
    }
}

/// The saddle point of `S b + sigma sqrt(b) z` at y.
fn saddle(signal: f64, variance: f64, freedom: f64, y: f64) -> Saddle {
    // (y sigma^2 / d) t^2 + (sigma^2 + 2 y S / d) t + S - y = 0, the root that vanishes at y = S.
    let square = y * variance / freedom;
    let linear = variance + 2.0 * y * signal / freedom;
    let root = (linear * linear + 4.0 * square * (y - signal)).max(0.0).sqrt();
    let t = if linear >= 0.0 {
        2.0 * (y - signal) / (linear + root)
    } else {
        (root - linear) / (2.0 * square)
    };
    let argument = (2.0 * t * signal + t * t * variance) / freedom;
    // K' = h / q with h = S + t sigma^2 and q = 1 - argument; the rest follows by q' = -2 h / d. Here x = h^2 / (d q)
    // and every derivative is a polynomial in x and sigma^2.
    let (h, q) = (signal + t * variance, 1.0 - argument);
    let x = h * h / (freedom * q);
    let scale = h / (freedom * q);
    let derivatives = [
        (variance + 2.0 * x) / q,
        scale / q * (6.0 * variance + 8.0 * x),
        (6.0 * variance * variance + 48.0 * x * (variance + x)) / (freedom * q * q),
        scale / (freedom * q * q) * (120.0 * variance * variance + 480.0 * variance * x + 384.0 * x * x),
    ];
    Saddle { t, rate: t * y + 0.5 * freedom * libm::log1p(-argument), derivatives }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::density;
    use crate::testing::chi_square_grid;

    /// The same chance by brute force: grids over b and z.
    fn slow(wrong: f64, output: Output, signal: f64, variance: f64) -> f64 {
        let total = (variance + signal * signal * output.overlap).sqrt();
        let grid = |f: &dyn Fn(f64) -> f64| (-70..=70).map(|i| 0.1 * f(0.1 * f64::from(i))).sum::<f64>();
        let lengths = match output.freedom {
            None => vec![(1.0, 1.0)],
            Some(freedom) => chi_square_grid(freedom, 500),
        };
        let over_z = |b: f64| {
            grid(&|z| density(z) * cdf_power((signal * b + (variance * b).sqrt() * z) / total, wrong))
        };
        lengths.iter().map(|&(b, weight)| weight * over_z(b)).sum()
    }

    #[test]
    fn agrees_with_brute_force() {
        for wrong in [1.0, 20.0, 1000.0, 1e6] {
            for dim in [4.0, 10.0, 40.0, 300.0] {
                for freedom in [None, Some(dim)] {
                    let output = Output { overlap: 1.0 / dim, freedom };
                    let race = Race::new(wrong, output);
                    for signal in [-2.0, 0.0, 1.0, 3.0, 5.0, 8.0, 30.0, 300.0] {
                        let (fast, exact) = (race.win(signal, 1.0), slow(wrong, output, signal, 1.0));
                        let allowed = if dim < 10.0 { 2e-3 } else { 1e-4 };
                        let case = format!("{wrong} {dim} {freedom:?} {signal}: {fast} {exact}");
                        assert!((fast - exact).abs() < allowed, "{case}");
                    }
                }
            }
        }
    }

    #[test]
    fn no_noise_and_no_signal_is_a_draw() {
        let race = Race::new(9.0, Output { overlap: 0.0, freedom: None });
        assert_eq!(race.win(0.0, 0.0), 0.1);
        assert!(race.win(1.0, 0.0) > 1.0 - 1e-9 && race.win(-1.0, 0.0) < 1e-9);
    }
}
