//! Extractors whose errors are [`ApiError`]s: the JSON body and the parameters of the path.
//!
//! A body has a maximum size and must arrive within a timeout, so that a client cannot hold a connection for long.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;

use crate::error::ApiError;
use crate::json;

/// Size of a body at most.
pub const MAX_BODY_BYTES: usize = 64 << 10;
/// Bytes beyond the maximum that are read and discarded, because clients read no response before they have sent the request.
const MAX_DISCARDED_BYTES: usize = 4 << 20;
/// Time within which a body must arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

pub struct JsonBody<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<JsonBody<T>, ApiError> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.map(|kind| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
        if kind.as_deref() != Some("application/json") {
            let error = "the body must be JSON, with content-type: application/json";
            return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error));
        }
        let bytes =
            tokio::time::timeout(BODY_TIMEOUT, collect(request.into_body())).await.map_err(|_| {
                let error = format!("the body did not arrive in {} s", BODY_TIMEOUT.as_secs());
                ApiError::new(StatusCode::REQUEST_TIMEOUT, error)
            })??;
        let text = std::str::from_utf8(&bytes);
        let text = text.map_err(|error| ApiError::new(StatusCode::BAD_REQUEST, error.to_string()))?;
        json::read(text).map(JsonBody)
    }
}

async fn collect(mut body: Body) -> Result<Vec<u8>, ApiError> {
    let (mut bytes, mut size) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let cut = |error| ApiError::new(StatusCode::BAD_REQUEST, format!("the body was cut off: {error}"));
        let data = frame.map_err(cut)?.into_data().unwrap_or_default();
        size += data.len();
        match size {
            0..=MAX_BODY_BYTES => bytes.extend_from_slice(&data),
            _ if size <= MAX_BODY_BYTES + MAX_DISCARDED_BYTES => bytes.clear(),
            _ => break,
        }
    }
    if size > MAX_BODY_BYTES {
        let error = format!("the body is larger than {MAX_BODY_BYTES} bytes");
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, error));
    }
    Ok(bytes)
}

pub struct PathParams<T>(pub T);

impl<S: Sync + Send, T: DeserializeOwned + Send> FromRequestParts<S> for PathParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<PathParams<T>, ApiError> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        path.map(|params| PathParams(params.0))
            .map_err(|_| ApiError::not_found("there is nothing of that name"))
    }
}
