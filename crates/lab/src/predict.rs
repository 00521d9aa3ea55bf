//! The serialised prediction: a [`RunRecord`](crate::run::RunRecord) in closed form, with critical values and the expected error.

use serde::{Deserialize, Serialize};
use superpose_core::config::{Config, ConfigError, Settings, share};
use superpose_core::noise::{Budget, Parts};
use superpose_core::{Measure, Measures};
use superpose_theory::critical::{Critical, Parameter, Target, critical};
use superpose_theory::laws::Law;
use superpose_theory::plan::expected_error;
use superpose_theory::predict::{ByFact, Dominant, Gap, Noise as Terms, uncovered_with};
use superpose_theory::{MIN_TIGHT_LEAD, Point, Rows, predict_with as theory};

use crate::run::Noise;

/// What is predicted of a configuration, and what makes it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PredictionRecord {
    /// The predicted measures.
    #[serde(flatten)]
    pub measures: Measures<Option<f64>>,
    /// Accuracies under Zipf's law with the same weight for all facts; the measures weigh facts by their use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_fact: Option<ByFact>,
    /// Rms error to expect of the accuracy; absent where the formulas are extrapolated.
    pub error: Option<f64>,
    /// Why it is not known.
    pub error_reason: Option<String>,
    /// The noise budget, by the names and in the units of a run.
    pub noise: Noise,
    /// The noise term that limits recall.
    pub dominant: Option<Dominant>,
    /// The accuracy that the critical values are for.
    pub target: Target,
    /// The size at which it is reached, the others fixed.
    pub critical: ByParameter<u64>,
    /// Why there is no such size.
    pub critical_reason: ByParameter<String>,
    /// Leading-order laws of three steps and of one, at the target accuracy.
    pub laws: Vec<LawRecord>,
    /// Leading-order conditions with their values.
    pub conditions: Vec<Condition>,
    /// What is not predicted, and why.
    pub gaps: Vec<Silence>,
    /// The statistics of the input embeddings, if they were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Rows>,
    /// The full configuration.
    pub config: Settings,
    /// The version that predicted.
    pub version: String,
}

/// Something for each parameter that can be solved for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ByParameter<X> {
    /// Training samples.
    pub samples: Option<X>,
    /// Embedding dimension.
    pub dim: Option<X>,
    /// Width of the MLP.
    pub width: Option<X>,
    /// Sequence length.
    pub length: Option<X>,
    /// Number of facts.
    pub vocab: Option<X>,
}

impl<X> ByParameter<X> {
    fn new(mut f: impl FnMut(Parameter) -> Option<X>) -> ByParameter<X> {
        ByParameter {
            samples: f(Parameter::Samples),
            dim: f(Parameter::Dim),
            width: f(Parameter::Width),
            length: f(Parameter::Length),
            vocab: f(Parameter::Vocab),
        }
    }
}

/// The leading-order law of a model: the largest of several required numbers of samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LawRecord {
    /// The model and the number of steps.
    pub name: String,
    /// The critical number of samples; absent where a condition without samples fails.
    pub samples: Option<f64>,
    /// What requires the most samples; where a condition fails, what it is about.
    pub binds: String,
    /// That number of samples in symbols, or the condition.
    pub formula: String,
    /// Exponents of d, L and V in the number of samples at this point.
    pub exponents: Option<[f64; 3]>,
}

impl LawRecord {
    fn of(point: &Point, measure: Measure, accuracy: f64) -> Option<LawRecord> {
        let law = Law::of(point, measure, accuracy)?;
        let samples = law.samples();
        let (subject, formula) = match law.failing() {
            Some(need) => (need.subject, need.statement.clone()),
            None => (law.binding().subject, law.binding().formula.clone()),
        };
        let exponents = samples.and_then(|_| Law::exponents(point, measure, accuracy));
        Some(LawRecord { name: law.name, samples, binds: subject.word().into(), formula, exponents })
    }
}

/// A leading-order condition with its values, and as a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Condition {
    /// What it is about.
    pub subject: String,
    /// The inequality.
    pub statement: String,
    /// Its left side.
    pub left: f64,
    /// Its right side.
    pub right: f64,
    /// Whether it holds.
    pub holds: bool,
    /// All of it in words.
    pub text: String,
}

impl From<&superpose_theory::conditions::Condition> for Condition {
    fn from(condition: &superpose_theory::conditions::Condition) -> Condition {
        Condition {
            subject: condition.subject.word().into(),
            statement: condition.statement.clone(),
            left: condition.left,
            right: condition.right,
            holds: condition.holds(),
            text: condition.to_string(),
        }
    }
}

/// A quantity that is not predicted, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Silence {
    /// The quantity and the reason.
    #[serde(flatten)]
    pub gap: Gap,
    /// The reason in words.
    pub text: String,
}

/// Predicts, and solves for every size at which recall reaches the accuracy.
pub fn predict(config: &Config, accuracy: f64) -> Result<PredictionRecord, ConfigError> {
    predict_with(config, None, accuracy)
}

/// The same from measured statistics of the input embeddings.
pub fn predict_with(
    config: &Config,
    rows: Option<Rows>,
    accuracy: f64,
) -> Result<PredictionRecord, ConfigError> {
    share("accuracy", accuracy)?;
    let prediction = theory(config, rows);
    let point = Point { rows, ..Point::from(config) };
    let solved = uncovered_with(config, rows.is_some(), Measure::Accuracy)
        .map_or_else(|| Ok(solve(&point, accuracy)), |why| Err(why.text().to_owned()));
    let expected = solved.as_ref().map_err(String::clone).and_then(|_| expected_error(&point));
    let mut covered = vec![Measure::Accuracy, Measure::OneStepAccuracy];
    // The laws are for random vectors.
    covered.retain(|&measure| rows.is_none() && uncovered_with(config, false, measure).is_none());
    // The laws of three steps are for attention on one position.
    covered.retain(|&measure| measure == Measure::OneStepAccuracy || point.lead >= MIN_TIGHT_LEAD);
    let silence = |&gap: &Gap| Silence { gap, text: gap.reason.text().into() };
    Ok(PredictionRecord {
        measures: prediction.measures,
        by_fact: prediction.by_fact,
        error: expected.clone().ok(),
        error_reason: expected.err(),
        noise: budgets(&prediction.noise, config),
        dominant: prediction.dominant,
        target: Target::recall(accuracy),
        critical: ByParameter::new(|p| Some(solved.as_ref().ok()?[p as usize].value()? as u64)),
        critical_reason: ByParameter::new(|p| match &solved {
            Ok(all) => all[p as usize].reason(p),
            Err(reason) => Some(reason.clone()),
        }),
        laws: covered.into_iter().filter_map(|measure| LawRecord::of(&point, measure, accuracy)).collect(),
        conditions: prediction.conditions.iter().map(Condition::from).collect(),
        gaps: prediction.gaps.iter().map(silence).collect(),
        rows,
        config: (**config).clone(),
        version: env!("CARGO_PKG_VERSION").into(),
    })
}

/// All critical values, in the order of [`Parameter::ALL`]. They do not depend on each other: one thread each.
fn solve(point: &Point, accuracy: f64) -> Vec<Critical> {
    std::thread::scope(|scope| {
        let search = |parameter| scope.spawn(move || critical(point, parameter, accuracy));
        let workers: Vec<_> = Parameter::ALL.iter().copied().map(search).collect();
        workers.into_iter().map(|worker| worker.join().expect("a search does not panic")).collect()
    })
}

/// Noise by the names and in the units of a run: the lead sets gamma so that the trigger's score is `lead ln(L + 1)`.
fn budgets(noise: &Terms, config: &Settings) -> Noise {
    let logits = noise.logits.map_or(Budget::default(), |logits| Parts {
        signal: Some(logits.signal),
        mean_bias: Some(logits.mean_bias),
        interference: Some(logits.interference),
        gradient_noise: Some(logits.gradient_noise),
        output_overlap: Some(logits.output_overlap),
        mlp_noise: Some(logits.mlp_noise),
        attention_leak: None,
    });
    let scores = noise.scores.map_or(Budget::default(), |scores| {
        let unit = (config.lead * libm::log1p(config.length as f64)).powi(2) / scores.signal;
        let sized = |part: f64| Some(unit * part).filter(|part| part.is_finite());
        Parts {
            signal: sized(scores.signal),
            mean_bias: sized(scores.mean_bias),
            gradient_noise: sized(scores.gradient_noise),
            mlp_noise: sized(scores.mlp_noise),
            output_overlap: sized(scores.output_overlap),
            ..Budget::default()
        }
    });
    Noise { logits, scores }
}
