//! One attention layer over fixed embeddings, with or without an MLP (theory: setting): forward pass, loss and exact gradients
//! at any parameters.
//!
//! Only the vector `W z_eos`, the query, matters; the gradient of `W` is that of the query times `z_eos^T`.

mod activation;
mod block;
mod descent;
mod forward;
mod linear;
mod readout;

pub use block::{Attention, Coefficients, Workspace, block_rows};
pub(crate) use descent::Residuals;
pub use descent::{Descent, Response, Want, descent};
pub use forward::{attention_weights, logits};
pub use linear::{Bound, norm_of_squarings, worth_a_bound};
pub(crate) use linear::{centred, longest};
pub use readout::{Readout, worth_folding};

use crate::backend::{Backend, Real, Result, View};
use crate::config::{Activation, Config, Trigger};
use crate::embedding::Embeddings;
use crate::numeric::dot;

/// The model's fixed parts.
#[derive(Clone, Copy)]
pub struct Model<'a, T> {
    /// The fixed vectors.
    pub embeddings: &'a Embeddings<T>,
    /// Whether the trigger is added to the values, too.
    pub trigger: Trigger,
    /// Activation of the MLP; not used without one.
    pub activation: Activation,
}

impl<'a, T: Real> Model<'a, T> {
    /// The model of a configuration.
    pub fn new(config: &Config, embeddings: &'a Embeddings<T>) -> Self {
        Model { embeddings, trigger: config.trigger, activation: config.activation }
    }

    /// Embedding dimension (`d`).
    pub fn dim(&self) -> usize {
        self.embeddings.dim
    }

    /// Columns of `M` (`p`): the width of the MLP, or the dimension.
    pub fn inputs(&self) -> usize {
        self.embeddings.w_in.as_ref().map_or(self.dim(), |w_in| w_in.len() / self.dim())
    }

    /// Rows of the input embedding.
    pub fn tokens(&self) -> usize {
        self.embeddings.z_in.len() / self.dim()
    }

    /// Rows of the output embedding.
    pub fn labels(&self) -> usize {
        self.embeddings.z_out.len() / self.dim()
    }

    /// The input embedding as a matrix.
    pub fn z_in(&self) -> View<'a, T> {
        View::new(&self.embeddings.z_in, self.tokens(), self.dim())
    }

    /// The output embedding as a matrix.
    pub fn z_out(&self) -> View<'a, T> {
        View::new(&self.embeddings.z_out, self.labels(), self.dim())
    }

    /// The first layer as a matrix, if there is an MLP.
    pub fn w_in(&self) -> Option<View<'a, T>> {
        self.embeddings.w_in.as_ref().map(|w_in| View::new(w_in, self.inputs(), self.dim()))
    }

    /// A bound on the length of a head output, whatever the attention.
    pub(crate) fn longest_head(&self) -> f64 {
        let trigger = &self.embeddings.z_trig;
        longest(&self.embeddings.z_in, self.dim()) + self.trigger.t() * dot(trigger, trigger).sqrt()
    }

    /// `W z_eos` of a whole matrix `W`, row-major.
    pub fn query(&self, w: &[T]) -> Vec<T> {
        w.chunks_exact(self.dim()).map(|row| T::from_f64(dot(row, &self.embeddings.z_eos))).collect()
    }

    /// The attention of a query `W z_eos`: a score for each token and for the trigger, or uniform when the query is zero.
    pub fn attention(&self, query: &[T], backend: &Backend) -> Result<Attention<T>> {
        if query.iter().all(|&x| x == T::ZERO) {
            return Ok(Attention::Uniform);
        }
        let mut tokens = vec![T::ZERO; self.tokens()];
        backend.product(&mut tokens, self.z_in(), View::new(query, self.dim(), 1))?;
        Ok(Attention::Scores { tokens, trigger: T::from_f64(dot(query, &self.embeddings.z_trig)) })
    }
}
