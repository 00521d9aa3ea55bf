//! Why a request was not answered: a status, a sentence, and perhaps a hint.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// A refusal. As JSON, `{"error": ..., "hint": ...}`.
#[derive(Clone, Debug, Serialize)]
pub struct Refusal {
    #[serde(skip)]
    status: StatusCode,
    error: String,
    hint: Option<&'static str>,
}

impl Refusal {
    /// With a status of its own.
    pub fn new(status: StatusCode, error: impl Into<String>) -> Refusal {
        Refusal { status, error: error.into(), hint: None }
    }

    /// A value that the engine refuses.
    pub fn value(error: impl ToString) -> Refusal {
        Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
    }

    /// Something that is not there.
    pub fn missing(what: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, what)
    }

    /// Too much to do at the moment.
    pub fn busy(what: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, what).hint("try again in a moment")
    }

    /// The same with a hint.
    pub fn hint(self, hint: &'static str) -> Refusal {
        Refusal { hint: Some(hint), ..self }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = self.status;
        let mut response = (status, Json(self)).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE || status == StatusCode::TOO_MANY_REQUESTS {
            response.headers_mut().insert("retry-after", axum::http::HeaderValue::from_static("1"));
        }
        response
    }
}
