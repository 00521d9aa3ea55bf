//! LMMSE estimate of the facts from the first gradient (`docs/theory/bound.md`, 6).
//!
//! Divided by `eta`, the first step is `M1 = C^T (B Z + delta u^T)`. The rows of `C` are the centred output embeddings, those of
//! `Z` the input embeddings. `B[j, v]` is the count of token v in samples of label j, divided by `N L`. With `P` the permutation
//! of the facts, `B = s P + E` where `s = 1/(L V)` and the noise `E` has entries of variance `tau^2 = (1 - 1/L)/(N L V^2)`.
//! Labels are not equally frequent: `delta_j`, the frequency of label j minus 1/V, has the variance `1/(N V)` and multiplies the
//! mean head output `u = (1 - 1/L) mean(z_in) + t z_trig / L`.
//!
//! The estimate minimises the mean square error among linear ones, assuming uncorrelated entries of `P` with variance 1/V. Rows
//! of `s P + E` then have the covariance `a = s^2/V + tau^2` times the identity, rows of `B Z + delta u^T` have
//! `R = a Z^T Z + u u^T/(N V)`, and the estimate is
//!
//! ```text
//! P' = (s/V) C (C^T C)^-1 M1 R^-1 Z^T.
//! ```
//!
//! The noise passes through the same embeddings as the signal. The Gram matrices therefore need only a small ridge, for numerical
//! stability and for `d > V`; the noise level only sets how much of the direction `u` is removed.
//!
//! With an MLP, `M1 = C^T (s' P U + E + delta mu^T)` with `s' = 1/V`: the rows of `U` are `mu_v - mu`, the mean features given
//! the informative token minus their mean. Given the token, features have the covariance `Q`, which acts as a ridge:
//!
//! ```text
//! P' = C (C^T C)^-1 M1 (U^T U + (V^2/N) (Q + mu mu^T))^-1 U^T.
//! ```
//!
//! `mu_v` uses a normal approximation for the sum of the other tokens; `Q` is estimated from sampled sequences.

use crate::backend::{Backend, Result, SUMS, View, product};
use crate::config::Trigger;
use crate::model::{Attention, Model, Workspace, centred};
use crate::numeric::{Cholesky, RIDGE, dot, pseudo_inverse, ridge};
use crate::random::Stream;
use crate::task::{Block, Drawn, Samples, Task};

use super::{mean_features, sandwich};

/// The matrices of the linear estimate that depend on the embeddings alone. They serve any number of samples.
pub struct Whitener {
    dim: usize,
    /// `C (C^T C)^-1`, a row per label.
    labels: Vec<f64>,
    inputs: Inputs,
}

enum Inputs {
    Linear(Linear),
    Features(Features),
}

impl Whitener {
    /// The estimate for a model and its task.
    pub fn new(model: &Model<'_, f64>, task: &Task, seed: u64, backend: &Backend) -> Result<Whitener> {
        let dim = model.dim();
        let labels = pseudo_inverse(&centred(&model.embeddings.z_out, dim, backend)?, dim, backend)?.0;
        let inputs = match model.w_in() {
            None => Inputs::Linear(Linear::new(model, task.length(), backend)?),
            Some(_) => Inputs::Features(Features::new(model, task, seed, backend)?),
        };
        Ok(Whitener { dim, labels, inputs })
    }

    /// Scores of the linear estimate, up to a factor: a row per token, an entry per label. `m1` is the gradient of `samples`
    /// samples, or its expectation when `samples` is infinite.
    pub fn scores(&self, m1: &[f64], samples: f64, backend: &Backend) -> Result<Vec<f64>> {
        let labels = View::new(&self.labels, self.labels.len() / self.dim, self.dim);
        Ok(match &self.inputs {
            Inputs::Linear(linear) => linear.scores(m1, samples, labels, backend)?,
            Inputs::Features(features) => features.scores(m1, samples, labels, backend)?,
        })
    }
}

/// The matrices of the estimate with an MLP.
struct Features {
    inputs: usize,
    /// `U`, a row per token.
    tokens: Vec<f64>,
    /// `U^T U`
    gram: Vec<f64>,
    /// `Q + mu mu^T`
    noise: Vec<f64>,
}

impl Features {
    fn new(model: &Model<'_, f64>, task: &Task, seed: u64, backend: &Backend) -> Result<Features> {
        let inputs = model.inputs();
        let mut tokens = mean_features(model, task.length(), backend)?;
        let mut noise = second_moment(model, task, seed, &tokens, backend)?;
        let count = (tokens.len() / inputs) as f64;
        let mut mean = vec![0.0; inputs];
        for row in tokens.chunks_exact(inputs) {
            mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += x / count);
        }
        for row in tokens.chunks_exact_mut(inputs) {
            row.iter_mut().zip(&mean).for_each(|(x, mean)| *x -= mean);
        }
        let mut gram = vec![0.0; inputs * inputs];
        let u = View::new(&tokens, tokens.len() / inputs, inputs);
        backend.product(&mut gram, u.t(), u)?;
        for (row, &left) in noise.chunks_exact_mut(inputs).zip(&mean) {
            row.iter_mut().zip(&mean).for_each(|(x, right)| *x += left * right);
        }
        Ok(Features { inputs, tokens, gram, noise })
    }

    fn scores(&self, m1: &[f64], samples: f64, labels: View<'_, f64>, backend: &Backend) -> Result<Vec<f64>> {
        let inputs = self.inputs;
        let count = (self.tokens.len() / inputs) as f64;
        let weight = count * count / samples;
        let mut matrix: Vec<f64> =
            self.gram.iter().zip(&self.noise).map(|(gram, noise)| gram + weight * noise).collect();
        ridge(&mut matrix, inputs, RIDGE);
        let inverse = Cholesky::nearly_definite(matrix, inputs, backend)?.inverse(backend)?;
        let mut rows = vec![0.0; self.tokens.len()];
        let view = |rows| View::new(rows, <[f64]>::len(rows) / inputs, inputs);
        backend.product(&mut rows, view(&self.tokens), view(&inverse))?;
        sandwich(view(&rows), m1, labels, backend)
    }
}

/// The covariance of the features given the informative token, measured on eight drawn sequences per feature and 4096 more.
fn second_moment(
    model: &Model<'_, f64>,
    task: &Task,
    seed: u64,
    means: &[f64],
    backend: &Backend,
) -> Result<Vec<f64>> {
    const AT_ONCE: usize = 256;
    let inputs = model.inputs();
    let count = 8 * inputs + 4096;
    let drawn = Drawn::new(task, seed, Stream::Test, count);
    let parts = backend.try_map(SUMS, |part| {
        let (mut work, mut block) = (Workspace::default(), Block::default());
        let (mut sum, mut step) = (vec![0.0; inputs * inputs], vec![0.0; inputs * inputs]);
        let ids: Vec<u32> = (part * count / SUMS..(part + 1) * count / SUMS).map(|id| id as u32).collect();
        for ids in ids.chunks(AT_ONCE) {
            backend.check_cancelled()?;
            drawn.fill(ids, &mut block);
            work.attend(model, &Attention::Uniform, &block);
            work.activate(model);
            let mut rest = work.features(model).data().to_vec();
            for (b, row) in rest.chunks_exact_mut(inputs).enumerate() {
                let mean = &means[block.informative(b) * inputs..][..inputs];
                row.iter_mut().zip(mean).for_each(|(x, mean)| *x -= mean);
            }
            let rest = View::new(&rest, ids.len(), inputs);
            product(&mut step, rest.t(), rest, false);
            sum.iter_mut().zip(&step).for_each(|(sum, x)| *sum += x);
        }
        Ok(sum)
    })?;
    let mut sum = vec![0.0; inputs * inputs];
    for part in &parts {
        sum.iter_mut().zip(part).for_each(|(sum, x)| *sum += x / count as f64);
    }
    Ok(sum)
}

/// The matrices of the estimate without an MLP.
struct Linear {
    dim: usize,
    length: f64,
    /// `Z (Z^T Z)^-1`, a row per token.
    tokens: Vec<f64>,
    /// `u`
    mean: Vec<f64>,
    /// `(Z^T Z)^-1 u`
    white_mean: Vec<f64>,
}

impl Linear {
    fn new(model: &Model<'_, f64>, length: usize, backend: &Backend) -> Result<Linear> {
        let (dim, count) = (model.dim(), model.tokens() as f64);
        let (tokens, inverse) = pseudo_inverse(&model.embeddings.z_in, dim, backend)?;
        let length = length as f64;
        let mut mean = vec![0.0; dim];
        for row in model.embeddings.z_in.chunks_exact(dim) {
            mean.iter_mut().zip(row).for_each(|(m, x)| *m += (1.0 - 1.0 / length) * x / count);
        }
        if model.trigger == Trigger::Values {
            mean.iter_mut().zip(&model.embeddings.z_trig).for_each(|(m, x)| *m += x / length);
        }
        let white_mean = times(&inverse, &mean);
        Ok(Linear { dim, length, tokens, mean, white_mean })
    }

    fn scores(&self, m1: &[f64], samples: f64, labels: View<'_, f64>, backend: &Backend) -> Result<Vec<f64>> {
        let (dim, count) = (self.dim, (self.tokens.len() / self.dim) as f64);
        let length = self.length;
        let signal = (length * count).recip().powi(2) / count;
        let noise = (1.0 - 1.0 / length) / (samples * length * count * count);
        let uneven = 1.0 / (samples * count);
        // The inverse of R by the Sherman-Morrison formula.
        let weight = uneven / (signal + noise + uneven * dot(&self.mean, &self.white_mean));
        let along = times(m1, &self.white_mean);
        let mut rest = m1.to_vec();
        for (row, &along) in rest.chunks_exact_mut(dim).zip(&along) {
            row.iter_mut().zip(&self.mean).for_each(|(x, u)| *x -= weight * along * u);
        }
        let tokens = View::new(&self.tokens, self.tokens.len() / dim, dim);
        sandwich(tokens, &rest, labels, backend)
    }
}

fn times(matrix: &[f64], x: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(x.len()).map(|row| dot(row, x)).collect()
}
