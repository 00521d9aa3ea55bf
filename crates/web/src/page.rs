//! The page's own files, which are in the binary. A debug build reads them from the source folder at every request.

use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

use crate::refusal::Refusal;

#[derive(RustEmbed)]
#[folder = "page/"]
struct Files;

/// What a browser is told about a file, by its ending. Files of other kinds are not served.
const KINDS: [(&str, &str); 8] = [
    ("html", "text/html; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("ico", "image/x-icon"),
    ("woff2", "font/woff2"),
    ("webmanifest", "application/manifest+json"),
];

/// Answers what no other route does.
pub async fn file(request: Request) -> Response {
    let path = request.uri().path();
    let name = if path == "/" { "index.html" } else { path.trim_start_matches('/') };
    let kind = name.rsplit_once('.').and_then(|(_, ending)| KINDS.iter().find(|kind| kind.0 == ending));
    // Names are those of embedded files, so nothing else can be reached; a debug build looks at the disk.
    let plain = name.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-".contains(&b));
    let found = kind.filter(|_| plain).and_then(|kind| Some((Files::get(name)?, kind.1)));
    match found {
        None => Refusal::missing(format!("{path}: there is nothing of that name")).into_response(),
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

/// A path that does not know the method.
pub async fn wrong_method() -> Refusal {
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this path has no such method")
}
