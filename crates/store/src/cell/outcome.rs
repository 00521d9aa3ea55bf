//! The outcome of a cell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superpose_core::Measures;
use superpose_core::evaluate::Evaluation;
use superpose_core::measure::{Measure, Missing};
use superpose_core::noise::Budget;

use crate::interval::SampleMean;

/// The measures of one run of one seed (theory: setting).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// The measures. Those that were added after the run are missing.
    #[serde(flatten)]
    pub measures: Measures<SampleMean>,
    /// Sign of what step 2 gave the trigger.
    pub trigger_sign: i8,
    /// The noise budget, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
    /// How long the run took, on the threads that it had. The one number here that is not reproducible.
    pub seconds: f64,
}

impl Outcome {
    /// What was measured on a model, without a noise budget and without a time.
    pub fn new(evaluation: &Evaluation, trigger_sign: i8) -> Outcome {
        Outcome { measures: evaluation.map(SampleMean::from), trigger_sign, noise: None, seconds: 0.0 }
    }

    /// Whether a run can have given these numbers: shares are shares, and there are items behind every mean.
    pub fn is_possible(&self) -> bool {
        let possible = |(measure, e): (Measure, &SampleMean)| {
            e.is_missing()
                || (e.mean.is_finite()
                    && e.variance >= 0.0
                    && e.items <= 1 << 53
                    && (!measure.is_share() || (0.0..=1.0 + 1e-6).contains(&e.mean)))
        };
        let measured = !self.measures[Measure::Accuracy].is_missing();
        measured && self.measures.iter().all(possible) && self.seconds >= 0.0
    }

    /// Whether two runs gave the same bits. What only one of them has does not count, nor does time.
    pub fn agrees(&self, other: &Outcome) -> bool {
        let same = |(measure, mine): (Measure, &SampleMean)| {
            let theirs = &other.measures[measure];
            mine.is_missing() || theirs.is_missing() || mine == theirs
        };
        let noise = self.noise.is_none() || other.noise.is_none() || self.noise == other.noise;
        self.trigger_sign == other.trigger_sign && noise && self.measures.iter().all(same)
    }

    /// Whether `other` has a noise budget or a measure that is missing here.
    pub fn lacks(&self, other: &Outcome) -> bool {
        let measured = |(measure, mine): (Measure, &SampleMean)| {
            mine.is_missing() && !other.measures[measure].is_missing()
        };
        (self.noise.is_none() && other.noise.is_some()) || self.measures.iter().any(measured)
    }
}

/// The noise budget of logits and of token scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noise {
    /// Of the logits of step 3.
    pub logits: Budget,
    /// Of the token scores of step 2.
    pub scores: Budget,
}
