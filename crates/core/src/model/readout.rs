//! From features to logits: `Z_out M psi(h)`.

use crate::backend::{Backend, Real, View, product};

use super::Model;

/// A value matrix, ready to be applied to many samples.
///
/// Folding `M` into the output embedding costs `V d p` once and saves a product of `N d p`; for a wide MLP it
/// would make the logits' product longer, `N V p` instead of `N V d`.
pub enum Readout<'a, T> {
    /// `Z_out M`, `labels` rows of `inputs`.
    Folded(Vec<T>),
    /// `M` itself, applied before `Z_out`.
    Factored(View<'a, T>),
}

impl<'a, T: Real> Readout<'a, T> {
    /// Chooses the cheaper form for the given number of samples.
    pub fn new(model: &Model<'_, T>, m: &'a [T], samples: usize, backend: &Backend) -> Self {
        let m = View::new(m, model.dim(), model.inputs());
        let (n, v) = (samples as f64, model.labels() as f64);
        let (d, p) = (model.dim() as f64, model.inputs() as f64);
        if n * v * p + v * d * p > n * d * (p + v) {
            return Readout::Factored(m);
        }
        let mut folded = vec![T::ZERO; model.labels() * model.inputs()];
        backend.product(&mut folded, model.z_out(), m);
        Readout::Folded(folded)
    }

    /// Logits of every row of features. `between` is scratch memory.
    pub fn logits(
        &self,
        model: &Model<'_, T>,
        features: View<'_, T>,
        between: &mut Vec<T>,
        logits: &mut Vec<T>,
    ) {
        let rows = features.rows();
        logits.resize(rows * model.labels(), T::ZERO);
        match self {
            Readout::Folded(folded) => {
                product(logits, features, View::new(folded, model.labels(), model.inputs()).t(), false);
            }
            Readout::Factored(m) => {
                between.resize(rows * model.dim(), T::ZERO);
                product(between, features, m.t(), false);
                product(logits, View::new(between, rows, model.dim()), model.z_out().t(), false);
            }
        }
    }
}
