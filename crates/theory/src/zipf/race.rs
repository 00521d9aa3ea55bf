//! The race of labels of different frequency (theory: Zipf).
//!
//! A wrong label's own coefficient depends on how often its fact is used. Given that the right logit is x, a wrong label is behind with
//! the probability `F((x - c)/sqrt(x^2/d + rest + Var c))`, and all are with the product of these probabilities.

use std::sync::LazyLock;

use super::classes::Class;
use crate::counts::{Detail, binomial};
use crate::normal::QuickTail;
use crate::quadrature::{Rule, hermite, of_points};

/// Nodes for the noise of the right logit, and for a count that is a normal number.
static NORMAL: LazyLock<Rule> = LazyLock::new(|| hermite(5));

/// From this mean on a count is a normal number.
const MANY: f64 = 8.0;

/// Points that stand for a law of whole numbers.
const POINTS: usize = 5;

/// A value of a coefficient: mean, variance and probability.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coefficient {
    pub mean: f64,
    pub variance: f64,
    pub weight: f64,
}

/// The number of samples of a fact: points with the mean, the variance and the probability of each.
pub(super) fn counts(samples: f64, class: &Class) -> Vec<(f64, f64, f64)> {
    let mean = samples * class.fact;
    if mean > MANY {
        return vec![(mean, mean * (1.0 - class.fact), 1.0)];
    }
    let law = binomial(samples, class.fact, Detail::Every).points;
    of_points(&law, POINTS).points.into_iter().map(|(k, weight)| (k.max(0.0), 0.0, weight)).collect()
}

/// The same without variances.
pub(super) fn points(counts: &[(f64, f64, f64)]) -> Vec<(f64, f64)> {
    let spread = |&(mean, variance, weight): &(f64, f64, f64)| {
        let nodes = if variance > 0.0 { NORMAL.points.clone() } else { vec![(0.0, 1.0)] };
        nodes.into_iter().map(move |(z, share)| ((mean + variance.sqrt() * z).max(0.0), weight * share))
    };
    counts.iter().flat_map(spread).collect()
}

/// A few points that stand for a law whose weights have any sum.
pub(super) fn few(law: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let total: f64 = law.iter().map(|point| point.1).sum();
    if law.len() <= POINTS || total <= 0.0 {
        return law.to_vec();
    }
    of_points(law, POINTS).points.into_iter().map(|(x, weight)| (x, weight * total)).collect()
}

/// All labels and their coefficients.
pub(super) struct Race<'a> {
    pub classes: &'a [Class],
    /// Mean square of the product of two output embeddings, and relative variance of their squared lengths.
    pub overlap: f64,
    pub spread: f64,
    /// For every class the law of a wrong label's own coefficient, and its mean square.
    pub laws: Vec<(Vec<Coefficient>, f64)>,
}

impl Race<'_> {
    /// The mean square of all coefficients together.
    fn energy(&self) -> f64 {
        self.classes.iter().zip(&self.laws).map(|(class, law)| class.count * law.1).sum()
    }

    /// The probability that the right label, of class v, has the largest logit.
    pub fn win(&self, v: usize, right: &[Coefficient]) -> f64 {
        let energy = (self.energy() - self.laws[v].1).max(0.0);
        let wins = |c: &Coefficient| {
            let deviation = (c.variance + self.spread * c.mean * c.mean + energy * self.overlap).sqrt();
            c.weight * NORMAL.mean(|z| self.behind(v, c.mean + deviation * z, energy))
        };
        right.iter().filter(|c| c.weight > 1e-6).map(wins).sum()
    }

    /// The probability that all wrong labels are behind a right logit x.
    fn behind(&self, v: usize, x: f64, energy: f64) -> f64 {
        let tail = QuickTail::new();
        let overlap = self.overlap;
        let mut log = 0.0;
        for (b, (class, (law, own))) in self.classes.iter().zip(&self.laws).enumerate() {
            let count = class.count - f64::from(u8::from(b == v));
            let rest = overlap * (x * x + (energy - own).max(0.0) * (1.0 - overlap));
            let ahead = |c: &Coefficient| {
                let variance = rest + c.variance + self.spread * c.mean * c.mean;
                c.weight * tail.at((x - c.mean) / variance.sqrt().max(1e-300))
            };
            let ahead: f64 = law.iter().map(ahead).sum();
            log += count * libm::log1p(-ahead.min(1.0 - 1e-12));
            if log < -20.0 {
                return 0.0;
            }
        }
        libm::exp(log)
    }
}

/// The mean square of a law.
pub(super) fn square(law: &[Coefficient]) -> f64 {
    law.iter().map(|c| c.weight * (c.mean * c.mean + c.variance)).sum()
}
