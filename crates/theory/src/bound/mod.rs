//! What no decoder of the first gradient can do (theory section 5.4), in the Gaussian surrogate.
//!
//! The first gradient is `D^2` numbers, `D = min(d, V)`. If its noise were Gaussian it would carry at most
//! `(D^2/2) log(1 + N/((L-1) V))` nats, and a fraction alpha of V facts takes about `log((alpha V)!)`. With an MLP the
//! gradient is some channels of more numbers and lower ratios: see [`Channel`].

mod channels;

pub use channels::{Channel, Energy, total_energy};

use crate::point::Point;

/// The numbers of the first gradient, by their ratio of signal to noise.
pub fn channels(point: &Point) -> Vec<Channel> {
    match point.width {
        None => vec![Channel { numbers: gradient_numbers(point), ratio: 1.0 / (point.length - 1.0) }],
        Some(width) => channels::channels(point, width),
    }
}

/// Nats that the first gradient carries at most about the facts, in the surrogate. Infinite at length 1,
/// where the surrogate has no noise.
pub fn surrogate_information(point: &Point) -> f64 {
    information(&channels(point), point.coverage())
}

fn information(channels: &[Channel], per_fact: f64) -> f64 {
    channels.iter().map(|channel| 0.5 * channel.numbers * libm::log1p(per_fact * channel.ratio)).sum()
}

/// Samples below which, in the surrogate, no decoder of the first gradient recalls a fraction `accuracy` of
/// the facts: where the information is `log((alpha V)!)`, for the attention-only model
/// `N_lb = (L-1) V (exp(2 log((alpha V)!) / D^2) - 1)`. None when the number is too large to write
/// down: no amount of data within reach is enough for that many facts in that few dimensions.
pub fn surrogate_lower_bound(point: &Point, accuracy: f64) -> Option<f64> {
    let facts = (accuracy.clamp(0.0, 1.0) * point.vocab).max(0.0);
    let needed = libm::lgamma(facts + 1.0).max(0.0);
    if point.length <= 1.0 || needed == 0.0 {
        return Some(0.0);
    }
    match channels(point)[..] {
        [] => None,
        [Channel { numbers, ratio }] => {
            let bound = point.vocab * libm::expm1(2.0 * needed / numbers) / ratio;
            bound.is_finite().then_some(bound)
        }
        ref several => {
            // Information grows with the logarithm of the samples; bisection in that logarithm.
            let at = |ln: f64| information(several, libm::exp(ln));
            let (mut low, mut high) = (-700.0, 600.0);
            if at(high) < needed {
                return None;
            }
            for _ in 0..80 {
                let middle = 0.5 * (low + high);
                if at(middle) < needed { low = middle } else { high = middle }
            }
            let bound = point.vocab * libm::exp(0.5 * (low + high));
            bound.is_finite().then_some(bound)
        }
    }
}

/// `2 alpha L V^2 log V / d^2`, what the bound tends to when `d^2` is large against `V log V`.
pub fn leading_lower_bound(point: &Point, accuracy: f64) -> f64 {
    2.0 * accuracy * point.length * point.vocab.powi(2) * libm::log(point.vocab) / gradient_numbers(point)
}

fn gradient_numbers(point: &Point) -> f64 {
    point.dim.min(point.vocab).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::gaussian;

    #[test]
    fn tends_to_the_leading_product() {
        let point = gaussian(1e5, 1e4, 1e3, 1.0);
        let ratio = surrogate_lower_bound(&point, 1.0).unwrap() / leading_lower_bound(&point, 1.0);
        // log V! = V (log V - 1), and exp(x) - 1 is a little above x.
        assert!((0.85..1.05).contains(&ratio), "{ratio}");
    }

    #[test]
    fn bound_and_information_agree() {
        let point = gaussian(500.0, 60.0, 10.0, 1.0);
        let samples = surrogate_lower_bound(&point, 0.5).unwrap();
        let nats = surrogate_information(&Point { samples, ..point });
        assert!((nats / libm::lgamma(251.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn extremes() {
        assert_eq!(surrogate_lower_bound(&gaussian(1e6, 3.0, 1e5, 1.0), 0.9), None);
        assert_eq!(surrogate_lower_bound(&gaussian(1e6, 3.0, 1.0, 1.0), 0.9), Some(0.0));
        assert_eq!(surrogate_lower_bound(&gaussian(100.0, 50.0, 10.0, 1.0), 0.0), Some(0.0));
        let more = surrogate_lower_bound(&gaussian(100.0, 1e5, 10.0, 1.0), 0.9);
        assert_eq!(more, surrogate_lower_bound(&gaussian(100.0, 100.0, 10.0, 1.0), 0.9));
    }
}
