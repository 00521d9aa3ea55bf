//! What a cell leaves behind.

use serde::{Deserialize, Serialize};
use superpose_core::evaluate::Evaluation;

use crate::interval::Measure;
use crate::run::Noise;

/// The measures of one run of one seed (theory section 4).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// Recall with the trained attention.
    pub accuracy: Measure,
    /// Recall with the attention placed on the informative position.
    pub memory_accuracy: Measure,
    /// Reading the first gradient alone.
    pub one_step_accuracy: Measure,
    /// How often the largest attention weight is on the informative position.
    pub lock_rate: Measure,
    /// Attention weight on the informative position.
    pub attention_mass: Measure,
    /// Right label's logit minus the largest other.
    pub margin: Measure,
    /// Sign of what step 2 gave the trigger.
    pub trigger_sign: i8,
    /// The noise budget, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
    /// How long the run took, on the threads that it had. The one number here that is not reproducible.
    pub seconds: f64,
}

impl Outcome {
    /// What was read off a model, without a noise budget and without a time.
    pub fn new(evaluation: &Evaluation, trigger_sign: i8) -> Outcome {
        Outcome {
            accuracy: evaluation.accuracy.into(),
            memory_accuracy: evaluation.memory_accuracy.into(),
            one_step_accuracy: evaluation.one_step_accuracy.into(),
            lock_rate: evaluation.lock_rate.into(),
            attention_mass: evaluation.attention_mass.into(),
            margin: evaluation.margin.into(),
            trigger_sign,
            noise: None,
            seconds: 0.0,
        }
    }

    /// The measures with their names, in the order of the theory page.
    pub fn named(&self) -> [(&'static str, &Measure); 6] {
        [
            ("accuracy", &self.accuracy),
            ("memory_accuracy", &self.memory_accuracy),
            ("one_step_accuracy", &self.one_step_accuracy),
            ("lock_rate", &self.lock_rate),
            ("attention_mass", &self.attention_mass),
            ("margin", &self.margin),
        ]
    }

    /// Whether a run can have given these numbers: shares are shares, and there are items behind every mean.
    pub fn is_possible(&self) -> bool {
        let plain = |m: &Measure| m.mean.is_finite() && m.variance >= 0.0 && (1..=1 << 53).contains(&m.items);
        let share = |(name, m): &(&str, &Measure)| *name == "margin" || (0.0..=1.0 + 1e-6).contains(&m.mean);
        self.named().iter().all(|named| plain(named.1) && share(named)) && self.seconds >= 0.0
    }

    /// Whether two runs gave the same bits. A noise budget that only one of them has does not count, nor does time.
    pub fn agrees(&self, other: &Outcome) -> bool {
        let noise = if self.noise.is_some() && other.noise.is_some() { other.noise } else { self.noise };
        *self == Outcome { noise, seconds: self.seconds, ..*other }
    }
}
