//! What is asked: JSON of a bounded size that arrives in bounded time.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use http_body_util::BodyExt;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use superpose_core::config::{Config, ConfigError, Embedding, Settings};
use superpose_lab::cell;

use crate::json::Json;
use crate::refusal::Refusal;

/// Largest body that is read.
pub const BODY_BYTES: usize = 64 << 10;
/// Bytes beyond it that are taken in before it is refused.
const DRAINED: usize = 4 << 20;
/// Longest wait for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// A request's JSON.
pub struct Asked<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Asked<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &S) -> Result<Asked<T>, Refusal> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.map(|kind| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
        if kind.as_deref() != Some("application/json") {
            let what = "the body must be JSON, with content-type: application/json";
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, what));
        }
        let bytes = read(request.into_body()).await?;
        let malformed = |error: String| Refusal::new(StatusCode::BAD_REQUEST, error);
        let text = std::str::from_utf8(&bytes).map_err(|error| malformed(error.to_string()))?;
        let json: Json = serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
        json.read().map(Asked).map_err(Refusal::value)
    }
}

async fn read(mut body: Body) -> Result<Vec<u8>, Refusal> {
    let collect = async {
        let (mut bytes, mut size) = (Vec::new(), 0);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                Refusal::new(StatusCode::BAD_REQUEST, format!("the body was cut off: {error}"))
            })?;
            let data = frame.into_data().unwrap_or_default();
            size += data.len();
            match size {
                0..=BODY_BYTES => bytes.extend_from_slice(&data),
                // Nobody reads a refusal while still sending, so a little more is taken in and forgotten.
                _ if size <= BODY_BYTES + DRAINED => bytes.clear(),
                _ => break,
            }
        }
        match size {
            0..=BODY_BYTES => Ok(bytes),
            _ => {
                let what = format!("the body is larger than {BODY_BYTES} bytes");
                Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, what))
            }
        }
    };
    let late = |_| {
        let what = format!("the body did not arrive in {} s", PATIENCE.as_secs());
        Refusal::new(StatusCode::REQUEST_TIMEOUT, what)
    };
    tokio::time::timeout(PATIENCE, collect).await.map_err(late)?
}

/// What stands in the path.
pub struct Place<T>(pub T);

impl<S: Sync + Send, T: DeserializeOwned + Send> FromRequestParts<S> for Place<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Place<T>, Refusal> {
        let place = Path::<T>::from_request_parts(parts, state).await;
        place.map(|Path(place)| Place(place)).map_err(|_| Refusal::missing("there is nothing of that name"))
    }
}

/// What stands behind the question mark.
pub struct Choice<T>(pub T);

impl<S: Sync + Send, T: DeserializeOwned> FromRequestParts<S> for Choice<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Choice<T>, Refusal> {
        let choice = Query::<T>::from_request_parts(parts, state).await;
        choice
            .map(|Query(choice)| Choice(choice))
            .map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, error.body_text()))
    }
}

/// Embeddings that the page has: without files, and without those that need further sizes.
pub const EMBEDDING_KINDS: &[Embedding] =
    &[Embedding::Gaussian, Embedding::Sphere, Embedding::Orthonormal, Embedding::Rademacher];

/// A configuration as the page gives it: without files, and of the three steps of the early phase.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Given(Settings);

impl Given {
    /// As it was given, not checked.
    pub fn settings(self) -> Settings {
        self.0
    }

    /// Checks it.
    pub fn check(self) -> Result<Config, Refusal> {
        let config = self.0.check().map_err(Refusal::value)?;
        // A cell is one run of one seed without files; here there may be several seeds.
        cell::check(&config.repeat(0)).map_err(Refusal::value)?;
        config.three_steps_only().map_err(Refusal::value)?;
        if !EMBEDDING_KINDS.contains(&config.embedding) {
            let allowed = "must be gaussian, sphere, orthonormal or rademacher here";
            return Err(Refusal::value(ConfigError::value("embedding", config.embedding, allowed)));
        }
        Ok(config)
    }
}
