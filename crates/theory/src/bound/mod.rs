//! Lower bound on the samples for any decoder of the first gradient, in the Gaussian surrogate (theory: bound).
//!
//! The first gradient has `D^2` numbers, `D = min(d, V)`. If its noise were Gaussian it would carry at most
//! `(D^2/2) log(1 + N/((L-1) V))` nats, and a fraction alpha of V facts takes about `log((alpha V)!)`. With an MLP the
//! gradient consists of several channels with more numbers and lower signal-to-noise ratios: see `Channel`.

mod channels;

use channels::Channel;

use crate::point::Point;

/// The numbers of the first gradient, grouped by their signal-to-noise ratio.
fn channels(point: &Point) -> Vec<Channel> {
    match point.width {
        None => {
            let numbers = point.dim.min(point.vocab).powi(2);
            vec![Channel { numbers, ratio: 1.0 / (point.length - 1.0) }]
        }
        Some(width) => channels::channels(point, width),
    }
}

/// Upper bound in nats on the information of the first gradient about facts with `per_fact` samples each, in the surrogate.
fn information(channels: &[Channel], per_fact: f64) -> f64 {
    channels.iter().map(|channel| 0.5 * channel.numbers * libm::log1p(per_fact * channel.ratio)).sum()
}

/// Samples below which, in the surrogate, no decoder of the first gradient recalls a fraction `accuracy` of the facts: where
/// the information is `log((alpha V)!)`, for the attention-only model `N_lb = (L-1) V (exp(2 log((alpha V)!) / D^2) - 1)`.
/// None when the bound is not a finite number, because there are too many facts for the dimension.
pub fn surrogate_lower_bound(point: &Point, accuracy: f64) -> Option<f64> {
    let facts = (accuracy.clamp(0.0, 1.0) * point.vocab).max(0.0);
    let needed = libm::lgamma(facts + 1.0).max(0.0);
    if point.length <= 1.0 || needed == 0.0 {
        return Some(0.0);
    }
    let bound = match channels(point)[..] {
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
    use crate::point::gaussian;

    #[test]
    fn bound_tends_to_the_leading_product() {
        let point = gaussian(1e5, 1e4, 1e3, 1.0);
        // The limit for d^2 much larger than V log V.
        let leading = 2.0 * point.length * point.vocab.powi(2) * libm::log(point.vocab) / point.dim.powi(2);
        let ratio = surrogate_lower_bound(&point, 1.0).unwrap() / leading;
        // log V! = V (log V - 1), and exp(x) - 1 is a little above x.
        assert!((0.85..1.05).contains(&ratio), "{ratio}");
    }

    #[test]
    fn bound_and_information_agree() {
        let point = gaussian(500.0, 60.0, 10.0, 1.0);
        let samples = surrogate_lower_bound(&point, 0.5).unwrap();
        let nats = information(&channels(&point), samples / point.vocab);
        assert!((nats / libm::lgamma(251.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn extreme_sizes_have_a_bound_or_none() {
        assert_eq!(surrogate_lower_bound(&gaussian(1e6, 3.0, 1e5, 1.0), 0.9), None);
        assert_eq!(surrogate_lower_bound(&gaussian(1e6, 3.0, 1.0, 1.0), 0.9), Some(0.0));
        assert_eq!(surrogate_lower_bound(&gaussian(100.0, 50.0, 10.0, 1.0), 0.0), Some(0.0));
        let more = surrogate_lower_bound(&gaussian(100.0, 1e5, 10.0, 1.0), 0.9);
        assert_eq!(more, surrogate_lower_bound(&gaussian(100.0, 100.0, 10.0, 1.0), 0.9));
    }
}
