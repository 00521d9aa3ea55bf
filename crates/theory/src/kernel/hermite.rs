//! Hermite coefficients of an activation at a key's length (theory: MLP).
//!
//! A feature of a key k is `phi(|k| z)` with z standard normal. With `phi(|k| z) = sum_q c_q He_q(z)`, two
//! keys with cosine rho have `E[phi phi'] = sum_q c_q c'_q rho^q`.

use std::sync::LazyLock;

use superpose_core::config::Activation;

use crate::quadrature::HALF_LINE;

/// Number of coefficients. With the trigger in the values rho is about 1/2, and the rest is below 2^-24.
pub const DEGREES: usize = 24;

/// Normalised Hermite polynomials at the points of the half line, times the weights there.
static TABLE: LazyLock<Vec<[f64; DEGREES]>> = LazyLock::new(|| {
    let row = |&(z, weight): &(f64, f64)| {
        let mut row = [0.0; DEGREES];
        (row[0], row[1]) = (1.0, z);
        for q in 2..DEGREES {
            let degree = q as f64;
            row[q] = (z * row[q - 1] - (degree - 1.0).sqrt() * row[q - 2]) / degree.sqrt();
        }
        row.map(|x| x * weight)
    };
    HALF_LINE.iter().map(row).collect()
});

/// Statistics of a feature of a key.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    /// Hermite coefficients `c_q` of phi.
    pub coefficients: [f64; DEGREES],
    /// Hermite coefficients of `phi^2`.
    pub squares: [f64; DEGREES],
    /// `E[phi^2]`, `E[phi^3]`, `E[phi^4]`.
    pub powers: [f64; 3],
}

impl Feature {
    /// The feature at squared length `square` of the key.
    pub fn of(activation: Activation, square: f64) -> Feature {
        let length = square.max(0.0).sqrt();
        let (mut coefficients, mut squares) = ([0.0; DEGREES], [0.0; DEGREES]);
        let mut powers = [0.0; 3];
        for (row, &(z, weight)) in TABLE.iter().zip(HALF_LINE.iter()) {
            let (up, down) = (activation.value(length * z), activation.value(-length * z));
            let (up2, down2) = (up * up, down * down);
            add(&mut coefficients, row, up, down);
            add(&mut squares, row, up2, down2);
            powers[0] += weight * (up2 + down2);
            powers[1] += weight * (up2 * up + down2 * down);
            powers[2] += weight * (up2 * up2 + down2 * down2);
        }
        Feature { coefficients, squares, powers }
    }

    /// `E[phi]`
    pub fn mean(&self) -> f64 {
        self.coefficients[0]
    }

    /// `E[phi^2]`
    pub fn square(&self) -> f64 {
        self.powers[0]
    }
}

/// Adds one point of the half line and its mirror image: `He_q(-z) = (-1)^q He_q(z)`.
fn add(sums: &mut [f64; DEGREES], row: &[f64; DEGREES], up: f64, down: f64) {
    let (even, odd) = (up + down, up - down);
    for (pair, sum) in row.chunks_exact(2).zip(sums.chunks_exact_mut(2)) {
        sum[0] += pair[0] * even;
        sum[1] += pair[1] * odd;
    }
}

/// Products of coefficients: the polynomial in rho that is `E[f f']` of two keys.
pub fn products(one: &[f64; DEGREES], other: &[f64; DEGREES]) -> [f64; DEGREES] {
    std::array::from_fn(|q| one[q] * other[q])
}

/// `sum_q products[q] rho^q`
pub fn polynomial(products: &[f64; DEGREES], rho: f64) -> f64 {
    products.iter().rev().fold(0.0, |sum, c| sum * rho + c)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{a} against {b}");
    }

    #[test]
    fn coefficients_equal_known_values() {
        let relu = Feature::of(Activation::Relu, 1.0);
        close(relu.mean(), 1.0 / (2.0 * PI).sqrt());
        close(relu.coefficients[1], 0.5);
        close(relu.square(), 0.5);
        close(relu.powers[2], 1.5);
        let he2 = Feature::of(Activation::He2, 1.7);
        close(he2.mean(), 0.7 / 2.0_f64.sqrt());
        close(he2.coefficients[1], 0.0);
        close(he2.coefficients[2], 1.7);
        close(he2.square(), 0.7 * 0.7 / 2.0 + 1.7 * 1.7);
        let he3 = Feature::of(Activation::He3, 2.0);
        close(he3.coefficients[1], 3.0 / 6.0_f64.sqrt() * 2.0_f64.sqrt());
        close(he3.coefficients[3], 8.0_f64.sqrt());
        close(Feature::of(Activation::Tanh, 2.0).mean(), 0.0);
        close(Feature::of(Activation::Softplus, 0.0).mean(), 2.0_f64.ln());
    }

    #[test]
    fn relu_kernel_is_the_arc_cosine_kernel() {
        // Cho and Saul 2009: E[relu relu'] = |k| |k'| (sin a + (pi - a) cos a) / (2 pi), cos a = rho.
        let (one, two) = (Feature::of(Activation::Relu, 1.0), Feature::of(Activation::Relu, 2.0));
        let products = products(&one.coefficients, &two.coefficients);
        for rho in [-0.5_f64, 0.0, 0.3, 0.5] {
            let a = rho.acos();
            let exact = 2.0_f64.sqrt() * (a.sin() + (PI - a) * a.cos()) / (2.0 * PI);
            assert!((polynomial(&products, rho) - exact).abs() < 1e-9, "{rho}");
        }
    }

    #[test]
    fn coefficients_hold_nearly_all_of_the_square() {
        for &activation in Activation::ALL {
            let feature = Feature::of(activation, 1.0);
            let sum: f64 = feature.coefficients.iter().map(|c| c * c).sum();
            assert!(sum <= feature.square() * (1.0 + 1e-12) && sum > 0.99 * feature.square(), "{activation}");
        }
    }
}
