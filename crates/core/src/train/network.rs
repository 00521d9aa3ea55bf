//! The model with all trainable tensors, and the list of those that are trained.
//!
//! Position i has the key `x_i = z_in[tok_i] + [i = ell] z_trig + p_i`; `p_i` is 0 unless position vectors are added. Head k has
//! an attention matrix `W_k`, or factors `K_k^T Q_k`, and a value matrix `M_k`; the logits are `Z_out sum_k M_k psi(h_k)`. The
//! `M_k` are column blocks of one matrix `M`, so code after attention is independent of the number of heads.

use crate::backend::{Backend, Real, Result, View};
use crate::config::{Activation, Config, Embedding, Positions, Training, Trigger};
use crate::early_phase::EarlyPhase;
use crate::embedding::{Embeddings, table};
use crate::model::Model;
use crate::numeric::dot;
use crate::random::Stream;
use crate::words;

use super::positions::sinusoidal;
use super::scores::transposed_times;

words! {
    /// The tensors of a network, by their names in files.
    Tensor {
        /// Value matrices, `dim` rows; those of the heads side by side.
        M = "m",
        /// Key-query matrices, `dim` rows each; those of the heads one below the other.
        W = "w",
        /// Key matrices `K`, where `W = K^T Q`.
        Key = "key",
        /// Query matrices `Q`.
        Query = "query",
        /// Input embeddings.
        ZIn = "z_in",
        /// Output embeddings.
        ZOut = "z_out",
        /// The trigger.
        ZTrig = "z_trig",
        /// The end-of-sequence vector.
        ZEos = "z_eos",
        /// First layer of the MLP.
        WIn = "w_in",
        /// The vectors that are added at each position.
        Positions = "positions",
    }
}

/// A model and its parameters.
#[derive(Clone, Debug)]
pub struct Network<T> {
    pub(super) embeddings: Embeddings<T>,
    pub(super) trigger: Trigger,
    pub(super) activation: Activation,
    pub(super) encoding: Positions,
    pub(super) heads: usize,
    pub(super) length: usize,
    key_dim: usize,
    m: Vec<T>,
    w: Vec<T>,
    key: Vec<T>,
    query: Vec<T>,
    positions: Vec<T>,
    trained: Vec<Tensor>,
}

impl<T: Real> Network<T> {
    /// The network of a configuration before training. `M` and the `W` of the first head are 0. Other heads, which would stay equal to
    /// the first, and factors, which would stay 0, have entries N(0, 1/d).
    pub fn new(
        config: &Config,
        training: &Training,
        embeddings: Embeddings<T>,
        backend: &Backend,
    ) -> Result<Network<T>> {
        let (dim, heads, length) = (config.dim, training.heads, config.length);
        let key_dim = (dim / heads).max(1);
        let start = |stream, rows| table(Embedding::Gaussian, config.seed, stream, rows, dim, backend);
        let (mut w, mut key, mut query) = (Vec::new(), Vec::new(), Vec::new());
        if training.factored {
            key = start(Stream::Attention, 2 * heads * key_dim)?;
            query = key.split_off(heads * key_dim * dim);
        } else {
            w = start(Stream::Attention, heads * dim)?;
            w[..dim * dim].fill(T::ZERO);
        }
        let positions = match training.positions {
            Positions::None | Positions::Rotary => Vec::new(),
            Positions::Sinusoidal => sinusoidal(length, dim),
            Positions::Learned => start(Stream::Positions, length)?,
        };
        let mut trained = vec![Tensor::M];
        trained.extend(if training.factored { &[Tensor::Key, Tensor::Query][..] } else { &[Tensor::W] });
        if training.train_embeddings {
            trained.extend([Tensor::ZIn, Tensor::ZOut, Tensor::ZTrig, Tensor::ZEos]);
        }
        if training.train_first_layer {
            trained.push(Tensor::WIn);
        }
        if training.positions == Positions::Learned {
            trained.push(Tensor::Positions);
        }
        Ok(Network {
            trigger: config.trigger,
            activation: config.activation,
            encoding: training.positions,
            m: vec![T::ZERO; dim * heads * config.inputs()],
            embeddings,
            heads,
            length,
            key_dim,
            w,
            key,
            query,
            positions,
            trained,
        })
    }

    /// Puts the first head where the early phase ended, its value matrix multiplied by `scale`.
    pub fn warm_start(&mut self, phase: &EarlyPhase<T>, scale: f64) {
        let (dim, inputs, columns) = (self.dim(), self.inputs(), self.heads * self.inputs());
        for (row, m2) in self.m.chunks_exact_mut(columns).zip(phase.m2.chunks_exact(inputs)) {
            row[..inputs].iter_mut().zip(m2).for_each(|(m, &x)| *m = T::from_f64(scale * x.to_f64()));
        }
        let (u, eos) = (&phase.w1, &self.embeddings.z_eos);
        if self.w.is_empty() {
            // `u z_eos^T` as one key and one query of equal length. `W` acts through `W z_eos` alone, for which one row of each
            // factor suffices.
            let rows = self.key_dim * dim;
            let size = (dot(u, u).sqrt() * dot(eos, eos).sqrt()).sqrt();
            for (matrix, vector) in [(&mut self.key, u), (&mut self.query, eos)] {
                let length = dot(vector, vector).sqrt();
                let share = if length > 0.0 { size / length } else { 0.0 };
                matrix[..rows].fill(T::ZERO);
                let row = matrix[..dim].iter_mut().zip(vector);
                row.for_each(|(x, v)| *x = T::from_f64(share * v.to_f64()));
            }
        } else {
            for (row, &u) in self.w.chunks_exact_mut(dim).zip(u) {
                row.iter_mut().zip(eos).for_each(|(w, &z)| *w = u * z);
            }
        }
    }

    /// The tensors that are trained, in the order of their gradients.
    pub fn trained(&self) -> &[Tensor] {
        &self.trained
    }

    /// Number of trained entries.
    pub fn parameters(&self) -> usize {
        self.trained.iter().map(|&tensor| self.tensor(tensor).len()).sum()
    }

    /// The same network with other tensors trained, those of the list that it has.
    pub fn training(mut self, tensors: &[Tensor]) -> Network<T> {
        self.trained = tensors.iter().copied().filter(|&tensor| !self.tensor(tensor).is_empty()).collect();
        self
    }

    /// Number of heads.
    pub fn heads(&self) -> usize {
        self.heads
    }

    /// Length of its sequences.
    pub fn length(&self) -> usize {
        self.length
    }

    pub(super) fn trains(&self, tensor: Tensor) -> bool {
        self.trained.contains(&tensor)
    }

    /// A tensor's entries, row by row; none where the network has no such tensor.
    pub fn tensor(&self, tensor: Tensor) -> &[T] {
        match tensor {
            Tensor::M => &self.m,
            Tensor::W => &self.w,
            Tensor::Key => &self.key,
            Tensor::Query => &self.query,
            Tensor::ZIn => &self.embeddings.z_in,
            Tensor::ZOut => &self.embeddings.z_out,
            Tensor::ZTrig => &self.embeddings.z_trig,
            Tensor::ZEos => &self.embeddings.z_eos,
            Tensor::WIn => self.embeddings.w_in.as_deref().unwrap_or(&[]),
            Tensor::Positions => &self.positions,
        }
    }

    /// The same, mutable.
    pub fn tensor_mut(&mut self, tensor: Tensor) -> &mut [T] {
        match tensor {
            Tensor::M => &mut self.m,
            Tensor::W => &mut self.w,
            Tensor::Key => &mut self.key,
            Tensor::Query => &mut self.query,
            Tensor::ZIn => &mut self.embeddings.z_in,
            Tensor::ZOut => &mut self.embeddings.z_out,
            Tensor::ZTrig => &mut self.embeddings.z_trig,
            Tensor::ZEos => &mut self.embeddings.z_eos,
            Tensor::WIn => self.embeddings.w_in.as_deref_mut().unwrap_or(&mut []),
            Tensor::Positions => &mut self.positions,
        }
    }

    /// Columns of a tensor; a vector is one row.
    pub fn columns(&self, tensor: Tensor) -> usize {
        if tensor == Tensor::M { self.heads * self.inputs() } else { self.dim() }
    }

    /// Embedding dimension.
    pub fn dim(&self) -> usize {
        self.embeddings.dim
    }

    /// Columns of a head's value matrix.
    pub fn inputs(&self) -> usize {
        self.model().inputs()
    }

    /// `W z_eos` of head `k`, before any rotation by positions.
    pub fn query(&self, k: usize) -> Vec<f64> {
        let asked = self.asked(k);
        if self.is_factored() {
            transposed_times(self.of_head(Tensor::Key, k), self.dim(), &asked)
        } else {
            asked
        }
    }

    /// What head `k` asks for: `Q z_eos` where its matrix has factors, else `W z_eos`.
    pub(super) fn asked(&self, k: usize) -> Vec<f64> {
        let matrix = if self.is_factored() { Tensor::Query } else { Tensor::W };
        self.of_head(matrix, k).chunks_exact(self.dim()).map(|row| dot(row, &self.embeddings.z_eos)).collect()
    }

    /// Frobenius norm of a tensor; that of `W` is the product's where it has factors.
    pub fn norm(&self, tensor: Tensor) -> f64 {
        if tensor != Tensor::W || !self.is_factored() {
            return dot(self.tensor(tensor), self.tensor(tensor)).sqrt();
        }
        // |K^T Q|^2 = sum over pairs of rows (K_r . K_s)(Q_r . Q_s).
        let dim = self.dim();
        let pairs = |k: usize| {
            let rows = |tensor| self.of_head(tensor, k).chunks_exact(dim).collect::<Vec<_>>();
            let (keys, queries) = (rows(Tensor::Key), rows(Tensor::Query));
            let row = |r: usize| {
                let each = |s: usize| dot(keys[r], keys[s]) * dot(queries[r], queries[s]);
                (0..keys.len()).map(each).sum::<f64>()
            };
            (0..keys.len()).map(row).sum::<f64>()
        };
        (0..self.heads).map(pairs).sum::<f64>().max(0.0).sqrt()
    }

    /// The embeddings, trigger and activation as a [`Model`], for evaluations with placed attention.
    pub fn model(&self) -> Model<'_, T> {
        Model { embeddings: &self.embeddings, trigger: self.trigger, activation: self.activation }
    }

    /// The sum of the heads' value matrices, which acts when all heads attend to the same position.
    pub(super) fn summed_values(&self) -> Vec<T> {
        let inputs = self.inputs();
        let row = |row: &[T]| {
            (0..inputs).map(|i| row[i..].iter().step_by(inputs).copied().sum()).collect::<Vec<T>>()
        };
        self.m.chunks_exact(self.heads * inputs).flat_map(row).collect()
    }

    /// Whether every trained number is finite.
    pub fn is_finite(&self) -> bool {
        self.trained.iter().all(|&tensor| self.tensor(tensor).iter().all(|x| x.to_f64().is_finite()))
    }

    pub(super) fn view(&self, tensor: Tensor) -> View<'_, T> {
        let (data, columns) = (self.tensor(tensor), self.columns(tensor));
        View::new(data, data.len() / columns, columns)
    }

    /// Rows of head `k` in a tensor that is stacked by heads.
    pub(super) fn of_head(&self, tensor: Tensor, k: usize) -> &[T] {
        let data = self.tensor(tensor);
        let size = data.len() / self.heads;
        &data[k * size..][..size]
    }

    pub(super) fn is_factored(&self) -> bool {
        self.w.is_empty()
    }

    /// The positions that are added to the values; `None` unless the values are the keys.
    pub(super) fn value_positions(&self) -> Option<View<'_, T>> {
        (self.trigger == Trigger::Values && !self.positions.is_empty()).then(|| self.view(Tensor::Positions))
    }
}
