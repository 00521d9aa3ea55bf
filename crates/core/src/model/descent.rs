//! Loss and exact gradients of `M` and `W` at any parameters, over all samples of a dataset.
//!
//! With `r = p - q` the residual of a sample, `F = psi(h)` its features and `y = Z_out^T r`:
//! the descent direction of `M` is the mean of `y F^T`, and that of the features `M^T y`.

use crate::backend::{Backend, Real, View, product, residual};
use crate::task::{Block, Samples};

use super::block::Coefficients;
use super::linear::LinearResponse;
use super::{Attention, Model, Readout, Workspace, block_rows};

/// What to compute.
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
    /// Mean cross-entropy; 0 if not wanted.
    pub loss: f64,
    /// `-dL/dM`, `dim` rows of `inputs`; empty if not wanted.
    pub m: Vec<f64>,
    /// `-dL/d(W z_eos)`, so that `-dL/dW` is this times `z_eos^T`; empty if not wanted.
    pub query: Vec<f64>,
}

/// Tasks that the samples of a dataset are cut into: enough for the threads of a large machine, few enough
/// that a sum of its own for each costs little. It must not depend on the number of threads.
const TASKS: usize = 16;

/// Loss and descent directions of the mean cross-entropy over `samples`, at the value matrix that `response` was made for
/// and at `query`, which is `W z_eos`.
pub fn descent<T: Real>(
    model: &Model<'_, T>,
    response: &Response<'_, T>,
    query: &[T],
    samples: &dyn Samples,
    want: Want,
    backend: &Backend,
) -> Descent {
    let attention = model.attention(query, backend);
    let (count, labels) = (samples.count(), model.labels());
    let rows = block_rows(labels.max(model.inputs()), samples.length());
    let tasks = count.div_ceil(rows).min(TASKS);

    let sums = backend.map(tasks, |task| {
        let mut pass = Pass::new(model, want);
        let ids: Vec<u32> = ((task * count / tasks) as u32..((task + 1) * count / tasks) as u32).collect();
        for ids in ids.chunks(rows) {
            samples.fill(ids, &mut pass.block);
            pass.block(model, response, &attention, want);
        }
        pass.sums
    });

    let scale = 1.0 / count as f64;
    let mut sums = sums.into_iter();
    let mut total = sums.next().unwrap_or_else(|| Sums::new(model, want));
    sums.for_each(|part| total.merge(&part));
    total.m.iter_mut().for_each(|x| *x *= scale);
    let query = if want.query { total.query.direction(model, scale) } else { Vec::new() };
    Descent { loss: total.loss * scale, m: total.m, query }
}

/// How residuals follow from features at one value matrix. Steps at the same matrix share it.
pub struct Response<'a, T> {
    m: View<'a, T>,
    softmax: Softmax<'a, T>,
}

enum Softmax<'a, T> {
    Full(Readout<'a, T>),
    Linear(LinearResponse<T>),
}

impl<'a, T: Real> Response<'a, T> {
    /// The response at value matrix `m`, `dim` rows of `inputs`, for use on `samples` samples.
    pub fn new(model: &Model<'_, T>, m: &'a [T], samples: usize, backend: &Backend) -> Self {
        let softmax = match LinearResponse::new(model, m, samples, backend) {
            Some(linear) => Softmax::Linear(linear),
            None => Softmax::Full(Readout::new(model, m, samples, backend)),
        };
        Response { m: View::new(m, model.dim(), model.inputs()), softmax }
    }
}

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

    fn merge(&mut self, other: &Sums) {
        self.loss += other.loss;
        self.m.iter_mut().zip(&other.m).for_each(|(a, b)| *a += b);
        self.query.merge(&other.query);
    }
}

/// One task's memory and sums.
struct Pass<T> {
    block: Block,
    work: Workspace<T>,
    logits: Vec<T>,
    /// `y = Z_out^T r`, a row per sample; before that, `M F`.
    output: Vec<T>,
    by_features: Vec<T>,
    by_head: Vec<T>,
    step: Vec<T>,
    sums: Sums,
}

impl<T: Real> Pass<T> {
    fn new(model: &Model<'_, T>, want: Want) -> Self {
        Pass {
            block: Block::default(),
            work: Workspace::default(),
            logits: Vec::new(),
            output: Vec::new(),
            by_features: Vec::new(),
            by_head: Vec::new(),
            step: vec![T::ZERO; if want.m { model.dim() * model.inputs() } else { 0 }],
            sums: Sums::new(model, want),
        }
    }

    fn block(
        &mut self,
        model: &Model<'_, T>,
        response: &Response<'_, T>,
        attention: &Attention<T>,
        want: Want,
    ) {
        let (rows, dim, inputs) = (self.block.len(), model.dim(), model.inputs());
        self.work.attend(model, attention, &self.block);
        self.work.activate(model);
        self.output.resize(rows * dim, T::ZERO);
        self.by_features.resize(rows * inputs, T::ZERO);
        match &response.softmax {
            Softmax::Full(readout) => self.residuals(model, response.m, readout, want),
            Softmax::Linear(linear) => {
                let (features, labels) = (self.work.features(model), &self.block.labels);
                if want.m {
                    linear.output(features, labels, &mut self.output);
                }
                if want.query || want.loss {
                    linear.by_features(features, labels, &mut self.by_features);
                }
                if want.loss {
                    self.sums.loss += linear.loss(features, labels, &self.by_features);
                }
            }
        }
        if want.m {
            let output = View::new(&self.output, rows, dim);
            product(&mut self.step, output.t(), self.work.features(model), false);
            self.sums.m.iter_mut().zip(&self.step).for_each(|(sum, x)| *sum += x.to_f64());
        }
        if want.query {
            let g = self.work.back(model, &mut self.by_features, &mut self.by_head);
            self.work.scatter(model, attention, &self.block, g, &mut self.sums.query);
        }
    }

    /// `y` and the derivative by the features, from the true softmax.
    fn residuals(&mut self, model: &Model<'_, T>, m: View<'_, T>, readout: &Readout<'_, T>, want: Want) {
        let (rows, labels) = (self.block.len(), model.labels());
        readout.logits(model, self.work.features(model), &mut self.output, &mut self.logits);
        let loss = residual(&mut self.logits, labels, &self.block.labels);
        self.sums.loss += if want.loss { loss } else { 0.0 };
        let residuals = View::new(&self.logits, rows, labels);
        match readout {
            // Once y is there for M, going through it is the shorter way to the features.
            Readout::Folded(folded) if !want.m => {
                let folded = View::new(folded, labels, model.inputs());
                product(&mut self.by_features, residuals, folded, false);
            }
            _ => {
                self.output.resize(rows * model.dim(), T::ZERO);
                product(&mut self.output, residuals, model.z_out(), false);
                if want.query {
                    product(&mut self.by_features, View::new(&self.output, rows, model.dim()), m, false);
                }
            }
        }
    }
}
