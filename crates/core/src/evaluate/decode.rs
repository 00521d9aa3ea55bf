//! Reading facts off the first gradient (theory section 5.4, attention-only model): scores of every token with every label.
//!
//! Up to the rate the first gradient is `M1 = C^T (B Z + delta u^T)`. C holds the centred output embeddings and Z the input embeddings,
//! a row each. `B[j, v]` is how often token v stands in samples of label j, over `N L`: with P the permutation of the
//! facts, `B = s P + E`, `s = 1/(L V)`, and E is noise with entries of variance
//! `tau^2 = (1 - 1/L)/(N L V^2)`, which makes the noise energy of section 5.4. Labels are not equally frequent: `delta_j` is the
//! frequency of label j less 1/V, of variance `1/(N V)`, and goes with the mean head output `u = (1 - 1/L) mean(z_in) + t z_trig / L`.
//!
//! - [`plain_scores`]: `Z_out M1 Z^T`, what the model itself would read.
//! - [`Whitener::scores`]: the linear estimate of P with the least mean square error. Entries of P are taken as uncorrelated, of variance
//!   1/V. Then rows of `s P + E` have the covariance `a = s^2/V + tau^2` times the identity, rows of what C sees have
//!   `R = a Z^T Z + u u^T/(N V)`, and the estimate is
//!
//! ```text
//! P' = (s/V) C (C^T C)^-1 M1 R^-1 Z^T.
//! ```
//!
//! The noise goes through the same embeddings as the signal, so no ridge is left: both Gram matrices are undone in full, and
//! the noise level decides only how much of the direction u is taken off. (The ridge below is for rounding, and for `d > V` where the
//! Gram matrices are singular.)

use crate::backend::{Backend, Real, View, top};
use crate::config::Trigger;
use crate::model::{Model, centred};

/// Scores of the model's own reading: a row per token, an entry per label.
pub fn plain_scores(model: &Model<'_, f64>, m1: &[f64], backend: &Backend) -> Vec<f64> {
    sandwich(model.z_in(), m1, model.z_out(), backend)
}

/// Share of tokens whose right label has the largest score; ties count in part.
pub fn argmax_accuracy<T: Real>(scores: &[T], facts: &[u32]) -> f64 {
    let rows = scores.chunks_exact(scores.len() / facts.len());
    rows.zip(facts).map(|(row, &fact)| top(row, fact as usize).credit).sum::<f64>() / facts.len() as f64
}

/// `rows m^T columns^T`: entry (v, j) is `columns[j] . m rows[v]`.
fn sandwich(rows: View<'_, f64>, m: &[f64], columns: View<'_, f64>, backend: &Backend) -> Vec<f64> {
    let dim = rows.columns();
    let mut between = vec![0.0; rows.rows() * dim];
    backend.product(&mut between, rows, View::new(m, dim, dim).t());
    let mut scores = vec![0.0; rows.rows() * columns.rows()];
    backend.product(&mut scores, View::new(&between, rows.rows(), dim), columns.t());
    scores
}

/// What the linear estimate needs of the embeddings: made once, used for any number of samples.
pub struct Whitener {
    dim: usize,
    length: f64,
    /// `C (C^T C)^-1`, a row per label.
    labels: Vec<f64>,
    /// `Z (Z^T Z)^-1`, a row per token.
    tokens: Vec<f64>,
    /// u
    mean: Vec<f64>,
    /// `(Z^T Z)^-1 u`
    white_mean: Vec<f64>,
}

impl Whitener {
    /// For a model, and sequences of a length.
    pub fn new(model: &Model<'_, f64>, length: usize, backend: &Backend) -> Whitener {
        let (dim, count) = (model.dim(), model.tokens() as f64);
        let outputs = centred(&model.embeddings.z_out, dim);
        let labels = undo(&outputs, dim, backend).0;
        let (tokens, inverse) = undo(&model.embeddings.z_in, dim, backend);
        let length = length as f64;
        let mut mean = vec![0.0; dim];
        for row in model.embeddings.z_in.chunks_exact(dim) {
            mean.iter_mut().zip(row).for_each(|(m, x)| *m += (1.0 - 1.0 / length) * x / count);
        }
        if model.trigger == Trigger::Values {
            mean.iter_mut().zip(&model.embeddings.z_trig).for_each(|(m, x)| *m += x / length);
        }
        let white_mean = times(&inverse, &mean);
        Whitener { dim, length, labels, tokens, mean, white_mean }
    }

    /// Scores of the linear estimate from a gradient of so many samples, up to a factor: a row per token, an entry per
    /// label.
    pub fn scores(&self, m1: &[f64], samples: usize, backend: &Backend) -> Vec<f64> {
        let (dim, count) = (self.dim, (self.tokens.len() / self.dim) as f64);
        let (samples, length) = (samples as f64, self.length);
        let signal = (length * count).recip().powi(2) / count;
        let noise = (1.0 - 1.0 / length) / (samples * length * count * count);
        let uneven = 1.0 / (samples * count);
        // The inverse of R by the formula of Sherman and Morrison.
        let weight = uneven / (signal + noise + uneven * dot(&self.mean, &self.white_mean));
        let along = times(m1, &self.white_mean);
        let mut rest = m1.to_vec();
        for (row, &along) in rest.chunks_exact_mut(dim).zip(&along) {
            row.iter_mut().zip(&self.mean).for_each(|(x, u)| *x -= weight * along * u);
        }
        let view = |rows| View::new(rows, <[f64]>::len(rows) / dim, dim);
        sandwich(view(&self.tokens), &rest, view(&self.labels), backend)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A square matrix times a vector.
fn times(matrix: &[f64], x: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(x.len()).map(|row| dot(row, x)).collect()
}

/// `X (X^T X)^-1` and `(X^T X)^-1`.
fn undo(rows: &[f64], dim: usize, backend: &Backend) -> (Vec<f64>, Vec<f64>) {
    let x = View::new(rows, rows.len() / dim, dim);
    let mut gram = vec![0.0; dim * dim];
    backend.product(&mut gram, x.t(), x);
    /// Share of the mean eigenvalue that is added to each.
    const RIDGE: f64 = 1e-9;
    let ridge = RIDGE * gram.iter().step_by(dim + 1).sum::<f64>() / dim as f64;
    gram.iter_mut().step_by(dim + 1).for_each(|x| *x += ridge);
    let inverse = inverse(gram, dim);
    let mut undone = vec![0.0; rows.len()];
    backend.product(&mut undone, x, View::new(&inverse, dim, dim));
    (undone, inverse)
}

/// The inverse of a positive definite matrix, by Cholesky's factors `L L^T`.
fn inverse(mut a: Vec<f64>, dim: usize) -> Vec<f64> {
    for i in 0..dim {
        for j in 0..=i {
            let rest = a[i * dim + j] - dot(&a[i * dim..i * dim + j], &a[j * dim..j * dim + j]);
            a[i * dim + j] = if i == j { rest.max(f64::MIN_POSITIVE).sqrt() } else { rest / a[j * dim + j] };
        }
    }
    // Rows of the inverse of L^T: column i of the inverse of L, from the diagonal down.
    let mut columns = vec![0.0; dim * dim];
    for i in 0..dim {
        let column = &mut columns[i * dim..(i + 1) * dim];
        column[i] = 1.0 / a[i * dim + i];
        for j in i + 1..dim {
            column[j] = -dot(&a[j * dim + i..j * dim + j], &column[i..j]) / a[j * dim + j];
        }
    }
    let mut inverse = vec![0.0; dim * dim];
    let columns = View::new(&columns, dim, dim);
    crate::backend::product(&mut inverse, columns, columns.t(), false);
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use crate::early_phase::Limit;
    use crate::embedding::Embeddings;
    use crate::model::Attention;
    use crate::random::Stream;
    use crate::task::{Drawn, Task};

    #[test]
    fn the_inverse_is_one() {
        let (rows, dim) = (40, 7);
        let x: Vec<f64> = (0..rows * dim).map(|i| ((i * i) as f64 * 0.37).sin()).collect();
        let (undone, inverse) = undo(&x, dim, &Backend::single());
        // X^T X (X^T X)^-1 = 1
        for i in 0..dim {
            for j in 0..dim {
                let entry: f64 = (0..rows).map(|r| x[r * dim + i] * undone[r * dim + j]).sum();
                assert!((entry - f64::from(u8::from(i == j))).abs() < 1e-6, "{i} {j} {entry}");
                assert!((inverse[i * dim + j] - inverse[j * dim + i]).abs() < 1e-9);
            }
        }
    }

    /// The plain scores are the one-step reading; where dimensions are plenty the linear estimate reads better, since it undoes
    /// the overlaps.
    #[test]
    fn whitening_helps() {
        let backend = Backend::single();
        for trigger in [Trigger::Keys, Trigger::Values] {
            let settings =
                Settings { vocab: 100, dim: 80, length: 5, samples: 600, trigger, ..Settings::default() };
            let config = settings.check().unwrap();
            let embeddings = Embeddings::<f64>::draw(&config, &backend);
            let (model, task) = (Model::new(&config, &embeddings), Task::new(&config));
            let samples = Drawn::new(&task, 0, Stream::Train, config.samples);
            let m1 = Limit::new(&model, &samples, &backend).value_step(&Attention::Uniform).m;
            let plain = argmax_accuracy(&plain_scores(&model, &m1, &backend), task.facts());
            let whitener = Whitener::new(&model, config.length, &backend);
            let white = argmax_accuracy(&whitener.scores(&m1, config.samples, &backend), task.facts());
            assert!(white > plain + 0.03 && plain > 0.1, "{trigger}: {plain} {white}");
        }
    }
}
