//! The largest wrong logit where the coefficient of a wrong label with its own fact is far from normal (theory: recall).
//!
//! Two causes: with loose attention facts are stored at different rates, and with soft attention the labels of the other tokens in
//! the sequence are preferred. The law of the coefficient is then a mixture over facts. Given that the right logit is x, the wrong logits that exceed it number
//! `V E[1 - F((x - c)/sqrt(x^2/d + tau^2 + Var c))]`; the median of the largest is where this is log 2. Its distance from the
//! median for normal coefficients of the same variance shifts the signal.

use std::f64::consts::LN_2;

use super::{Fact, Loose, Output, Race, Stored};
use crate::kernel::Query;
use crate::normal::QuickTail;

/// A value of a label's own coefficient: its mean, its variance, its third cumulant and its probability.
struct Coefficient {
    mean: f64,
    variance: f64,
    third: f64,
    weight: f64,
}

/// The shift of the largest of `vocab` wrong logits from that of normal ones, with everything in units of the mean count.
pub(super) fn shift(
    vocab: f64,
    race: &Race,
    samples: f64,
    loose: &Loose,
    stored: &Stored,
    query: &Query,
) -> f64 {
    let (y, output) = (race.median, race.output);
    let parts = stored.noise(query, loose, output.overlap, vocab);
    let variance: f64 = parts.iter().sum();
    let common = output.overlap * vocab * variance;
    let room = 1.0 - output.overlap * y * y;
    if room <= 0.0 {
        return 0.0;
    }
    let normal = y * ((common + variance) / room).sqrt();
    let law = law(vocab, output, samples, loose, query, parts[2].max(0.0));
    let tail = QuickTail::new();
    let spread = output.freedom.map_or(0.0, |freedom| 2.0 / freedom);
    let excess = |x: f64| {
        let rest = output.overlap * x * x + common;
        let above = |c: &Coefficient| {
            let deviation = (rest + c.variance + spread * c.mean * c.mean).sqrt();
            let t = (x - c.mean) / deviation;
            let moved = c.third / deviation.powi(3) * (t * t - 1.0) / 6.0;
            c.weight * tail.at(t - moved.clamp(-0.3, 0.3 * t.abs()))
        };
        libm::log(vocab * law.iter().map(above).sum::<f64>().max(1e-18) / LN_2)
    };
    // Newton's method with the slope of a normal tail, whose logarithm falls by about y per standard deviation.
    let slope = y.max(1.0) * room / normal.max(1e-300) * y.max(1.0);
    let mut x = normal;
    let (mut low, mut high) = (0.0, 20.0 * normal);
    for _ in 0..12 {
        let over = excess(x);
        if over.abs() < 1e-3 {
            break;
        }
        if over > 0.0 {
            low = x
        } else {
            high = x
        }
        let next = x + over / slope;
        x = if next > low && next < high { next } else { 0.5 * (low + high) };
    }
    x - normal
}

/// The law of a wrong label's own coefficient, with noise of variance `extra` from other tokens.
fn law(
    vocab: f64,
    output: Output,
    samples: f64,
    loose: &Loose,
    query: &Query,
    extra: f64,
) -> Vec<Coefficient> {
    let Query { kappa, xi, s2, .. } = *query;
    let all = samples / vocab;
    let unit = 1.0 / (all * loose.mass);
    let tilt = |fact: &Fact| output.overlap * fact.tilt;
    let mean_tilt =
        loose.facts.iter().map(|fact| fact.weight * fact.rate * tilt(fact)).sum::<f64>() / loose.mass;
    let mean_kappa = kappa * (1.0 + mean_tilt);
    let mut law = Vec::new();
    for fact in &loose.facts {
        let kappa = kappa * (1.0 + tilt(fact));
        let context = if fact.context > 0.0 { loose.present } else { 0.0 };
        // Given what is stored of the fact: its mean, its variance and the size of one count.
        let mut add = |mean: f64, variance: f64, count: f64, weight: f64| {
            for (slope, share) in [(kappa, 1.0 - context), (kappa + xi * fact.context, context)] {
                if share * weight > 1e-7 {
                    law.push(Coefficient {
                        mean: slope * mean - mean_kappa,
                        variance: slope * slope * variance
                            + s2 * (mean * mean + variance + all * unit * unit * fact.lost)
                            + extra,
                        third: slope * variance * (slope * slope * count + 6.0 * s2 * mean),
                        weight: share * weight,
                    });
                }
            }
        };
        let (mean, count) = (all * fact.rate * unit, fact.grain * unit);
        add(mean, mean * count, count, fact.weight);
    }
    law
}
