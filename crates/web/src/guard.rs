//! Refuses requests that other web sites send.
//!
//! A page of another site that is open in a browser on this machine can send requests here, but it cannot choose their Host,
//! Origin and Sec-Fetch-Site headers. So all three are checked on every request.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::ApiError;

/// The check of the requests of a server at this port.
#[derive(Clone, Copy)]
pub struct Guard(pub u16);

/// The page has no inline script or style, connects only to this server, and cannot be framed.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS: [(&str, &str); 6] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

impl Guard {
    fn is_own(&self, host: &str) -> bool {
        let name = match host.strip_suffix(&format!(":{}", self.0)) {
            Some(name) => name,
            // Browsers leave out the default port.
            None if self.0 == 80 => host,
            None => return false,
        };
        ["127.0.0.1", "localhost", "[::1]"].iter().any(|known| name.eq_ignore_ascii_case(known))
    }

    fn check(&self, request: &Request) -> Result<(), ApiError> {
        let headers = request.headers();
        let target = request.uri().authority().map(|authority| authority.as_str().to_owned());
        let host = single(headers, header::HOST)?;
        let named: Vec<&str> = host.iter().chain(&target).map(String::as_str).collect();
        if host.is_none() || !named.iter().all(|host| self.is_own(host)) {
            let port = self.0;
            let what = format!("host = {}: must be 127.0.0.1:{port} or localhost:{port}", named.join(", "));
            return Err(forbidden(what).hint("open the address that superpose serve printed"));
        }
        if let Some(origin) = single(headers, header::ORIGIN)?
            && !origin.strip_prefix("http://").is_some_and(|host| self.is_own(host))
        {
            return Err(forbidden(format!("origin = {origin}: requests from other sites are refused")));
        }
        let mode = single(headers, HeaderName::from_static("sec-fetch-mode"))?;
        // Other sites may link to the page, but not into the API.
        let is_link = mode.as_deref() == Some("navigate") && request.uri().path() == "/";
        match single(headers, HeaderName::from_static("sec-fetch-site"))?.as_deref() {
            None | Some("same-origin" | "none") => Ok(()),
            Some(_) if is_link => Ok(()),
            Some(site) => {
                Err(forbidden(format!("sec-fetch-site = {site}: requests from other sites are refused")))
            }
        }
    }
}

fn forbidden(what: String) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, what)
}

/// The value of a header, which may be given once: of two values a later reader might use the one that was not checked.
fn single(headers: &HeaderMap, name: HeaderName) -> Result<Option<String>, ApiError> {
    let values: Vec<&HeaderValue> = headers.get_all(&name).iter().collect();
    match values[..] {
        [] => Ok(None),
        [value] => Ok(Some(String::from_utf8_lossy(value.as_bytes()).into_owned())),
        _ => Err(forbidden(format!("{name} is given {} times: must be given once", values.len()))),
    }
}

/// Checks every request, and adds the security headers to every response.
pub async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut response = match guard.check(&request) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    // Only the page's own files set their caching themselves.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_only_names_of_this_machine() {
        let guard = Guard(7333);
        for host in ["127.0.0.1:7333", "localhost:7333", "LOCALHOST:7333", "[::1]:7333"] {
            assert!(guard.is_own(host), "{host}");
        }
        for host in
            ["", "127.0.0.1", "localhost:80", "evil.example:7333", "localhost:7333:7333", "a.localhost:7333"]
        {
            assert!(!guard.is_own(host), "{host}");
        }
        assert!(Guard(80).is_own("localhost"));
    }
}
