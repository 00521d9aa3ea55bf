//! The three steps with the true softmax, and passes over blocks of samples (see `crates/core/src/model/descent.rs`).

use superpose_core::backend::DeviceError;

use crate::attend::{Rows, Weights};
use crate::geometry::{WAIT, block_rows, linear};
use crate::lane::{Buffer, Done, Element, arguments, plain, transposed};
use crate::limit::SecondStep;
use crate::readout::{ByLabel, Readout};
use crate::session::{GRADIENTS, Scores, Session, Sizes, Trained};

/// What a pass sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// `(Z_out^T r) psi(h)^T`, `dim` rows of `inputs`.
    Values,
    /// The coefficients of the query by token, at uniform attention, and at informative positions.
    Query,
}

/// The map from features to residuals.
pub enum Response<'a, T> {
    /// A uniform softmax. For the query, `M^T Z_out^T r` by label.
    Limit { by_label: Option<Buffer<T>> },
    /// The true softmax of a value matrix.
    Full(Readout<'a, T>),
    /// Its first-order form: centred `Z_out M`, the coupling and the curvature (`crates/core/src/model/linear.rs`).
    Linear { readout: Buffer<T>, coupling: Buffer<T>, curvature: Buffer<T> },
}

/// Memory for a block of samples or tokens, a row for each.
pub struct Work<T> {
    pub head: Buffer<T>,
    before: Buffer<T>,
    after: Buffer<T>,
    /// Logits, then residuals; empty where neither is needed.
    pub logits: Buffer<T>,
    /// Scratch memory, then `y = Z_out^T r`.
    pub output: Buffer<T>,
}

/// The rows of a block that are in use, with the features made from its head outputs.
#[derive(Clone, Copy)]
pub struct Features<'a, T> {
    pub work: &'a Work<T>,
    pub count: usize,
    pub start: u64,
    /// The address of the number of rows that a cell of a batch uses, 0 if it uses all.
    pub used: u64,
}

impl<T: Element> Session<'_, T> {
    /// The exact regime. At `M = W = 0` the softmax is uniform, so that step 1 is that of the limit times eta.
    pub fn exact(&self) -> Done<Trained<T>> {
        let (config, scale) = (self.problem.config, 1.0 / self.sizes.samples as f64);
        let (rate, size) = (config.eta * scale, self.sizes.dim * self.sizes.inputs);
        let first = self.step_by_rule(self.value_step(None)?, None)?;
        let m1 = self.scaled(rate, &first, size)?;
        let round = |m: &Buffer<T>| -> Done<(SecondStep<T>, Vec<f64>, Buffer<f64>)> {
            let response = self.response(m)?;
            let u = self.direction(&self.pass(None, &response, Want::Query)?)?;
            let (phases, scores) = self.second_step(&u)?;
            let step = self.memory_sum(scores.as_ref(), &response)?;
            let step = self.step_by_rule(step, Some(&phases))?;
            let eta2 = phases.iter().map(|phase| phase.eta2).collect();
            Ok(((phases, scores), eta2, step))
        };
        let ((mut phases, mut scores), mut eta2, mut step) = round(&m1)?;
        let mut rates = self.lane.upload(&eta2)?;
        if config.rounds == 1 {
            let m2 = self.combine(rate, &first, scale, [Some(&rates), Some(&step)], size)?;
            return Ok(Trained { phases, m1, m2, scores, eta2: Some(rates) });
        }
        // The steps of several rounds are added in 64 bits, on the host.
        let mut wide: Vec<f64> = self.lane.download(&first, 0..size)?.iter().map(|x| rate * x).collect();
        let mut add = |eta2: &[f64], step: &Buffer<f64>| -> Done<Buffer<T>> {
            let steps = self.lane.download(step, 0..size)?;
            for ((m, step), eta2) in wide.chunks_mut(size).zip(steps.chunks(size)).zip(eta2) {
                m.iter_mut().zip(step).for_each(|(m, x)| *m += eta2 * scale * x);
            }
            self.lane.upload(&wide.iter().map(|&x| T::from_f64(x)).collect::<Vec<_>>())
        };
        let mut m2 = add(&eta2, &step)?;
        for _ in 1..config.rounds {
            ((phases, scores), eta2, step) = round(&m2)?;
            m2 = add(&eta2, &step)?;
        }
        rates = self.lane.upload(&eta2)?;
        Ok(Trained { phases, m1, m2, scores, eta2: Some(rates) })
    }

    /// Memory for a block of this many rows, with logits or without.
    pub fn work(&self, rows: usize, logits: bool) -> Done<Work<T>> {
        let Sizes { dim, inputs, labels, .. } = self.sizes;
        let mlp = || self.lane.alloc(if self.w_in.is_some() { rows * inputs } else { 0 });
        Ok(Work {
            head: self.lane.alloc(rows * dim)?,
            before: mlp()?,
            after: mlp()?,
            logits: self.lane.alloc(if logits { rows * labels } else { 0 })?,
            output: self.lane.alloc(rows * dim)?,
        })
    }

    /// Passes the head outputs of a block through the MLP, if there is one.
    pub fn activate<'b>(&self, work: &'b Work<T>, count: usize) -> Done<Features<'b, T>> {
        let Some(w_in) = &self.w_in else {
            return Ok(Features { work, count, start: work.head.start(), used: 0 });
        };
        let Sizes { dim, inputs, .. } = self.sizes;
        let (head, w_in) = (plain::<T>(work.head.start()), transposed(w_in.start()));
        self.product(work.before.start(), [count, dim, inputs], head, w_in)?;
        let (size, kind, scale) = ((count * inputs) as u64, self.activation(), self.mlp_scale());
        let to = arguments![work.before.start(), work.after.start(), size, kind, scale];
        self.launch("activate", linear(count * inputs), to)?;
        Ok(Features { work, count, start: work.after.start(), used: 0 })
    }

    /// `sum += output^T features` of a block.
    pub fn add_outer_products(&self, sum: &Buffer<f64>, block: Features<'_, T>) -> Done {
        let sizes = [self.sizes.dim, self.sizes.inputs];
        self.add_product(sum, block.count, sizes, block.work.output.start(), block.start)
    }

    fn response<'b>(&self, m: &'b Buffer<T>) -> Done<Response<'b, T>> {
        let linear = match self.w_in {
            None => self.linear_response(m)?,
            Some(_) => None,
        };
        match linear {
            Some(linear) => Ok(linear),
            None => Ok(Response::Full(self.readout(m, self.sizes.samples)?)),
        }
    }

    /// Sums over all training samples, block by block.
    pub fn pass(
        &self,
        scores: Option<&Scores<T>>,
        response: &Response<'_, T>,
        want: Want,
    ) -> Done<Buffer<f64>> {
        let Sizes { dim, inputs, labels: label_count, tokens, length, samples } = self.sizes;
        let softmax = matches!(response, Response::Full(_));
        let size = block_rows(dim.max(inputs).max(if softmax { label_count } else { 0 }), samples);
        let lane = self.lane;
        let fused = matches!(response, Response::Full(readout) if self.fuses(readout));
        let memory = self.work(size, softmax && !fused)?;
        let labels = lane.alloc::<u32>(size)?;
        let (total, sums, by_features) = match want {
            Want::Values => (lane.zeros(dim * inputs)?, lane.zeros(0)?, lane.alloc(0)?),
            Want::Query => (lane.zeros(tokens + 1)?, self.coefficient_sums()?, lane.alloc(size * inputs)?),
        };
        // Numbers read or multiplied since the last wait.
        let mut work = 0;
        for first in (0..samples).step_by(size) {
            let count = size.min(samples - first);
            let (start, rows) = (first as u32, count as u32);
            let order = 0u64;
            self.launch(
                "sample_labels",
                linear(count),
                arguments![self.train, order, start, rows, labels.start()],
            )?;
            let weights = scores.map_or(Weights::Equal, Weights::Softmax);
            self.attend(&self.train, Rows::samples(first, count), weights, memory.head.start())?;
            let block = self.activate(&memory, count)?;
            match want {
                Want::Values => {
                    self.output(response, block, &labels)?;
                    self.add_outer_products(&total, block)?;
                }
                Want::Query => {
                    self.by_features(response, block, &labels, &by_features)?;
                    let g = self.back(block, &by_features)?;
                    // `softmax_product` has already written the length of the longest row.
                    if !fused {
                        self.longest(g, count, dim, None, (&self.lengths, GRADIENTS))?;
                    }
                    self.scatter_by_rows(start, count, g, false, count, &sums)?;
                    self.flush(&sums, &total, count)?;
                }
            }
            work += count * (length * dim + inputs * dim + if softmax { label_count * inputs } else { 0 });
            let wait = work >= WAIT && first + count < samples;
            work = if wait { 0 } else { work };
            self.progress(count, wait)?;
        }
        Ok(total)
    }

    fn pick(
        &self,
        rows: &Buffer<T>,
        columns: usize,
        index: &Buffer<u32>,
        count: usize,
        subtract: bool,
        out: &Buffer<T>,
    ) -> Done {
        let (dim, entries, none, subtract) = (columns as u32, count as u64, 0u64, u32::from(subtract));
        let to = arguments![rows.start(), dim, index.start(), entries, none, subtract, out.start()];
        self.launch("pick_rows", linear(count * columns), to)
    }

    /// `y = Z_out^T r` of a block.
    fn output(&self, response: &Response<'_, T>, block: Features<'_, T>, labels: &Buffer<u32>) -> Done {
        let Sizes { dim, inputs, .. } = self.sizes;
        let (count, out) = (block.count, &block.work.output);
        match response {
            Response::Limit { .. } => self.pick(&self.centred, dim, labels, count, false, out),
            Response::Full(readout) => self.residual_outputs(readout, block, labels.start()),
            Response::Linear { coupling, .. } => {
                let (features, coupling) = (plain::<T>(block.start), transposed(coupling.start()));
                self.product(out.start(), [count, inputs, dim], features, coupling)?;
                self.pick(&self.centred, dim, labels, count, true, out)
            }
        }
    }

    /// `M^T y` of a block.
    fn by_features(
        &self,
        response: &Response<'_, T>,
        block: Features<'_, T>,
        labels: &Buffer<u32>,
        out: &Buffer<T>,
    ) -> Done {
        let Sizes { dim, inputs, .. } = self.sizes;
        let (count, output) = (block.count, &block.work.output);
        match response {
            Response::Limit { by_label: Some(by_label) } => {
                self.pick(by_label, inputs, labels, count, false, out)
            }
            Response::Limit { by_label: None } => {
                Err(DeviceError::Failed { reason: "the query has no derivative by label".into() })
            }
            Response::Full(readout @ Readout { folded: Some(folded), .. }) => {
                let longest = self.longest_readout(folded)?;
                let x = ByLabel { start: folded.matrix.start(), columns: inputs, longest };
                self.respond(readout, block, labels.start(), x, out.start(), Some(GRADIENTS))
            }
            Response::Full(Readout { m, .. }) => {
                self.output(response, block, labels)?;
                let (output, m) = (plain::<T>(output.start()), plain(m.start()));
                self.product(out.start(), [count, dim, inputs], output, m)
            }
            Response::Linear { readout, curvature, .. } => {
                let (features, curvature) = (plain::<T>(block.start), transposed(curvature.start()));
                self.product(out.start(), [count, inputs, inputs], features, curvature)?;
                self.pick(readout, inputs, labels, count, true, out)
            }
        }
    }

    /// Back from the derivative by the features to that by the head outputs, which replaces them; its address.
    fn back(&self, block: Features<'_, T>, by_features: &Buffer<T>) -> Done<u64> {
        let Some(w_in) = &self.w_in else { return Ok(by_features.start()) };
        let Sizes { dim, inputs, .. } = self.sizes;
        let (count, Work { head, before, .. }) = (block.count, block.work);
        let (size, kind, scale) = ((count * inputs) as u64, self.activation(), self.mlp_scale());
        let to = arguments![before.start(), by_features.start(), size, kind, scale];
        self.launch("multiply_slope", linear(count * inputs), to)?;
        let (from, w_in) = (plain::<T>(by_features.start()), plain(w_in.start()));
        self.product(head.start(), [count, inputs, dim], from, w_in)?;
        Ok(head.start())
    }
}
