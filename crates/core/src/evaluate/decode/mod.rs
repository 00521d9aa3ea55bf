//! Decoding facts from the first gradient (`docs/theory/bound.md`): a score for every pair of a token and a label.
//!
//! [`plain_scores`] are `Z_out M1 Z^T`, the logits that the model itself would compute. [`Whitener`] is the linear minimum
//! mean-square error (LMMSE) estimator, which corrects for the overlaps of the embeddings.

mod whitener;

pub use whitener::Whitener;

use crate::backend::{Backend, Real, Result, View, top};
use crate::config::Trigger;
use crate::model::{Model, Workspace, centred};

/// Scores by the model itself: a row per token, an entry per label.
pub fn plain_scores(model: &Model<'_, f64>, m1: &[f64], backend: &Backend) -> Result<Vec<f64>> {
    let mut work = Workspace::default();
    work.head.clone_from(&model.embeddings.z_in);
    work.activate(model);
    sandwich(work.features(model), m1, model.z_out(), backend)
}

/// The same with the attention placed on the informative position.
pub fn placed_scores(model: &Model<'_, f64>, m: &[f64], backend: &Backend) -> Result<Vec<f64>> {
    let mut work = Workspace::default();
    work.place(model, 0..model.tokens());
    work.activate(model);
    sandwich(work.features(model), m, model.z_out(), backend)
}

/// The first gradient with unlimited data, which is its expectation over samples.
pub fn expected_gradient(
    model: &Model<'_, f64>,
    facts: &[u32],
    length: usize,
    backend: &Backend,
) -> Result<Vec<f64>> {
    let (dim, inputs) = (model.dim(), model.inputs());
    let outputs = centred(&model.embeddings.z_out, dim, backend)?;
    let labels: Vec<f64> =
        facts.iter().flat_map(|&fact| &outputs[fact as usize * dim..][..dim]).copied().collect();
    let means = mean_features(model, length, backend)?;
    let mut m1 = vec![0.0; dim * inputs];
    let view = |rows, columns| View::new(rows, <[f64]>::len(rows) / columns, columns);
    backend.product(&mut m1, view(&labels, dim).t(), view(&means, inputs))?;
    m1.iter_mut().for_each(|x| *x /= facts.len() as f64);
    Ok(m1)
}

/// The mean of `psi(h)` given the informative token, at uniform attention: a row per token. Without an MLP the part that all tokens
/// share is left out. With an MLP the sum of the other tokens is taken as normal, which holds in the limit of long sequences.
fn mean_features(model: &Model<'_, f64>, length: usize, backend: &Backend) -> Result<Vec<f64>> {
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
    let mut trigger = vec![0.0; inputs];
    if model.trigger == Trigger::Values {
        backend.product(&mut trigger, w_in, View::new(&model.embeddings.z_trig, model.dim(), 1))?;
    }
    // The mean over sequences before the activation, and the standard deviation that the other tokens add.
    let others = |i: usize| {
        let variance = (squares[i] - means[i] * means[i]).max(0.0);
        let shift = ((length - 1.0) * means[i] + trigger[i]) / length;
        (shift, (variance * (length - 1.0)).sqrt() / length)
    };
    let common: Vec<(f64, f64)> = (0..inputs).map(others).collect();
    /// Points of the quadrature over a normal number, from -4.2 to 4.2.
    const STEPS: usize = 21;
    let rule: Vec<(f64, f64)> = (0..STEPS)
        .map(|i| 4.2 * (2.0 * i as f64 / (STEPS - 1) as f64 - 1.0))
        .map(|z| (z, libm::exp(-0.5 * z * z)))
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

/// The fraction of tokens whose right label has the largest score; of k tied labels each counts 1/k.
pub fn argmax_accuracy<T: Real>(scores: &[T], facts: &[u32]) -> f64 {
    let rows = scores.chunks_exact(scores.len() / facts.len());
    rows.zip(facts).map(|(row, &fact)| top(row, fact as usize).credit).sum::<f64>() / facts.len() as f64
}

/// `rows m^T columns^T`: entry (v, j) is `columns[j] . m rows[v]`.
fn sandwich(rows: View<'_, f64>, m: &[f64], columns: View<'_, f64>, backend: &Backend) -> Result<Vec<f64>> {
    let dim = columns.columns();
    let mut between = vec![0.0; rows.rows() * dim];
    backend.product(&mut between, rows, View::new(m, dim, rows.columns()).t())?;
    let mut scores = vec![0.0; rows.rows() * columns.rows()];
    backend.product(&mut scores, View::new(&between, rows.rows(), dim), columns.t())?;
    Ok(scores)
}
