//! Loss and exact gradients with respect to `M` and `W` at any parameters, over all samples of a dataset.
//!
//! Let `r = p - q` be the residual of a sample (one-hot label minus softmax), `F = psi(h)` its features and `y = Z_out^T r`. The
//! negative gradient is the mean of `y F^T` for `M` and `M^T y` for the features.

use crate::backend::{Backend, Blocks, Real, Result, SUMS, View, parts, product, residual};
use crate::task::{Block, Samples};

use super::block::Coefficients;
use super::linear::LinearResponse;
use super::{Attention, Model, Readout, Workspace, block_rows, longest};

/// The results to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    /// The loss.
    pub loss: bool,
    /// The direction of `M`.
    pub m: bool,
    /// The direction of the query `W z_eos`.
    pub query: bool,
}

/// Mean loss and its negative gradients: a step of size eta adds eta times these.
#[derive(Clone, Debug)]
pub struct Descent {
    /// Mean cross-entropy; 0 if not requested.
    pub loss: f64,
    /// `-dL/dM`, `dim` rows of `inputs`; empty if not requested.
    pub m: Vec<f64>,
    /// `-dL/d(W z_eos)`, so that `-dL/dW` is this times `z_eos^T`; empty if not requested.
    pub query: Vec<f64>,
}

/// Loss and descent directions of the mean cross-entropy over `samples`, at the value matrix that `response` was made for
/// and at `query`, which is `W z_eos`.
pub fn descent<T: Real>(
    model: &Model<'_, T>,
    response: &Response<'_, T>,
    query: &[T],
    samples: &dyn Samples,
    want: Want,
    backend: &Backend,
) -> Result<Descent> {
    let attention = model.attention(query, backend)?;
    let (count, labels) = (samples.count(), model.labels());
    let rows = block_rows(labels.max(model.inputs()), samples.length());
    let (ends, blocks) = parts(count, rows, SUMS);
    let sums = backend.sums(&blocks, &Passes { model, response, attention, samples, want, rows, ends })?;

    let scale = 1.0 / count as f64;
    let mut parts = sums.into_iter();
    let mut total = parts.next().unwrap_or_else(|| Sums::new(model, want));
    let parts: Vec<Sums> = parts.collect();
    backend.add_parts(&mut total.m, &parts.iter().map(|part| &part.m[..]).collect::<Vec<_>>(), 1.0)?;
    for part in &parts {
        total.loss += part.loss;
        total.query.merge(&part.query);
    }
    total.m.iter_mut().for_each(|x| *x *= scale);
    let query = if want.query { total.query.direction(model, scale, backend)? } else { Vec::new() };
    Ok(Descent { loss: total.loss * scale, m: total.m, query })
}

/// The map from features to residuals at one value matrix. Steps at the same matrix share it.
pub struct Response<'a, T> {
    z_out: View<'a, T>,
    m: View<'a, T>,
    softmax: Softmax<'a, T>,
}

/// The results of [`Response::residuals`] for a block, a row per sample.
#[derive(Debug, Default)]
pub(crate) struct Residuals<T> {
    /// Logits, then `r`; not used by the first-order form.
    pub logits: Vec<T>,
    /// `y = Z_out^T r`, if requested for `M`.
    pub output: Vec<T>,
    /// `M^T y`, if requested for the query.
    pub by_features: Vec<T>,
}

enum Softmax<'a, T> {
    Full(Readout<'a, T>),
    Linear(LinearResponse<T>),
}

impl<'a, T: Real> Response<'a, T> {
    /// The response at value matrix `m`, `dim` rows of `inputs`, for use on `samples` samples.
    pub fn new(model: &Model<'a, T>, m: &'a [T], samples: usize, backend: &Backend) -> Result<Self> {
        let head = model.w_in().is_none().then(|| model.longest_head());
        let m = View::new(m, model.dim(), model.inputs());
        Response::of(model.z_out(), m, head, samples, backend)
    }

    /// The response at value matrix `m`. `longest` bounds the length of the features, which the first-order form requires.
    pub(crate) fn of(
        z_out: View<'a, T>,
        m: View<'a, T>,
        longest: Option<f64>,
        samples: usize,
        backend: &Backend,
    ) -> Result<Self> {
        let linear = match longest {
            Some(longest) => LinearResponse::new(z_out, m, longest, samples, backend)?,
            None => None,
        };
        let softmax = match linear {
            Some(linear) => Softmax::Linear(linear),
            None => Softmax::Full(Readout::of(z_out, m, samples, backend)?),
        };
        Ok(Response { z_out, m, softmax })
    }

    /// Length of the longest row of `Z_out M`, or of the centred matrix, which has the same softmax.
    pub(crate) fn longest_readout(&self, backend: &Backend) -> Result<f64> {
        const ROWS: usize = 256;
        let columns = self.m.columns();
        match &self.softmax {
            Softmax::Linear(linear) => return Ok(longest(linear.readout(), columns)),
            Softmax::Full(Readout::Folded(folded, _)) => return Ok(longest(folded, columns)),
            // Computed in blocks of rows, since the whole matrix may be large.
            Softmax::Full(Readout::Factored(..)) => {}
        }
        let lengths = backend.map(self.z_out.rows().div_ceil(ROWS), |i| {
            let rows = self.z_out.rows_in(i * ROWS, self.z_out.rows().min((i + 1) * ROWS));
            let mut readout = vec![T::ZERO; rows.rows() * columns];
            product(&mut readout, rows, self.m, false);
            longest(&readout, columns)
        })?;
        Ok(lengths.into_iter().fold(0.0, f64::max))
    }

    /// Computes the requested results of a block; returns its loss, or 0 if not requested.
    pub(crate) fn residuals(
        &self,
        features: View<'_, T>,
        labels: &[u32],
        want: Want,
        found: &mut Residuals<T>,
    ) -> f64 {
        let rows = features.rows();
        found.output.resize(rows * self.m.rows(), T::ZERO);
        found.by_features.resize(rows * self.m.columns(), T::ZERO);
        match &self.softmax {
            Softmax::Full(readout) => self.full(readout, features, labels, want, found),
            Softmax::Linear(linear) => {
                if want.m {
                    linear.output(features, labels, &mut found.output);
                }
                if want.query || want.loss {
                    linear.by_features(features, labels, &mut found.by_features);
                }
                match want.loss {
                    true => linear.loss(features, labels, &found.by_features),
                    false => 0.0,
                }
            }
        }
    }

    /// Sets the results of a block to those of given `residuals`, a row per sample.
    pub(crate) fn back(&self, residuals: &[T], found: &mut Residuals<T>) {
        let rows = residuals.len() / self.z_out.rows();
        found.logits.clear();
        found.logits.extend_from_slice(residuals);
        found.output.resize(rows * self.m.rows(), T::ZERO);
        found.by_features.resize(rows * self.m.columns(), T::ZERO);
        product(&mut found.output, View::new(residuals, rows, self.z_out.rows()), self.z_out, false);
        product(&mut found.by_features, View::new(&found.output, rows, self.m.rows()), self.m, false);
    }

    /// `y` and the derivative by the features, from the true softmax.
    fn full(
        &self,
        readout: &Readout<'_, T>,
        features: View<'_, T>,
        labels: &[u32],
        want: Want,
        found: &mut Residuals<T>,
    ) -> f64 {
        let (rows, count) = (features.rows(), self.z_out.rows());
        readout.logits(features, &mut found.output, &mut found.logits);
        let loss = residual(&mut found.logits, count, labels);
        let residuals = View::new(&found.logits, rows, count);
        match readout {
            // When y is computed for M anyway, the product with M is the cheaper way to the features.
            Readout::Folded(folded, columns) if !want.m => {
                if want.query {
                    product(&mut found.by_features, residuals, View::new(folded, count, *columns), false);
                }
            }
            _ => {
                found.output.resize(rows * self.m.rows(), T::ZERO);
                if want.m || want.query {
                    product(&mut found.output, residuals, self.z_out, false);
                }
                if want.query {
                    let output = View::new(&found.output, rows, self.m.rows());
                    product(&mut found.by_features, output, self.m, false);
                }
            }
        }
        if want.loss { loss } else { 0.0 }
    }
}

#[derive(Default)]
struct Sums {
    loss: f64,
    m: Vec<f64>,
    query: Coefficients,
}

impl Sums {
    fn new<T: Real>(model: &Model<'_, T>, want: Want) -> Sums {
        let m = vec![0.0; if want.m { model.dim() * model.inputs() } else { 0 }];
        Sums { loss: 0.0, m, query: Coefficients::new(if want.query { model.tokens() } else { 0 }) }
    }
}

/// A dataset in sums of blocks of `rows` samples: sum s has the samples from `ends[s]` to `ends[s + 1]`.
struct Passes<'a, T> {
    model: &'a Model<'a, T>,
    response: &'a Response<'a, T>,
    attention: Attention<T>,
    samples: &'a dyn Samples,
    want: Want,
    rows: usize,
    ends: Vec<usize>,
}

#[derive(Default)]
struct Pass<T> {
    ids: Vec<u32>,
    block: Block,
    work: Workspace<T>,
    found: Residuals<T>,
    by_head: Vec<T>,
    step: Vec<T>,
    loss: f64,
}

impl<T: Real> Blocks for Passes<'_, T> {
    type Work = Pass<T>;
    type Sum = Sums;

    fn work(&self) -> Pass<T> {
        Pass::default()
    }

    fn start(&self) -> Sums {
        Sums::new(self.model, self.want)
    }

    fn compute(&self, sum: usize, block: usize, pass: &mut Pass<T>) -> Result<()> {
        let Passes { model, response, attention, want, .. } = self;
        let Pass { ids, block: samples, work, found, by_head, step, loss } = pass;
        let first = self.ends[sum] + block * self.rows;
        ids.clear();
        ids.extend(first as u32..self.ends[sum + 1].min(first + self.rows) as u32);
        self.samples.fill(ids, samples);
        work.attend(model, attention, samples);
        work.activate(model);
        let features = work.features(model);
        *loss = response.residuals(features, &samples.labels, *want, found);
        if want.m {
            let output = View::new(&found.output, samples.len(), model.dim());
            step.resize(model.dim() * model.inputs(), T::ZERO);
            product(step, output.t(), features, false);
        }
        if want.query {
            let g = work.back(model, &mut found.by_features, by_head);
            work.dots(model, samples, g);
        }
        Ok(())
    }

    fn add(&self, pass: &mut Pass<T>, sums: &mut Sums) -> Result<()> {
        sums.loss += pass.loss;
        if self.want.m {
            sums.m.iter_mut().zip(&pass.step).for_each(|(sum, x)| *sum += x.to_f64());
        }
        if self.want.query {
            pass.work.scatter(&self.attention, &pass.block, &mut sums.query);
        }
        Ok(())
    }
}
