//! Tail probabilities by saddle point (Lugannani and Rice, Advances in Applied Probability 12, 1980).
//!
//! For a random number with cumulant function `K(t) = ln E[e^(t Y)]` and the point t where `K'(t) = y`,
//! `P(Y > y) = 1 - F(w) + density(w) (1/u - 1/w)`, `w = sign(t) sqrt(2 (t y - K))`, `u = t sqrt(K'')`.

use super::{density, survival};

/// A cumulant function at the saddle point.
pub(crate) struct Saddle {
    /// Where `K'(t) = y`.
    pub t: f64,
    /// `t y - K(t)`, never negative.
    pub rate: f64,
    /// `K''(t)`.
    pub curvature: f64,
    /// `K'''(t) / K''(t)^1.5`, for y close to the mean.
    pub skewness: f64,
}

/// `P(Y > y)`.
pub(crate) fn upper_tail(saddle: Saddle) -> f64 {
    let w = (2.0 * saddle.rate.max(0.0)).sqrt().copysign(saddle.t);
    let u = saddle.t * saddle.curvature.sqrt();
    // Close to the mean both terms of the difference are large and nearly equal, so the limit is used.
    let correction = if w.abs() < 1e-3 { -saddle.skewness / 6.0 } else { 1.0 / u - 1.0 / w };
    (survival(w) + density(w) * correction).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An exponential number of mean 1.
    fn exponential(y: f64) -> Saddle {
        let t = 1.0 - 1.0 / y;
        Saddle { t, rate: t * y - y.ln(), curvature: y * y, skewness: 2.0 }
    }

    #[test]
    fn exponential_tail_is_accurate() {
        for y in [0.1, 0.5, 0.999, 1.0, 1.001, 2.0, 5.0, 20.0] {
            let (tail, exact) = (upper_tail(exponential(y)), (-y).exp());
            assert!((tail - exact).abs() < 0.005, "{y}: {tail} {exact}");
        }
    }

    #[test]
    fn normal_tail_is_exact() {
        for y in [-50.0, -3.0, -1e-5, 0.0, 0.2, 4.0, 50.0] {
            let saddle = Saddle { t: y, rate: 0.5 * y * y, curvature: 1.0, skewness: 0.0 };
            assert!((upper_tail(saddle) - survival(y)).abs() < 1e-15);
        }
    }
}
