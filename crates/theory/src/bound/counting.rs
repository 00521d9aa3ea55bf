//! Counting: a bound for any decoder of a gradient that is read with p bits a number (`docs/theory/bound.md`, 4).
//!
//! Without looking, k facts are answered right with a probability of at most `1/k!`. Recall of a share alpha on average
//! therefore takes at least `log((alpha V)!) - log(V + 1)` nats about the permutation.

use std::f64::consts::LN_2;

use crate::point::Point;

/// Nats about a random permutation without which a share `accuracy` of it is not recalled on average.
pub(super) fn nats(vocab: f64, accuracy: f64) -> f64 {
    (libm::lgamma(accuracy * vocab + 1.0) - libm::log1p(vocab)).max(0.0)
}

/// Bits for each of the gradient's numbers, d times d or d times m.
pub(super) fn bits(point: &Point, accuracy: f64) -> f64 {
    nats(point.vocab, accuracy) / (LN_2 * point.dim * point.width.unwrap_or(point.dim))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Dice;

    /// Fixed answers agree with a random permutation in exactly k places with a probability of at most `1/k!`.
    #[test]
    fn guesses_are_counted() {
        let mut dice = Dice(5);
        let mut permutations = vec![vec![]];
        for v in 0..6 {
            permutations = permutations
                .iter()
                .flat_map(|p: &Vec<usize>| (0..=p.len()).map(|i| [&p[..i], &[v], &p[i..]].concat()))
                .collect();
        }
        assert_eq!(permutations.len(), 720);
        for _ in 0..50 {
            let answers: Vec<usize> = (0..6).map(|_| (6.0 * dice.unit()) as usize).collect();
            let mut right = [0; 7];
            for p in &permutations {
                right[p.iter().zip(&answers).filter(|(label, answer)| label == answer).count()] += 1;
            }
            let mut factorial = 1;
            for (k, count) in right.iter().enumerate() {
                factorial *= k.max(1);
                assert!(count * factorial <= 720, "{k} right: {count} of 720");
            }
        }
    }

    /// Telling the labels of k facts takes `log(V!/(V - k)!)` nats and recalls k + 1 facts on average, so the bound is not
    /// above that.
    #[test]
    fn telling_some_labels_takes_no_less() {
        for vocab in [2, 3, 5, 10, 100, 1000] {
            for k in 0..vocab {
                let v = f64::from(vocab);
                let told = libm::lgamma(v + 1.0) - libm::lgamma(v - f64::from(k) + 1.0);
                let needed = nats(v, f64::from(k + 1) / v);
                assert!(needed <= told + 1e-9, "V = {vocab}, k = {k}: {needed} > {told}");
            }
        }
        assert!(nats(1e4, 1.0) > 0.999 * libm::lgamma(1e4 + 1.0));
    }
}
