//! Evaluation of a network (theory section 4): its recall, its attention, and its overlap with the early phase's direction.

use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Cancelled, Real, residual};
use crate::config::Config;
use crate::evaluate::{Answers, Attended, Tally, memory_accuracy};
use crate::model::{Readout, block_rows};
use crate::numeric::dot;
use crate::task::{Samples, Task};

use super::network::{Network, Tensor};
use super::pass::Pass;
use super::scores::Scores;

/// The evaluation of a network on test samples.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Mean cross-entropy.
    pub loss: f64,
    /// Accuracy: the largest logit is that of the right label.
    pub accuracy: Tally,
    /// The same with the attention of every head placed on the informative position, over tokens.
    pub memory_accuracy: Tally,
    /// How often the largest weight of the best head is on the informative position.
    pub lock_rate: Tally,
    /// That head's weight there.
    pub attention_mass: Tally,
    /// Right label's logit minus the largest other.
    pub margin: Tally,
}

/// Evaluates a network on test samples.
///
/// # Errors
///
/// [`Cancelled`] when the backend's token was cancelled.
pub fn read<T: Real>(
    config: &Config,
    network: &Network<T>,
    task: &Task,
    test: &dyn Samples,
    backend: &Backend,
) -> Result<Reading, Cancelled> {
    let scores = Scores::of(network, backend)?;
    let (z_out, m) = (network.view(Tensor::ZOut), network.view(Tensor::M));
    let readout = Readout::of(z_out, m, test.count(), backend)?;
    let (count, length, heads) = (test.count(), test.length(), network.heads());
    let rows = block_rows(z_out.rows().max(m.columns()), length);
    let parts = backend.map(count.div_ceil(rows), |i| {
        let mut pass = Pass::default();
        let (mut between, mut logits) = (Vec::new(), Vec::new());
        let ids: Vec<u32> = ((i * rows) as u32..((i + 1) * rows).min(count) as u32).collect();
        test.fill(&ids, &mut pass.block);
        pass.forward(network, &scores);
        readout.logits(pass.features(network), &mut between, &mut logits);
        let (mut answers, mut attended) = (Answers::default(), vec![Attended::default(); heads]);
        for (b, row) in logits.chunks_exact(z_out.rows()).enumerate() {
            answers.add(row, pass.block.labels[b]);
            let weights = pass.weights[b * heads * length..].chunks_exact(length);
            attended.iter_mut().zip(weights).for_each(|(head, weights)| {
                head.add(weights, pass.block.position[b]);
            });
        }
        let loss = residual(&mut logits, z_out.rows(), &pass.block.labels);
        (loss, answers, attended)
    })?;
    let (mut loss, mut answers, mut attended) = (0.0, Answers::default(), vec![Attended::default(); heads]);
    for part in &parts {
        loss += part.0;
        answers.merge(&part.1);
        attended.iter_mut().zip(&part.2).for_each(|(head, part)| head.merge(part));
    }
    let order = |a: &&Attended, b: &&Attended| {
        let key = |head: &Attended| (head.lock_rate.mean(), head.attention_mass.mean());
        key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal)
    };
    let best = attended.iter().max_by(order).copied().unwrap_or_default();
    let memory =
        memory_accuracy(config, &network.model(), task, &network.summed_values(), test.count(), backend)?;
    Ok(Reading {
        loss: loss / count as f64,
        accuracy: answers.accuracy,
        memory_accuracy: memory,
        lock_rate: best.lock_rate,
        attention_mass: best.attention_mass,
        margin: answers.margin,
    })
}

/// One record of a trajectory: the network before step `step`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Steps taken.
    pub step: usize,
    /// Rate of the next step.
    pub rate: f64,
    /// Mean cross-entropy over the samples of the next step.
    pub loss: f64,
    /// Mean cross-entropy over the test samples.
    pub test_loss: f64,
    /// Recall of the test samples.
    pub accuracy: f64,
    /// Recall with the attention placed.
    pub memory_accuracy: f64,
    /// How often the largest attention weight is on the informative position.
    pub lock_rate: f64,
    /// Attention weight on the informative position.
    pub attention_mass: f64,
    /// Right label's logit minus the largest other.
    pub margin: f64,
    /// Frobenius norm of `M`.
    pub norm_m: f64,
    /// Frobenius norm of `W`.
    pub norm_w: f64,
    /// Cosine of `W z_eos` with the direction that step 2 of the early phase finds, of the head where it is largest.
    pub early_cosine: f64,
    /// Cosine of that head's `W z_eos` with the trigger.
    pub trigger_cosine: f64,
    /// That head's score of the trigger over the standard deviation of its scores of tokens.
    pub trigger_lead: f64,
}

impl Point {
    /// Whether every number is one.
    pub fn is_finite(&self) -> bool {
        self.named().iter().all(|(_, value)| value.is_finite())
    }

    /// The numbers with their names, in the order of a table's columns; the step is not one of them.
    pub fn named(&self) -> [(&'static str, f64); 13] {
        [
            ("rate", self.rate),
            ("loss", self.loss),
            ("test_loss", self.test_loss),
            ("accuracy", self.accuracy),
            ("memory_accuracy", self.memory_accuracy),
            ("lock_rate", self.lock_rate),
            ("attention_mass", self.attention_mass),
            ("margin", self.margin),
            ("norm_m", self.norm_m),
            ("norm_w", self.norm_w),
            ("early_cosine", self.early_cosine),
            ("trigger_cosine", self.trigger_cosine),
            ("trigger_lead", self.trigger_lead),
        ]
    }
}

/// The direction of a network's attention compared with `early` and with the trigger.
pub(super) struct Gaze {
    pub early_cosine: f64,
    pub trigger_cosine: f64,
    pub trigger_lead: f64,
}

impl Gaze {
    pub fn of<T: Real>(network: &Network<T>, early: &[f64]) -> Gaze {
        let trigger: Vec<f64> = network.tensor(Tensor::ZTrig).iter().map(|x| x.to_f64()).collect();
        let queries: Vec<Vec<f64>> = (0..network.heads()).map(|k| network.query(k)).collect();
        let along = |query: &&Vec<f64>| cosine(query, early);
        let best = queries.iter().max_by(|a, b| along(a).total_cmp(&along(b)));
        let Some(query) = best else {
            return Gaze { early_cosine: 0.0, trigger_cosine: 0.0, trigger_lead: 0.0 };
        };
        let z_in = network.tensor(Tensor::ZIn).chunks_exact(network.dim());
        let scores: Vec<f64> =
            z_in.map(|row| row.iter().zip(query).map(|(x, q)| x.to_f64() * q).sum()).collect();
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        let square = scores.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / scores.len() as f64;
        let lead = if square > 0.0 { dot(query, &trigger) / square.sqrt() } else { 0.0 };
        Gaze {
            early_cosine: cosine(query, early),
            trigger_cosine: cosine(query, &trigger),
            trigger_lead: lead,
        }
    }
}

/// The cosine of two vectors, 0 if one of them is zero.
fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let size = (dot(a, a) * dot(b, b)).sqrt();
    if size > 0.0 { dot(a, b) / size } else { 0.0 }
}
