//! Decomposition of a token's attention score into noise terms.
//!
//! The direction of step 2 is `u = mean_n Cov_n g_n`, where `Cov_n = (1/L) sum_i x_i (v_i - h_n)^T` and `g_n = M1^T Z_out^T r_n`
//! (theory: setting); a token's score is `gamma |z_eos|^2 u . z_in[v]`. With the sample means in `u` and `M1` replaced by
//! expectations, `u` is a multiple of the trigger, whose score is the overlap, plus a rest, whose score is the interference.
//! Uneven label counts add to `M1` a term proportional to the mean head output, which gives the mean bias. The remainder is
//! gradient noise.
//!
//! With an MLP the expectation is not known; interference and MLP noise are then part of the gradient noise.

use crate::backend::{Backend, Real, Result, View, product, wide};
use crate::early_phase::{EarlyPhase, Limit};
use crate::model::{Attention, Model, centred};
use crate::numeric::dot;
use crate::task::{Samples, Task};

use super::{Budget, Parts};

/// Variances of the parts over tokens, and the squared score of the trigger. A common shift of all scores does not change the
/// attention and is left out.
pub fn score_budget(parts: &Parts<Option<Vec<f64>>>) -> Budget {
    let mut budget = parts.map(|part| {
        let part = part.as_ref()?;
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        Some(part.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / part.len() as f64)
    });
    budget.signal = parts.signal.as_ref().map(|trigger| trigger[0] * trigger[0]);
    budget
}

/// Splits the scores of a phase that was run in the infinitesimal regime on `samples`: for every part the scores of
/// all tokens, which add up to those of the trained attention; as the signal, the score of the trigger alone.
pub fn split_scores<T: Real>(
    model: &Model<'_, T>,
    task: &Task,
    phase: &EarlyPhase<T>,
    samples: &dyn Samples,
    backend: &Backend,
) -> Result<Parts<Option<Vec<f64>>>> {
    let dim = model.dim();
    let eos = dot(&model.embeddings.z_eos, &model.embeddings.z_eos);
    let scores = |u: &[f64], scale: f64| -> Vec<f64> {
        let score = |row: &[T]| row.iter().zip(u).map(|(z, u)| z.to_f64() * u).sum::<f64>() * scale;
        model.embeddings.z_in.chunks_exact(dim).map(score).collect()
    };
    let trigger = wide(&model.embeddings.z_trig);
    let rate = phase.gamma * eos;

    let limit = Limit::new(model, samples, backend)?;
    let bias = mean_bias_matrix(model, task, &limit, backend)?;
    let mean_bias = scores(&limit.query_step(&bias, &Attention::Uniform)?, rate);
    let total = scores(&wide(&phase.w1), eos);
    let along_trigger = dot(&phase.w1, &model.embeddings.z_trig);
    let (overlap, interference) = match model.w_in() {
        None => {
            let expected = Expected::new(model, task, backend)?;
            (scores(&trigger, rate * expected.trigger), Some(scores(&expected.rest, rate)))
        }
        // The expected direction is not known; the multiple of the trigger is the projection of the direction itself.
        Some(_) => (scores(&trigger, eos * along_trigger / dot(&trigger, &trigger)), None),
    };
    let rest =
        |v: usize| total[v] - mean_bias[v] - overlap[v] - interference.as_ref().map_or(0.0, |part| part[v]);
    let none = interference.as_ref().map(|_| vec![0.0; total.len()]);
    Ok(Parts {
        signal: Some(vec![along_trigger * eos]),
        gradient_noise: Some((0..total.len()).map(rest).collect()),
        mean_bias: Some(mean_bias),
        interference,
        output_overlap: Some(overlap),
        mlp_noise: none,
        attention_leak: Some(vec![0.0; total.len()]),
    })
}

/// `(sum_y (f_y - p_y) Z_centred[y]) (mean of psi(h))^T`: the part of `M1` that comes from uneven label counts.
fn mean_bias_matrix<T: Real>(
    model: &Model<'_, T>,
    task: &Task,
    limit: &Limit<'_, T>,
    backend: &Backend,
) -> Result<Vec<T>> {
    let mean_features = limit.value_step(&Attention::Uniform)?.mean_features;
    let counts = limit.label_counts();
    let total = counts.iter().sum::<usize>() as f64;
    let mut excess: Vec<f64> = counts.iter().map(|&count| count as f64 / total).collect();
    for (token, &fact) in task.facts().iter().enumerate() {
        excess[fact as usize] -= task.informative().probability(token);
    }
    let mut sum = vec![0.0; model.dim()];
    let rows = centred(&model.embeddings.z_out, model.dim(), backend)?;
    for (row, excess) in rows.chunks_exact(model.dim()).zip(&excess) {
        sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += excess * x.to_f64());
    }
    Ok(sum.iter().flat_map(|a| mean_features.iter().map(move |b| T::from_f64(a * b))).collect())
}

/// The direction of step 2 with every mean over samples replaced by its expectation, attention-only.
///
/// With `k_w` the value of fact w and `x_w` its key, `mu` and `S` the first and second moments of a noise token,
/// `P = sum_w p_w Z_centred[pi(w)] E[h | w]^T` the expected `M1` and `D_w = P^T Z_centred[pi(w)]`:
/// `u = sum_w p_w E[Cov | w] D_w`, where
/// `E[Cov | w] = (L-1)/L^2 (x_w k_w^T - x_w mu^T - mu k_w^T + (L-1) S - (L-2) mu mu^T)`.
struct Expected {
    trigger: f64,
    rest: Vec<f64>,
}

impl Expected {
    fn new<T: Real>(model: &Model<'_, T>, task: &Task, backend: &Backend) -> Result<Expected> {
        /// Facts per block: whole tables in 64 bits would double the memory of a run.
        const FACTS: usize = 256;
        let (dim, length, t) = (model.dim(), task.length() as f64, model.trigger.t());
        let trigger = wide(&model.embeddings.z_trig);
        let outputs = centred(&model.embeddings.z_out, dim, backend)?;
        let row = |v: usize| &model.embeddings.z_in[v * dim..][..dim];
        let add = |sum: &mut [f64], scale: f64, x: &[T]| {
            sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += scale * x.to_f64());
        };
        let add_wide = |sum: &mut [f64], scale: f64, x: &[f64]| {
            sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += scale * x);
        };
        let inner = |x: &[T], y: &[f64]| x.iter().zip(y).map(|(x, y)| x.to_f64() * y).sum::<f64>();

        let mut mu = vec![0.0; dim];
        for v in 0..task.noise().size() {
            add(&mut mu, task.noise().probability(v), row(task.noise_start() + v));
        }
        let facts: Vec<usize> = (0..task.facts().len()).collect();
        let probability = |w: usize| task.informative().probability(w);
        let labels = |facts: &[usize]| -> Vec<f64> {
            let rows = facts.iter().map(|&w| &outputs[task.facts()[w] as usize * dim..][..dim]);
            rows.flatten().map(|x| x.to_f64()).collect()
        };

        let mut p = vec![0.0; dim * dim];
        for facts in facts.chunks(FACTS) {
            let mut heads = vec![0.0; facts.len() * dim];
            for (head, &w) in heads.chunks_exact_mut(dim).zip(facts) {
                let weight = probability(w) / length;
                add(head, weight, row(w));
                add_wide(head, weight * t, &trigger);
                add_wide(head, weight * (length - 1.0), &mu);
            }
            let labels = labels(facts);
            let labels = View::new(&labels, facts.len(), dim);
            product(&mut p, labels.t(), View::new(&heads, facts.len(), dim), true);
        }

        let (mut along_trigger, mut rest, mut mean_back) = (0.0, vec![0.0; dim], vec![0.0; dim]);
        let mut back = vec![0.0; FACTS * dim];
        for facts in facts.chunks(FACTS) {
            let labels = labels(facts);
            let back = &mut back[..facts.len() * dim];
            product(back, View::new(&labels, facts.len(), dim), View::new(&p, dim, dim), false);
            for (d, &w) in back.chunks_exact(dim).zip(facts) {
                let by_value = inner(row(w), d) + t * dot(&trigger, d);
                let coefficient = probability(w) * (by_value - dot(&mu, d));
                along_trigger += coefficient;
                add(&mut rest, coefficient, row(w));
                add_wide(&mut rest, -probability(w) * by_value, &mu);
                add_wide(&mut mean_back, probability(w), d);
            }
        }
        for v in 0..task.noise().size() {
            let noise = row(task.noise_start() + v);
            let scale = (length - 1.0) * task.noise().probability(v) * inner(noise, &mean_back);
            add(&mut rest, scale, noise);
        }
        add_wide(&mut rest, -(length - 2.0) * dot(&mu, &mean_back), &mu);
        let scale = (length - 1.0) / (length * length);
        rest.iter_mut().for_each(|x| *x *= scale);
        Ok(Expected { trigger: along_trigger * scale, rest })
    }
}
