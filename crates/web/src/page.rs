//! The files of the page, embedded in the binary. A debug build reads them from the source folder at every request.

use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

use crate::error::ApiError;

#[derive(RustEmbed)]
#[folder = "page/"]
struct Files;

/// The content type of a file, by its extension; the page has no files of other types.
pub fn content_type(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "csv" => "text/csv; charset=utf-8",
        "json" => "application/json",
        "jsonl" => "application/jsonl",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        _ => return None,
    })
}

/// Serves a file of the page, for paths that no route has.
pub async fn file(request: Request) -> Response {
    let path = request.uri().path();
    let name = if path == "/" { "index.html" } else { path.trim_start_matches('/') };
    // A debug build reads from disk, so names that lead out of the folder are refused.
    let plain = name.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-".contains(&b));
    match content_type(name).filter(|_| plain).and_then(|kind| Some((Files::get(name)?, kind))) {
        None => ApiError::not_found(format!("{path}: there is nothing of that name")).into_response(),
        Some(_) if request.method() != Method::GET && request.method() != Method::HEAD => {
            wrong_method().await.into_response()
        }
        Some((file, kind)) => {
            let mut response = file.data.into_owned().into_response();
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            response
        }
    }
}

/// The error for a method that a path does not have.
pub async fn wrong_method() -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "this path has no such method")
}
