//! Expectations as short weighted sums.
//!
//! Every prediction is an average over a few random numbers with known distributions. A Gauss rule with n points is exact
//! for polynomials of degree 2n - 1; the averaged functions are smooth on the scale of the distribution, so 3 to 8 points are
//! as accurate as a grid of hundreds.

mod eigen;
mod half_line;
mod laws;
mod table;

pub(crate) use half_line::HALF_LINE;
pub(crate) use laws::{chi_square, cosine, hermite, of_points};
pub(crate) use table::Table;

/// A discrete distribution: values with weights that sum to 1.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// Pairs of a value and its weight.
    pub points: Vec<(f64, f64)>,
}

impl Rule {
    /// A distribution with all mass on one value.
    pub fn certain(value: f64) -> Rule {
        Rule { points: vec![(value, 1.0)] }
    }

    pub fn mean(&self, mut f: impl FnMut(f64) -> f64) -> f64 {
        self.points.iter().map(|&(x, weight)| weight * f(x)).sum()
    }
}
