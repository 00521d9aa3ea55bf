//! The activations of the MLP and their derivatives (theory: setting).

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use crate::backend::Real;
use crate::config::Activation;

impl Activation {
    /// `phi(x)`
    pub fn value(self, x: f64) -> f64 {
        match self {
            Activation::Relu => x.max(0.0),
            Activation::Gelu => 0.5 * x * libm::erfc(-x * FRAC_1_SQRT_2),
            Activation::Tanh => libm::tanh(x),
            Activation::Softplus => x.max(0.0) + libm::log1p(libm::exp(-x.abs())),
            Activation::Abs => x.abs(),
            Activation::He2 => (x * x - 1.0) / 2.0_f64.sqrt(),
            Activation::He3 => x * (x * x - 3.0) / 6.0_f64.sqrt(),
            Activation::Identity => x,
        }
    }

    /// `phi'(x)`; 0 at the kink of `relu` and `abs`, as in automatic differentiation.
    pub fn slope(self, x: f64) -> f64 {
        match self {
            Activation::Relu => f64::from(x > 0.0),
            Activation::Gelu => {
                let density = libm::exp(-0.5 * x * x) / (2.0 * PI).sqrt();
                0.5 * libm::erfc(-x * FRAC_1_SQRT_2) + x * density
            }
            Activation::Tanh => {
                let y = libm::tanh(x);
                1.0 - y * y
            }
            Activation::Softplus => 1.0 / (1.0 + libm::exp(-x)),
            Activation::Abs if x == 0.0 => 0.0,
            Activation::Abs => x.signum(),
            Activation::He2 => x * 2.0_f64.sqrt(),
            Activation::He3 => (x * x - 1.0) * 1.5_f64.sqrt(),
            Activation::Identity => 1.0,
        }
    }

    /// `out = scale * phi(x)` entry by entry. The piecewise polynomial activations have loops that vectorise; the smooth ones call a
    /// function per entry, which for small dimensions takes longer than the products.
    pub fn apply<T: Real>(self, scale: f64, x: &[T], out: &mut [T]) {
        let s = T::from_f64(scale);
        match self {
            Activation::Relu => map(x, out, |x| s * if x > T::ZERO { x } else { T::ZERO }),
            Activation::Abs => map(x, out, |x| s * if x < T::ZERO { -x } else { x }),
            Activation::Identity => map(x, out, |x| s * x),
            Activation::He2 => {
                let c = T::from_f64(scale / 2.0_f64.sqrt());
                map(x, out, |x| c * (x * x - T::ONE));
            }
            Activation::He3 => {
                let (c, three) = (T::from_f64(scale / 6.0_f64.sqrt()), T::from_f64(3.0));
                map(x, out, |x| c * x * (x * x - three));
            }
            Activation::Gelu | Activation::Tanh | Activation::Softplus => {
                map(x, out, |x| T::from_f64(scale * self.value(x.to_f64())));
            }
        }
    }

    /// `out *= scale * phi'(x)` entry by entry.
    pub fn multiply_slope<T: Real>(self, scale: f64, x: &[T], out: &mut [T]) {
        let s = T::from_f64(scale);
        match self {
            Activation::Relu => scale_by(x, out, |x| if x > T::ZERO { s } else { T::ZERO }),
            Activation::Identity => scale_by(x, out, |_| s),
            Activation::He2 => {
                let c = T::from_f64(scale * 2.0_f64.sqrt());
                scale_by(x, out, |x| c * x);
            }
            Activation::He3 => {
                let c = T::from_f64(scale * 1.5_f64.sqrt());
                scale_by(x, out, |x| c * (x * x - T::ONE));
            }
            Activation::Abs | Activation::Gelu | Activation::Tanh | Activation::Softplus => {
                scale_by(x, out, |x| T::from_f64(scale * self.slope(x.to_f64())));
            }
        }
    }
}

fn scale_by<T: Real>(x: &[T], out: &mut [T], f: impl Fn(T) -> T) {
    out.iter_mut().zip(x).for_each(|(y, &x)| *y *= f(x));
}

fn map<T: Real>(x: &[T], out: &mut [T], f: impl Fn(T) -> T) {
    out.iter_mut().zip(x).for_each(|(y, &x)| *y = f(x));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_derivatives() {
        for &activation in Activation::ALL {
            for x in [-2.3, -0.7, 0.4, 1.9] {
                let h = 1e-5;
                let difference = (activation.value(x + h) - activation.value(x - h)) / (2.0 * h);
                assert!((difference - activation.slope(x)).abs() < 1e-8, "{activation} at {x}");
            }
        }
    }

    #[test]
    fn arrays_agree_with_the_scalar_form() {
        let x: Vec<f64> = (-40..40).map(|i| f64::from(i) * 0.1 + 0.03).collect();
        for &activation in Activation::ALL {
            let mut out = vec![0.0; x.len()];
            activation.apply(0.5, &x, &mut out);
            let mut slopes = vec![3.0; x.len()];
            activation.multiply_slope(0.5, &x, &mut slopes);
            for ((&x, &y), &slope) in x.iter().zip(&out).zip(&slopes) {
                assert!((y - 0.5 * activation.value(x)).abs() < 1e-14, "{activation} at {x}");
                assert!((slope - 1.5 * activation.slope(x)).abs() < 1e-13, "{activation} slope at {x}");
            }
        }
    }
}
