//! Logits from features: `Z_out M psi(h)`.

use crate::backend::{Backend, Real, Result, View, product};

use super::Model;

/// A value matrix in the cheaper of two forms.
///
/// Folding `M` into the output embedding costs `V d p` once and saves a product of `N d p`; for a wide MLP it
/// would make the logits' product longer, `N V p` instead of `N V d`.
pub enum Readout<'a, T> {
    /// `Z_out M`, a row per label, and the number of its columns.
    Folded(Vec<T>, usize),
    /// `Z_out` and `M` themselves, applied one after the other.
    Factored(View<'a, T>, View<'a, T>),
}

/// Whether folding is the cheaper form for this many samples and labels, at a value matrix of `dim` rows of `inputs`.
pub fn worth_folding(samples: usize, labels: usize, dim: usize, inputs: usize) -> bool {
    let (n, v, d, p) = (samples as f64, labels as f64, dim as f64, inputs as f64);
    n * v * p + v * d * p <= n * d * (p + v)
}

impl<'a, T: Real> Readout<'a, T> {
    /// The cheaper form for the given number of samples, at value matrix `m`, `dim` rows of `inputs`.
    pub fn new(model: &Model<'a, T>, m: &'a [T], samples: usize, backend: &Backend) -> Result<Self> {
        Readout::of(model.z_out(), View::new(m, model.dim(), model.inputs()), samples, backend)
    }

    /// The cheaper form for the given number of samples.
    pub fn of(z_out: View<'a, T>, m: View<'a, T>, samples: usize, backend: &Backend) -> Result<Self> {
        if !worth_folding(samples, z_out.rows(), m.rows(), m.columns()) {
            return Ok(Readout::Factored(z_out, m));
        }
        let mut folded = vec![T::ZERO; z_out.rows() * m.columns()];
        backend.product(&mut folded, z_out, m)?;
        Ok(Readout::Folded(folded, m.columns()))
    }

    /// Logits of every row of features. `between` is scratch memory.
    pub fn logits(&self, features: View<'_, T>, between: &mut Vec<T>, logits: &mut Vec<T>) {
        let rows = features.rows();
        match self {
            Readout::Folded(folded, columns) => {
                let folded = View::new(folded, folded.len() / columns, *columns);
                logits.resize(rows * folded.rows(), T::ZERO);
                product(logits, features, folded.t(), false);
            }
            Readout::Factored(z_out, m) => {
                between.resize(rows * m.rows(), T::ZERO);
                product(between, features, m.t(), false);
                logits.resize(rows * z_out.rows(), T::ZERO);
                product(logits, View::new(between, rows, m.rows()), z_out.t(), false);
            }
        }
    }
}
