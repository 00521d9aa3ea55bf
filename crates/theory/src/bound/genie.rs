//! The one-fact genie: a bound for decoders that take labels as independent, with Gaussian noise (`docs/theory/bound.md`, 2).
//!
//! All other facts are revealed. What is left is the detection of one of V labels, whose signals have the squared length
//! `mu^2 (n V/N)^2` over the noise of one number for a fact seen n times: `mu^2 = N D^2/((L-1) V^2)` for the attention-only
//! model, `(N/V^2) sum numbers ratio` over the channels in general.

use super::channels::Channel;
use super::detection;
use crate::point::Point;

pub(super) fn samples(point: &Point, channels: &[Channel], accuracy: f64) -> Option<f64> {
    let total = total(channels);
    detection::samples(point.vocab, accuracy, |samples, n| samples / (n * n * total))
}

/// The sum of ratios over the gradient's numbers: `D^2/(L-1)` for the attention-only model.
pub(super) fn total(channels: &[Channel]) -> f64 {
    channels.iter().map(|channel| channel.numbers * channel.ratio).sum()
}

#[cfg(test)]
mod tests {
    use crate::bound::Bounds;
    use crate::point::gaussian;
    use crate::testing::{Dice, dot, unit_length};

    /// Accuracy of the best decoder of one label, at a number of samples: signals are unit vectors in D dimensions, orthonormal for D = V.
    fn detected(vocab: usize, dim: usize, length: f64, samples: f64, dice: &mut Dice) -> f64 {
        let scale = dim as f64 / ((length - 1.0) * samples).sqrt();
        let per_fact = samples / vocab as f64;
        let runs = 6000;
        let mut right = 0.0;
        for _ in 0..runs {
            let signals: Vec<Vec<f64>> = (0..vocab)
                .map(|j| match dim < vocab {
                    true => unit_length(dice.row(dim, 1.0)),
                    false => (0..vocab).map(|i| f64::from(u8::from(i == j))).collect(),
                })
                .collect();
            // A Poisson number, as the arrivals of a process before time N/V.
            let (mut n, mut time) = (0.0, -dice.unit().ln());
            while time < per_fact {
                n += 1.0;
                time -= dice.unit().ln();
            }
            let seen: Vec<f64> = signals[0].iter().map(|x| scale * n * x + dice.normal()).collect();
            let scores: Vec<f64> = signals.iter().map(|signal| dot(signal, &seen)).collect();
            let best = scores[1..].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            right += if n == 0.0 { 1.0 / vocab as f64 } else { f64::from(u8::from(scores[0] > best)) };
        }
        right / f64::from(runs)
    }

    #[test]
    fn best_decoder_attains_the_bound_with_orthogonal_signals_only() {
        let mut dice = Dice(17);
        for (vocab, dim, length, accuracy) in
            [(30, 30, 40.0, 0.5), (30, 40, 100.0, 0.8), (30, 12, 20.0, 0.5), (40, 20, 30.0, 0.3)]
        {
            let point = gaussian(vocab as f64, dim as f64, length, 1.0);
            let samples = Bounds::new(&point, accuracy).genie.unwrap();
            let seen = detected(vocab, dim.min(vocab), length, samples, &mut dice);
            println!("V = {vocab}, d = {dim}, N = {samples:.1}: {seen:.3} of {accuracy}");
            // Four standard errors.
            assert!(seen < accuracy + 0.026, "{seen}");
            assert!(dim < vocab || seen > accuracy - 0.026, "{seen}");
        }
    }
}
