//! The Gaussian surrogate: a bound for any decoder, if the noise were Gaussian and every fact were seen N/V times
//! (`docs/theory/bound.md`, 5).
//!
//! With such noise the gradient carries at most `(D^2/2) log(1 + N/((L-1) V))` nats, for the attention-only model. The true noise
//! carries information of its own, so a decoder may go below this number.

use super::channels::Channel;
use super::counting::nats;
use crate::point::Point;

/// Upper bound in nats on the information of the first gradient about facts with `per_fact` samples each.
fn information(channels: &[Channel], per_fact: f64) -> f64 {
    channels.iter().map(|channel| 0.5 * channel.numbers * libm::log1p(per_fact * channel.ratio)).sum()
}

/// The N at which that is what the accuracy needs; None if it is not a finite number.
pub(super) fn samples(point: &Point, channels: &[Channel], accuracy: f64) -> Option<f64> {
    let needed = nats(point.vocab, accuracy);
    if point.length <= 1.0 || needed == 0.0 {
        return Some(0.0);
    }
    let bound = match *channels {
        [] => return None,
        [Channel { numbers, ratio }] => point.vocab * libm::expm1(2.0 * needed / numbers) / ratio,
        ref several => {
            // Bisection in the logarithm of the samples, with which the information grows.
            let at = |ln: f64| information(several, libm::exp(ln));
            let (mut low, mut high) = (-700.0, 600.0);
            if at(high) < needed {
                return None;
            }
            for _ in 0..80 {
                let middle = 0.5 * (low + high);
                if at(middle) < needed { low = middle } else { high = middle }
            }
            point.vocab * libm::exp(0.5 * (low + high))
        }
    };
    bound.is_finite().then_some(bound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::{Bounds, channels};
    use crate::point::gaussian;

    #[test]
    fn bound_tends_to_the_leading_product() {
        let point = gaussian(1e5, 1e4, 1e3, 1.0);
        // The limit for d^2 much larger than V log V.
        let leading = 2.0 * point.length * point.vocab.powi(2) * libm::log(point.vocab) / point.dim.powi(2);
        let ratio = Bounds::new(&point, 1.0).surrogate.unwrap() / leading;
        // log V! = V (log V - 1), and exp(x) - 1 is a little above x.
        assert!((0.85..1.05).contains(&ratio), "{ratio}");
    }

    #[test]
    fn bound_and_information_agree() {
        let point = gaussian(500.0, 60.0, 10.0, 1.0);
        let samples = Bounds::new(&point, 0.5).surrogate.unwrap();
        let found = information(&channels(&point), samples / point.vocab);
        assert!((found / (libm::lgamma(251.0) - 501_f64.ln()) - 1.0).abs() < 1e-12);
    }
}
