//! Ranks grouped into classes of about equal frequency (theory: Zipf).
//!
//! The first ranks decide most outcomes, so each is its own class. Later classes grow in proportion to the rank, and their ranks
//! have the mean frequency of the class.

use crate::point::Point;

/// Ranks that are a class each.
pub(crate) const SINGLE: usize = 8;

/// The ratio of the ends of a later class.
const RATIO: f64 = 1.35;

/// Up to this rank sums are exact; beyond it they are integrals, with a relative error below `s (s + 1)/(24 rank^2)`.
const EXACT: f64 = 256.0;

/// Tokens of about the same frequency.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class {
    /// Number of tokens.
    pub count: f64,
    /// Probability of one as the informative token, `p`.
    pub fact: f64,
    /// Probability of one as a given other token of a sequence, `q`.
    pub noise: f64,
}

/// The classes of a point, the most frequent first.
pub(crate) fn classes(point: &Point) -> Vec<Class> {
    let vocab = point.vocab;
    let mut ends = vec![0.0];
    let mut end: f64 = 0.0;
    while end < vocab {
        end = if end < SINGLE as f64 { end + 1.0 } else { (end * RATIO).round() };
        ends.push(end.min(vocab));
    }
    let shares = |exponent: f64| {
        let sums: Vec<f64> = ends.windows(2).map(|end| power_sum(end[0], end[1], exponent)).collect();
        let total: f64 = sums.iter().sum();
        sums.into_iter().map(move |sum| sum / total)
    };
    let (facts, noise) = (shares(point.zipf.facts), shares(point.zipf.noise));
    let counts = ends.windows(2).map(|end| end[1] - end[0]);
    let class =
        |((count, fact), noise): ((f64, f64), f64)| Class { count, fact: fact / count, noise: noise / count };
    counts.zip(facts).zip(noise).map(class).collect()
}

/// The sum of `rank^-exponent` over the ranks above `low` up to `high`.
fn power_sum(low: f64, high: f64, exponent: f64) -> f64 {
    let middle = low.max(high.min(EXACT));
    let mut sum = 0.0;
    let mut rank = low + 1.0;
    while rank <= middle {
        sum += libm::pow(rank, -exponent);
        rank += 1.0;
    }
    // A vocabulary that is no whole number has a part of its last rank.
    sum += (middle - (rank - 1.0)).max(0.0) * libm::pow(rank, -exponent);
    if high <= middle {
        return sum;
    }
    let (from, to) = (middle + 0.5, high + 0.5);
    sum + match (exponent - 1.0).abs() < 1e-9 {
        true => libm::log(to / from),
        false => (libm::pow(to, 1.0 - exponent) - libm::pow(from, 1.0 - exponent)) / (1.0 - exponent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::{Zipf, gaussian};

    #[test]
    fn classes_hold_all_tokens_and_their_probabilities() {
        for (vocab, exponent) in [(5.0, 1.0), (300.0, 0.5), (1425.0, 1.0), (100_000.0, 2.0)] {
            let point =
                Point { zipf: Zipf { facts: exponent, noise: 0.0 }, ..gaussian(vocab, 64.0, 8.0, 1e3) };
            let classes = classes(&point);
            let sum = |f: fn(&Class) -> f64| classes.iter().map(|class| class.count * f(class)).sum::<f64>();
            assert!((sum(|_| 1.0) - vocab).abs() < 1e-9, "{vocab}");
            assert!((sum(|class| class.fact) - 1.0).abs() < 1e-12);
            assert!(classes.iter().all(|class| (class.noise * vocab - 1.0).abs() < 1e-9));
            let total: f64 = (1..=vocab as u64).map(|rank| (rank as f64).powf(-exponent)).sum();
            assert!((classes[0].fact * total - 1.0).abs() < 1e-5, "{vocab} {exponent}");
            // The sum of squares of all facts, which sets the size of the scores.
            let squares: f64 =
                (1..=vocab as u64).map(|rank| ((rank as f64).powf(-exponent) / total).powi(2)).sum();
            assert!(
                (sum(|class| class.fact * class.fact) / squares - 1.0).abs() < 0.01,
                "{vocab} {exponent}"
            );
        }
    }
}
