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
    let Tokens { square, energy, m2, m3, m4, m6, n2, n3, common, lengths, drawn } = Tokens::of(point);
    let from_pairs = energy * from_pairs;
    let from_own = rest * t * (vocab / samples) * (1.0 + length / dim) / square;
    let trigger = from_pairs + from_own * own;

    let c = dim / vocab;
    let (r2, r3, r4) = (m2.sqrt(), m3.sqrt(), m4.sqrt());
    // Energies in units of a head output's energy 1/L. The energy of the first layer is spread over all d directions.
    let head = 1.0 + t / length;
    let layer_unit = length * dim;
    let labels = 1.0 / dim + 1.0 / vocab;
    let per_pair = |pair: f64, own: f64| (labels * pair + own / samples).sqrt();
    // Relative variance of the squared sum of all output embeddings, whose mean is N.
    let uneven = 2.0 * labels;

    let trigger_length = if point.lengths_vary() { 2.0 } else { 0.0 };
    let bias_unit = length * length * vocab.sqrt() / (samples * libm::pow(dim, 1.5));
    let bias = bias_unit * (own * own + uneven * mutual * mutual).sqrt();
    let layer_bias = bias_unit * (vocab * dim * (layer.own_mean + uneven * layer.pair_mean)).sqrt();
    let covariance_unit = libm::pow(length, 1.5) * vocab * (1.0 + c).sqrt() / (samples * dim * dim);
    let covariance = covariance_unit * (mutual * mutual * head).sqrt();
    let layer_covariance = covariance_unit * (layer_unit * layer.single).sqrt();
    let pairs_unit = length * vocab * r2 / (samples * dim);
    let single = pairs_unit * per_pair(pair * head, own * own * head);
    // Tokens that two samples share add the same vector in both orders of the pair, and the mean token is in every head output.
    let pairs = single * ((m2 + c + length * common) / m2).sqrt();
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
            square.sqrt() * bias * n2.sqrt(),
            layer_bias * r2,
            square.sqrt() * covariance * r3,
            layer_covariance * r3,
            square.sqrt() * pairs,
            layer_pairs,
            square.sqrt() * own_lengths,
            single * coefficient,
            layer_pairs * coefficient,
            facts,
            (2.0 * trigger - from_pairs) * (trigger_length / dim).sqrt(),
            from_own * mutual * uneven.sqrt(),
            // Both parts of T grow with the number of pairs of samples with one label, so that their errors add up. With an MLP the parts
            // may have opposite signs; the errors then nearly cancel, which is left out.
            (4.0 * from_pairs * from_own * mutual / samples).max(0.0).sqrt(),
        ]),
        mean_bias: square * bias * n3.sqrt(),
        bias_variance: uneven * mutual * mutual / (own * own + uneven * mutual * mutual)
            + drawn * drawn * m6 / (2.0 * dim * m3 * m3),
        gradient_noise: square * in_squares(&[covariance * r4, pairs * r2, own_lengths * r2]),
        mlp_noise: in_squares(&[layer_bias * r3, layer_covariance * r4, layer_pairs * r2]),
        output_overlap: trigger * point.overlap_with_trigger().sqrt(),
    }
}

/// Statistics of the tokens, those of random vectors or measured ones. Lengths are in units of the mean squared length of a token, in
/// which T is the trigger's score in units of it.
struct Tokens {
    /// The mean squared length.
    square: f64,
    /// The part of it that is not the mean token's.
    energy: f64,
    /// `d^(k-1) tr C^k`
    m2: f64,
    m3: f64,
    m4: f64,
    m6: f64,
    /// `V d^k mu^T C^k mu`, and `d mu^T C mu`, mu the mean token.
    n2: f64,
    n3: f64,
    common: f64,
    /// d times the variance of the squared length.
    lengths: f64,
    /// The share of n3 that differs from run to run.
    drawn: f64,
}

impl Tokens {
    fn of(point: &Point) -> Tokens {
        let Point { vocab, dim, rows, .. } = *point;
        let Some(rows) = rows else {
            let [_, _, m2, m3, m4, _, m6, _] = moments(dim / vocab);
            let lengths = if point.lengths_vary() { 2.0 } else { 0.0 };
            let (square, energy, drawn, common) = (1.0, 1.0, 1.0, 1.0 / vocab);
            return Tokens { square, energy, m2, m3, m4, m6, n2: m2, n3: m3, common, lengths, drawn };
        };
        let moment = |k: usize| libm::pow(dim, k as f64 - 1.0) * rows.trace(k, vocab);
        let form = |k: usize| vocab * libm::pow(dim, k as f64) * rows.mean_form(k, vocab);
        let drawn = rows.drawn_form(3, vocab) / rows.mean_form(3, vocab).max(f64::MIN_POSITIVE);
        Tokens {
            square: rows.square,
            energy: rows.traces[0],
            m2: moment(2),
            m3: moment(3),
            m4: moment(4),
            m6: moment(6),
            n2: form(2),
            n3: form(3),
            common: form(1) / vocab,
            lengths: dim * rows.length_variance,
            drawn,
        }
    }
}

/// Moments of Marchenko and Pastur's law at the ratio `c`, from order 0 on: Narayana's polynomials.
pub fn moments(c: f64) -> [f64; 8] {
    let mut moments = [1.0; 8];
    for (order, moment) in moments.iter_mut().enumerate().skip(1) {
        let (mut term, n) = (1.0, order as f64);
        *moment = 0.0;
        for i in 0..order {
            *moment += term;
            let i = i as f64;
            term *= c * (n - i) * (n - i - 1.0) / ((i + 1.0) * (i + 2.0));
        }
    }
    moments
}

#[cfg(test)]
mod tests {
    use superpose_core::config::{Activation, Trigger};

    use super::*;
    use crate::point::gaussian;
    use crate::rows::random;

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

    /// Random rows that are measured have the scores of random rows.
    #[test]
    fn measured_random_rows_have_the_same_scores() {
        for trigger in [Trigger::Keys, Trigger::Values] {
            let point = Point { trigger, ..gaussian(300.0, 64.0, 20.0, 2000.0) };
            let measured = Point { rows: Some(random(64.0)), ..point };
            let [a, b] = [point, measured].map(|point| Scores::of(&point));
            for (a, b) in [
                (a.trigger, b.trigger),
                (a.trigger_spread, b.trigger_spread),
                (a.mean_bias, b.mean_bias),
                (a.bias_variance, b.bias_variance),
                (a.gradient_noise, b.gradient_noise),
                (a.output_overlap, b.output_overlap),
            ] {
                assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
            }
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
