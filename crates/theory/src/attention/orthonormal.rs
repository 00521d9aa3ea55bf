//! Scores with orthonormal embeddings (theory: attention).
//!
//! Without overlaps a token's score counts coincidences. With `C_y(v)` the number of occurrences of token v in samples of
//! label y, and without pairs of a sample with itself, the score of v is
//! `(V/N^2) sum_y C_y(v) (C_y(v) - C(v)/V)` in units of `1/(L^2 V)`. The counts are Poisson with mean
//! `n_y L/V`, plus `n_v` at v's own label. Its variance over tokens:
//!
//! - pairs of noise tokens, with uneven label counts: `(2/N^2) (L^2/V) (1 + V/N) (1 + L/2V)`,
//! - the token's own fact: the variance of `(V/N^2) n_v (n_v - 1)`, that is `(2/N^2) (1 + 2 N/V)`.
//!
//! The trigger's score is `T = (1 - 1/L) (1 + t V/N)`. Its variance from run to run has a part from pairs of samples of one
//! label, `(1 + t)^2 2 V/N^2`, and a part from occurrences of a fact's token among the noise tokens of its own samples,
//! `(L/(V N)) E[n^3]/(N/V)^3`.
//!
//! With an MLP the parts are multiplied by the factors in [`Gradient`], and the first layer adds noise in all directions as with
//! overlapping embeddings, with V directions in place of d.
//!
//! Compared with simulation (V from 71 to 300, L from 4 to 60, N/V from 0.5 to 7) both spreads are accurate to about 10%.

use super::gradient::{Gradient, Layer};
use super::{Scores, in_squares};
use crate::point::Point;

pub fn scores(point: &Point, gradient: &Gradient) -> Scores {
    let Point { vocab, length, samples, .. } = *point;
    let t = point.trigger.t();
    let rest = 1.0 - 1.0 / length;
    let scarcity = vocab / samples;
    let from_pairs = rest * gradient.same_label;
    let pairs = gradient.pair * length * length / vocab * (1.0 + scarcity) * (1.0 + 0.5 * length / vocab);
    let own = (rest * gradient.same_label).powi(2) * (1.0 + 2.0 / scarcity);
    // The distribution of the lock rate accounts for the number of pairs; this is the rest of the trigger's part.
    let labels = 2.0 * vocab * (t * (2.0 + t)) * (rest * gradient.own / samples).powi(2);
    let noise = gradient.pair * length / (vocab * samples) * (1.0 + scarcity * (3.0 + scarcity));
    let [mean, single, pair] = layer_noise(point, &gradient.layer);
    let coefficient = ((1.0 + t) * vocab / length).sqrt();
    Scores {
        trigger: from_pairs + rest * t * scarcity * gradient.own,
        from_pairs,
        pairs: samples * samples / (2.0 * vocab),
        trigger_spread: in_squares(&[(labels + noise).sqrt(), mean, single, pair, pair * coefficient]),
        mean_bias: 0.0,
        gradient_noise: (2.0 * (pairs + own)).sqrt() / samples,
        mlp_noise: in_squares(&[mean, single, pair]),
        bias_variance: 0.0,
        output_overlap: 0.0,
    }
}

/// Spreads from the first layer: by the mean of the gradients, by single samples, by pairs.
fn layer_noise(point: &Point, layer: &Layer) -> [f64; 3] {
    let Point { vocab, length, samples, .. } = *point;
    let square = length * length / samples;
    let pairs = layer.pair / vocab + layer.own / samples;
    [
        square * (layer.own_mean + 2.0 * layer.pair_mean / vocab).sqrt(),
        square * (layer.single / vocab).sqrt(),
        square * (vocab * pairs / length).sqrt(),
    ]
}

#[cfg(test)]
mod tests {
    use superpose_core::config::{Embedding, Trigger};

    use super::*;
    use crate::point::gaussian;

    #[test]
    fn agrees_with_simulation() {
        // Spread of token scores, mean and spread of the trigger's score, from 200 seeds each.
        for (vocab, length, samples, trigger, seen) in [
            (76.0, 37.0, 64.0, Trigger::Keys, [0.159, 1.002, 0.295]),
            (71.0, 11.0, 149.0, Trigger::Keys, [0.026, 0.893, 0.078]),
            (167.0, 4.0, 85.0, Trigger::Keys, [0.020, 0.749, 0.167]),
            (183.0, 29.0, 169.0, Trigger::Values, [0.039, 1.983, 0.246]),
            (100.0, 60.0, 400.0, Trigger::Keys, [0.031, 0.973, 0.060]),
        ] {
            let point = Point {
                embedding: Embedding::Orthonormal,
                trigger,
                ..gaussian(vocab, vocab + 2.0, length, samples)
            };
            let scores = Scores::of(&point);
            let spread = scores.trigger_spread.hypot(scores.from_pairs / scores.pairs.sqrt());
            let ratios = [scores.gradient_noise / seen[0], scores.trigger / seen[1], spread / seen[2]];
            assert!(ratios.iter().all(|r| (0.75..1.25).contains(r)), "V = {vocab}: {ratios:?}");
        }
    }

    /// Spread of token scores in sequences as long as the vocabulary and longer, from 200 seeds each.
    #[test]
    fn long_sequences_agree_with_simulation() {
        for (vocab, length, samples, seen) in
            [(300.0, 300.0, 600.0, 0.0616), (100.0, 300.0, 1000.0, 0.0717), (200.0, 200.0, 2000.0, 0.0140)]
        {
            let embedding = Embedding::Orthonormal;
            let point = Point { embedding, ..gaussian(vocab, vocab + 2.0, length, samples) };
            let ratio = Scores::of(&point).gradient_noise / seen;
            assert!((ratio - 1.0).abs() < 0.08, "V = {vocab}: {ratio}");
        }
    }
}
