//! The weights of a memory, and the rules that compute them without training.

use super::{MemoryConfig, Pairs};
use superpose_core::backend::{Backend, Real, Result, View, wide};
use superpose_core::numeric::pseudo_inverse;
use superpose_core::random::{Stream, Words, normals};

/// `M`, `d x d` or `d x m`, and the first layer `W`, `m x d`, and `b`, m entries, both empty in a linear memory.
///
/// The logit of label l for key k is `v_l . M phi(k)`, with `phi(k) = k`, or `relu(W k + b)` with a first layer.
pub type Weights<T> = [Vec<T>; 3];

fn linear<T>(matrix: Vec<T>) -> Weights<T> {
    [matrix, Vec::new(), Vec::new()]
}

/// `M = sum_i v_{l_i} k_i^T`.
pub fn hebbian<T: Real>(pairs: &Pairs<T>, backend: &Backend) -> Result<Weights<T>> {
    let (dim, targets) = (pairs.dim, pairs.targets());
    let mut matrix = vec![T::ZERO; dim * dim];
    backend.product(&mut matrix, View::new(&targets, pairs.facts(), dim).t(), pairs.keys())?;
    Ok(linear(matrix))
}

/// The `M` that minimises `sum_i |v_{l_i} - M k_i|^2`, in 64 bits; if there are many, the one of smallest norm, up to a
/// ridge of 1e-9.
pub fn least_squares<T: Real>(pairs: &Pairs<T>, backend: &Backend) -> Result<Weights<T>> {
    let dim = pairs.dim;
    let (pseudo, _) = pseudo_inverse(&wide(&pairs.keys), dim, backend)?;
    let targets = wide(&pairs.targets());
    let mut matrix = vec![0.0; dim * dim];
    let view = |rows| View::new(rows, pairs.facts(), dim);
    backend.product(&mut matrix, view(&targets).t(), view(&pseudo))?;
    Ok(linear(matrix.into_iter().map(T::from_f64).collect()))
}

/// The initial weights of training: normal entries of variance one over the number of inputs, zero bias.
pub fn start<T: Real>(config: &MemoryConfig) -> Weights<T> {
    let draw = |index: u64, rows: usize, inputs: usize| -> Vec<T> {
        let mut wide = vec![0.0; rows * inputs];
        normals(&Words::new(config.seed, Stream::MemoryWeights, index), &mut wide);
        let scale = 1.0 / (inputs as f64).sqrt();
        wide.into_iter().map(|x| T::from_f64(scale * x)).collect()
    };
    let width = config.width.unwrap_or(0);
    [draw(0, config.dim, config.inputs()), draw(1, width, config.dim), vec![T::ZERO; width]]
}
