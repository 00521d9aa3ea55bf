//! Scaling fits: exponents of critical values with intervals, beside those of the closed form over the same sizes, and data collapse.

mod collapse;
mod exponents;

pub use collapse::{Collapse, Line, collapse};
pub use exponents::{Comparison, Exponent, Exponents, FitError, Sample, compare, exponents};
