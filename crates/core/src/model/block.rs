//! The forward pass over a block of samples, in buffers that are reused for every block.

use crate::backend::{
    Backend, Real, Result, View, Weights, gather_dots, gather_sums, product, softmax, softmax_of_largest,
};
use crate::config::Trigger;
use crate::task::Block;

use super::Model;

/// The attention over positions.
#[derive(Clone, Debug)]
pub enum Attention<T> {
    /// Equal weights: `W = 0`.
    Uniform,
    /// The softmax of scores, which depend only on the token and on whether the trigger is added.
    Scores {
        /// Score of each token.
        tokens: Vec<T>,
        /// The score that the trigger adds.
        trigger: T,
    },
}

/// The number of samples per block. The widest array, with `columns` entries per sample, should fit in the second-level cache, and
/// products are efficient from a hundred rows on. Very long sequences limit the block by their tokens.
pub fn block_rows(columns: usize, length: usize) -> usize {
    const CACHE: usize = 1 << 18;
    const TOKENS: usize = 1 << 20;
    (CACHE / columns).clamp(128, 512).min(TOKENS / length).max(1)
}

/// Buffers of one block. Fields hold the results of the last call, a row per sample.
#[derive(Debug, Default)]
pub struct Workspace<T> {
    /// Positions that get attention: those with the largest scores; absent: all.
    pub keep: Option<usize>,
    /// Whether the informative position of each row of `weights` is kept; empty where all positions are.
    kept: Vec<bool>,
    /// Attention weights over positions.
    pub weights: Vec<T>,
    /// Head outputs `h`.
    pub head: Vec<T>,
    /// `W_in h`; empty without an MLP.
    pub before: Vec<T>,
    /// `psi(h)` with an MLP; empty without one, where it is `h`.
    after: Vec<T>,
    /// `g . v_i`, computed by [`Workspace::dots`].
    dots: Vec<T>,
}

impl<T: Real> Workspace<T> {
    /// Attention and head output of every sample.
    pub fn attend(&mut self, model: &Model<'_, T>, attention: &Attention<T>, block: &Block) {
        let (dim, length) = (model.dim(), block.tokens.len() / block.len());
        let z_in = &model.embeddings.z_in;
        self.head.resize(block.len() * dim, T::ZERO);
        let equal = T::ONE / T::from_f64(length as f64);
        let uniform = matches!(attention, Attention::Uniform) && self.dropping(length).is_none();
        if !uniform {
            self.weigh(attention, block);
        }
        let weights = if uniform { Weights::Equal(equal) } else { Weights::Each(&self.weights) };
        gather_sums(&mut self.head, z_in, dim, &block.tokens, length, weights);
        if model.trigger == Trigger::Values {
            for (b, head) in self.head.chunks_exact_mut(dim).enumerate() {
                let weight =
                    if uniform { equal } else { self.weights[b * length + block.position[b] as usize] };
                for (h, &trigger) in head.iter_mut().zip(&model.embeddings.z_trig) {
                    *h += weight * trigger;
                }
            }
        }
    }

    /// Attention weights alone.
    pub fn weigh(&mut self, attention: &Attention<T>, block: &Block) {
        let length = block.tokens.len() / block.len();
        self.weights.resize(block.tokens.len(), T::ZERO);
        match attention {
            Attention::Uniform => self.weights.fill(T::ZERO),
            Attention::Scores { tokens, trigger } => {
                for (weight, &token) in self.weights.iter_mut().zip(&block.tokens) {
                    *weight = tokens[token as usize];
                }
                for (row, &position) in self.weights.chunks_exact_mut(length).zip(&block.position) {
                    row[position as usize] += *trigger;
                }
            }
        }
        self.normalise(length, &block.position);
    }

    /// Turns the scores in `weights` into attention weights, in rows of `length` with as many rows for each informative position as
    /// there are heads.
    pub(crate) fn normalise(&mut self, length: usize, positions: &[u32]) {
        self.kept.clear();
        let Some(keep) = self.dropping(length) else { return softmax(&mut self.weights, length) };
        let heads = self.weights.len() / length / positions.len();
        let rows = self.weights.chunks_exact_mut(length).enumerate();
        self.kept.extend(rows.map(|(i, row)| softmax_of_largest(row, keep, positions[i / heads] as usize)));
    }

    /// The number of positions that are kept, where this is not all of them.
    fn dropping(&self, length: usize) -> Option<usize> {
        self.keep.filter(|&keep| keep < length)
    }

    /// Whether the informative position of a row of the attention weights is kept.
    pub fn keeps(&self, row: usize) -> bool {
        self.kept.get(row).is_none_or(|&kept| kept)
    }

    /// Sets the head outputs to the values of the given tokens at the informative position, as if all attention were there.
    pub fn place(&mut self, model: &Model<'_, T>, tokens: impl ExactSizeIterator<Item = usize>) {
        let dim = model.dim();
        self.head.resize(tokens.len() * dim, T::ZERO);
        for (head, token) in self.head.chunks_exact_mut(dim).zip(tokens) {
            head.copy_from_slice(&model.embeddings.z_in[token * dim..][..dim]);
            if model.trigger == Trigger::Values {
                head.iter_mut().zip(&model.embeddings.z_trig).for_each(|(h, &trigger)| *h += trigger);
            }
        }
    }

    /// Passes the head outputs through the MLP, if there is one; then [`Workspace::features`] are ready.
    pub fn activate(&mut self, model: &Model<'_, T>) {
        if let Some(w_in) = model.w_in() {
            let rows = self.head.len() / model.dim();
            self.before.resize(rows * model.inputs(), T::ZERO);
            self.after.resize(rows * model.inputs(), T::ZERO);
            product(&mut self.before, View::new(&self.head, rows, model.dim()), w_in.t(), false);
            model.activation.apply(mlp_scale(model), &self.before, &mut self.after);
        }
    }

    /// `psi(h)`, a row of [`Model::inputs`] per sample.
    pub fn features(&self, model: &Model<'_, T>) -> View<'_, T> {
        let data = if model.embeddings.w_in.is_some() { &self.after } else { &self.head };
        View::new(data, data.len() / model.inputs(), model.inputs())
    }

    /// Back-propagates the derivative with respect to the features, a row per sample, to the head outputs; returns `g`.
    pub fn back<'b>(
        &self,
        model: &Model<'_, T>,
        by_features: &'b mut [T],
        by_head: &'b mut Vec<T>,
    ) -> &'b [T] {
        let Some(w_in) = model.w_in() else { return by_features };
        let rows = by_features.len() / model.inputs();
        by_head.resize(rows * model.dim(), T::ZERO);
        model.activation.multiply_slope(mlp_scale(model), &self.before, by_features);
        product(by_head, View::new(by_features, rows, model.inputs()), w_in, false);
        by_head
    }

    /// Computes `g . v_i` of every position. `g`: a row per sample, as [`Workspace::back`] returns it.
    pub fn dots(&mut self, model: &Model<'_, T>, block: &Block, g: &[T]) {
        let (dim, length) = (model.dim(), block.tokens.len() / block.len());
        self.dots.resize(block.tokens.len(), T::ZERO);
        gather_dots(&mut self.dots, g, &model.embeddings.z_in, dim, &block.tokens, length);
        if model.trigger == Trigger::Values {
            for (b, dots) in self.dots.chunks_exact_mut(length).enumerate() {
                let trigger = crate::numeric::dot(&g[b * dim..][..dim], &model.embeddings.z_trig);
                dots[block.position[b] as usize] += T::from_f64(trigger);
            }
        }
    }

    /// Adds every position's coefficient `a_i (g . (v_i - h))` to its token's sum (theory: setting, step 2), given
    /// [`Workspace::dots`].
    pub fn scatter(&self, attention: &Attention<T>, block: &Block, sums: &mut Coefficients) {
        let length = block.tokens.len() / block.len();
        let equal = T::ONE / T::from_f64(length as f64);
        for b in 0..block.len() {
            let mine = b * length..(b + 1) * length;
            let (tokens, dots) = (&block.tokens[mine.clone()], &self.dots[mine.clone()]);
            let position = block.position[b] as usize;
            match attention {
                Attention::Uniform => sums.add(tokens, position, dots, |_| equal),
                Attention::Scores { .. } => {
                    let weights = &self.weights[mine];
                    sums.add(tokens, position, dots, |i| weights[i]);
                }
            }
        }
    }
}

fn mlp_scale<T: Real>(model: &Model<'_, T>) -> f64 {
    1.0 / (model.inputs() as f64).sqrt()
}

/// Sums of the coefficients `a_i (g . (v_i - h))`: the gradient by the query is
/// `sum_v tokens[v] z_in[v] + trigger z_trig`.
#[derive(Clone, Debug, Default)]
pub struct Coefficients {
    /// Sum by token.
    pub tokens: Vec<f64>,
    /// Sum at the informative positions.
    pub trigger: f64,
}

impl Coefficients {
    /// All zero.
    pub fn new(tokens: usize) -> Coefficients {
        Coefficients { tokens: vec![0.0; tokens], trigger: 0.0 }
    }

    /// Adds one sample with `dots[i] = g . v_i`.
    #[inline]
    pub fn add<T: Real>(&mut self, tokens: &[u32], position: usize, dots: &[T], weight: impl Fn(usize) -> T) {
        // With one position v_i is h, and the coefficient is exactly zero.
        if dots.len() == 1 {
            return;
        }
        let mean: f64 = dots.iter().enumerate().map(|(i, &dot)| (weight(i) * dot).to_f64()).sum();
        for (i, (&token, &dot)) in tokens.iter().zip(dots).enumerate() {
            let coefficient = weight(i).to_f64() * (dot.to_f64() - mean);
            self.tokens[token as usize] += coefficient;
            if i == position {
                self.trigger += coefficient;
            }
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Coefficients) {
        self.tokens.iter_mut().zip(&other.tokens).for_each(|(a, b)| *a += b);
        self.trigger += other.trigger;
    }

    /// `scale * (sum_v tokens[v] z_in[v] + trigger z_trig)`.
    pub fn direction<T: Real>(
        &self,
        model: &Model<'_, T>,
        scale: f64,
        backend: &Backend,
    ) -> Result<Vec<f64>> {
        const COLUMNS: usize = 16;
        let trigger = model.embeddings.z_trig.iter();
        let mut sum: Vec<f64> = trigger.map(|x| self.trigger * x.to_f64()).collect();
        backend.for_chunks(&mut sum, COLUMNS, |i, sum| {
            for (row, &coefficient) in model.embeddings.z_in.chunks_exact(model.dim()).zip(&self.tokens) {
                let row = &row[i * COLUMNS..][..sum.len()];
                sum.iter_mut().zip(row).for_each(|(s, x)| *s += coefficient * x.to_f64());
            }
            sum.iter_mut().for_each(|s| *s *= scale);
        })?;
        Ok(sum)
    }
}
