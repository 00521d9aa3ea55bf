//! Reading facts off the first gradient (theory section 5.4): scores of every token with every label.
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
//!
//! With an MLP, `M1 = C^T (s' P U + E + delta mu^T)`: rows of U are `mu_v - mu`, the mean features given the informative token
//! less their mean, and `s' = 1/V`. Given the token, features have a covariance Q of their own, so a ridge is left, and
//!
//! ```text
//! P' = C (C^T C)^-1 M1 (U^T U + (V^2/N) (Q + mu mu^T))^-1 U^T.
//! ```
//!
//! `mu_v` is an average over the other tokens, whose sum is taken as normal; Q is measured on sequences drawn for it.

use crate::backend::{Backend, Cancelled, Real, View, top};
use crate::config::Trigger;
use crate::model::{Attention, Model, Workspace, centred};
use crate::numeric::{Cholesky, dot};
use crate::random::Stream;
use crate::task::{Block, Drawn, Samples, Task};

/// Scores of the model's own reading: a row per token, an entry per label.
pub fn plain_scores(model: &Model<'_, f64>, m1: &[f64], backend: &Backend) -> Result<Vec<f64>, Cancelled> {
    let mut work = Workspace::default();
    work.head.clone_from(&model.embeddings.z_in);
    work.activate(model);
    sandwich(work.features(model), m1, model.z_out(), backend)
}

/// Scores of the model's own reading with the attention placed on the informative position.
pub fn placed_scores(model: &Model<'_, f64>, m: &[f64], backend: &Backend) -> Result<Vec<f64>, Cancelled> {
    let mut work = Workspace::default();
    work.place(model, 0..model.tokens());
    work.activate(model);
    sandwich(work.features(model), m, model.z_out(), backend)
}

/// The first gradient with unlimited data: its expectation over samples.
pub fn expected_gradient(
    model: &Model<'_, f64>,
    facts: &[u32],
    length: usize,
    backend: &Backend,
) -> Result<Vec<f64>, Cancelled> {
    let (dim, inputs) = (model.dim(), model.inputs());
    let outputs = centred(&model.embeddings.z_out, dim);
    let labels: Vec<f64> =
        facts.iter().flat_map(|&fact| &outputs[fact as usize * dim..][..dim]).copied().collect();
    let means = mean_features(model, length, backend)?;
    let mut m1 = vec![0.0; dim * inputs];
    let view = |rows, columns| View::new(rows, <[f64]>::len(rows) / columns, columns);
    backend.product(&mut m1, view(&labels, dim).t(), view(&means, inputs))?;
    m1.iter_mut().for_each(|x| *x /= facts.len() as f64);
    Ok(m1)
}

/// The mean of `psi(h)` given the informative token, at uniform attention: a row per token. Without an MLP, less what all tokens
/// have in common. With one, the sum of the other tokens is taken as normal, which it is in the limit of long sequences.
fn mean_features(model: &Model<'_, f64>, length: usize, backend: &Backend) -> Result<Vec<f64>, Cancelled> {
    let length = length as f64;
    let Some(w_in) = model.w_in() else {
        return Ok(model.embeddings.z_in.iter().map(|x| x / length).collect());
    };
    let (tokens, inputs) = (model.tokens(), model.inputs());
    let mut before = vec![0.0; tokens * inputs];
    backend.product(&mut before, model.z_in(), w_in.t())?;
    let (mut means, mut squares) = (vec![0.0; inputs], vec![0.0; inputs]);
    for row in before.chunks_exact(inputs) {
        for ((mean, square), x) in means.iter_mut().zip(&mut squares).zip(row) {
            *mean += x / tokens as f64;
            *square += x * x / tokens as f64;
        }
    }
    let trigger: Vec<f64> = match model.trigger {
        Trigger::Keys => vec![0.0; inputs],
        Trigger::Values => {
            let mut out = vec![0.0; inputs];
            backend.product(&mut out, w_in, View::new(&model.embeddings.z_trig, model.dim(), 1))?;
            out
        }
    };
    // What all sequences have in common, and the deviation that the other tokens add.
    let common: Vec<(f64, f64)> = (0..inputs)
        .map(|i| {
            let variance = (squares[i] - means[i] * means[i]).max(0.0);
            let shift = ((length - 1.0) * means[i] + trigger[i]) / length;
            (shift, (variance * (length - 1.0)).sqrt() / length)
        })
        .collect();
    /// Steps of the rule for a normal number, from -4.2 to 4.2.
    const STEPS: usize = 21;
    let rule: Vec<(f64, f64)> = (0..STEPS)
        .map(|i| 4.2 * (2.0 * i as f64 / (STEPS - 1) as f64 - 1.0))
        .map(|z| (z, (-0.5 * z * z).exp()))
        .collect();
    let total: f64 = rule.iter().map(|point| point.1).sum();
    let scale = 1.0 / (total * (inputs as f64).sqrt());
    backend.for_chunks(&mut before, inputs, |_, row| {
        for (x, &(shift, deviation)) in row.iter_mut().zip(&common) {
            let centre = *x / length + shift;
            let value = |&(z, weight): &(f64, f64)| weight * model.activation.value(centre + deviation * z);
            *x = scale * rule.iter().map(value).sum::<f64>();
        }
    })?;
    Ok(before)
}

/// Share of tokens whose right label has the largest score; ties count in part.
pub fn argmax_accuracy<T: Real>(scores: &[T], facts: &[u32]) -> f64 {
    let rows = scores.chunks_exact(scores.len() / facts.len());
    rows.zip(facts).map(|(row, &fact)| top(row, fact as usize).credit).sum::<f64>() / facts.len() as f64
}

/// `rows m^T columns^T`: entry (v, j) is `columns[j] . m rows[v]`.
fn sandwich(
    rows: View<'_, f64>,
    m: &[f64],
    columns: View<'_, f64>,
    backend: &Backend,
) -> Result<Vec<f64>, Cancelled> {
    let dim = columns.columns();
    let mut between = vec![0.0; rows.rows() * dim];
    backend.product(&mut between, rows, View::new(m, dim, rows.columns()).t())?;
    let mut scores = vec![0.0; rows.rows() * columns.rows()];
    backend.product(&mut scores, View::new(&between, rows.rows(), dim), columns.t())?;
    Ok(scores)
}

/// What the linear estimate needs of the embeddings: made once, used for any number of samples.
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
    /// For a model and its task.
    pub fn new(
        model: &Model<'_, f64>,
        task: &Task,
        seed: u64,
        backend: &Backend,
    ) -> Result<Whitener, Cancelled> {
        let dim = model.dim();
        let labels = undo(&centred(&model.embeddings.z_out, dim), dim, backend)?.0;
        let inputs = match model.w_in() {
            None => Inputs::Linear(Linear::new(model, task.length(), backend)?),
            Some(_) => Inputs::Features(Features::new(model, task, seed, backend)?),
        };
        Ok(Whitener { dim, labels, inputs })
    }

    /// Scores of the linear estimate from a gradient of so many samples (infinity: its expectation), up to a factor: a row
    /// per token, an entry per label.
    pub fn scores(&self, m1: &[f64], samples: f64, backend: &Backend) -> Result<Vec<f64>, Cancelled> {
        let labels = View::new(&self.labels, self.labels.len() / self.dim, self.dim);
        Ok(match &self.inputs {
            Inputs::Linear(linear) => linear.scores(m1, samples, labels, backend)?,
            Inputs::Features(features) => features.scores(m1, samples, labels, backend)?,
        })
    }
}

/// The MLP's features as the estimate sees them.
struct Features {
    inputs: usize,
    /// U, a row per token.
    tokens: Vec<f64>,
    /// `U^T U`
    gram: Vec<f64>,
    /// `Q + mu mu^T`
    noise: Vec<f64>,
}

impl Features {
    fn new(model: &Model<'_, f64>, task: &Task, seed: u64, backend: &Backend) -> Result<Features, Cancelled> {
        let inputs = model.inputs();
        let mut tokens = mean_features(model, task.length(), backend)?;
        let noise = second_moment(model, task, seed, &tokens, backend)?;
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
        let mut noise = noise;
        for (row, &left) in noise.chunks_exact_mut(inputs).zip(&mean) {
            row.iter_mut().zip(&mean).for_each(|(x, right)| *x += left * right);
        }
        Ok(Features { inputs, tokens, gram, noise })
    }

    fn scores(
        &self,
        m1: &[f64],
        samples: f64,
        labels: View<'_, f64>,
        backend: &Backend,
    ) -> Result<Vec<f64>, Cancelled> {
        let inputs = self.inputs;
        let count = (self.tokens.len() / inputs) as f64;
        let weight = count * count / samples;
        let mut matrix: Vec<f64> =
            self.gram.iter().zip(&self.noise).map(|(gram, noise)| gram + weight * noise).collect();
        let ridge = RIDGE * matrix.iter().step_by(inputs + 1).sum::<f64>() / inputs as f64;
        matrix.iter_mut().step_by(inputs + 1).for_each(|x| *x += ridge);
        let inverse = Cholesky::nearly_definite(matrix, inputs, backend)?.inverse(backend)?;
        let mut rows = vec![0.0; self.tokens.len()];
        let view = |rows| View::new(rows, <[f64]>::len(rows) / inputs, inputs);
        backend.product(&mut rows, view(&self.tokens), view(&inverse))?;
        sandwich(view(&rows), m1, labels, backend)
    }
}

/// The covariance of features given the informative token, on sequences drawn for it: eight for every feature.
fn second_moment(
    model: &Model<'_, f64>,
    task: &Task,
    seed: u64,
    means: &[f64],
    backend: &Backend,
) -> Result<Vec<f64>, Cancelled> {
    const TASKS: usize = 16;
    const AT_ONCE: usize = 256;
    let inputs = model.inputs();
    let count = 8 * inputs + 4096;
    let drawn = Drawn::new(task, seed, Stream::Test, count);
    let parts = backend.try_map(TASKS, |part| {
        let (mut work, mut block) = (Workspace::default(), Block::default());
        let (mut sum, mut step) = (vec![0.0; inputs * inputs], vec![0.0; inputs * inputs]);
        let ids: Vec<u32> = (part * count / TASKS..(part + 1) * count / TASKS).map(|id| id as u32).collect();
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
            crate::backend::product(&mut step, rest.t(), rest, false);
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

/// The input embeddings as the estimate sees them, without an MLP.
struct Linear {
    dim: usize,
    length: f64,
    /// `Z (Z^T Z)^-1`, a row per token.
    tokens: Vec<f64>,
    /// u
    mean: Vec<f64>,
    /// `(Z^T Z)^-1 u`
    white_mean: Vec<f64>,
}

impl Linear {
    /// For a model, and sequences of a length.
    fn new(model: &Model<'_, f64>, length: usize, backend: &Backend) -> Result<Linear, Cancelled> {
        let (dim, count) = (model.dim(), model.tokens() as f64);
        let (tokens, inverse) = undo(&model.embeddings.z_in, dim, backend)?;
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

    fn scores(
        &self,
        m1: &[f64],
        samples: f64,
        labels: View<'_, f64>,
        backend: &Backend,
    ) -> Result<Vec<f64>, Cancelled> {
        let (dim, count) = (self.dim, (self.tokens.len() / self.dim) as f64);
        let length = self.length;
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
        let tokens = View::new(&self.tokens, self.tokens.len() / dim, dim);
        sandwich(tokens, &rest, labels, backend)
    }
}

/// A square matrix times a vector.
fn times(matrix: &[f64], x: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(x.len()).map(|row| dot(row, x)).collect()
}

/// Share of the mean eigenvalue that is added to each.
const RIDGE: f64 = 1e-9;

/// `X (X^T X)^-1` and `(X^T X)^-1`.
pub(crate) fn undo(rows: &[f64], dim: usize, backend: &Backend) -> Result<(Vec<f64>, Vec<f64>), Cancelled> {
    let x = View::new(rows, rows.len() / dim, dim);
    let mut gram = vec![0.0; dim * dim];
    backend.product(&mut gram, x.t(), x)?;
    let ridge = RIDGE * gram.iter().step_by(dim + 1).sum::<f64>() / dim as f64;
    gram.iter_mut().step_by(dim + 1).for_each(|x| *x += ridge);
    let inverse = Cholesky::nearly_definite(gram, dim, backend)?.inverse(backend)?;
    let mut undone = vec![0.0; rows.len()];
    backend.product(&mut undone, x, View::new(&inverse, dim, dim))?;
    Ok((undone, inverse))
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

    /// The expected gradient is what the gradients of many samples tend to, with and without an MLP; and features give the linear
    /// estimate more than the plain reading gets.
    #[test]
    fn expectation_and_estimate_with_an_mlp() {
        let backend = Backend::single();
        for (width, trigger) in
            [(None, Trigger::Values), (Some(120), Trigger::Keys), (Some(120), Trigger::Values)]
        {
            let samples = 60_000;
            let settings =
                Settings { vocab: 60, dim: 30, length: 6, samples, width, trigger, ..Settings::default() };
            let config = settings.check().unwrap();
            let embeddings = Embeddings::<f64>::draw(&config, &backend).unwrap();
            let (model, task) = (Model::new(&config, &embeddings), Task::new(&config));
            let expected = expected_gradient(&model, task.facts(), config.length, &backend).unwrap();
            let seen = |count| {
                let drawn = Drawn::new(&task, 0, Stream::Train, count);
                Limit::new(&model, &drawn, &backend).unwrap().value_step(&Attention::Uniform).unwrap().m
            };
            let m1 = seen(samples);
            // What is left is noise: uneven counts and the other tokens, which fall with the root of the samples.
            let norm = |a: &[f64]| dot(a, a).sqrt();
            let rest: Vec<f64> = m1.iter().zip(&expected).map(|(a, b)| a - b).collect();
            let cosine = dot(&m1, &expected) / norm(&m1) / norm(&expected);
            assert!(cosine > 0.9 && norm(&rest) < 0.5 * norm(&expected), "{width:?} {trigger}: {cosine}");
            let few = seen(3000);
            let plain = argmax_accuracy(&plain_scores(&model, &few, &backend).unwrap(), task.facts());
            let whitener = Whitener::new(&model, &task, 1, &backend).unwrap();
            let white = argmax_accuracy(&whitener.scores(&few, 3000.0, &backend).unwrap(), task.facts());
            assert!(white > plain, "{width:?} {trigger}: {plain} {white}");
            let limit = whitener.scores(&expected, f64::INFINITY, &backend).unwrap();
            assert!(argmax_accuracy(&limit, task.facts()) > 0.95);
        }
    }

    #[test]
    fn the_inverse_is_one() {
        let (rows, dim) = (40, 7);
        let x: Vec<f64> = (0..rows * dim).map(|i| ((i * i) as f64 * 0.37).sin()).collect();
        let (undone, inverse) = undo(&x, dim, &Backend::single()).unwrap();
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
            let embeddings = Embeddings::<f64>::draw(&config, &backend).unwrap();
            let (model, task) = (Model::new(&config, &embeddings), Task::new(&config));
            let samples = Drawn::new(&task, 0, Stream::Train, config.samples);
            let m1 =
                Limit::new(&model, &samples, &backend).unwrap().value_step(&Attention::Uniform).unwrap().m;
            let plain = argmax_accuracy(&plain_scores(&model, &m1, &backend).unwrap(), task.facts());
            let whitener = Whitener::new(&model, &task, 0, &backend).unwrap();
            let scores = whitener.scores(&m1, config.samples as f64, &backend).unwrap();
            let white = argmax_accuracy(&scores, task.facts());
            assert!(white > plain + 0.03 && plain > 0.1, "{trigger}: {plain} {white}");
        }
    }
}
