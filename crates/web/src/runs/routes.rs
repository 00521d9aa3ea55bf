//! Runs over HTTP.

use axum::Json;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_REPEATS, RunView};
use crate::app::{Answer, Shared};
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
    app: Shared,
    JsonBody(submission): JsonBody<Submission>,
) -> Result<(StatusCode, Json<RunView>), ApiError> {
    let view = app.runs.submit(submission.config.check()?)?;
    Ok((StatusCode::CREATED, Json(view)))
}

pub async fn list(app: Shared) -> Json<RunList> {
    Json(RunList { runs: app.runs.since(0).runs })
}

pub async fn show(app: Shared, PathParams(id): PathParams<u64>) -> Answer<RunView> {
    app.runs.show(id).map(Json)
}

pub async fn remove(app: Shared, PathParams(id): PathParams<u64>) -> Answer<RunView> {
    app.runs.remove(id).map(Json)
}
