//! The weights of a memory, and the rules that compute them without training.

use super::{MemoryConfig, Pairs};
use crate::backend::{Backend, Cancelled, Real, View};
use crate::numeric::pseudo_inverse;
use crate::random::{Stream, Words, normals};

/// First layer of an MLP.
#[derive(Clone, Debug)]
pub struct FirstLayer<T> {
    /// `W`, `m x d`.
    pub matrix: Vec<T>,
    /// `b`, m entries.
    pub bias: Vec<T>,
}

/// Weights: the logit of label l for key k is `v_l . M phi(k)`, with `phi(k) = k`, or `relu(W k + b)` with a first layer.
#[derive(Clone, Debug)]
pub struct Weights<T> {
    /// `M`, `d x d` or `d x m`.
    pub matrix: Vec<T>,
    /// The first layer, if there is one.
    pub first: Option<FirstLayer<T>>,
}

impl<T: Real> Weights<T> {
    /// `M = sum_i v_{l_i} k_i^T`.
    ///
    /// # Errors
    /// [`Cancelled`] when the backend's token was cancelled.
    pub fn hebbian(pairs: &Pairs<T>, backend: &Backend) -> Result<Weights<T>, Cancelled> {
        let (dim, targets) = (pairs.dim, pairs.targets());
        let mut matrix = vec![T::ZERO; dim * dim];
        backend.product(&mut matrix, View::new(&targets, pairs.facts(), dim).t(), pairs.keys())?;
        Ok(Weights { matrix, first: None })
    }

    /// The `M` that minimises `sum_i |v_{l_i} - M k_i|^2`, in 64 bits; if there are many, the one of smallest norm, up to a ridge of 1e-9.
    pub fn least_squares(pairs: &Pairs<T>, backend: &Backend) -> Result<Weights<T>, Cancelled> {
        let dim = pairs.dim;
        let wide = |rows: &[T]| rows.iter().map(|x| x.to_f64()).collect::<Vec<f64>>();
        let (pseudo, _) = pseudo_inverse(&wide(&pairs.keys), dim, backend)?;
        let targets = wide(&pairs.targets());
        let mut matrix = vec![0.0; dim * dim];
        let (targets, pseudo) =
            (View::new(&targets, pairs.facts(), dim), View::new(&pseudo, pairs.facts(), dim));
        backend.product(&mut matrix, targets.t(), pseudo)?;
        Ok(Weights { matrix: matrix.into_iter().map(T::from_f64).collect(), first: None })
    }

    /// The initial weights of training: normal entries of variance one over the number of inputs, zero bias.
    pub fn start(config: &MemoryConfig) -> Weights<T> {
        let draw = |index: u64, rows: usize, inputs: usize| -> Vec<T> {
            let mut wide = vec![0.0; rows * inputs];
            normals(&Words::new(config.seed, Stream::MemoryWeights, index), &mut wide);
            let scale = 1.0 / (inputs as f64).sqrt();
            wide.into_iter().map(|x| T::from_f64(scale * x)).collect()
        };
        let first = config
            .width
            .map(|width| FirstLayer { matrix: draw(1, width, config.dim), bias: vec![T::ZERO; width] });
        Weights { matrix: draw(0, config.dim, config.inputs()), first }
    }
}
