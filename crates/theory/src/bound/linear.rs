//! Linear decoders: a bound with the true noise, to leading order (`docs/theory/bound.md`, 3).
//!
//! For a query, the gradient is a vector of one coefficient for each label. The coefficient of the right label is n times the signal; the
//! others come from noise tokens and from other facts. A linear decoder sees D of the V dimensions of that vector, so noise of
//! its whole length is spread over the labels. With R the rank of the inputs (D for the attention-only model) and
//! `total = D^2/(L-1)`, the noise variance over the squared signal is at least
//!
//! ```text
//! (N/n^2) (1/total + (1 + N/V) (1 - R/V)/(D R)) + (1 - D/V)/D:
//! ```
//!
//! noise tokens, other facts, and the overlap of the right label with the others.

use super::channels::Channel;
use super::{detection, genie, outputs};
use crate::point::Point;

pub(super) fn samples(point: &Point, channels: &[Channel], accuracy: f64) -> Option<f64> {
    let vocab = point.vocab;
    let outputs = outputs(point);
    let inputs = (channels.iter().map(|channel| channel.numbers).sum::<f64>() / outputs).min(vocab);
    let tokens = genie::total(channels).recip();
    let facts = (1.0 - inputs / vocab) / (outputs * inputs);
    let overlap = (1.0 - outputs / vocab) / outputs;
    detection::samples(vocab, accuracy, |samples, n| {
        samples / (n * n) * (tokens + (1.0 + samples / vocab) * facts) + overlap
    })
}

#[cfg(test)]
mod tests {
    use crate::bound::Bounds;
    use crate::point::gaussian;

    #[test]
    fn bound_tends_to_the_condition_of_one_step() {
        // The leading condition of one step, N d^2 > 2 L V^2 log V. The largest of V normal numbers is below sqrt(2 log V), and
        // the limit is slow: 0.82 of its square at V = 1e9.
        let point = gaussian(1e9, 1e8, 1e9, 1.0);
        let log = 2.0 * point.vocab.ln();
        let leading = point.length * point.vocab.powi(2) * log / point.dim.powi(2);
        let largest = crate::normal::Maximum::of(point.vocab - 1.0).rule.mean(|y| y);
        let ratio = Bounds::new(&point, 0.5).linear.unwrap() / leading;
        assert!((ratio / (largest * largest / log) - 1.0).abs() < 0.01, "{ratio}");
        assert!((0.8..1.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn capacity_limits_linear_decoders_only() {
        // d^2 is below 2 V log V: other facts are too much noise, whatever the number of samples.
        let found = Bounds::new(&gaussian(1000.0, 60.0, 8.0, 1.0), 0.5);
        assert_eq!(found.linear, None);
        assert!(found.genie.is_some());
        // With d = V neither other facts nor overlaps are noise.
        let found = Bounds::new(&gaussian(1000.0, 1000.0, 600.0, 1.0), 0.5);
        assert!((found.linear.unwrap() / found.genie.unwrap() - 1.0).abs() < 1e-9);
    }
}
