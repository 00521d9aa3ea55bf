//! One-step accuracy of the attention-MLP model (theory: one step).
//!
//! The logit of label j is `(1/N) sum_n A(j, y_n) K(h_n, z_v)`, K the kernel of a key and a head output:
//! `k(rho) = sum_q c_q c'_q rho^q`, with Hermite coefficients at the length of each. A sample of the right
//! label has the cosine `(1/L + 1/V) |z| / |h|`, any other `(1/V) |z| / |h|`, both spread by overlaps. The difference is the
//! signal. The part common to all samples is mean bias, the part that varies with the label is interference, the part that
//! varies with the sample is gradient noise, and the first layer adds noise of order `1/m` to each.

use crate::heads::Heads;
use crate::kernel::{DEGREES, Feature, lengths, polynomial, products};
use crate::memory::{Noise, Race};
use crate::point::Point;
use crate::quadrature::hermite;

use super::right;

pub fn accuracy(point: &Point, race: &Race) -> f64 {
    let heads = Heads::of(point);
    let head = Feature::of(point.activation, heads.square);
    lengths(point).mean(|square| {
        let Some(noise) = noise(point, &heads, &head, square) else { return 1.0 / point.vocab };
        let m = point.coverage();
        let right = right(point, (1.0 + noise.each) / m, noise.own / (m * m));
        right.mean(|signal| race.win(signal - noise.each, noise.at(m)))
    })
}

/// Variance of a wrong logit for a query of length 1, in units of the squared signal: the part that data does not reduce and the
/// part that is divided by N/V. None where there is no signal.
pub fn variances(point: &Point) -> Option<[f64; 2]> {
    let heads = Heads::of(point);
    let terms = noise(point, &heads, &Feature::of(point.activation, heads.square), 1.0)?;
    Some([terms.fixed, terms.per_sample])
}

/// Noise of a wrong logit in units of the signal of a fact seen N/V times.
struct Terms {
    fixed: f64,
    per_sample: f64,
    /// The part that is divided by N/V in the right label's coefficient.
    own: f64,
    /// The mean coefficient of all samples.
    each: f64,
    same: f64,
    fourth: f64,
}

impl Terms {
    fn at(&self, per_fact: f64) -> Noise {
        let variance = self.fixed + self.per_sample / per_fact;
        Noise::new(variance, self.same / per_fact.powi(2), self.fourth / per_fact.powi(3))
    }
}

/// None where there is no signal.
fn noise(point: &Point, heads: &Heads, head: &Feature, square: f64) -> Option<Terms> {
    let Point { vocab, length, .. } = *point;
    let width = point.width?;
    let overlap = point.overlap();
    let label = overlap + 1.0 / vocab;
    let key = Feature::of(point.activation, square);
    let kernel = products(&key.coefficients, &head.coefficients);

    // Cosines: the part that all samples share, the excess of samples of the right label, and the spread by other tokens.
    let unit = (square / heads.square).sqrt();
    let shared = unit * (1.0 - 1.0 / length) / vocab;
    let more = unit / length;
    let spread = unit * (label * (length - 1.0)).sqrt() / length;
    let rule = hermite(12);
    let at = |rho: f64| polynomial(&kernel, rho.clamp(-1.0, 1.0));
    let mean = rule.mean(|z| at(shared + spread * z));
    let signal = rule.mean(|z| at(shared + more + spread * z)) - mean;
    let slope = |q: usize| kernel.get(q + 1).map_or(0.0, |c| (q + 1) as f64 * c);
    let slopes: [f64; DEGREES] = std::array::from_fn(slope);
    let steepness = rule.mean(|z| polynomial(&slopes, (shared + spread * z).clamp(-1.0, 1.0)).powi(2));
    let others = rule.mean(|z| (at(shared + spread * z) - mean).powi(2));

    // Parts of the head's features that are common to all samples, and common to the samples of a label.
    let features = products(&head.coefficients, &head.coefficients);
    let at_cosine = |product: f64| polynomial(&features, (product / heads.square).min(1.0));
    let common = at_cosine(heads.apart);
    let by_label = at_cosine(heads.alike) - common;
    let by_sample = (head.square() - common - by_label).max(0.0);

    let facts = steepness * more * more * overlap + key.square() * by_label / width;
    let samples = others + key.square() * by_sample / width;
    let drift = steepness * unit * unit * overlap * (1.0 / vocab + point.trigger.t() / (length * length));
    let bias = mean * mean + drift + common * (key.square() - key.mean().powi(2)).max(0.0) / width;
    let energy = signal * signal;
    if !(signal > 0.0 && energy.is_normal()) {
        return None;
    }
    let same = (length - 1.0) / vocab;
    let unit = label * vocab / energy;
    Some(Terms {
        fixed: unit * facts,
        per_sample: unit * (facts + samples + bias),
        own: samples / energy,
        each: mean / signal,
        same,
        fourth: 3.0 * (others / energy).powi(2) + same,
    })
}
