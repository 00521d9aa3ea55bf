//! The error of every route: a status and `{"error": ..., "hint": ...}`.

use axum::Json;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

/// Why a request was not answered.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ApiError {
    #[serde(skip)]
    status: StatusCode,
    /// What failed, the value, and what is allowed.
    pub error: String,
    /// What to do about it.
    hint: Option<&'static str>,
}

impl ApiError {
    pub fn new(status: StatusCode, error: impl Into<String>) -> ApiError {
        ApiError { status, error: error.into(), hint: None }
    }

    /// A value that is not allowed (422).
    pub fn invalid(error: impl ToString) -> ApiError {
        ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
    }

    /// Something that does not exist (404).
    pub fn not_found(error: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::NOT_FOUND, error)
    }

    /// A limit on concurrent work (503).
    pub fn busy(error: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, error).hint("try again in a moment")
    }

    pub fn hint(self, hint: &'static str) -> ApiError {
        ApiError { hint: Some(hint), ..self }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = self.status;
        let mut response = (status, Json(self)).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE || status == StatusCode::TOO_MANY_REQUESTS {
            response.headers_mut().insert("retry-after", HeaderValue::from_static("1"));
        }
        response
    }
}
