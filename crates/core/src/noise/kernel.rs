//! The kernel of an infinitely wide MLP, `E[phi(k . g) phi(k' . g)]` over Gaussian g (theory: MLP). It equals
//! `sum_q c_q(|k|) c_q(|k'|) cos(k, k')^q`, with `c_q` the Hermite coefficients of `phi(|k| z)`.

use crate::config::Activation;
use crate::numeric::gauss_legendre;

/// Terms of the expansion. The rest counts as one more term, which is exact at cosine 1 and, at the cosines of distinct keys, far
/// below the spread of the kernel.
const TERMS: usize = 32;

/// Hermite coefficients of `phi(norm * z)`.
#[derive(Clone, Debug)]
pub struct Hermite {
    coefficients: [f64; TERMS],
    /// Square root of the part of `E[phi^2]` beyond the terms.
    rest: f64,
}

/// Quadrature for expectations over a standard normal number, exact also for functions with a kink at 0.
#[derive(Clone, Debug)]
pub struct Quadrature {
    /// Points, with weights that hold the normal density.
    nodes: Vec<(f64, f64)>,
    /// Normalised Hermite polynomials at the nodes.
    polynomials: Vec<[f64; TERMS]>,
}

impl Quadrature {
    /// The Gauss-Legendre rule on unit intervals of both half lines, out to 12 standard deviations.
    pub fn new() -> Quadrature {
        const PIECES: usize = 12;
        const ORDER: usize = 8;
        let legendre = gauss_legendre(ORDER);
        let mut nodes = Vec::with_capacity(2 * PIECES * ORDER);
        for piece in 0..PIECES {
            for &(x, weight) in &legendre {
                let z = piece as f64 + 0.5 * (x + 1.0);
                let density = libm::exp(-0.5 * z * z) / (2.0 * std::f64::consts::PI).sqrt();
                nodes.push((z, 0.5 * weight * density));
                nodes.push((-z, 0.5 * weight * density));
            }
        }
        let polynomials = nodes.iter().map(|&(z, _)| hermite_polynomials(z)).collect();
        Quadrature { nodes, polynomials }
    }

    /// The expansion of `phi(norm * z)`.
    pub fn expand(&self, activation: Activation, norm: f64) -> Hermite {
        let mut coefficients = [0.0; TERMS];
        let mut square = 0.0;
        for (&(z, weight), polynomials) in self.nodes.iter().zip(&self.polynomials) {
            let value = activation.value(norm * z);
            square += weight * value * value;
            coefficients.iter_mut().zip(polynomials).for_each(|(c, p)| *c += weight * value * p);
        }
        let rest = (square - coefficients.iter().map(|c| c * c).sum::<f64>()).max(0.0).sqrt();
        Hermite { coefficients, rest }
    }
}

impl Hermite {
    /// The kernel of two keys with the given cosine.
    pub fn kernel(&self, other: &Hermite, cosine: f64) -> f64 {
        let products = self.coefficients.iter().zip(&other.coefficients).map(|(a, b)| a * b);
        products.rev().fold(self.rest * other.rest, |sum, product| sum * cosine + product)
    }
}

/// `He_q(z) / sqrt(q!)` for q below [`TERMS`].
fn hermite_polynomials(z: f64) -> [f64; TERMS] {
    let mut values = [1.0; TERMS];
    values[1] = z;
    for q in 2..TERMS {
        let order = q as f64;
        values[q] = (z * values[q - 1] - (order - 1.0).sqrt() * values[q - 2]) / order.sqrt();
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hermite_activations_are_single_terms() {
        let quadrature = Quadrature::new();
        for (activation, order) in [(Activation::Identity, 1), (Activation::He2, 2), (Activation::He3, 3)] {
            let hermite = quadrature.expand(activation, 1.0);
            for (q, c) in hermite.coefficients.iter().enumerate() {
                assert!((c - f64::from(q == order)).abs() < 1e-10, "{activation} {q} {c}");
            }
        }
    }

    /// Cho and Saul's arc-cosine kernel for relu; for |x| the even part of it, twice.
    #[test]
    fn relu_and_abs_have_their_closed_forms() {
        let quadrature = Quadrature::new();
        let arc = |norms: f64, cosine: f64| {
            let angle: f64 = cosine.acos();
            norms * (angle.sin() + (std::f64::consts::PI - angle) * cosine) / (2.0 * std::f64::consts::PI)
        };
        for cosine in [-0.6, -0.2, 0.0, 0.3, 0.5, 0.7, 1.0] {
            let expand = |activation, norm| quadrature.expand(activation, norm);
            let relu = expand(Activation::Relu, 1.3).kernel(&expand(Activation::Relu, 0.8), cosine);
            assert!((relu - arc(1.3 * 0.8, cosine)).abs() < 2e-7, "relu at {cosine}: {relu}");
            let abs = expand(Activation::Abs, 1.3).kernel(&expand(Activation::Abs, 0.8), cosine);
            let exact = 2.0 * (arc(1.3 * 0.8, cosine) + arc(1.3 * 0.8, -cosine));
            assert!((abs - exact).abs() < 4e-7, "abs at {cosine}: {abs}");
        }
    }
}
