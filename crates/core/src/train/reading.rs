//! Evaluation of a network (theory: setting): recall, attention, and the cosine of `W z_eos` with step 2 of the early phase.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Real, Result, residual, wide};
use crate::config::Config;
use crate::evaluate::{Evaluation, Tally, memory_accuracy};
use crate::measure::{Measure, Measures};
use crate::model::{Readout, block_rows};
use crate::numeric::dot;
use crate::task::{Samples, Task};

use super::network::{Network, Tensor};
use super::pass::Pass;
use super::scores::Scores;

/// The measure that a trajectory does not have: the first gradient is the early phase's.
const NOT_READ: Measure = Measure::OneStepAccuracy;

/// The evaluation of a network on test samples. Attention is that of the head that finds the trigger most often.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Mean cross-entropy.
    pub loss: f64,
    /// All measures but one-step accuracy.
    pub measures: Evaluation,
}

impl Reading {
    /// From the mean loss, the measures of the answers, those of each head's attention, and the memory accuracy.
    pub fn new(loss: f64, mut measures: Evaluation, attended: &[Evaluation], memory: Tally) -> Reading {
        let key = |head: &Evaluation| (head[Measure::LockRate].mean(), head[Measure::AttentionMass].mean());
        let best = attended.iter().max_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(Ordering::Equal));
        measures.merge(best.unwrap_or(&Evaluation::default()));
        measures[Measure::MemoryAccuracy] = memory;
        Reading { loss, measures }
    }
}

/// Evaluates a network on test samples.
///
/// # Errors
/// When the backend's token was cancelled.
pub fn read<T: Real>(
    config: &Config,
    network: &Network<T>,
    task: &Task,
    test: &dyn Samples,
    backend: &Backend,
) -> Result<Reading> {
    let scores = Scores::of(network, backend)?;
    let (z_out, m) = (network.view(Tensor::ZOut), network.view(Tensor::M));
    let readout = Readout::of(z_out, m, test.count(), backend)?;
    let (count, length, heads) = (test.count(), test.length(), network.heads);
    let rows = block_rows(z_out.rows().max(m.columns()), length);
    let parts = backend.map(count.div_ceil(rows), |i| {
        let mut pass = Pass::default();
        pass.work.keep = config.keep;
        let (mut between, mut logits) = (Vec::new(), Vec::new());
        let ids: Vec<u32> = ((i * rows) as u32..((i + 1) * rows).min(count) as u32).collect();
        test.fill(&ids, &mut pass.block);
        pass.forward(network, &scores);
        readout.logits(pass.features(network), &mut between, &mut logits);
        let (mut measures, mut attended) = (Evaluation::default(), vec![Evaluation::default(); heads]);
        for (b, row) in logits.chunks_exact(z_out.rows()).enumerate() {
            measures.add_answer(row, pass.block.labels[b] as usize);
            for (k, head) in attended.iter_mut().enumerate() {
                let row = b * heads + k;
                let weights = &pass.work.weights[row * length..][..length];
                head.add_attention(weights, pass.block.position[b] as usize, pass.work.keeps(row));
            }
        }
        let loss = residual(&mut logits, z_out.rows(), &pass.block.labels);
        (loss, measures, attended)
    })?;
    let (mut loss, mut measures, mut attended) =
        (0.0, Evaluation::default(), vec![Evaluation::default(); heads]);
    for part in &parts {
        loss += part.0;
        measures.merge(&part.1);
        attended.iter_mut().zip(&part.2).for_each(|(head, part)| head.merge(part));
    }
    let values = network.summed_values();
    let memory = memory_accuracy(config, &network.model(), task, &values, test.count(), backend)?;
    Ok(Reading::new(loss / count as f64, measures, &attended, memory))
}

/// One record of a trajectory: the network before step `step`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TrajectoryPoint {
    /// Steps taken.
    pub step: usize,
    /// Rate of the next step.
    pub rate: f64,
    /// Mean cross-entropy over the samples of the next step.
    pub loss: f64,
    /// Mean cross-entropy over the test samples.
    pub test_loss: f64,
    /// Means over the test samples.
    #[serde(flatten)]
    pub measures: Measures<f64>,
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

impl TrajectoryPoint {
    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        self.numbers().iter().all(|x| x.is_finite())
    }

    /// The names of the numbers, in the order of a table's columns; the step is not one of them.
    pub fn names() -> Vec<&'static str> {
        let read = Measure::ALL.iter().filter(|measure| **measure != NOT_READ);
        let others = ["norm_m", "norm_w", "early_cosine", "trigger_cosine", "trigger_lead"];
        ["rate", "loss", "test_loss"]
            .into_iter()
            .chain(read.map(|measure| measure.word()))
            .chain(others)
            .collect()
    }

    /// The numbers in the order of [`TrajectoryPoint::names`].
    pub fn numbers(&self) -> Vec<f64> {
        let TrajectoryPoint { rate, loss, test_loss, norm_m, norm_w, .. } = *self;
        let read = self.measures.iter().filter(|(measure, _)| *measure != NOT_READ);
        let others = [norm_m, norm_w, self.early_cosine, self.trigger_cosine, self.trigger_lead];
        [rate, loss, test_loss].into_iter().chain(read.map(|(_, value)| *value)).chain(others).collect()
    }
}

impl PartialEq for TrajectoryPoint {
    /// Compares what is written to files: a measure that is missing in both is equal.
    fn eq(&self, other: &TrajectoryPoint) -> bool {
        let bits = |point: &TrajectoryPoint| point.numbers().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        self.step == other.step && bits(self) == bits(other)
    }
}

/// The early cosine, trigger cosine and trigger lead of a network's attention, as in [`TrajectoryPoint`].
pub(super) fn directions<T: Real>(network: &Network<T>, early: &[f64]) -> [f64; 3] {
    let trigger = wide(network.tensor(Tensor::ZTrig));
    let queries: Vec<Vec<f64>> = (0..network.heads).map(|k| network.query(k)).collect();
    let along = |query: &&Vec<f64>| cosine(query, early);
    let Some(query) = queries.iter().max_by(|a, b| along(a).total_cmp(&along(b))) else { return [0.0; 3] };
    let z_in = network.tensor(Tensor::ZIn).chunks_exact(network.dim());
    let scores: Vec<f64> = z_in.map(|row| row.iter().zip(query).map(|(x, q)| x.to_f64() * q).sum()).collect();
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    let square = scores.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / scores.len() as f64;
    let lead = if square > 0.0 { dot(query, &trigger) / square.sqrt() } else { 0.0 };
    [cosine(query, early), cosine(query, &trigger), lead]
}

/// The cosine of two vectors, 0 if one of them is zero.
fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let size = (dot(a, a) * dot(b, b)).sqrt();
    if size > 0.0 { dot(a, b) / size } else { 0.0 }
}
