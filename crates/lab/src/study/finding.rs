//! One measured threshold beside its prediction.

use serde::{Deserialize, Serialize};
use superpose_core::Config;
use superpose_core::config::{Embedding, Trigger};

use crate::interval::Interval;
use crate::threshold::{Search, Threshold};
use superpose_core::Measure;

/// The level of all thresholds of the study: mean accuracy over seeds.
pub const LEVEL: f64 = 0.5;

/// A critical number of samples.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// Facts, V.
    pub vocab: usize,
    /// Dimension, d.
    pub dim: usize,
    /// Sequence length, L.
    pub length: usize,
    /// Embeddings.
    pub embedding: Embedding,
    /// Where the trigger is.
    pub trigger: Trigger,
    /// What crosses the level.
    pub measure: Measure,
    /// The level.
    pub level: f64,
    /// Seed of the first run.
    pub seed: u64,
    /// What the search found.
    pub threshold: Threshold,
    /// What the closed form says.
    pub predicted: Option<f64>,
    /// Runs that it took.
    pub runs: usize,
    /// Number of samples and measure of every run.
    pub points: Vec<(u64, f64)>,
}

/// A measured ratio beside 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The 95% interval of the ratio holds 1.
    Agrees,
    /// It does not, but the ratio is within 15% of 1.
    Close,
    /// Neither.
    Differs,
}

impl Verdict {
    /// Of an interval around a ratio.
    pub fn of(ratio: &Interval) -> Verdict {
        const CLOSE: f64 = 1.15;
        if ratio.low <= 1.0 && 1.0 <= ratio.high {
            Verdict::Agrees
        } else if (1.0 / CLOSE..=CLOSE).contains(&ratio.mean) {
            Verdict::Close
        } else {
            Verdict::Differs
        }
    }

    /// The verdict in words.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Close => "within 15%",
            Verdict::Differs => "differs",
        }
    }
}

impl Finding {
    pub(super) fn new(
        config: &Config,
        measure: Measure,
        threshold: Threshold,
        predicted: Option<f64>,
        search: &Search,
    ) -> Finding {
        Finding {
            vocab: config.vocab,
            dim: config.dim,
            length: config.length,
            embedding: config.embedding.kind(),
            trigger: config.trigger,
            measure,
            level: LEVEL,
            seed: config.seed,
            threshold,
            predicted,
            runs: search.runs(),
            points: search.told().collect(),
        }
    }

    /// The critical number of samples with its 95% interval; nothing where the search has no interval.
    pub fn observed(&self) -> Option<Interval> {
        self.threshold.interval()
    }

    /// Observed over predicted.
    pub fn ratio(&self) -> Option<Interval> {
        let (observed, predicted) = (self.observed()?, self.predicted?);
        let over = |x: f64| x / predicted;
        Some(Interval { mean: over(observed.mean), low: over(observed.low), high: over(observed.high) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_need_an_interval() {
        let at = |low: f64, high: f64| Verdict::of(&Interval { mean: 0.5 * (low + high), low, high });
        assert_eq!(at(0.9, 1.1), Verdict::Agrees);
        assert_eq!(at(1.05, 1.2), Verdict::Close);
        assert_eq!(at(0.84, 0.95), Verdict::Close);
        assert_eq!(at(1.1, 3.0), Verdict::Differs);
        assert_eq!(at(1.2, 1.3), Verdict::Differs);
        assert_eq!(at(0.5, 0.8), Verdict::Differs);
    }
}
