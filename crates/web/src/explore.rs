//! The closed form over HTTP: a map around a point, and the point itself.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use superpose_lab::advice::{Advice, advice};
use superpose_lab::explore::{Explore, Map};
use superpose_lab::phase::Span;
use superpose_lab::predict::{self as lab, PredictionRecord};

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

fn resolution() -> usize {
    64
}

fn half() -> f64 {
    0.5
}

/// A map around a point.
pub async fn map(State(app): State<Arc<App>>, Asked(asked): Asked<MapRequest>) -> Result<Json<Map>, Refusal> {
    let MapRequest { config, x, y, resolution, accuracy } = asked;
    let settings = config.settings();
    settings.three_steps_only().map_err(Refusal::value)?;
    let explore = Explore::new(settings, x, y, resolution, accuracy);
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

/// A prediction with advice.
#[derive(Serialize)]
pub struct Advised {
    #[serde(flatten)]
    prediction: PredictionRecord,
    advice: Advice,
}

/// The point itself.
pub async fn predict(
    State(app): State<Arc<App>>,
    Asked(asked): Asked<PredictRequest>,
) -> Result<Json<Advised>, Refusal> {
    let PredictRequest { config, accuracy } = asked;
    let config = config.check()?;
    let work = move || {
        let prediction = lab::predict(&config, accuracy).map_err(Refusal::value)?;
        let advice = advice(&config, &prediction);
        Ok(Advised { prediction, advice })
    };
    app.quick.run(work).await.map(Json)
}
