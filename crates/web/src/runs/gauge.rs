//! Progress of a run, read by other threads, and its cancellation.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use superpose_core::Measures;
use superpose_core::backend::CancelToken;
use superpose_core::config::Config;
use superpose_core::evaluate::Evaluation;
use superpose_lab::run::{Progress, Stage, by_seed, reads};

use super::MAX_RUN_SECONDS;

/// A run is stopped after this many times the longest estimate that is accepted. Estimates are good to a factor of two on an
/// idle machine.
const OVERTIME: f64 = 5.0;

#[derive(Default)]
pub struct Gauge {
    total: u64,
    read: AtomicU64,
    repeat: AtomicUsize,
    stage: Mutex<Option<Stage>>,
    measured: Mutex<Vec<Evaluation>>,
    pub cancel: CancelToken,
    late: AtomicBool,
    deadline: OnceLock<Instant>,
}

impl Gauge {
    pub fn new(config: &Config) -> Gauge {
        Gauge { total: reads(config).max(1), ..Gauge::default() }
    }

    /// Whether the deadline stopped the run, not a cancellation.
    pub fn late(&self) -> bool {
        self.late.load(Ordering::Relaxed)
    }

    pub fn share(&self) -> f64 {
        (self.read.load(Ordering::Relaxed) as f64 / self.total as f64).min(1.0)
    }

    pub fn repeat(&self) -> usize {
        self.repeat.load(Ordering::Relaxed)
    }

    /// The measures of each repeat so far.
    pub fn by_seed(&self) -> Measures<Vec<f64>> {
        let measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        by_seed(measured.iter().map(|evaluation| evaluation.map(|tally| tally.mean())))
    }

    pub fn stage(&self) -> Option<Stage> {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Gauge {
    fn repeat(&self, repeat: usize) {
        self.deadline.get_or_init(|| Instant::now() + Duration::from_secs_f64(OVERTIME * MAX_RUN_SECONDS));
        self.repeat.store(repeat, Ordering::Relaxed);
    }

    fn samples(&self, count: usize) {
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        let over = self.deadline.get().is_some_and(|deadline| Instant::now() > *deadline);
        if over && !self.cancel.is_cancelled() {
            self.late.store(true, Ordering::Relaxed);
            self.cancel.cancel();
        }
    }

    fn stage(&self, stage: Stage) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = Some(stage);
    }

    fn measured(&self, evaluation: &Evaluation) {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner).push(*evaluation);
    }
}
