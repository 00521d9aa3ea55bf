//! Part 9. Rules of the memory steps on tokens with Zipf frequencies: recall against the exponent, recall of facts ordered by
//! frequency, and the critical number of samples (theory: optimiser).

use serde::{Deserialize, Serialize};
use superpose_core::config::{Config, EarlyRule, Trigger};
use superpose_core::{Measure, Settings};
use superpose_lab::cell::Outcome;
use superpose_lab::run::recall_by_fact;
use superpose_store::interval::{Interval, SampleMean, share};
use superpose_theory::frequency::frequent_token_score;

use super::{Finding, Part, Study, StudyError};

/// Sequences per fact of a curve.
const EACH: usize = 8;

/// The Zipf exponent of the curves over facts, that of text.
pub const TEXT_EXPONENT: f64 = 1.0;

/// The largest number of samples of a threshold: with gradient steps a rare fact may be out of reach for any number.
pub const MAX_THRESHOLD_SAMPLES: u64 = 1 << 16;

/// What one rule reaches at one exponent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RulePoint {
    /// The rule of the memory steps.
    pub rule: EarlyRule,
    /// Where the trigger is added.
    pub trigger: Trigger,
    /// Exponent of Zipf's law; 0: uniform tokens.
    pub exponent: f64,
    /// Recall, by frequency of use.
    pub recall: Interval,
    /// Memory accuracy, attention placed.
    pub memory: Interval,
    /// One-step accuracy.
    pub one_step: Interval,
    /// Lock rate.
    pub lock: Interval,
    /// The largest score of a token over that of the trigger, to leading order, for gradient and Muon steps with the trigger in keys;
    /// above 1 attention misses the trigger.
    pub frequent: Option<f64>,
}

/// Recall of facts of similar frequency.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RankPoint {
    /// Geometric mean of the first and the last rank; 1 is the most frequent fact.
    pub rank: f64,
    /// Recall, every fact counted once.
    pub recall: Interval,
}

/// Recall of facts ordered by frequency, by one rule.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RankCurve {
    /// The rule.
    pub rule: EarlyRule,
    /// Points in the order of ranks.
    pub points: Vec<RankPoint>,
}

/// The critical number of samples of one rule at one exponent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RuleThreshold {
    /// The rule.
    pub rule: EarlyRule,
    /// Exponent of Zipf's law.
    pub exponent: f64,
    /// The threshold.
    pub finding: Finding,
}

/// Results of the part on rules.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Optimiser {
    /// Facts.
    pub vocab: usize,
    /// Dimension.
    pub dim: usize,
    /// Sequence length.
    pub length: usize,
    /// Samples of points and curves.
    pub samples: usize,
    /// Seeds of points and curves.
    pub seeds: usize,
    /// Points by rule, exponent and trigger.
    pub points: Vec<RulePoint>,
    /// Recall by rank at exponent 1, trigger in keys.
    pub curves: Vec<RankCurve>,
    /// Critical N of recall, trigger in keys.
    pub thresholds: Vec<RuleThreshold>,
}

impl Optimiser {
    /// The point of a rule.
    pub fn point(&self, rule: EarlyRule, trigger: Trigger, exponent: f64) -> Option<&RulePoint> {
        self.points.iter().find(|p| p.rule == rule && p.trigger == trigger && p.exponent == exponent)
    }
}

pub fn run(study: &mut Study<'_, '_>) -> Result<Optimiser, StudyError> {
    let scale = study.scale;
    let [vocab, dim, length] = scale.pick([128, 64, 8], [256, 128, 16], [512, 192, 32]);
    let (samples, seeds) = scale.pick((4096, 6), (8192, 12), (16_384, 12));
    let base = study.settings(Part::Optimiser, 0, [vocab, dim, length]);
    let base = Settings { samples, ..base };
    let (points, curves) = (points(study, &base, seeds)?, curves(study, &base, seeds)?);
    let mut thresholds = Vec::new();
    for exponent in [0.0, 0.5, TEXT_EXPONENT] {
        for rule in [EarlyRule::Gradient, EarlyRule::Muon] {
            let settings = study.settings(Part::Optimiser, 1 + thresholds.len(), [vocab, dim, length]);
            let settings = Settings { early_rule: rule, ..with_exponent(settings, exponent) };
            let finding = study.samples_up_to(settings, Measure::Accuracy, MAX_THRESHOLD_SAMPLES)?;
            thresholds.push(RuleThreshold { rule, exponent, finding });
        }
    }
    Ok(Optimiser { vocab, dim, length, samples, seeds, points, curves, thresholds })
}

fn with_exponent(settings: Settings, exponent: f64) -> Settings {
    Settings { zipf: (exponent > 0.0).then_some(exponent), ..settings }
}

/// Measures of every rule, exponent and place of the trigger, on the same seeds.
fn points(study: &mut Study<'_, '_>, base: &Settings, seeds: usize) -> Result<Vec<RulePoint>, StudyError> {
    let mut places = Vec::new();
    let mut cells: Vec<Config> = Vec::new();
    for trigger in [Trigger::Keys, Trigger::Values] {
        for exponent in [0.0, 0.5, TEXT_EXPONENT, 1.5, 2.0] {
            for &rule in EarlyRule::ALL {
                let settings =
                    Settings { trigger, early_rule: rule, ..with_exponent(base.clone(), exponent) };
                let config = settings.check()?;
                cells.extend((0..seeds).map(|seed| config.repeat(seed)));
                places.push((rule, trigger, exponent));
            }
        }
    }
    (study.say)(&format!("rules of the memory steps, V = {}, d = {}", base.vocab, base.dim));
    let outcomes = study.outcomes(&cells)?;
    let point = |(&(rule, trigger, exponent), outcomes): (&(EarlyRule, Trigger, f64), &[Outcome])| {
        let of = |measure| {
            let values = outcomes.iter().map(|outcome| outcome.measures[measure]);
            share(&values.collect::<Vec<_>>(), base.vocab)
        };
        RulePoint {
            rule,
            trigger,
            exponent,
            recall: of(Measure::Accuracy),
            memory: of(Measure::MemoryAccuracy),
            one_step: of(Measure::OneStepAccuracy),
            lock: of(Measure::LockRate),
            frequent: (trigger == Trigger::Keys)
                .then(|| frequent_token_score(base.vocab, base.length, exponent, rule))
                .flatten(),
        }
    };
    Ok(places.iter().zip(outcomes.chunks(seeds)).map(point).collect())
}

/// Recall by rank at the exponent of text, in ranges of ranks that double.
fn curves(study: &mut Study<'_, '_>, base: &Settings, seeds: usize) -> Result<Vec<RankCurve>, StudyError> {
    (study.say)(&format!("recall of facts by frequency, V = {}", base.vocab));
    let backend = study.backend;
    let curve = |&rule: &EarlyRule| -> Result<RankCurve, StudyError> {
        let config = Settings { early_rule: rule, ..with_exponent(base.clone(), TEXT_EXPONENT) }.check()?;
        let recalls =
            backend.try_map(seeds, |seed| recall_by_fact(&config.repeat(seed), EACH, &backend.alone()))?;
        let mut points = Vec::new();
        let mut first = 0;
        while first < base.vocab {
            // Ranks 1, 2 to 3, 4 to 7 and so on; tokens are numbered by frequency.
            let end = (2 * first + 1).min(base.vocab);
            let items = end - first;
            let mean = |recall: &Vec<f64>| {
                let mean = recall[first..end].iter().sum::<f64>() / items as f64;
                SampleMean { mean, variance: mean * (1.0 - mean), items }
            };
            let means: Vec<SampleMean> = recalls.iter().map(mean).collect();
            let rank = ((first + 1) as f64 * end as f64).sqrt();
            points.push(RankPoint { rank, recall: share(&means, items) });
            first = end;
        }
        Ok(RankCurve { rule, points })
    };
    EarlyRule::ALL.iter().map(curve).collect()
}
