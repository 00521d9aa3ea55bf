//! Tail chances by saddle point (Lugannani and Rice 1980; with the next order, Daniels, International Statistical
//! Review 55, 1987).
//!
//! For a random number with cumulant function `K(t) = ln E[e^(t Y)]` and the point t where `K'(t) = y`, put
//! `w = sign(t) sqrt(2 (t y - K))`, `u = t sqrt(K'')`, `l_k` the k-th derivative of K over `K''^(k/2)`. Then
//!
//! `P(Y > y) = 1 - F(w) + density(w) [1/u - 1/w + (l_4/8 - 5 l_3^2/24)/u - l_3/(2 u^2) - 1/u^3 + 1/w^3]`.
//!
//! It is exact in the normal limit. For a chi-square law with d degrees of freedom the error falls as `1/d^2`.

use super::{density, survival};

/// A cumulant function at the saddle point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Saddle {
    /// Where `K'(t) = y`.
    pub t: f64,
    /// `t y - K(t)`, never negative.
    pub rate: f64,
    /// The second to fifth derivative of K at t.
    pub derivatives: [f64; 4],
}

/// Closer to the mean than this the terms of the formula are large and cancel.
const CLOSE: f64 = 0.3;

/// `P(Y > y)`.
pub(crate) fn upper_tail(saddle: Saddle) -> f64 {
    let w = (2.0 * saddle.rate.max(0.0)).sqrt().copysign(saddle.t);
    if w.abs() > 38.0 {
        return if w > 0.0 { 0.0 } else { 1.0 };
    }
    let [k2, k3, k4, k5] = saddle.derivatives;
    let deviation = k2.sqrt();
    let (l3, l4) = (k3 / (k2 * deviation), k4 / (k2 * k2));
    let u = saddle.t * deviation;
    let correction = if w.abs() < CLOSE {
        // The limit at the mean, where Edgeworth's series has it; its slope in w is of a higher order.
        let l5 = k5 / (k2 * k2 * deviation);
        let first = if w.abs() < 1e-3 { -l3 / 6.0 } else { 1.0 / u - 1.0 / w };
        first + l5 / 40.0 - 5.0 * l3 * l4 / 48.0 + 35.0 * l3.powi(3) / 432.0
    } else {
        let (iu, iw) = (1.0 / u, 1.0 / w);
        iu - iw + iu * (l4 / 8.0 - 5.0 * l3 * l3 / 24.0 - iu * (0.5 * l3 + iu)) + iw * iw * iw
    };
    (survival(w) + density(w) * correction).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An exponential number of mean 1: chi-square over 2 with two degrees of freedom.
    fn exponential(y: f64) -> Saddle {
        let t = 1.0 - 1.0 / y;
        let derivatives = [y.powi(2), 2.0 * y.powi(3), 6.0 * y.powi(4), 24.0 * y.powi(5)];
        Saddle { t, rate: t * y - y.ln(), derivatives }
    }

    #[test]
    fn an_exponential_tail() {
        for y in [0.1, 0.5, 0.75, 0.999, 1.0, 1.001, 1.3, 1.5, 2.0, 5.0, 20.0] {
            let (tail, exact) = (upper_tail(exponential(y)), (-y).exp());
            assert!((tail - exact).abs() < 0.003, "{y}: {tail} {exact}");
        }
    }

    #[test]
    fn a_normal_tail_is_exact() {
        for y in [-50.0, -3.0, -1e-5, 0.0, 0.2, 4.0, 50.0] {
            let saddle = Saddle { t: y, rate: 0.5 * y * y, derivatives: [1.0, 0.0, 0.0, 0.0] };
            assert!((upper_tail(saddle) - survival(y)).abs() < 1e-15);
        }
    }
}
