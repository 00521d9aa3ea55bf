//! Scores with overlapping embeddings (theory: attention).
//!
//! The direction of step 2 is `u = (1/N^2) sum_{n,m} B(n,m) Cov_n h_m`, where `B(n,m)` is the inner product of the centred
//! output embeddings of the labels of samples n and m: 1 for the same label, else about `1/sqrt(d)`. `Cov_n` is
//! the covariance of a sequence's tokens, `C` its mean, and the mean head output is `mu`, with `|mu|^2 = 1/V`.
//! The eigenvalues of `d C` follow Marchenko and Pastur's law at ratio c = d/V; their moments are `m2 = 1 + c`,
//! `m3 = 1 + 3c + c^2`, `m4 = 1 + 6c + 6c^2 + c^3`. A token's score is `z . u` for one of the
//! vectors z that `C` is composed of; the trigger is an independent direction, for which one power of C is replaced by its mean.
//!
//! | term | from | token's score | trigger's score |
//! |---|---|---|---|
//! | mean bias | `C mu`, and `sum B / N^2 = 1/N` | `L^2 sqrt(V m3 (1 + 2/d + 2/V)) / (N d^1.5)` | m2 for m3 |
//! | gradient noise, mean covariance | `C (h_m - mu)`, labels uneven | `L^1.5 V sqrt(m2 m4) / (N d^2)` | m3 for m4 |
//! | gradient noise, pairs | `(Cov_n - C) h_m` | `(L V sqrt(m2 (m2 + c + L/V)) / (N d)) sqrt(1/d + 1/V + 1/N)` | 1 for the first m2 |
//! | gradient noise, lengths | `sum_v z_v (|z_v|^2 - 1)`, a sample with itself | `L sqrt(2 V m2) / (N d)` | `L sqrt(2V) / (N d)` |
//! | coefficient of the trigger | `(z_n - h_n) . h_m` | | `V sqrt((1 + t) L m2 / d) sqrt(1/d + 1/V + 1/N) / N` |
//! | facts, with an MLP | `E[(z_v - h_n) . h_n]` given the token v, labels uneven | | `b L sqrt(V (1/d + 1/V) / N) s` |
//! | overlap with the trigger | | `T / sqrt(d)` | |
//!
//! T itself is `(1 - 1/L) ((1 - 1/V) (1 - 1/N) + t (V/N) (1 + L/d))`. Its first part counts pairs of samples with the same label, of
//! which there are `N (N - 1) / 2V`; it is proportional to a Gaussian trigger's squared length. With an MLP a sample's gradient also has a component
//! `b = E[phi'' phi]` along its own head output. Its error is common to all samples of a fact and comes from the token's length
//! and overlap with the mean token, `s^2 = ((2 + 4t)/d)/L^2 + 1/(V d)`, to which a trigger in the values adds its own overlap.
//! For an even phi this term is large compared with the signal.

use super::gradient::Gradient;
use super::{Scores, in_squares};
use crate::point::Point;

pub fn scores(point: &Point, gradient: &Gradient) -> Scores {
    let Point { vocab, dim, length, samples, .. } = *point;
    let t = point.trigger.t();
    let Gradient { same_label, own, mutual, along_own, pair, layer } = *gradient;
    let rest = 1.0 - 1.0 / length;
    let from_pairs = rest * same_label * (1.0 - 1.0 / vocab) * (1.0 - 1.0 / samples).max(0.0);
    let from_own = rest * t * (vocab / samples) * (1.0 + length / dim);
    let trigger = from_pairs + from_own * own;

    let c = dim / vocab;
    let (m2, m3) = (1.0 + c, 1.0 + c * (3.0 + c));
    let m4 = 1.0 + c * (6.0 + c * (6.0 + c));
    let m6 = 1.0 + c * (15.0 + c * (50.0 + c * (50.0 + c * (15.0 + c))));
    let (r2, r3, r4) = (m2.sqrt(), m3.sqrt(), m4.sqrt());
    // Energies in units of a head output's energy 1/L. The energy of the first layer is spread over all d directions.
    let head = 1.0 + t / length;
    let layer_unit = length * dim;
    let labels = 1.0 / dim + 1.0 / vocab;
    let per_pair = |pair: f64, own: f64| (labels * pair + own / samples).sqrt();
    // Relative variance of the squared sum of all output embeddings, whose mean is N.
    let uneven = 2.0 * labels;

    let lengths = if point.lengths_vary() { 2.0 } else { 0.0 };
    let bias_unit = length * length * vocab.sqrt() / (samples * libm::pow(dim, 1.5));
    let bias = bias_unit * (own * own + uneven * mutual * mutual).sqrt();
    let layer_bias = bias_unit * (vocab * dim * (layer.own_mean + uneven * layer.pair_mean)).sqrt();
    let covariance_unit = libm::pow(length, 1.5) * vocab * r2 / (samples * dim * dim);
    let covariance = covariance_unit * (mutual * mutual * head).sqrt();
    let layer_covariance = covariance_unit * (layer_unit * layer.single).sqrt();
    let pairs_unit = length * vocab * r2 / (samples * dim);
    let single = pairs_unit * per_pair(pair * head, own * own * head);
    // Tokens that two samples share add the same vector in both orders of the pair, and the mean token is in every head output.
    let pairs = single * ((m2 + c + length / vocab) / m2).sqrt();
    let layer_pairs = pairs_unit * per_pair(layer_unit * layer.pair, layer_unit * layer.own);
    let own_lengths = length * (lengths * vocab).sqrt() * own / (samples * dim);
    let coefficient = ((1.0 + t) * dim / length).sqrt();
    let fact = rest * ((lengths + 4.0 * t) / length.powi(2) + (1.0 - 2.0 / length).powi(2) / vocab).sqrt()
        / dim.sqrt();
    let facts = along_own * length * (vocab * labels / samples).sqrt() * fact;

    Scores {
        trigger,
        from_pairs,
        pairs: samples * (samples - 1.0).max(0.0) / (2.0 * vocab),
        trigger_spread: in_squares(&[
            bias * r2,
            layer_bias * r2,
            covariance * r3,
            layer_covariance * r3,
            pairs,
            layer_pairs,
            own_lengths,
            single * coefficient,
            layer_pairs * coefficient,
            facts,
            (2.0 * trigger - from_pairs) * (lengths / dim).sqrt(),
            from_own * mutual * uneven.sqrt(),
        ]),
        mean_bias: bias * r3,
        bias_variance: uneven * mutual * mutual / (own * own + uneven * mutual * mutual)
            + m6 / (2.0 * dim * m3 * m3),
        gradient_noise: in_squares(&[covariance * r4, pairs * r2, own_lengths * r2]),
        mlp_noise: in_squares(&[layer_bias * r3, layer_covariance * r4, layer_pairs * r2]),
        output_overlap: trigger / dim.sqrt(),
    }
}

#[cfg(test)]
mod tests {
    use superpose_core::config::{Activation, Trigger};

    use super::*;
    use crate::point::gaussian;

    /// Compared with the noise budget of simulations, 12 seeds each: spread of T, root mean squares of mean bias and
    /// gradient noise. Without the powers of c the terms would be wrong by up to a factor of 6 at these points.
    #[test]
    fn terms_agree_with_simulation() {
        for (vocab, dim, length, samples, trigger, seen) in [
            (228.0, 183.0, 256.0, 3452.0, Trigger::Keys, [0.138, 0.242, 0.043]),
            (124.0, 394.0, 153.0, 378.0, Trigger::Keys, [0.195, 0.412, 0.133]),
            (769.0, 228.0, 125.0, 349.0, Trigger::Keys, [0.502, 0.549, 0.211]),
            (1000.0, 127.0, 210.0, 1857.0, Trigger::Keys, [0.682, 0.613, 0.184]),
            (107.0, 91.0, 467.0, 6928.0, Trigger::Values, [0.548, 0.815, 0.095]),
        ] {
            let scores = Scores::of(&Point { trigger, ..gaussian(vocab, dim, length, samples) });
            let Scores { trigger_spread, mean_bias, gradient_noise, .. } = scores;
            let ratios = [trigger_spread / seen[0], mean_bias / seen[1], gradient_noise / seen[2]];
            assert!(ratios.iter().all(|r| (0.7..1.45).contains(r)), "V = {vocab}: {ratios:?}");
        }
    }

    /// Mean of T and its relative spread over 48 seeds with an even activation, without the spread of `|z_eos|^2`. Without the
    /// term of the facts the spread would be two fifths too small.
    #[test]
    fn errors_common_to_a_fact_agree_with_simulation() {
        for (vocab, dim, length, samples, width, seen) in [
            (139.0, 59.0, 26.0, 8883.0, 516.0, [0.01621, 0.469]),
            (139.0, 59.0, 26.0, 8883.0, 8000.0, [0.01618, 0.435]),
            (160.0, 79.0, 29.0, 11391.0, 284.0, [0.01616, 0.388]),
        ] {
            let (width, activation) = (Some(width), Activation::He2);
            let scores = Scores::of(&Point { width, activation, ..gaussian(vocab, dim, length, samples) });
            let ratios = [scores.trigger / seen[0], scores.trigger_spread / scores.trigger / seen[1]];
            assert!(ratios.iter().all(|r| (0.85..1.2).contains(r)), "V = {vocab}, m = {width:?}: {ratios:?}");
        }
    }
}
