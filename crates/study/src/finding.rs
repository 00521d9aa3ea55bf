//! A measured threshold beside its prediction.

use serde::{Deserialize, Serialize};
use superpose_core::config::{Embedding, Trigger};
use superpose_core::{Measure, words};

use crate::fit::{Comparison, Sample, compare};
use superpose_lab::threshold::Threshold;
use superpose_store::interval::Interval;

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
    /// Where the trigger is added.
    pub trigger: Trigger,
    /// The measure that crosses the level.
    pub measure: Measure,
    /// The level.
    pub level: f64,
    /// Seed of the first run.
    pub seed: u64,
    /// The result of the search.
    pub threshold: Threshold,
    /// The prediction of the closed form.
    pub predicted: Option<f64>,
    /// Number of runs.
    pub runs: usize,
    /// Number of samples and measure of every run.
    pub points: Vec<(u64, f64)>,
}

words! {
    /// How a measured ratio compares with 1.
    Verdict {
        /// Its 95% interval contains 1.
        Agrees = "agrees",
        /// Its interval does not, but the ratio is within 15% of 1.
        Close = "within 15%",
        /// Neither.
        Differs = "differs",
    }
}

impl Verdict {
    /// Returns the verdict on a ratio with its interval.
    pub fn of(ratio: &Interval) -> Verdict {
        const CLOSE: f64 = 1.15;
        match ratio.mean {
            _ if ratio.low <= 1.0 && 1.0 <= ratio.high => Verdict::Agrees,
            mean if (1.0 / CLOSE..=CLOSE).contains(&mean) => Verdict::Close,
            _ => Verdict::Differs,
        }
    }

    /// Returns the verdict on predictions by how many of them their 95% intervals contain. As intervals are wrong by chance, 85% suffice.
    pub fn of_coverage(inside: usize, all: usize) -> Verdict {
        if 20 * inside >= 17 * all { Verdict::Agrees } else { Verdict::Differs }
    }
}

impl Finding {
    /// Returns the critical number of samples with its 95% interval; `None` if the search found no interval.
    pub fn observed(&self) -> Option<Interval> {
        self.threshold.interval()
    }

    /// Returns observed over predicted.
    pub fn ratio(&self) -> Option<Interval> {
        let (observed, predicted) = (self.observed()?, self.predicted?);
        Some(observed.map(|x| x / predicted))
    }
}

/// Fits the exponents of the sizes to observed and predicted thresholds; `None` with too few of them.
pub(super) fn comparison(
    names: &[&str],
    findings: &[Finding],
    sizes: impl Fn(&Finding) -> Vec<f64>,
    seed: u64,
) -> Option<Comparison> {
    let pair = |finding: &Finding| {
        Some((Sample { sizes: sizes(finding), value: finding.observed()? }, finding.predicted?))
    };
    let (samples, predicted): (Vec<Sample>, Vec<f64>) = findings.iter().filter_map(pair).unzip();
    compare(names, &samples, &predicted, seed).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdict_depends_on_the_interval() {
        use Verdict::{Agrees, Close, Differs};
        let intervals = [(0.9, 1.1), (1.05, 1.2), (0.84, 0.95), (1.1, 3.0), (1.2, 1.3), (0.5, 0.8)];
        let at = |(low, high)| Verdict::of(&Interval { mean: 0.5 * (low + high), low, high });
        assert_eq!(intervals.map(at), [Agrees, Close, Close, Differs, Differs, Differs]);
        assert_eq!([17, 16].map(|inside| Verdict::of_coverage(inside, 20)), [Agrees, Differs]);
    }
}
