//! The serialised result of a run: measures with intervals, and the configuration to reproduce it.

use serde::{Deserialize, Serialize};

use superpose_core::backend::Numerics;
use superpose_core::config::{Config, Settings};
use superpose_core::evaluate::Evaluation;
use superpose_core::noise::{Budget, Parts};
use superpose_core::{Measures, words};

use super::{Inputs, Noise, Repeat};
use crate::interval::{Interval, intervals, ratio};

words! {
    /// Where test sequences come from.
    TestSource {
        /// Drawn from the configuration.
        Drawn = "drawn",
        /// Drawn from the configuration, although training sequences were given.
        DrawnForGivenTraining = "drawn_for_given_training",
        /// Given.
        Given = "given",
    }
}

/// The result of a run. Accuracies and the like are means over repeats with 95% intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunRecord {
    /// The full configuration.
    pub config: Settings,
    /// Repeats run, with seeds `seed`, `seed + 1`, ...
    #[schemars(range(min = 1))]
    pub repeats: usize,
    /// What the intervals cover.
    pub interval: String,
    /// Where the test sequences come from.
    pub test: TestSource,
    /// Root mean square length of the input embeddings over the length of the trigger, if they are given.
    #[serde(default)]
    pub rows_over_trigger: Option<f64>,
    /// The measures, means over repeats.
    #[serde(flatten)]
    pub measures: Measures<Interval>,
    /// The measures, repeat by repeat.
    #[serde(default)]
    pub by_seed: Measures<Vec<f64>>,
    /// Sign of what step 2 gave the trigger in more than half of the repeats; 0 where there is none.
    pub trigger_sign: i8,
    /// The same, repeat by repeat.
    pub trigger_signs: Vec<i8>,
    /// Rate of step 2, repeat by repeat.
    pub gamma: Vec<f64>,
    /// Rate of step 3, repeat by repeat; it has no effect in the infinitesimal regime.
    pub eta2: Vec<f64>,
    /// The noise budget, averaged over repeats.
    pub noise: Noise,
    /// Standard deviations of the noise parts over the signal, with 95% intervals over repeats; absent for one repeat.
    #[serde(default)]
    pub noise_intervals: Option<NoiseIntervals>,
    /// Training, per repeat, without the making of data.
    pub train_seconds: f64,
    /// Drawing embeddings and data, per repeat.
    pub data_seconds: f64,
    /// Evaluation and noise budget, per repeat.
    pub evaluate_seconds: f64,
    /// The arithmetic that ran, such as `cpu` or `cuda-sm90`.
    #[serde(default)]
    pub numerics: Numerics,
    /// The version that ran.
    pub version: String,
}

/// The standard deviation of each noise part over the signal; that of the signal itself is absent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NoiseIntervals {
    /// Of the logits of step 3.
    pub logits: Parts<Option<Interval>>,
    /// Of the token scores of step 2.
    pub scores: Parts<Option<Interval>>,
}

impl RunRecord {
    pub(super) fn new(config: &Config, inputs: &Inputs, numerics: Numerics, repeats: &[Repeat]) -> RunRecord {
        let evaluations: Vec<Evaluation> = repeats.iter().map(|repeat| repeat.evaluation).collect();
        let mean = |of: fn(&Repeat) -> f64| repeats.iter().map(of).sum::<f64>() / repeats.len() as f64;
        let trigger_signs: Vec<i8> = repeats.iter().map(|repeat| repeat.trigger_sign).collect();
        let interval = match (repeats.len(), inputs.import.is_some()) {
            (1, _) => "95%, over test samples alone (one repeat)",
            (_, false) => "95%, over repeats and test samples",
            (_, true) => "95%, over repeats (what was not imported) and test samples",
        };
        RunRecord {
            config: (**config).clone(),
            repeats: repeats.len(),
            interval: interval.into(),
            test: inputs.test_source(),
            measures: intervals(&evaluations, config.vocab),
            rows_over_trigger: repeats.first().and_then(|repeat| repeat.rows_over_trigger),
            by_seed: by_seed(evaluations.iter().map(|evaluation| evaluation.map(|tally| tally.mean()))),
            trigger_sign: majority(&trigger_signs),
            trigger_signs,
            gamma: repeats.iter().map(|repeat| repeat.gamma).collect(),
            eta2: repeats.iter().map(|repeat| repeat.eta2).collect(),
            noise: Noise {
                logits: mean_budget(repeats, |noise| &noise.logits),
                scores: mean_budget(repeats, |noise| &noise.scores),
            },
            noise_intervals: (repeats.len() > 1).then(|| NoiseIntervals {
                logits: over_signal(repeats, |noise| &noise.logits),
                scores: over_signal(repeats, |noise| &noise.scores),
            }),
            train_seconds: mean(|repeat| repeat.train_seconds),
            data_seconds: mean(|repeat| repeat.data_seconds),
            evaluate_seconds: mean(|repeat| repeat.evaluate_seconds),
            numerics,
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// Whether the logits have a noise budget: that of gradient steps, if every label is that of the informative token.
    pub fn has_logit_budget(&self) -> bool {
        self.noise.logits.signal.is_some()
    }
}

/// Returns the mean of each measure, repeat by repeat.
pub fn by_seed(means: impl Iterator<Item = Measures<f64>> + Clone) -> Measures<Vec<f64>> {
    Measures::from_fn(|measure| means.clone().map(|means| means[measure]).collect())
}

pub(crate) fn majority(signs: &[i8]) -> i8 {
    let most = |sign: i8| 2 * signs.iter().filter(|&&s| s == sign).count() > signs.len();
    [1, -1].into_iter().find(|&sign| most(sign)).unwrap_or(0)
}

/// The mean of each part over the repeats that have it.
fn mean_budget(repeats: &[Repeat], of: fn(&Noise) -> &Budget) -> Budget {
    let values = collected(repeats.iter().map(|repeat| *of(&repeat.noise)));
    values.map(|values| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64))
}

/// The standard deviation of each part over the signal, with its interval. As in [`mean_budget`], squares are averaged over
/// repeats before the root is taken.
fn over_signal(repeats: &[Repeat], of: fn(&Noise) -> &Budget) -> Parts<Option<Interval>> {
    let pairs = collected(repeats.iter().map(|repeat| {
        let budget = of(&repeat.noise);
        budget.map(|part| part.zip(budget.signal))
    }));
    let root = |square: Interval| Interval {
        mean: square.mean.sqrt(),
        low: square.low.max(0.0).sqrt(),
        high: square.high.sqrt(),
    };
    Parts { signal: None, ..pairs.map(|pairs| ratio(pairs).map(root)) }
}

/// The values of each part, of the repeats that have it.
fn collected<X: Copy>(repeats: impl Iterator<Item = Parts<Option<X>>>) -> Parts<Vec<X>> {
    let none = Parts::<()>::default().map(|()| Vec::new());
    repeats.fold(none, |values, repeat| {
        values.zip(&repeat, |values, part| values.iter().copied().chain(*part).collect())
    })
}
