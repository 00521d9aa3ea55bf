//! Loss and gradients with respect to every trained tensor, over any samples of a dataset.
//!
//! Let `r` be the residual of a sample, `F` its features, `y = Z_out^T r`, `g` the negative gradient with respect to a head
//! output and `e` that with respect to `W_in h`. Negative gradients are means of `y F^T` for `M`, `r (M F)^T` for `Z_out` and
//! `e h^T` for `W_in`. An input row has `a_i g` from its value and `-dL/ds_i` times the query from its key.

use crate::backend::{Backend, Real, Result, SUMS, View, product, scatter_rows};
use crate::config::Trigger;
use crate::model::{Residuals, Response, Want, block_rows, longest};
use crate::numeric::dot;
use crate::task::Samples;

use super::network::{Network, Tensor};
use super::pass::Pass;
use super::scores::{ScoreSums, Scores};

/// Mean loss and its gradients.
#[derive(Clone, Debug)]
pub struct Gradient {
    /// Mean cross-entropy.
    pub loss: f64,
    /// A gradient for each of [`Network::trained`].
    pub tensors: Vec<Vec<f64>>,
}

/// Loss and gradients of the mean cross-entropy over the samples `ids`.
///
/// # Errors
/// When the backend's token was cancelled.
pub fn gradient<T: Real>(
    network: &Network<T>,
    samples: &dyn Samples,
    ids: &[u32],
    backend: &Backend,
) -> Result<Gradient> {
    let want = Want { loss: true, m: true, query: true };
    let (scores, total) = sums(network, samples, ids, want, None, backend)?;
    let loss = total.loss / ids.len() as f64;
    Ok(Gradient { loss, tensors: through_scores(network, &scores, total, -1.0 / ids.len() as f64, backend)? })
}

/// Gradients of any loss from its `derivatives` by the logits, which have a row for each of the samples `ids`.
///
/// # Errors
/// When the backend's token was cancelled.
pub fn gradient_by_logits<T: Real>(
    network: &Network<T>,
    samples: &dyn Samples,
    ids: &[u32],
    derivatives: &[T],
    backend: &Backend,
) -> Result<Vec<Vec<f64>>> {
    assert_eq!(
        derivatives.len(),
        ids.len() * network.view(Tensor::ZOut).rows(),
        "a derivative for every logit"
    );
    let want = Want { loss: false, m: true, query: true };
    let (scores, total) = sums(network, samples, ids, want, Some(derivatives), backend)?;
    through_scores(network, &scores, total, 1.0, backend)
}

/// Adds the part of the gradients that goes through the scores, and scales all of them.
fn through_scores<T: Real>(
    network: &Network<T>,
    scores: &[Scores<T>],
    total: Sums,
    scale: f64,
    backend: &Backend,
) -> Result<Vec<Vec<f64>>> {
    let mut tensors = total.tensors;
    for (k, sums) in total.scores.iter().enumerate() {
        sums.back(network, k, &scores[k], backend, &mut |tensor, first, values| {
            if let Some(place) = network.trained().iter().position(|&trained| trained == tensor) {
                let sum = &mut tensors[place][first..][..values.len()];
                sum.iter_mut().zip(values).for_each(|(sum, x)| *sum += x);
            }
        })?;
    }
    tensors.iter_mut().flatten().for_each(|x| *x *= scale);
    Ok(tensors)
}

/// The mean cross-entropy over the samples `ids`.
///
/// # Errors
/// When the backend's token was cancelled.
pub fn loss<T: Real>(
    network: &Network<T>,
    samples: &dyn Samples,
    ids: &[u32],
    backend: &Backend,
) -> Result<f64> {
    let want = Want { loss: true, m: false, query: false };
    Ok(sums(network, samples, ids, want, None, backend)?.1.loss / ids.len() as f64)
}

fn sums<T: Real>(
    network: &Network<T>,
    samples: &dyn Samples,
    ids: &[u32],
    want: Want,
    derivatives: Option<&[T]>,
    backend: &Backend,
) -> Result<(Vec<Scores<T>>, Sums)> {
    let scores = Scores::of(network, backend)?;
    let response = response(network, ids.len(), backend)?;
    let z_out = network.view(Tensor::ZOut);
    let rows = block_rows(z_out.rows().max(network.columns(Tensor::M)), samples.length());
    let tasks = ids.len().div_ceil(rows).min(SUMS);
    let parts = backend.try_map(tasks, |task| {
        let mut work = Work { sums: Sums::new(network, want), ..Work::default() };
        let first = task * ids.len() / tasks;
        let mine = &ids[first..(task + 1) * ids.len() / tasks];
        for (i, ids) in mine.chunks(rows).enumerate() {
            backend.check_cancelled()?;
            samples.fill(ids, &mut work.pass.block);
            let given = derivatives.map(|all| {
                let labels = z_out.rows();
                &all[(first + i * rows) * labels..][..ids.len() * labels]
            });
            work.block(network, &scores, &response, want, given);
        }
        Ok(work.sums)
    })?;
    let mut parts = parts.into_iter();
    let mut total = parts.next().unwrap_or_else(|| Sums::new(network, want));
    parts.for_each(|part| total.merge(&part));
    Ok((scores, total))
}

/// The map from features to residuals. The first-order form requires features of bounded length and does not compute the residuals
/// that the gradient of the output embeddings needs.
pub(super) fn response<'a, T: Real>(
    network: &'a Network<T>,
    samples: usize,
    backend: &Backend,
) -> Result<Response<'a, T>> {
    let plain = network.embeddings.w_in.is_none() && !network.trains(Tensor::ZOut);
    let bound = plain.then(|| {
        let dim = network.dim();
        let trigger = network.tensor(Tensor::ZTrig);
        let positions = network.value_positions().map_or(0.0, |p| longest(p.data(), dim));
        let token =
            longest(network.tensor(Tensor::ZIn), dim) + network.trigger.t() * dot(trigger, trigger).sqrt();
        (network.heads as f64).sqrt() * (token + positions)
    });
    Response::of(network.view(Tensor::ZOut), network.view(Tensor::M), bound, samples, backend)
}

#[derive(Default)]
struct Sums {
    loss: f64,
    scores: Vec<ScoreSums>,
    /// Of each trained tensor, the part that does not go through the scores.
    tensors: Vec<Vec<f64>>,
}

impl Sums {
    fn new<T: Real>(network: &Network<T>, want: Want) -> Sums {
        let size = |&tensor: &Tensor| if want.m { network.tensor(tensor).len() } else { 0 };
        let heads = if want.query { network.heads } else { 0 };
        Sums {
            loss: 0.0,
            scores: vec![ScoreSums::new(network); heads],
            tensors: network.trained().iter().map(|tensor| vec![0.0; size(tensor)]).collect(),
        }
    }

    fn merge(&mut self, other: &Sums) {
        self.loss += other.loss;
        self.scores.iter_mut().zip(&other.scores).for_each(|(a, b)| a.merge(b));
        for (sum, part) in self.tensors.iter_mut().zip(&other.tensors) {
            sum.iter_mut().zip(part).for_each(|(a, b)| *a += b);
        }
    }
}

#[derive(Default)]
struct Work<T> {
    pass: Pass<T>,
    found: Residuals<T>,
    by_head: Vec<T>,
    between: Vec<T>,
    step: Vec<T>,
    sums: Sums,
}

impl<T: Real> Work<T> {
    fn block(
        &mut self,
        network: &Network<T>,
        scores: &[Scores<T>],
        response: &Response<'_, T>,
        want: Want,
        derivatives: Option<&[T]>,
    ) {
        let Work { pass, found, by_head, between, step, sums } = self;
        pass.forward(network, scores);
        let features = pass.features(network);
        match derivatives {
            Some(derivatives) => response.back(derivatives, found),
            None => sums.loss += response.residuals(features, &pass.block.labels, want, found),
        }
        if !want.m {
            return;
        }
        let (rows, dim) = (pass.block.len(), network.dim());
        let output = View::new(&found.output, rows, dim);
        if network.trains(Tensor::ZOut) {
            between.resize(rows * dim, T::ZERO);
            product(between, features, network.view(Tensor::M).t(), false);
        }
        pass.work.back(&network.model(), &mut found.by_features, by_head);
        let g: &[T] = if network.embeddings.w_in.is_some() { by_head } else { &found.by_features };
        pass.scatter(network, scores, g, &mut sums.scores);

        let (heads, length) = (network.heads, network.length);
        for (&tensor, sum) in network.trained().iter().zip(&mut sums.tensors) {
            let mut add = |a: View<'_, T>, b: View<'_, T>| {
                step.resize(a.rows() * b.columns(), T::ZERO);
                product(step, a, b, false);
                sum.iter_mut().zip(&*step).for_each(|(sum, x)| *sum += x.to_f64());
            };
            match tensor {
                Tensor::M => add(output.t(), pass.features(network)),
                Tensor::ZOut => {
                    let residuals = View::new(&found.logits, rows, found.logits.len() / rows);
                    add(residuals.t(), View::new(between, rows, dim));
                }
                Tensor::WIn => {
                    let by_before = View::new(&found.by_features, rows * heads, network.inputs());
                    add(by_before.t(), View::new(&pass.work.head, rows * heads, dim));
                }
                Tensor::Positions if network.trigger == Trigger::Values => {
                    add(
                        View::new(&pass.work.weights, rows * heads, length).t(),
                        View::new(g, rows * heads, dim),
                    );
                }
                Tensor::ZIn => {
                    for (row, g) in g.chunks_exact(dim).enumerate() {
                        let tokens = &pass.block.tokens[row / heads * length..][..length];
                        scatter_rows(sum, tokens, &pass.work.weights[row * length..][..length], g);
                    }
                }
                Tensor::ZTrig if network.trigger == Trigger::Values => {
                    for (row, g) in g.chunks_exact(dim).enumerate() {
                        let position = pass.block.position[row / heads] as usize;
                        let weight = pass.work.weights[row * length + position].to_f64();
                        sum.iter_mut().zip(g).for_each(|(sum, x)| *sum += weight * x.to_f64());
                    }
                }
                // These tensors affect the loss only through the scores.
                Tensor::W
                | Tensor::Key
                | Tensor::Query
                | Tensor::ZEos
                | Tensor::ZTrig
                | Tensor::Positions => {}
            }
        }
    }
}
