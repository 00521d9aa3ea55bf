//! Runs over HTTP.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use super::View;
use crate::app::App;
use crate::body::{Asked, Given, Place};
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    #[serde(default)]
    config: Given,
}

#[derive(Serialize)]
pub struct List {
    runs: Vec<View>,
}

pub async fn submit(
    State(app): State<Arc<App>>,
    Asked(submission): Asked<Submission>,
) -> Result<(StatusCode, Json<View>), Refusal> {
    let view = app.runs.submit(submission.config.check()?)?;
    Ok((StatusCode::CREATED, Json(view)))
}

pub async fn list(State(app): State<Arc<App>>) -> Json<List> {
    Json(List { runs: app.runs.since(0).runs })
}

pub async fn show(State(app): State<Arc<App>>, Place(id): Place<u64>) -> Result<Json<View>, Refusal> {
    app.runs.show(id).map(Json)
}

pub async fn remove(State(app): State<Arc<App>>, Place(id): Place<u64>) -> Result<Json<View>, Refusal> {
    app.runs.remove(id).map(Json)
}
