//! The closed form over HTTP: a map around a point, and the point itself.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use superpose_core::config::{Config, Settings};
use superpose_core::noise::{Budget, Parts};
use superpose_lab::advice::{Advice, advice};
use superpose_lab::explore::{Explore, Map, Range};
use superpose_lab::phase::Size;
use superpose_theory::critical::{Critical, Parameter, Target, critical};
use superpose_theory::plan::expected_error;
use superpose_theory::predict::{Dominant, Gap, Noise, uncovered};
use superpose_theory::{Point, predict as theory};

use crate::app::App;
use crate::body::{Asked, Given};
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapRequest {
    #[serde(default)]
    config: Given,
    x: Span,
    y: Span,
    #[serde(default = "resolution")]
    resolution: usize,
    #[serde(default = "half")]
    accuracy: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Span {
    size: Size,
    low: u64,
    high: u64,
}

fn resolution() -> usize {
    64
}

fn half() -> f64 {
    0.5
}

impl From<Span> for Range {
    fn from(Span { size, low, high }: Span) -> Range {
        Range { size, low, high }
    }
}

/// A map around a point.
pub async fn map(
    State(app): State<Arc<App>>,
    Asked(asked): Asked<MapRequest>,
) -> Result<Json<Map>, Refusal> {
    let MapRequest { config, x, y, resolution, accuracy } = asked;
    let explore = Explore::new(config.check()?, x.into(), y.into(), resolution, accuracy);
    let explore = explore.map_err(Refusal::value)?;
    let threads = app.threads;
    app.quick.run(move || Ok(explore.map(threads))).await.map(Json)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PredictRequest {
    #[serde(default)]
    config: Given,
    #[serde(default = "half")]
    accuracy: f64,
}

#[derive(Serialize)]
pub struct Advised {
    #[serde(flatten)]
    prediction: Prediction,
    advice: Advice,
}

/// The point itself.
pub async fn predict(
    State(app): State<Arc<App>>,
    Asked(asked): Asked<PredictRequest>,
) -> Result<Json<Advised>, Refusal> {
    let PredictRequest { config, accuracy } = asked;
    let config = config.check()?;
    if !(accuracy > 0.0 && accuracy < 1.0) {
        return Err(Refusal::value(format!("accuracy = {accuracy}: must be above 0 and below 1")));
    }
    app.quick.run(move || Ok(Prediction::advised(&config, accuracy))).await.map(Json)
}

/// TEMPORARY until it is in the laboratory.
#[derive(Serialize)]
pub struct Prediction {
    pub accuracy: Option<f64>,
    memory_accuracy: Option<f64>,
    lock_rate: Option<f64>,
    one_step_accuracy: Option<f64>,
    error: Option<f64>,
    error_reason: Option<String>,
    noise: BothBudgets,
    dominant: Option<Dominant>,
    target: Target,
    critical: ByParameter<u64>,
    critical_reason: ByParameter<String>,
    conditions: Vec<ConditionLine>,
    gaps: Vec<GapLine>,
    config: Settings,
    version: &'static str,
}

#[derive(Serialize)]
struct BothBudgets {
    logits: Budget,
    scores: Budget,
}

#[derive(Serialize)]
struct ByParameter<X> {
    samples: Option<X>,
    dim: Option<X>,
    width: Option<X>,
    length: Option<X>,
    vocab: Option<X>,
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

#[derive(Serialize)]
struct ConditionLine {
    subject: &'static str,
    statement: String,
    left: f64,
    right: f64,
    holds: bool,
    text: String,
}

#[derive(Serialize)]
struct GapLine {
    #[serde(flatten)]
    gap: Gap,
    text: &'static str,
}

impl Prediction {
    pub fn at(config: &Config, target: f64) -> Prediction {
        Prediction::advised(config, target).prediction
    }

    fn advised(config: &Config, target: f64) -> Advised {
        let prediction = theory(config);
        let point = Point::from(config);
        let solved: Result<Vec<Critical>, _> = match uncovered(config) {
            Some(reason) => Err(reason),
            None => Ok(Parameter::ALL.map(|p| critical(&point, p, target)).to_vec()),
        };
        let of = |parameter: Parameter| Parameter::ALL.iter().position(|&p| p == parameter).unwrap_or(0);
        let expected = match (&solved, expected_error(&point)) {
            (Err(reason), _) => Err(reason.text().to_owned()),
            (Ok(_), expected) => expected,
        };
        let pairs: Vec<_> = Parameter::ALL.iter().copied().zip(solved.clone().unwrap_or_default()).collect();
        let advice = advice(config, &prediction, target, &pairs);
        let report = Prediction {
            accuracy: prediction.accuracy,
            memory_accuracy: prediction.memory_accuracy,
            lock_rate: prediction.lock_rate,
            one_step_accuracy: prediction.one_step_accuracy,
            error: expected.clone().ok(),
            error_reason: expected.err(),
            noise: budgets(&prediction.noise, config),
            dominant: prediction.dominant,
            target: Target::recall(target),
            critical: ByParameter::new(|p| {
                solved.as_ref().ok().and_then(|all| all[of(p)].value()).map(|x| x as u64)
            }),
            critical_reason: ByParameter::new(|p| match &solved {
                Ok(all) => all[of(p)].reason(p),
                Err(reason) => Some(reason.text().to_owned()),
            }),
            conditions: prediction
                .conditions
                .iter()
                .map(|condition| ConditionLine {
                    subject: condition.subject.word(),
                    statement: condition.statement.clone(),
                    left: condition.left,
                    right: condition.right,
                    holds: condition.holds(),
                    text: condition.to_string(),
                })
                .collect(),
            gaps: prediction.gaps.iter().map(|&gap| GapLine { gap, text: gap.reason.text() }).collect(),
            config: (**config).clone(),
            version: env!("CARGO_PKG_VERSION"),
        };
        Advised { prediction: report, advice }
    }
}

fn budgets(noise: &Noise, config: &Settings) -> BothBudgets {
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
        let unit = (config.lead * (config.length as f64).ln_1p()).powi(2) / scores.signal;
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
    BothBudgets { logits, scores }
}
