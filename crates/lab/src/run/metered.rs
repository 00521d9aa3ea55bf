//! Progress reporting by a dataset wrapper that counts and times the samples read.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use superpose_core::config::{Config, EarlyRule, Regime};
use superpose_core::evaluate::Evaluation;
use superpose_core::noise::BUDGET_SEQUENCES;
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

/// Returns how often the early phase reads the training samples.
pub fn passes(config: &Config) -> u64 {
    // A pass for step 1 and two for each round; another for each memory step of Newton's.
    let rounds = config.rounds as u64;
    let newton = if config.early_rule == EarlyRule::Newton { 1 + rounds } else { 0 };
    1 + 2 * rounds + newton
}

/// Returns the number of samples that a run reads, including test samples. A run that learns no trigger, or whose labels depend on more
/// than one token, reads fewer, because it has no noise budget.
pub fn reads(config: &Config) -> u64 {
    let train = passes(config);
    // Only gradient steps have a noise budget. Two passes give that of the scores, in the infinitesimal limit; that of the logits reads
    // some test samples again.
    let (budget, again) = match config.early_rule {
        EarlyRule::Gradient => {
            let limit = if config.regime == Regime::Exact { train } else { 0 };
            let scores = if config.rounds == 1 { 2 } else { 0 };
            (limit + scores, config.test_samples.min(BUDGET_SEQUENCES))
        }
        EarlyRule::Sign | EarlyRule::Muon | EarlyRule::Newton => (0, 0),
    };
    let each = (train + budget) * config.samples as u64 + (config.test_samples + again) as u64;
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

#[cfg(test)]
mod tests {
    use superpose_core::backend::Backend;
    use superpose_core::config::Settings;

    use super::*;
    use crate::run::{Inputs, run};

    struct Count(AtomicU64);

    impl Progress for Count {
        fn repeat(&self, _: usize) {}
        fn samples(&self, count: usize) {
            self.0.fetch_add(count as u64, Ordering::Relaxed);
        }
    }

    /// The total of a progress bar is what a run reads.
    #[test]
    fn runs_read_as_many_samples_as_announced() {
        let small = Settings { vocab: 32, dim: 16, length: 4, samples: 600, ..Settings::default() };
        let small = Settings { test_samples: 300, repeats: 2, ..small };
        for settings in [
            small.clone(),
            Settings { test_samples: 100, ..small.clone() },
            Settings { rounds: 3, ..small.clone() },
            Settings { regime: Regime::Exact, ..small.clone() },
            Settings { regime: Regime::Exact, rounds: 2, ..small.clone() },
            Settings { early_rule: EarlyRule::Muon, ..small.clone() },
            Settings { early_rule: EarlyRule::Newton, rounds: 2, ..small },
        ] {
            let config = settings.check().unwrap();
            let count = Count(AtomicU64::new(0));
            run(&config, &Inputs::default(), &Backend::single(), None, &count).unwrap();
            assert_eq!(count.0.into_inner(), reads(&config), "{config:?}");
        }
    }
}
