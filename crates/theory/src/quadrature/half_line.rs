//! Integrals against the normal density of functions with a kink at zero.
//!
//! `relu` and `abs` are smooth on each half line but not at zero, so each half line has a Gauss-Legendre rule of its own.

use std::f64::consts::PI;
use std::sync::LazyLock;

use superpose_core::numeric::gauss_legendre;

/// Points on each half line.
const POINTS: usize = 48;
/// End of the half line, where the density is 1e-24 of its maximum.
const END: f64 = 10.5;

/// Points of the positive half line and their standard normal weights, which sum to 1/2. The negative half line is its mirror
/// image.
pub(crate) static HALF_LINE: LazyLock<Vec<(f64, f64)>> = LazyLock::new(|| {
    let point = |(x, weight)| {
        let z = 0.5 * END * (1.0 + x);
        (z, 0.5 * weight * END * libm::exp(-0.5 * z * z) / (2.0 * PI).sqrt())
    };
    gauss_legendre(POINTS).into_iter().rev().map(point).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_smooth_and_kinked_functions_are_exact() {
        let mean =
            |f: fn(f64) -> f64| HALF_LINE.iter().map(|&(z, weight)| weight * (f(z) + f(-z))).sum::<f64>();
        assert!((mean(|_| 1.0) - 1.0).abs() < 1e-13);
        assert!((mean(|z| z.powi(20)) / 654_729_075.0 - 1.0).abs() < 1e-12);
        assert!((mean(f64::abs) - (2.0 / PI).sqrt()).abs() < 1e-13);
        assert!((mean(|z| z.max(0.0).powi(3)) - 2.0 / (2.0 * PI).sqrt()).abs() < 1e-13);
    }
}
