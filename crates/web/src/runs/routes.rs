//! Runs over HTTP.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_REPEATS, RunView};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{JsonBody, PathParams};
use crate::settings::RequestSettings;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    /// The model, with fewer repeats than elsewhere.
    #[serde(default)]
    #[schemars(extend("properties" = { "repeats": { "maximum": MAX_REPEATS } }))]
    config: RequestSettings,
}

#[derive(Serialize, JsonSchema)]
pub struct RunList {
    runs: Vec<RunView>,
}

pub async fn submit(
    State(app): State<Arc<App>>,
    JsonBody(submission): JsonBody<Submission>,
) -> Result<(StatusCode, Json<RunView>), ApiError> {
    let view = app.runs.submit(submission.config.check()?)?;
    Ok((StatusCode::CREATED, Json(view)))
}

pub async fn list(State(app): State<Arc<App>>) -> Json<RunList> {
    Json(RunList { runs: app.runs.since(0).runs })
}

pub async fn show(
    State(app): State<Arc<App>>,
    PathParams(id): PathParams<u64>,
) -> Result<Json<RunView>, ApiError> {
    app.runs.show(id).map(Json)
}

pub async fn remove(
    State(app): State<Arc<App>>,
    PathParams(id): PathParams<u64>,
) -> Result<Json<RunView>, ApiError> {
    app.runs.remove(id).map(Json)
}
