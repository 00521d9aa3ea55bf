//! Evaluation of a trained model (theory: setting): accuracies, attention, margins.

mod by_fact;
pub mod decode;
mod look;
mod tally;

pub use by_fact::recall_by_fact;
pub use look::{Example, Look, look};
pub use tally::Tally;

use crate::backend::{Backend, Real, Result, narrow, top};
use crate::config::{Config, Regime, Trigger};
use crate::early_phase::{EarlyPhase, output_covariance, placed_moment, placed_step};
use crate::measure::{Measure, Measures};
use crate::model::{Attention, Model, Readout, Workspace, block_rows};
use crate::random::{Stream, Words};
use crate::task::{Block, Fact, Samples, Task};

/// What is measured on one trained model: means over test items with what an interval needs.
pub type Evaluation = Measures<Tally>;

/// Reads everything. `frequency` is how often each fact was seen in training.
pub fn evaluate<T: Real>(
    config: &Config,
    model: &Model<'_, T>,
    task: &Task,
    phase: &EarlyPhase<T>,
    frequency: &[f64],
    test: &dyn Samples,
    backend: &Backend,
) -> Result<Evaluation> {
    let parts = answers(model, phase, config.keep, test, backend, |part: &mut Evaluation, answer| {
        part.add_answer(answer.logits, answer.label);
        part.add_attention(answer.weights, answer.position, answer.kept);
    })?;
    let mut measures = Evaluation::default();
    parts.iter().for_each(|part| measures.merge(part));
    let plain = Model { trigger: Trigger::Keys, ..*model };
    let ask = |model, m| memory_accuracy(config, model, task, m, test.count(), backend);
    measures[Measure::OneStepAccuracy] = ask(&plain, &phase.m1)?;
    let memory = placed_memory(config, model, &task.seen(frequency), phase, backend)?;
    measures[Measure::MemoryAccuracy] = ask(model, &memory)?;
    Ok(measures)
}

/// The value matrix of step 3 if attention were on the informative token of every sample.
fn placed_memory<T: Real>(
    config: &Config,
    model: &Model<'_, T>,
    seen: &[Fact],
    phase: &EarlyPhase<T>,
    backend: &Backend,
) -> Result<Vec<T>> {
    let exact = config.regime == Regime::Exact;
    let gradient = placed_step(model, exact.then_some(&phase.m1[..]), seen, backend)?;
    let hessian = || Ok([output_covariance(model, backend)?, placed_moment(model, seen, backend)?]);
    let step =
        config.early_rule.step(gradient, [model.dim(), model.inputs()], T::EPSILON, hessian, backend)?;
    Ok(match config.regime {
        Regime::Infinitesimal => narrow(&step),
        Regime::Exact => {
            let pairs = phase.m1.iter().zip(step);
            pairs.map(|(m1, step)| T::from_f64(m1.to_f64() + phase.eta2 * step)).collect()
        }
    })
}

impl Evaluation {
    pub(crate) fn add_answer<T: Real>(&mut self, logits: &[T], label: usize) {
        let answer = top(logits, label);
        self[Measure::Accuracy].add(1.0, answer.credit);
        self[Measure::Top5Accuracy].add(1.0, among_largest(logits, label, 5));
        self[Measure::Margin].add(1.0, answer.margin);
    }

    pub(crate) fn add_attention<T: Real>(&mut self, weights: &[T], position: usize, kept: bool) {
        self[Measure::LockRate].add(1.0, top(weights, position).credit);
        self[Measure::KeptRate].add(1.0, f64::from(kept));
        self[Measure::AttentionMass].add(1.0, weights[position].to_f64());
    }

    pub(crate) fn merge(&mut self, other: &Evaluation) {
        Measure::ALL.iter().for_each(|&measure| self[measure].merge(&other[measure]));
    }
}

/// The chance that the right label is among the `places` largest logits when ties are broken at random.
pub fn among_largest<T: Real>(logits: &[T], label: usize, places: usize) -> f64 {
    let own = logits[label];
    let count = |holds: fn(&T, &T) -> bool| logits.iter().filter(|x| holds(x, &own)).count() as f64;
    // A NaN equals nothing, not even itself, and gets no place.
    let (larger, equal) = (count(T::gt), count(T::eq));
    (places as f64 - larger).clamp(0.0, equal) / equal.max(1.0)
}

/// What the trained model makes of one sequence.
struct Answer<'a, T> {
    tokens: &'a [u32],
    position: usize,
    label: usize,
    weights: &'a [T],
    /// Whether the informative position is kept.
    kept: bool,
    logits: &'a [T],
}

/// Asks the trained model every sequence, with attention on the `keep` positions of largest score. `fold` takes the answers of a block in order; blocks come back in order.
fn answers<T: Real, R: Default + Send>(
    model: &Model<'_, T>,
    phase: &EarlyPhase<T>,
    keep: Option<usize>,
    test: &dyn Samples,
    backend: &Backend,
    fold: impl Fn(&mut R, Answer<'_, T>) + Sync,
) -> Result<Vec<R>> {
    let attention = phase.attention(model, backend)?;
    let readout = Readout::new(model, &phase.m2, test.count(), backend)?;
    let (count, length) = (test.count(), test.length());
    let rows = block_rows(model.labels().max(model.inputs()), length);
    backend.map(count.div_ceil(rows), |i| {
        let mut block = Block::default();
        let mut work = Workspace::default();
        work.keep = keep;
        let (mut between, mut logits) = (Vec::new(), Vec::new());
        let ids: Vec<u32> = ((i * rows) as u32..((i + 1) * rows).min(count) as u32).collect();
        test.fill(&ids, &mut block);
        work.attend(model, &attention, &block);
        if matches!(attention, Attention::Uniform) {
            work.weigh(&attention, &block);
        }
        work.activate(model);
        readout.logits(work.features(model), &mut between, &mut logits);
        let mut part = R::default();
        for (b, logits) in logits.chunks_exact(model.labels()).enumerate() {
            let (position, label) = (block.position[b] as usize, block.labels[b] as usize);
            let (tokens, weights) =
                (&block.tokens[b * length..][..length], &work.weights[b * length..][..length]);
            fold(&mut part, Answer { tokens, position, label, weights, kept: work.keeps(b), logits });
        }
        part
    })
}

/// Whether every token is asked, if no test set is given: that takes at most about a second on two cores.
pub fn asks_all(config: &Config) -> bool {
    const AFFORDABLE: f64 = 1.4e11;
    let (vocab, inputs) = (config.vocab as f64, config.inputs() as f64);
    let inner = inputs.min(config.dim as f64);
    let first_layer = if config.width.is_some() { vocab * inner * inputs } else { 0.0 };
    vocab * config.label_count() as f64 * inner + first_layer <= AFFORDABLE
}

/// The tokens to ask: those of a given test set, else all of them where that is affordable, else a random choice.
pub fn queries(config: &Config, task: &Task, test_samples: usize) -> Vec<Fact> {
    if let Some(test) = task.given_test() {
        return test.to_vec();
    }
    let query = |token: usize, weight| Fact { token, label: task.facts()[token], weight };
    let vocab = task.facts().len();
    if asks_all(config) {
        return (0..vocab).map(|token| query(token, task.informative().probability(token))).collect();
    }
    let choose = |i| {
        let words = Words::new(config.seed, Stream::TestTokens, i as u64).block(0);
        query(task.informative().draw(&words) as usize, 1.0)
    };
    (0..test_samples).map(choose).collect()
}

/// Memory accuracy of a value matrix that is already there: attention placed at test alone.
pub(crate) fn memory_accuracy<T: Real>(
    config: &Config,
    model: &Model<'_, T>,
    task: &Task,
    m: &[T],
    test_samples: usize,
    backend: &Backend,
) -> Result<Tally> {
    let queries = queries(config, task, test_samples);
    let readout = Readout::new(model, m, queries.len(), backend)?;
    let rows = block_rows(model.labels().max(model.inputs()), 1);
    let parts = backend.map(queries.len().div_ceil(rows), |i| {
        let queries = &queries[i * rows..((i + 1) * rows).min(queries.len())];
        let mut work = Workspace::default();
        let (mut between, mut logits) = (Vec::new(), Vec::new());
        work.place(model, queries.iter().map(|query| query.token));
        work.activate(model);
        readout.logits(work.features(model), &mut between, &mut logits);
        let mut tally = Tally::default();
        for (row, query) in logits.chunks_exact(model.labels()).zip(queries) {
            tally.add(query.weight, top(row, query.label as usize).credit);
        }
        tally
    })?;
    let mut total = Tally::default();
    parts.iter().for_each(|part| total.merge(part));
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_the_last_places() {
        let logits = [3.0, 2.0, 2.0, 1.0, f64::NAN];
        let share = |label, places| among_largest(&logits, label, places);
        assert_eq!(
            [share(0, 1), share(1, 2), share(2, 3), share(3, 3), share(4, 4)],
            [1.0, 0.5, 1.0, 0.0, 0.0]
        );
        assert_eq!(among_largest(&logits[..2], 1, 5), 1.0);
    }
}
