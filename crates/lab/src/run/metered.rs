//! A dataset that counts what is read from it: how long that took, and how far the run is.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use superpose_core::config::{Config, Regime};
use superpose_core::task::{Block, Samples};

/// Training samples that a run of all repeats reads: what [`Progress::samples`] adds up to.
pub fn samples_read(config: &Config) -> u64 {
    // Three passes train and two measure the score budget; an exact run passes thrice more for its limit.
    let passes = match config.regime {
        Regime::Infinitesimal => 5,
        Regime::Exact => 8,
    };
    passes * config.samples as u64 * config.repeats as u64
}

/// Hears about a run while it goes on, from any thread.
pub trait Progress: Sync {
    /// Repeat number `repeat` begins.
    fn repeat(&self, repeat: usize);

    /// So many more training samples have been read. A run reads each of its samples a few times.
    fn samples(&self, count: usize);
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
