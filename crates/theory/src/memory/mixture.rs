//! The largest wrong logit where the coefficient of a wrong label with its own fact is far from normal (theory: recall).
//!
//! Two causes: with loose attention facts are stored at different rates, and with soft attention the labels of the other tokens in
//! the sequence are preferred. The law of the coefficient is then a mixture over facts. On average
//! `V E[1 - F((x - c)/sqrt(x^2/d + tau^2 + Var c))]` wrong logits exceed x, and the median of the largest is where this is log 2.
//! Its distance from the median for normal coefficients of the same variance is subtracted from the signal.

use std::f64::consts::LN_2;

use super::explicit::{Coefficient, above};
use super::{Fact, Loose, Output, Race, Stored};
use crate::kernel::Query;

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
    let spread = output.freedom.map_or(0.0, |freedom| 2.0 / freedom);
    let excess = |x: f64| {
        let above = above(&law, x, output.overlap * x * x + common, spread);
        libm::log(vocab * above.max(1e-18) / LN_2)
    };
    // Newton's method with the slope of a normal tail, whose logarithm falls by about y per standard deviation.
    let slope = y.max(1.0) * room / normal.max(1e-300) * y.max(1.0);
    let mut x = normal;
    let (mut low, mut high) = (0.0, 20.0 * normal);
    for _ in 0..12 {
        let over = excess(x);
        if over.abs() < 1e-2 {
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
    let tilt = |fact: &Fact| output.overlap * fact.trigger_overlap;
    let mean_tilt =
        loose.facts.iter().map(|fact| fact.weight * fact.rate * tilt(fact)).sum::<f64>() / loose.mass;
    let mean_kappa = kappa * (1.0 + mean_tilt);
    let mut law = Vec::new();
    for fact in &loose.facts {
        let kappa = kappa * (1.0 + tilt(fact));
        let context = if fact.context > 0.0 { loose.present } else { 0.0 };
        let (mean, count) = (all * fact.rate * unit, fact.sample_weight * unit);
        let variance = mean * count;
        for (slope, share) in [(kappa, 1.0 - context), (kappa + xi * fact.context, context)] {
            law.push(Coefficient {
                mean: slope * mean - mean_kappa,
                variance: slope * slope * variance
                    + s2 * (mean * mean + variance + all * unit * unit * fact.others)
                    + extra,
                third: slope * variance * (slope * slope * count + 6.0 * s2 * mean),
                weight: share * fact.weight,
            });
        }
    }
    law.retain(|coefficient| coefficient.weight > 0.0);
    law
}
