//! The probability that the right label beats all wrong ones (theory: memory).
//!
//! Write the logits of a query as `z_out[j] . y`, `y = S z_out[right] + u`, where the noise vector u is the sum over all
//! other facts and each of its entries has variance `tau^2 = sigma^2 (1/d) / (1/d + 1/V)`. Along the
//! right output embedding, of squared length b, y has the component `rho = S sqrt(b) + tau z`. So the right
//! logit is `sqrt(b) rho`, and given y the wrong ones are independent and normal with variance
//! `D^2 = rho^2/d + |u across|^2/d + own term`: noise that increases the right logit increases the
//! wrong ones too, and the length of u is common to all labels. With h for the last two terms,
//!
//! `sqrt(b) rho > Y D` if and only if `rho > Y sqrt(h / (b - Y^2/d))`,
//!
//! Y the largest of V - 1 normal numbers. This is one normal tail in z, averaged over Y, b and the length
//! of u. The result depends on `S / sigma` alone, so it is tabulated once, and averages over counts and keys are sums of
//! look-ups.

use std::f64::consts::LN_2;
use std::sync::LazyLock;

use crate::normal::{Maximum, QuickCdf, QuickPower, quantile};
use crate::quadrature::{Rule, Table, chi_square, hermite};

/// Statistics of output embeddings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// Mean square cosine of two of them.
    pub overlap: f64,
    /// Degrees of freedom of their squared length; None when the length is fixed.
    pub freedom: Option<f64>,
}

/// A race between one right and many wrong labels.
#[derive(Clone, Debug)]
pub(crate) struct Race {
    labels: f64,
    pub output: Output,
    /// Root of the overlap.
    unit: f64,
    /// Mean of the largest wrong logit, in standard deviations.
    largest: f64,
    /// Its median.
    pub median: f64,
    /// Shift of the largest wrong logit per unit of skewness and of kurtosis.
    by_skewness: f64,
    by_kurtosis: f64,
    /// The probability of winning, by the tangent of half the angle whose tangent is `S unit / sigma`.
    chance: Table,
}

/// Distance in standard deviations from the largest wrong logit beyond which the outcome is certain.
const REACH: f64 = 6.5;

impl Race {
    pub fn new(wrong: f64, output: Output) -> Race {
        let output = Output { overlap: output.overlap.max(1e-12), ..output };
        let maximum = Maximum::of(wrong);
        let largest = maximum.rule.mean(|y| y);
        // The table is in terms of an angle: for a signal far above the noise, S / sqrt(sigma^2 + S^2/d) approaches its
        // largest value, where points must be dense. The tangent of half the angle is as smooth and costs one root.
        let unit = output.overlap.sqrt();
        let half = |x: f64| {
            let sine = (x * unit).clamp(-1.0 + 1e-9, 1.0 - 1e-9);
            sine / (1.0 + (1.0 - sine * sine).sqrt())
        };
        let (low, high) = (half(largest - REACH), half(largest + REACH));
        let terms = Terms::new(wrong, output, &maximum);
        let mut last = 0.0;
        let chance = Table::new(low, high, 0.15 * unit, |half| {
            // The probability increases with the signal, so it stays 1 once it is 1.
            if last < 1.0 - 1e-10 {
                last = terms.chance(half);
            }
            last
        });
        let y = largest;
        let (by_skewness, by_kurtosis) = ((y * y - 1.0) / 6.0, (y * y - 3.0) * y / 24.0);
        let median = quantile(-LN_2, wrong.max(1.0));
        Race { labels: wrong + 1.0, output, unit, largest, median, by_skewness, by_kurtosis, chance }
    }

    /// The probability that the right label wins.
    pub fn win(&self, signal: f64, noise: Noise) -> f64 {
        if signal == 0.0 && noise.variance <= 0.0 {
            return 1.0 / self.labels;
        }
        let deviation = (noise.variance + signal * signal * self.output.overlap).sqrt();
        let inverse = 1.0 / deviation;
        let moved =
            inverse * inverse * (noise.third * self.by_skewness + noise.fourth * inverse * self.by_kurtosis);
        // The expansion holds for distributions close to normal and for many labels.
        let moved = moved.max(0.0).min(0.5 * self.largest.max(0.0) * deviation);
        let across = (signal - moved) * self.unit;
        let length = noise.deviation + (noise.variance + across * across).sqrt();
        let half = across / length.max(f64::MIN_POSITIVE);
        self.chance.at(half).clamp(0.0, 1.0)
    }
}

/// Cumulants of a wrong logit, without its overlap with the signal. Skewness and kurtosis shift the largest of many by `skewness (Y^2 - 1) / 6 + kurtosis (Y^3 - 3 Y) / 24` standard deviations (Cornish and
/// Fisher).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noise {
    /// `sigma^2`
    pub variance: f64,
    /// `sigma`
    deviation: f64,
    /// Third cumulant.
    pub third: f64,
    /// Fourth cumulant.
    pub fourth: f64,
}

impl Noise {
    /// Noise with the given second, third and fourth cumulants.
    pub fn new(variance: f64, third: f64, fourth: f64) -> Noise {
        Noise { variance, deviation: variance.sqrt(), third, fourth }
    }

    /// Noise with a normal law.
    #[cfg(test)]
    pub fn normal(variance: f64) -> Noise {
        Noise::new(variance, 0.0, 0.0)
    }
}

/// Precomputed terms of the average that gives an entry of the table, in units of tau.
struct Terms {
    output: Output,
    /// Factor from the tangent of the angle to `S / tau`.
    scale: f64,
    /// Standard deviation of the right label's noise relative to a wrong label's, divided by that of the largest wrong logit.
    spread: f64,
    /// `F(slope tangent - offset)`, with weights: the average over the largest wrong label.
    tails: Vec<[f64; 3]>,
    /// The length of the right embedding, the right label's noise, `|u across|^2/d` with the own term, and weights.
    places: Vec<[f64; 4]>,
    /// The probability that all wrong logits are below a number, tabulated where lengths vary and it is evaluated often.
    power: QuickPower,
    table: Option<Table>,
}

/// The distribution of the right label's noise.
static NORMAL: LazyLock<Rule> = LazyLock::new(|| hermite(6));
/// Terms of smaller weight are left out; together they weigh less than 1e-6.
const NEGLIGIBLE: f64 = 1e-8;

impl Terms {
    fn new(wrong: f64, output: Output, maximum: &Maximum) -> Terms {
        let overlap = output.overlap;
        // Variance of a wrong logit from its own fact.
        let own_fact = 1.0 / (overlap * (wrong + 1.0));
        let scale = ((1.0 + own_fact) / overlap).sqrt();
        let across = across(own_fact, overlap);
        // With few dimensions the length of the right embedding matters more and needs more points.
        let points = match overlap * maximum.rule.mean(|y| y * y) {
            ..0.05 => 3,
            ..0.1 => 4,
            ..0.15 => 5,
            ..0.3 => 8,
            _ => 12,
        };
        let lengths = output.freedom.map_or(Rule::certain(1.0), |freedom| chi_square(freedom, points));
        let tail = |[y, b, h, weight]: [f64; 4]| {
            let y = output.flatten(y);
            let room = b - overlap * y * y;
            // Without room no signal is enough, or for y < 0 every signal is.
            let offset = if room > 0.0 { y * (h / room).sqrt() } else { f64::INFINITY.copysign(y) };
            [scale * b.sqrt(), offset, weight]
        };
        let tails = together(&maximum.rule, &lengths, &across).into_iter().map(tail).collect();
        let spread = 1.0 / ((1.0 + own_fact).sqrt() * maximum.deviation);
        let power = QuickPower::new(wrong);
        let table = output.freedom.map(|_| {
            let largest = maximum.rule.mean(|y| y);
            let reach = |deviations: f64| largest + deviations * maximum.deviation;
            Table::new(reach(-6.0), reach(18.0), 0.2 * maximum.deviation, |x| power.at(x))
        });
        let place = |[z, b, h, weight]: [f64; 4]| [b.sqrt(), z, h, weight];
        let places = together(&NORMAL, &lengths, &across).into_iter().map(place).collect();
        Terms { output, scale, spread, tails, places, power, table }
    }

    /// The probability of winning at the angle whose tangent is `S unit / sigma`, given the tangent of half of it.
    fn chance(&self, half: f64) -> f64 {
        let (tangent, cosine) = (2.0 * half / (1.0 - half * half), (1.0 - half * half) / (1.0 + half * half));
        // The quadrature is over the variable with the smaller spread: the largest wrong logit, or, for a signal far
        // above the noise, the right label, because x = S / sqrt(sigma^2 + S^2/d) is then close to sqrt(d) for all z.
        if self.spread * cosine.powi(3) > 0.8 {
            let cdf = QuickCdf::new();
            let tail = |&[slope, offset, weight]: &[f64; 3]| weight * cdf.at(slope * tangent - offset);
            return self.tails.iter().map(tail).sum();
        }
        let place = |&[root, noise, h, weight]: &[f64; 4]| {
            let rho = self.scale * tangent * root + noise;
            let x = root * rho / (self.output.overlap * rho * rho + h).sqrt();
            let below = match &self.table {
                Some(table) => table.at(x),
                None => self.power.at(self.output.unflatten(x)),
            };
            weight * below
        };
        self.places.iter().map(place).sum()
    }
}

/// The values of three independent numbers, and their weight together.
fn together(one: &Rule, two: &Rule, three: &Rule) -> Vec<[f64; 4]> {
    let mut together = Vec::with_capacity(one.points.len() * two.points.len() * three.points.len());
    for &(x, x_weight) in &one.points {
        for &(y, y_weight) in &two.points {
            let of = |&(z, z_weight): &(f64, f64)| [x, y, z, x_weight * y_weight * z_weight];
            together.extend(three.points.iter().map(of).filter(|values| values[3] >= NEGLIGIBLE));
        }
    }
    together
}

/// The distribution of `|u across|^2/d + own term`. All labels share the d directions of u. If m are the eigenvalues of their
/// Gram matrix, the mean square of the logits is a quadratic form with relative variance `2 E[m^4] / (d E[m^2]^2)`, of which
/// `2/V` is the variance of a sample of V. With the moments of Marchenko and Pastur at the ratio r = d/V the rest is
/// `(2/d) (1 + 4 r) / (1 + r)`.
fn across(own_fact: f64, overlap: f64) -> Rule {
    let freedom = (1.0 + own_fact) / (1.0 + 4.0 * own_fact) / overlap;
    let points = match freedom {
        many if many > 250.0 => 2,
        some if some > 25.0 => 3,
        _ => 5,
    };
    let mut rule = chi_square(freedom, points);
    // The part along the right embedding is included in rho.
    rule.points.iter_mut().for_each(|p| p.0 = ((1.0 + own_fact) * p.0 - overlap).max(1e-3));
    rule
}

impl Output {
    /// On a sphere the component along a direction has lighter tails than a normal number. The quantile of
    /// `sqrt(d)` times a cosine for the normal quantile y (Wallace, Annals of Mathematical Statistics 30,
    /// 1959).
    fn flatten(&self, y: f64) -> f64 {
        if self.freedom.is_some() {
            return y;
        }
        let (nu, scale) = self.student();
        (-libm::expm1(-(y * scale).powi(2) / nu) / self.overlap).sqrt().copysign(y)
    }

    /// The inverse of [`Output::flatten`].
    fn unflatten(&self, x: f64) -> f64 {
        if self.freedom.is_some() {
            return x;
        }
        let (nu, scale) = self.student();
        let inside = (x * x * self.overlap).min(1.0 - 1e-15);
        ((-nu * libm::log1p(-inside)).sqrt() / scale).copysign(x)
    }

    /// Degrees of freedom of Student's distribution for the cosine over the sine, and Wallace's factor.
    fn student(&self) -> (f64, f64) {
        let nu = (1.0 / self.overlap - 1.0).max(0.1);
        (nu, (8.0 * nu + 3.0) / (8.0 * nu + 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::{cdf_power, density};
    use crate::testing::chi_square_grid;

    /// The same probability by brute force: grids over b and z, with the exact power of F.
    fn slow(wrong: f64, output: Output, tangent: f64) -> f64 {
        let own_fact = 1.0 / (output.overlap * (wrong + 1.0));
        let signal = tangent * ((1.0 + own_fact) / output.overlap).sqrt();
        let lengths = output.freedom.map_or(vec![(1.0, 1.0)], |freedom| chi_square_grid(freedom, 60));
        let across = chi_square_grid((1.0 + own_fact) / (1.0 + 4.0 * own_fact) / output.overlap, 30);
        let mut chance = 0.0;
        for &(b, b_weight) in &lengths {
            for i in -20..=20 {
                let z = 0.3 * f64::from(i);
                let rho = signal * b.sqrt() + z;
                for &(g, g_weight) in &across {
                    let h = ((1.0 + own_fact) * g - output.overlap).max(1e-3);
                    let x = b.sqrt() * rho / (output.overlap * rho * rho + h).sqrt();
                    chance += b_weight * g_weight * 0.3 * density(z) * cdf_power(output.unflatten(x), wrong);
                }
            }
        }
        chance
    }

    #[test]
    fn race_agrees_with_brute_force() {
        for wrong in [20.0, 1000.0, 1e6] {
            for dim in [16.0, 64.0, 300.0] {
                for freedom in [None, Some(dim)] {
                    let output = Output { overlap: 1.0 / dim, freedom };
                    let race = Race::new(wrong, output);
                    for x in [-1.0, 1.0, 2.0, 3.0, 4.0, 6.0, 20.0] {
                        let (fast, exact) =
                            (race.win(x, Noise::normal(1.0)), slow(wrong, output, x * output.overlap.sqrt()));
                        let case = format!("{wrong} {dim} {freedom:?} {x}: {fast} {exact}");
                        // A million labels in 16 dimensions is the least accurate case.
                        let allowed = if dim < 40.0 { 0.015 } else { 2e-4 };
                        assert!((fast - exact).abs() < allowed, "{case}");
                    }
                }
            }
        }
    }

    #[test]
    fn race_without_noise_and_signal_is_a_draw() {
        let race = Race::new(9.0, Output { overlap: 0.0, freedom: None });
        assert_eq!(race.win(0.0, Noise::normal(0.0)), 0.1);
        assert!(race.win(1.0, Noise::normal(0.0)) > 1.0 - 1e-6 && race.win(-1.0, Noise::normal(0.0)) < 1e-6);
    }

    /// The right label's coefficient has the same law as the others.
    #[test]
    fn without_signal_every_label_has_the_same_chance() {
        for (wrong, dim) in [(9.0, 50.0), (999.0, 50.0), (999.0, 4000.0)] {
            for freedom in [None, Some(dim)] {
                let race = Race::new(wrong, Output { overlap: 1.0 / dim, freedom });
                let own = (1.0 + (wrong + 1.0) / dim).sqrt().recip();
                let chance = hermite(12).mean(|z| race.win(own * z, Noise::normal(1.0))) * (wrong + 1.0);
                assert!((chance - 1.0).abs() < 0.1, "{wrong} {dim} {freedom:?}: {chance}");
            }
        }
    }

    #[test]
    fn unflatten_inverts_flatten() {
        let output = Output { overlap: 0.02, freedom: None };
        for y in [-6.0, -1.0, 0.0, 0.5, 3.0, 7.0] {
            let x = output.flatten(y);
            assert!(
                (x.abs() <= y.abs() || y.abs() < 2.0) && (output.unflatten(x) - y).abs() < 1e-9,
                "{y} {x}"
            );
        }
    }
}
