//! Forward and backward pass of blocks of samples (see `crates/core/src/train/gradient.rs`).

use superpose_core::config::Trigger;
use superpose_core::train::Tensor;

use crate::data::Source;
use crate::geometry::{dots_bytes, groups, linear, rows};
use crate::lane::{Done, Element, Shape, arguments, optional, plain, transposed};
use crate::session::activation_number;

use super::Training;
use super::memory::Sizes;
use super::queue::{Factor, Out};
use super::scores::Scores;

/// Rows of a block, in the layout of the kernels.
#[derive(Clone, Copy)]
#[repr(C)]
struct Rows {
    tokens: u64,
    position: u64,
    length: u32,
    heads: u32,
    queries: u32,
    vocab: u32,
}

/// Samples of a block: from `first` on in `ids`, or without `ids` those with these numbers.
#[derive(Clone, Copy)]
pub struct Samples {
    pub source: Source,
    pub ids: u64,
    pub first: usize,
    pub count: usize,
}

impl<T: Element> Training<'_, T> {
    /// The mean loss over the chosen samples; with `back` also its gradients, times minus the number of samples.
    pub fn pass(&self, back: bool) -> Done<f64> {
        let Sizes { dim, heads, labels, tokens, length, block, embeddings, .. } = self.sizes;
        let (lane, work, tensors) = (self.lane(), &self.work, &self.tensors);
        let all = self.ids.0.len();
        lane.clear(&work.numbers, 0, 1)?;
        if back {
            tensors.parameters.clear_gradients(lane)?;
            lane.clear(&work.totals, 0, self.sizes.sums())?;
            lane.clear(&work.by_position, 0, heads * length)?;
        }
        let scores = self.scores()?;
        for first in (0..all).step_by(block) {
            let count = block.min(all - first);
            let samples = Samples { source: tensors.source, ids: self.ids.1.start(), first, count };
            self.attend(samples, &scores, length, None)?;
            let features = self.features(count)?;
            self.logits(features, count)?;
            self.residuals(count)?;
            let (number, one) = (count as u64, Shape { grid: (1, 1), block: 1024, shared: 0 });
            let to = arguments![work.losses.start(), number, work.numbers.start()];
            self.launch("add_sum", one, to)?;
            if back {
                self.back(features, count)?;
            }
            let spread = if embeddings { heads * tokens } else { 0 };
            self.progress(
                count * dim * (4 * heads * length + 4 * labels + 4 * spread + 4 * self.sizes.features()),
            )?;
        }
        if back {
            self.back_through(&scores)?;
        }
        Ok(lane.download(&work.numbers, 0..1)?[0] / all as f64)
    }

    fn rows(&self) -> Rows {
        let Sizes { heads, tokens, length, queries, .. } = self.sizes;
        Rows {
            tokens: self.work.tokens.start(),
            position: self.work.position.start(),
            length: length as u32,
            heads: heads as u32,
            queries: queries as u32,
            vocab: tokens as u32,
        }
    }

    pub fn value_trigger(&self) -> u64 {
        if self.problem.config.trigger == Trigger::Values { self.tensors.at(Tensor::ZTrig) } else { 0 }
    }

    /// Attention weights and head outputs of a block. `kept` is where to write whether the informative position is among the
    /// `keep` that are kept, as an address, a stride and a place.
    pub fn attend(
        &self,
        samples: Samples,
        scores: &Scores<T>,
        keep: usize,
        kept: Option<(u64, u32, u32)>,
    ) -> Done {
        let Sizes { dim, heads, length, .. } = self.sizes;
        let (work, count) = (&self.work, samples.count * heads);
        let (first, number, each) = (samples.first as u32, samples.count as u32, heads as u32);
        let to = arguments![
            samples.source,
            samples.ids,
            first,
            number,
            each,
            work.tokens.start(),
            work.position.start(),
            work.labels.start()
        ];
        self.launch("fill_block", linear(samples.count * length.div_ceil(4)), to)?;
        let (keep, (kept, stride, place)) = (keep as u32, kept.unwrap_or((0, 0, 0)));
        let to = arguments![
            self.rows(),
            scores.tokens.start(),
            scores.trigger.start(),
            optional(scores.positions.as_ref()),
            keep,
            work.weights.start(),
            kept,
            stride,
            place
        ];
        self.launch("weigh_rows", rows(count, length), to)?;
        let (number, columns, z_in) = (count as u64, dim as u32, self.tensors.at(Tensor::ZIn));
        let (weights, head, trigger) = (work.weights.start(), work.head.start(), self.value_trigger());
        let to = arguments![self.rows(), number, weights, z_in, columns, trigger, head];
        self.launch("mix_rows", groups(count * dim.div_ceil(128), 32), to)?;
        if self.sizes.value_positions {
            let positions = plain(self.tensors.at(Tensor::Positions));
            self.lane().product(work.extra.start(), [count, length, dim], plain::<T>(weights), positions)?;
            let (one, size) = (T::ONE, (count * dim) as u64);
            self.launch("blend", linear(count * dim), arguments![one, head, one, work.extra.start(), size])?;
        }
        Ok(())
    }

    /// The features of head outputs: their address.
    pub fn features(&self, count: usize) -> Done<u64> {
        let Sizes { dim, inputs, heads, mlp, .. } = self.sizes;
        let (work, count) = (&self.work, count * heads);
        if !mlp {
            return Ok(work.head.start());
        }
        let (head, w_in) = (plain::<T>(work.head.start()), transposed(self.tensors.at(Tensor::WIn)));
        self.lane().product(work.before.start(), [count, dim, inputs], head, w_in)?;
        self.activate("activate", work.after.start(), count * inputs)?;
        Ok(work.after.start())
    }

    /// The activation of `W_in h`, or its slope times what is at `out`.
    fn activate(&self, kernel: &str, out: u64, size: usize) -> Done {
        let kind = activation_number(self.problem.config.activation);
        let (entries, scale) = (size as u64, 1.0 / (self.sizes.inputs as f64).sqrt());
        self.launch(kernel, linear(size), arguments![self.work.before.start(), out, entries, kind, scale])
    }

    /// Logits of features.
    pub fn logits(&self, features: u64, count: usize) -> Done {
        let Sizes { dim, labels, .. } = self.sizes;
        let (between, wide) = (self.work.between.start(), self.sizes.features());
        let (m, z_out) = (self.tensors.at(Tensor::M), self.tensors.at(Tensor::ZOut));
        self.lane().product(between, [count, wide, dim], plain::<T>(features), transposed(m))?;
        let logits = self.work.logits.start();
        self.lane().product(logits, [count, dim, labels], plain::<T>(between), transposed(z_out))
    }

    /// Residuals in place of logits, and losses.
    pub fn residuals(&self, count: usize) -> Done {
        let Sizes { labels, .. } = self.sizes;
        let (columns, work) = (labels as u32, &self.work);
        let to = arguments![work.logits.start(), columns, work.labels.start(), work.losses.start()];
        self.launch("residual", rows(count, labels), to)
    }

    /// Adds `a^T b`, for matrices of `count` rows of `m` and `n` numbers, to the gradient of a tensor if it is trained.
    fn add_product(&self, tensor: Tensor, count: usize, [m, n]: [usize; 2], a: u64, b: u64) -> Done {
        let Some(gradient) = self.tensors.gradient(tensor) else { return Ok(()) };
        self.queue().add_product(gradient, &self.work.step, count, [m, n], a, b)
    }

    /// The gradients of a block whose residuals are there, and its sums of coefficients.
    fn back(&self, features: u64, count: usize) -> Done {
        let Sizes { dim, inputs, heads, labels, tokens, length, mlp, .. } = self.sizes;
        let (lane, work, tensors, wide) = (self.lane(), &self.work, &self.tensors, self.sizes.features());
        let (all, output, by_features) = (count * heads, work.output.start(), work.by_features.start());
        let (logits, z_out) = (work.logits.start(), plain(tensors.at(Tensor::ZOut)));
        lane.product(output, [count, labels, dim], plain::<T>(logits), z_out)?;
        self.add_product(Tensor::M, count, [dim, wide], output, features)?;
        self.add_product(Tensor::ZOut, count, [labels, dim], logits, work.between.start())?;
        let m = plain(tensors.at(Tensor::M));
        lane.product(by_features, [count, dim, wide], plain::<T>(output), m)?;
        let mut g = by_features;
        if mlp {
            self.activate("multiply_slope", by_features, all * inputs)?;
            g = work.by_head.start();
            let w_in = plain(tensors.at(Tensor::WIn));
            lane.product(g, [all, inputs, dim], plain::<T>(by_features), w_in)?;
            self.add_product(Tensor::WIn, all, [inputs, dim], by_features, work.head.start())?;
        }
        self.coefficients(all, g)?;

        let weights = work.weights.start();
        if self.sizes.value_positions {
            self.add_product(Tensor::Positions, all, [length, dim], weights, g)?;
        }
        if tensors.gradient(Tensor::ZIn).is_some() {
            lane.clear(&work.spread, 0, all * tokens)?;
            let (number, spread) = (all as u64, work.spread.start());
            self.launch("spread_rows", linear(all), arguments![self.rows(), number, weights, spread])?;
            self.add_product(Tensor::ZIn, all, [tokens, dim], spread, g)?;
        }
        if let (Some(gradient), true) = (tensors.gradient(Tensor::ZTrig), self.value_trigger() != 0) {
            let (at, columns, number) = (lane.alloc::<f64>(all)?, length as u32, all as u64);
            let (stride, place) = (1u32, 0u32);
            let to = arguments![weights, columns, work.position.start(), number, at.start(), stride, place];
            self.launch("pick_entries", linear(all), to)?;
            let at = Factor::wide(at.start(), [0, 1]);
            self.contract([1, all, dim], at, Factor::real(g, [dim, 1]), Out::Add(gradient))?;
        }
        Ok(())
    }

    /// Adds the coefficients of rows with the derivatives `g` by their head outputs to the sums.
    fn coefficients(&self, count: usize, g: u64) -> Done {
        let Sizes { dim, heads, length, .. } = self.sizes;
        let (lane, work) = (self.lane(), &self.work);
        let mut extra = 0;
        if self.sizes.value_positions {
            extra = work.extra.start();
            let positions = transposed(self.tensors.at(Tensor::Positions));
            lane.product(extra, [count, dim, length], plain::<T>(g), positions)?;
        }
        lane.clear(&work.largest, 0, 1)?;
        let (columns, z_in, trigger) = (dim as u32, self.tensors.at(Tensor::ZIn), self.value_trigger());
        let (found, largest) = (work.coefficients.start(), work.largest.start());
        let shared = dots_bytes(dim, length, size_of::<T>()) as u32;
        let shape = Shape { grid: (count as u32, 1), block: 128, shared };
        let weights = work.weights.start();
        let to = arguments![self.rows(), g, z_in, columns, trigger, extra, weights, found, largest];
        self.launch("coefficients", shape, to)?;
        let (number, sums) = (count as u64, work.sums.start());
        self.launch(
            "scatter_rows",
            linear(count * length),
            arguments![self.rows(), number, found, largest, sums],
        )?;
        let size = self.sizes.sums() as u64;
        let to = arguments![sums, size, largest, number, work.totals.start()];
        self.launch("flush_rows", linear(self.sizes.sums()), to)?;
        if self.sizes.positions {
            let (samples, columns) = (count / heads, heads * length);
            let from = Factor::real(found, [columns, 1]);
            self.contract([1, samples, columns], Factor::ONES, from, Out::Add(work.by_position.start()))?;
        }
        Ok(())
    }
}
