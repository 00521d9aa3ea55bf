//! One-step accuracy by class of facts under Zipf's law (theory: Zipf).

use super::classes::Class;
use super::race::{Coefficient, Race, counts, points, square};
use crate::point::Point;
use crate::quadrature::hermite;

/// Nodes for what all labels share of a query.
const SHARED: usize = 9;

/// For every class, the probability that a fact can be read from the first gradient.
pub(super) fn readable(point: &Point, classes: &[Class]) -> Vec<f64> {
    let (overlap, t, samples) = (point.overlap(), point.trigger.t(), point.samples);
    let spread = if point.lengths_vary() { 2.0 * overlap } else { 0.0 };
    let others = point.length - 1.0;
    let per_label = samples / point.vocab;
    let noise2: f64 = classes.iter().map(|class| class.count * class.noise * class.noise).sum();
    let counts: Vec<_> = classes.iter().map(|class| counts(samples, class)).collect();
    let shared = hermite(SHARED);
    let read = |(v, class): (usize, &Class)| {
        let q = class.noise;
        let common = overlap * (others * others * (noise2 - q * q).max(0.0) + t);
        shared.mean(|z| {
            // Every sample adds this much to its label for the query, by tokens that all samples share and by the query itself.
            let each = common.sqrt() * z + others * q;
            let noise = |k: f64, own: f64| overlap * (own * k * k + k * others) + k * others * q;
            let wrong = |counts: &Vec<(f64, f64, f64)>| {
                let coefficient = |&(k, spread, weight): &(f64, f64, f64)| Coefficient {
                    mean: (k - per_label) * each,
                    variance: spread * (each * each + overlap) + noise(k, 1.0),
                    weight,
                };
                let law: Vec<Coefficient> = counts.iter().map(coefficient).collect();
                let square = square(&law);
                (law, square)
            };
            let right = |&(k, weight): &(f64, f64)| Coefficient {
                mean: k + (k - per_label) * each,
                variance: noise(k, 0.0) + 0.25 * spread * k * k,
                weight,
            };
            let race = Race { classes, overlap, spread, laws: counts.iter().map(wrong).collect() };
            race.win(v, &points(&counts[v]).iter().map(right).collect::<Vec<_>>())
        })
    };
    classes.iter().enumerate().map(|class| read(class).clamp(0.0, 1.0)).collect()
}
