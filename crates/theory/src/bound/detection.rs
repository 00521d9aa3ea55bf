//! Detection of one label among V: the accuracy behind the bounds of the genie and of linear decoders.

use crate::counts::{Detail, poisson};
use crate::normal::{Maximum, cdf};

/// Samples at which the mean over n of `E_z F(z + 1/sqrt(noise))^(V - 1)` is the accuracy, where `noise(N, n)` is the noise
/// variance over the squared signal of a fact seen n times and n is Poisson(N/V); None if no number of samples is enough.
pub(super) fn samples(vocab: f64, accuracy: f64, noise: impl Fn(f64, f64) -> f64) -> Option<f64> {
    /// Logarithms of the fewest and most samples considered.
    const RANGE: (f64, f64) = (-14.0, 140.0);
    let largest = Maximum::of(vocab - 1.0).rule;
    let at = |ln: f64| {
        let samples = libm::exp(ln);
        poisson(samples / vocab, Detail::Smooth).mean(|n| match n {
            0.0 => 1.0 / vocab,
            n => largest.mean(|y| cdf(noise(samples, n).sqrt().recip() - y)),
        })
    };
    let (mut low, mut high) = RANGE;
    if at(low) >= accuracy {
        return Some(0.0);
    }
    if at(high) < accuracy {
        return None;
    }
    while high - low > 1e-9 {
        let middle = 0.5 * (low + high);
        if at(middle) < accuracy { low = middle } else { high = middle }
    }
    Some(libm::exp(high))
}
