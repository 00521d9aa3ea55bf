//! A dataset that counts what is read from it: how long that took, and how far the run is.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use superpose_core::config::{Config, Regime};
use superpose_core::task::{Block, Samples};

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Making embeddings.
    Drawing,
    /// The three steps.
    Training,
    /// Reading the trained model, and its noise budget.
    Evaluating,
}

/// Receives the progress of a run, from any thread.
pub trait Progress: Sync {
    /// Repeat number `repeat` begins.
    fn repeat(&self, repeat: usize);

    /// So many more samples have been read, of those that [`reads`] counts.
    fn samples(&self, count: usize);

    /// The repeat is at this stage.
    fn stage(&self, _: Stage) {}
}

/// Samples that a run reads, its test samples among them: the measure of its progress.
pub fn reads(config: &Config) -> u64 {
    // Three passes train and two measure the score budget; an exact run passes thrice more for its limit.
    let passes = match config.regime {
        Regime::Infinitesimal => 5,
        Regime::Exact => 8,
    };
    let each = passes * config.samples as u64 + config.test_samples as u64;
    each.saturating_mul(config.repeats as u64)
}

/// Nobody listens.
impl Progress for () {
    fn repeat(&self, _: usize) {}
    fn samples(&self, _: usize) {}
}

/// Samples with a clock.
pub struct Metered<'a> {
    samples: &'a dyn Samples,
    progress: &'a dyn Progress,
    nanoseconds: AtomicU64,
}

impl<'a> Metered<'a> {
    pub fn new(samples: &'a dyn Samples, progress: &'a dyn Progress) -> Self {
        Metered { samples, progress, nanoseconds: AtomicU64::new(0) }
    }

    /// Time spent in making or copying samples, added up over threads.
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
