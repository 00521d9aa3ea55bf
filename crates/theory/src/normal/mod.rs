//! The normal law where the predictions need it: far tails, large powers, and the largest of many.

mod maximum;
mod quick;
mod saddle;

pub(crate) use maximum::Maximum;
pub(crate) use quick::{QuickCdf, QuickPower, QuickTail};
pub(crate) use saddle::{Saddle, upper_tail};

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// The normal CDF, F of the formulas.
pub(crate) fn cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// `1 - F(x)` with all its digits.
pub(crate) fn survival(x: f64) -> f64 {
    0.5 * libm::erfc(x * FRAC_1_SQRT_2)
}

/// The normal density.
pub(crate) fn density(x: f64) -> f64 {
    libm::exp(-0.5 * x * x) / (2.0 * PI).sqrt()
}

/// `F(x)^count`. The logarithm is taken from the nearer tail: at a million labels `1 - F` decides, and it is
/// far below what `F` itself can hold.
pub(crate) fn cdf_power(x: f64, count: f64) -> f64 {
    if count == 0.0 {
        return 1.0;
    }
    let ln = if x > 0.0 { libm::log1p(-survival(x)) } else { libm::log(cdf(x)) };
    libm::exp(count * ln)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_keep_the_tail() {
        // 1 - F(6) = 9.865876450377e-10
        let power = cdf_power(6.0, 1e9);
        assert!((power - (-0.986_587_645_037_7_f64).exp()).abs() < 1e-9, "{power}");
        assert_eq!(cdf_power(-40.0, 3.0), 0.0);
        assert_eq!(cdf_power(-40.0, 0.0), 1.0);
        assert_eq!(cdf_power(f64::INFINITY, 1e9), 1.0);
        assert!((cdf(1.0) + survival(1.0) - 1.0).abs() < 1e-15);
    }
}
