//! CDF, density and quantile of the normal distribution.

use superpose_core::random::normal_quantile;

pub use superpose_theory::normal::{cdf, density};

/// The quantile of a share, those closer than `least` to 0 or 1 taken to be that far.
pub fn probit(share: f64, least: f64) -> f64 {
    normal_quantile(share.clamp(least, 1.0 - least))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for z in [-3.0, -1.2, 0.0, 0.4, 2.9] {
            assert!((probit(cdf(z), 1e-9) - z).abs() < 1e-9, "{z}");
            let slope = (cdf(z + 1e-5) - cdf(z - 1e-5)) / 2e-5;
            assert!((slope - density(z)).abs() < 1e-9, "{z}");
        }
        assert_eq!(probit(1.0, 1e-3), probit(0.9999, 1e-3));
    }
}
