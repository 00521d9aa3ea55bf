//! The closed form over HTTP: a phase map, and the prediction at one point.

use axum::Json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superpose_lab::advice::{Advice, advice};
use superpose_lab::explore::{Explore, Map};
use superpose_lab::phase::{MAX_VALUES, MIN_VALUES, Span};
use superpose_lab::predict::{self as lab, PredictionRecord};

use crate::app::{Answer, Shared};
use crate::error::ApiError;
use crate::extract::JsonBody;
use crate::settings::RequestSettings;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MapRequest {
    /// The model; its values of the two sizes are not used.
    #[serde(default)]
    config: RequestSettings,
    /// The horizontal axis.
    x: Span,
    /// The vertical axis.
    y: Span,
    /// Values on each axis.
    #[serde(default = "resolution")]
    #[schemars(range(min = MIN_VALUES, max = MAX_VALUES))]
    resolution: usize,
    /// The level of the boundary.
    #[serde(default = "half")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    accuracy: f64,
}

fn resolution() -> usize {
    64
}

fn half() -> f64 {
    0.5
}

pub async fn map(app: Shared, JsonBody(request): JsonBody<MapRequest>) -> Answer<Map> {
    let MapRequest { config, x, y, resolution, accuracy } = request;
    let settings = config.settings();
    settings.three_steps_only().map_err(ApiError::invalid)?;
    let explore = Explore::new(settings, x, y, resolution, accuracy).map_err(ApiError::invalid)?;
    let threads = app.threads;
    app.quick.run(move || Ok(explore.map(threads))).await.map(Json)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PredictRequest {
    /// The model.
    #[serde(default)]
    config: RequestSettings,
    /// The accuracy of the critical values.
    #[serde(default = "half")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    accuracy: f64,
}

/// A prediction with advice.
#[derive(Serialize, JsonSchema)]
pub struct AdvisedPrediction {
    #[serde(flatten)]
    prediction: PredictionRecord,
    /// What limits recall, and which size helps most.
    advice: Advice,
}

pub async fn predict(app: Shared, JsonBody(request): JsonBody<PredictRequest>) -> Answer<AdvisedPrediction> {
    let PredictRequest { config, accuracy } = request;
    let config = config.check()?;
    let work = move || {
        let prediction = lab::predict(&config, accuracy).map_err(ApiError::invalid)?;
        let advice = advice(&config, &prediction);
        Ok(AdvisedPrediction { prediction, advice })
    };
    app.quick.run(work).await.map(Json)
}
