//! The race of labels where a wrong label's own coefficient is far from normal (theory: memory).
//!
//! The noise vector is `u = sum_j c_j z_out[j]`, and a wrong label j has the logit `b_j c_j` plus its product with the rest of u
//! and with the right label's part. With few samples per fact c_j depends on a small whole number, so its law is summed
//! explicitly: given that the right logit is x, a wrong one is smaller with the probability
//! `E F((x - c_j) / sqrt(x^2/d + tau^2 + Var c_j))`, and all V - 1 are with that probability to the power V - 1.

use std::sync::LazyLock;

use crate::normal::QuickTail;
use crate::quadrature::{Rule, Table, chi_square, hermite};

use super::Output;

static NORMAL: LazyLock<Rule> = LazyLock::new(|| hermite(5));

/// A value of a label's own coefficient: its mean, its variance, its third cumulant and its probability.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coefficient {
    pub mean: f64,
    pub variance: f64,
    pub third: f64,
    pub weight: f64,
}

/// Squared number of standard deviations that a logit does not exceed.
const NEVER: f64 = 81.0;

/// The probability that a wrong logit exceeds x, if noise from other labels has the variance `rest` and squared lengths of output
/// embeddings have the relative variance `spread`. A third cumulant moves the quantile (Cornish and Fisher).
pub(crate) fn above(law: &[Coefficient], x: f64, rest: f64, spread: f64) -> f64 {
    let tail = QuickTail::new();
    let above = |c: &Coefficient| {
        let (distance, variance) = (x - c.mean, rest + c.variance + spread * c.mean * c.mean);
        if distance > 0.0 && distance * distance > NEVER * variance {
            return 0.0;
        }
        if variance <= 0.0 {
            return if distance < 0.0 { c.weight } else { 0.0 };
        }
        let deviation = variance.sqrt();
        let t = distance / deviation;
        let moved = c.third / deviation.powi(3) * (t * t - 1.0) / 6.0;
        c.weight * tail.at(t - moved.max(-0.3).min(0.3 * t.abs()))
    };
    law.iter().map(above).sum()
}

/// The probability that the right label has the largest of `vocab` logits, if its own coefficient has the law `right`, and those of
/// the wrong labels have the law `wrong` and the mean square `square`.
pub(crate) fn win(
    vocab: f64,
    output: Output,
    square: f64,
    wrong: &[Coefficient],
    right: &[Coefficient],
) -> f64 {
    let Output { overlap, freedom } = output;
    let noise = overlap * (vocab - 1.0) * square;
    let deviation = noise.sqrt();
    // The squared length of an output embedding, as a factor of its own coefficient.
    let spread = freedom.map_or(0.0, |freedom| 2.0 / freedom);
    let lengths = freedom.map_or(Rule::certain(1.0), |freedom| chi_square(freedom, 3));
    let above = |x: f64| above(wrong, x, overlap * x * x + noise * (1.0 - overlap), spread);
    let below = |x: f64| libm::exp((vocab - 1.0) * libm::log1p(-above(x).min(1.0 - 1e-12)));
    let (low, high) = right.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), c| {
        let reach = 5.0 * (c.variance + noise).sqrt();
        (low.min(c.mean - reach), high.max(c.mean + reach))
    });
    // The outcome is certain where many or no wrong logits are expected above x.
    let place = |expected: f64| {
        let (mut left, mut right) = (low, high);
        for _ in 0..12 {
            let middle = 0.5 * (left + right);
            if vocab * above(middle) > expected { left = middle } else { right = middle }
        }
        (left, right)
    };
    let table = Table::new(place(40.0).0, place(1e-7).1, 0.4 * deviation, below);
    let normal = &*NORMAL;
    let wins = |c: &Coefficient| {
        c.weight
            * lengths.mean(|b| {
                let deviation = (b * b * c.variance + b * noise).sqrt();
                normal.mean(|z| table.at(b * c.mean + deviation * z).clamp(0.0, 1.0))
            })
    };
    right.iter().map(wins).sum()
}
