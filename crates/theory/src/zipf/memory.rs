//! Memory accuracy and recall by class of facts under Zipf's law (theory: Zipf).

use super::attention::Rate;
use super::classes::Class;
use super::race::{Coefficient, Race, counts, few, points, square};
use crate::point::Point;
use crate::quadrature::hermite;

/// Upper ends of the classes that rates of attention are grouped into.
const RATES: [f64; 9] = [0.003, 0.02, 0.06, 0.12, 0.25, 0.5, 0.75, 0.95, f64::INFINITY];

/// The attention that facts of a class receive: by groups of runs, and moments over all runs of what is stored.
struct Attention {
    law: Vec<Group>,
    mean: f64,
    square: f64,
}

/// Runs with about the same attention on a fact: their share, the attention in training and the chance to find the fact at test.
#[derive(Clone, Copy, Default)]
struct Group {
    share: f64,
    stored: f64,
    found: f64,
}

impl Attention {
    fn of(rates: &[Rate]) -> Attention {
        let mut groups = [Group::default(); RATES.len()];
        let (mut mean, mut square) = (0.0, 0.0);
        for &Rate { weight, stored, found, .. } in rates {
            let group = &mut groups[RATES.partition_point(|&end| end < stored)];
            group.share += weight;
            group.stored += weight * stored;
            group.found += weight * found;
            mean += weight * stored;
            square += weight * stored * stored;
        }
        let average =
            |Group { share, stored, found }| Group { share, stored: stored / share, found: found / share };
        Attention {
            law: groups.into_iter().filter(|group| group.share > 1e-6).map(average).collect(),
            mean,
            square,
        }
    }
}

/// For every class, the probability that a fact is recalled if attention finds and stores it at the given rates.
pub(super) fn recalled(point: &Point, classes: &[Class], rates: &[Vec<Rate>]) -> Vec<f64> {
    let attention: Vec<Attention> = rates.iter().map(|rates| Attention::of(rates)).collect();
    let (overlap, t, samples) = (point.overlap(), point.trigger.t(), point.samples);
    let spread = if point.lengths_vary() { 2.0 * overlap } else { 0.0 };
    // The kernel of the mean key: K(w, v) = kappa + Delta(w, v), and xi more for the fact itself.
    let (kappa, xi, variance) = (t, 1.0, (1.0 + t) * overlap);
    let stored = classes.iter().zip(&attention).map(|(class, a)| class.count * class.fact * a.mean);
    let mean = kappa * stored.sum::<f64>() / point.vocab;
    // The overlap of the query with the most frequent token is common to all labels of a query, so it is averaged over last.
    let first = hermite(if t > 0.0 { 3 } else { 5 });
    // With the trigger in the keys, overlaps with the query grow with its length as well as the signal.
    let query = spread * if t > 0.0 { 1.0 } else { 0.25 };
    let law = |(b, class): (usize, &Class), first: f64| {
        let Attention { mean: rate, square: rates, .. } = attention[b];
        let coefficient = |(k, spread, weight): (f64, f64, f64)| {
            let (f, f_variance) = (k / samples, spread / (samples * samples));
            let shared = if b == 0 { f * rate * first } else { 0.0 };
            let overlaps = rates + (1.0 - rate).powi(2) - if b == 0 { rate * rate } else { 0.0 };
            Coefficient {
                mean: kappa * f * rate - mean + shared,
                variance: (kappa * rate).powi(2) * f_variance + variance * (f * f + f_variance) * overlaps,
                weight,
            }
        };
        let law: Vec<Coefficient> = counts(samples, class).into_iter().map(coefficient).collect();
        let square = square(&law);
        (law, square)
    };
    let right = |(b, class): (usize, &Class)| {
        let counts = points(&counts(samples, class));
        let stored = counts.iter().flat_map(|&(k, weight)| {
            attention[b].law.iter().map(move |at| (k * at.stored / samples, weight * at.share * at.found))
        });
        let coefficient = |(f, weight): (f64, f64)| Coefficient {
            mean: f * (xi + kappa) - mean,
            variance: query * (f * xi).powi(2),
            weight,
        };
        few(&stored.collect::<Vec<_>>()).into_iter().map(coefficient).collect::<Vec<_>>()
    };
    let rights: Vec<_> = classes.iter().enumerate().map(right).collect();
    let mut recalled = vec![0.0; classes.len()];
    for &(z, weight) in &first.points {
        let laws = classes.iter().enumerate().map(|class| law(class, z * variance.sqrt())).collect();
        let race = Race { classes, overlap, spread, laws };
        for (v, right) in rights.iter().enumerate() {
            recalled[v] += weight * race.win(v, right);
        }
    }
    recalled.iter_mut().for_each(|share| *share = share.clamp(0.0, 1.0));
    recalled
}

/// The rates of attention that is always on the informative position.
pub(super) fn placed(classes: &[Class]) -> Vec<Vec<Rate>> {
    vec![vec![Rate { weight: 1.0, stored: 1.0, found: 1.0, locked: 1.0 }]; classes.len()]
}
