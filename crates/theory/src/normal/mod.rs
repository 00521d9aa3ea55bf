//! The normal distribution: far tails, large powers, and the largest of many numbers.

mod maximum;
mod quick;
mod saddle;

pub(crate) use maximum::{Maximum, quantile};
pub(crate) use quick::{QuickCdf, QuickPower, QuickTail};
pub(crate) use saddle::{Saddle, upper_tail};

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// The normal CDF, F of the formulas.
pub fn cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// `1 - F(x)` with full relative accuracy.
pub(crate) fn survival(x: f64) -> f64 {
    0.5 * libm::erfc(x * FRAC_1_SQRT_2)
}

/// The normal density.
pub fn density(x: f64) -> f64 {
    libm::exp(-0.5 * x * x) / (2.0 * PI).sqrt()
}

/// `ln F(x)`, from the nearer tail: for large powers `1 - F` matters, which is lost in `F` by rounding.
pub(crate) fn ln_cdf(x: f64) -> f64 {
    if x > 0.0 { libm::log1p(-survival(x)) } else { libm::log(cdf(x)) }
}

/// `F(x)^count`
pub(crate) fn cdf_power(x: f64, count: f64) -> f64 {
    if count == 0.0 { 1.0 } else { libm::exp(count * ln_cdf(x)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_powers_are_accurate() {
        // 1 - F(6) = 9.865876450377e-10
        let power = cdf_power(6.0, 1e9);
        assert!((power - (-0.986_587_645_037_7_f64).exp()).abs() < 1e-9, "{power}");
        assert_eq!(cdf_power(-40.0, 3.0), 0.0);
        assert_eq!(cdf_power(-40.0, 0.0), 1.0);
        assert_eq!(cdf_power(f64::INFINITY, 1e9), 1.0);
        assert!((cdf(1.0) + survival(1.0) - 1.0).abs() < 1e-15);
    }
}
