//! What a token's score is made of.
//!
//! Step 2 moves along `u = mean over n of Cov_n g_n`, `Cov_n = (1/L) sum_i x_i (v_i - h_n)^T` and
//! `g_n = M1^T Z_out^T r_n` (theory section 3); a token's score is `gamma |z_eos|^2 u . z_in[v]`. With both means
//! replaced by their expectations, `u` is a multiple of the trigger (whose overlap with a token is one part)
//! and what the embeddings' overlaps add (interference). The part of `M1` that comes from uneven label counts
//! times the mean head output gives the mean bias. The rest is gradient noise.

use crate::backend::{Backend, Real, View};
use crate::early_phase::{EarlyPhase, Limit};
use crate::model::{Attention, Model, centred, dot};
use crate::task::{Samples, Task};

use super::Budget;

/// Parts of every token's score. They add up to the scores of the trained attention.
#[derive(Clone, Debug)]
pub struct ScoreParts {
    /// The trigger's score.
    pub signal: f64,
    /// Uneven label counts times the mean head output.
    pub mean_bias: Vec<f64>,
    /// The expected direction, without its trigger; for the MLP it is not known and part of the gradient noise.
    pub interference: Option<Vec<f64>>,
    /// Everything else that finite data adds.
    pub gradient_noise: Vec<f64>,
    /// The trigger's multiple, seen through its overlap with the token.
    pub output_overlap: Vec<f64>,
}

/// Variances of the parts over tokens, and the squared score of the trigger. A shift of all scores changes no
/// attention, so it does not count.
pub fn score_budget(parts: &ScoreParts) -> Budget {
    let variance = |x: &Vec<f64>| {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / x.len() as f64
    };
    Budget {
        signal: Some(parts.signal * parts.signal),
        mean_bias: Some(variance(&parts.mean_bias)),
        interference: parts.interference.as_ref().map(variance),
        gradient_noise: Some(variance(&parts.gradient_noise)),
        output_overlap: Some(variance(&parts.output_overlap)),
        mlp_noise: parts.interference.as_ref().map(|_| 0.0),
        attention_leak: Some(0.0),
    }
}

/// Splits the scores of a phase that was run in the infinitesimal regime on `samples`.
pub fn split_scores<T: Real>(
    model: &Model<'_, T>,
    task: &Task,
    phase: &EarlyPhase<T>,
    samples: &dyn Samples,
    backend: &Backend,
) -> ScoreParts {
    let dim = model.dim();
    let eos = dot(&model.embeddings.z_eos, &model.embeddings.z_eos);
    let scores = |u: &[f64], scale: f64| -> Vec<f64> {
        let score = |row: &[T]| row.iter().zip(u).map(|(z, u)| z.to_f64() * u).sum::<f64>() * scale;
        model.embeddings.z_in.chunks_exact(dim).map(score).collect()
    };
    let wide = |x: &[T]| x.iter().map(|x| x.to_f64()).collect::<Vec<f64>>();
    let trigger = wide(&model.embeddings.z_trig);
    let rate = phase.gamma * eos;

    let limit = Limit::new(model, samples, backend);
    let bias = mean_bias_matrix(model, task, &limit);
    let mean_bias = scores(&limit.query_step(&bias), rate);
    let total = scores(&wide(&phase.w1), eos);
    let expected = model.w_in().is_none().then(|| Expected::new(model, task, backend));
    let (overlap, interference) = match &expected {
        Some(expected) => (scores(&trigger, rate * expected.trigger), Some(scores(&expected.rest, rate))),
        // Without the expected direction, the trigger's multiple is read off the direction itself.
        None => {
            let along = wide(&phase.w1).iter().zip(&trigger).map(|(u, z)| u * z).sum::<f64>();
            let norm = trigger.iter().map(|z| z * z).sum::<f64>();
            (scores(&trigger, eos * along / norm), None)
        }
    };
    let rest =
        |v: usize| total[v] - mean_bias[v] - overlap[v] - interference.as_ref().map_or(0.0, |part| part[v]);
    ScoreParts {
        signal: wide(&phase.w1).iter().zip(&trigger).map(|(u, z)| u * z).sum::<f64>() * eos,
        gradient_noise: (0..total.len()).map(rest).collect(),
        mean_bias,
        interference,
        output_overlap: overlap,
    }
}

/// `(sum_y (f_y - p_y) Z_centred[y]) (mean of psi(h))^T`: the part of `M1` that comes from uneven label counts.
fn mean_bias_matrix<T: Real>(model: &Model<'_, T>, task: &Task, limit: &Limit<'_, T>) -> Vec<T> {
    let mean_features = limit.value_step(&Attention::Uniform).mean_features;
    let counts = limit.label_counts();
    let total = counts.iter().sum::<usize>() as f64;
    let mut excess: Vec<f64> = counts.iter().map(|&count| count as f64 / total).collect();
    for (token, &fact) in task.facts().iter().enumerate() {
        excess[fact as usize] -= task.informative().probability(token);
    }
    let mut sum = vec![0.0; model.dim()];
    let rows = centred(&model.embeddings.z_out, model.dim());
    for (row, excess) in rows.chunks_exact(model.dim()).zip(&excess) {
        sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += excess * x.to_f64());
    }
    sum.iter().flat_map(|a| mean_features.iter().map(move |b| T::from_f64(a * b))).collect()
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
    fn new<T: Real>(model: &Model<'_, T>, task: &Task, backend: &Backend) -> Expected {
        let (dim, length, t) = (model.dim(), task.length() as f64, model.trigger.t());
        let z_in: Vec<f64> = model.embeddings.z_in.iter().map(|x| x.to_f64()).collect();
        let trigger: Vec<f64> = model.embeddings.z_trig.iter().map(|x| x.to_f64()).collect();
        let z_out: Vec<f64> = model.embeddings.z_out.iter().map(|x| x.to_f64()).collect();
        let outputs = centred(&z_out, dim);
        let facts = task.facts();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let add = |sum: &mut [f64], scale: f64, x: &[f64]| {
            sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += scale * x);
        };
        let row = |v: usize| &z_in[v * dim..][..dim];
        let noise = |v: usize| row(task.noise_start() + v);

        let mut mu = vec![0.0; dim];
        (0..task.noise().size()).for_each(|v| add(&mut mu, task.noise().probability(v), noise(v)));

        // P = outputs^T H with H[y] = sum over the label's facts of p_w E[h | w].
        let mut by_label = vec![0.0; outputs.len()];
        for (w, &y) in facts.iter().enumerate() {
            let (p, sum) = (task.informative().probability(w), &mut by_label[y as usize * dim..][..dim]);
            add(sum, p / length, row(w));
            add(sum, p * t / length, &trigger);
            add(sum, p * (length - 1.0) / length, &mu);
        }
        let labels = model.labels();
        let (outputs, by_label) = (View::new(&outputs, labels, dim), View::new(&by_label, labels, dim));
        let mut p = vec![0.0; dim * dim];
        backend.product(&mut p, outputs.t(), by_label);
        let mut back = vec![0.0; labels * dim];
        backend.product(&mut back, outputs, View::new(&p, dim, dim));

        let (mut along_trigger, mut rest, mut mean_back) = (0.0, vec![0.0; dim], vec![0.0; dim]);
        for (w, &y) in facts.iter().enumerate() {
            let p = task.informative().probability(w);
            let d = &back[y as usize * dim..][..dim];
            let by_value = dot(row(w), d) + t * dot(&trigger, d);
            let coefficient = p * (by_value - dot(&mu, d));
            along_trigger += coefficient;
            add(&mut rest, coefficient, row(w));
            add(&mut rest, -p * by_value, &mu);
            add(&mut mean_back, p, d);
        }
        for v in 0..task.noise().size() {
            let scale = (length - 1.0) * task.noise().probability(v) * dot(noise(v), &mean_back);
            add(&mut rest, scale, noise(v));
        }
        add(&mut rest, -(length - 2.0) * dot(&mu, &mean_back), &mu);
        let scale = (length - 1.0) / (length * length);
        rest.iter_mut().for_each(|x| *x *= scale);
        Expected { trigger: along_trigger * scale, rest }
    }
}
