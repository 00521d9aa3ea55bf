//! Progress reporting by a dataset wrapper that counts and times the samples read.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use superpose_core::config::{Config, EarlyRule, Regime};
use superpose_core::evaluate::Evaluation;
use superpose_core::task::{Block, Samples};

/// The stage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Drawing embeddings.
    Drawing,
    /// The three steps.
    Training,
    /// Evaluating the trained model and its noise budget.
    Evaluating,
}

/// Receives the progress of a run, from any thread.
pub trait Progress: Sync {
    /// Called when repeat number `repeat` begins.
    fn repeat(&self, repeat: usize);

    /// Called when this many more samples have been read, out of [`reads`].
    fn samples(&self, count: usize);

    /// Called when the repeat enters a stage.
    fn stage(&self, _: Stage) {}

    /// Called with the measures of a repeat.
    fn measured(&self, _: &Evaluation) {}
}

/// Returns the number of samples that a run reads, including test samples.
pub fn reads(config: &Config) -> u64 {
    // A pass for step 1 and two for each round; another for each memory step of Newton's. Two compute the score budget, which needs the
    // infinitesimal limit and which only gradient steps have.
    let rounds = config.rounds as u64;
    let train = 1 + 2 * rounds;
    let budget = if rounds == 1 { 2 } else { 0 };
    let passes = match (config.early_rule, config.regime) {
        (EarlyRule::Gradient, Regime::Infinitesimal) => train + budget,
        (EarlyRule::Gradient, Regime::Exact) => 2 * train + budget,
        (EarlyRule::Sign | EarlyRule::Muon, _) => train,
        (EarlyRule::Newton, _) => train + 1 + rounds,
    };
    let each = passes * config.samples as u64 + config.test_samples as u64;
    each.saturating_mul(config.repeats as u64)
}

/// Ignores the progress.
impl Progress for () {
    fn repeat(&self, _: usize) {}
    fn samples(&self, _: usize) {}
}

/// Samples that count and time what is read.
pub struct Metered<'a> {
    samples: &'a dyn Samples,
    progress: &'a dyn Progress,
    nanoseconds: AtomicU64,
}

impl<'a> Metered<'a> {
    pub fn new(samples: &'a dyn Samples, progress: &'a dyn Progress) -> Self {
        Metered { samples, progress, nanoseconds: AtomicU64::new(0) }
    }

    /// Returns the seconds spent drawing or copying samples, summed over threads.
    pub fn seconds(&self) -> f64 {
        self.nanoseconds.load(Ordering::Relaxed) as f64 * 1e-9
    }
}

impl Samples for Metered<'_> {
    fn count(&self) -> usize {
        self.samples.count()
    }

    fn length(&self) -> usize {
        self.samples.length()
    }

    fn fill(&self, ids: &[u32], block: &mut Block) {
        let started = Instant::now();
        self.samples.fill(ids, block);
        self.nanoseconds.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.progress.samples(ids.len());
    }

    fn fact(&self, id: u32) -> (u32, u32) {
        self.samples.fact(id)
    }
}
