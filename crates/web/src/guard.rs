//! Keeps other sites out. A page that somebody visits elsewhere can send requests to this machine; what it cannot do is
//! choose their Host, Origin and Sec-Fetch-Site. So all three are checked, on everything.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::refusal::Refusal;

/// Who may ask: this machine's names for the server.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    port: u16,
}

/// The page has no inline script or style, talks to this server alone, and is framed by nobody.
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
    /// For a server at a port.
    pub fn new(port: u16) -> Guard {
        Guard { port }
    }

    fn knows(&self, host: &str) -> bool {
        let name = match host.strip_suffix(&format!(":{}", self.port)) {
            Some(name) => name,
            // Browsers leave out the port of the scheme.
            None if self.port == 80 => host,
            None => return false,
        };
        ["127.0.0.1", "localhost", "[::1]"].iter().any(|known| name.eq_ignore_ascii_case(known))
    }

    fn check(&self, request: &Request) -> Result<(), Refusal> {
        let headers = request.headers();
        let target = request.uri().authority().map(|authority| authority.as_str().to_owned());
        let host = single(headers, header::HOST)?;
        let named: Vec<&str> = host.iter().chain(&target).map(String::as_str).collect();
        if host.is_none() || !named.iter().all(|host| self.knows(host)) {
            let port = self.port;
            let what = format!("host = {}: must be 127.0.0.1:{port} or localhost:{port}", named.join(", "));
            return Err(forbidden(what).hint("open the address that superpose serve printed"));
        }
        if let Some(origin) = single(headers, header::ORIGIN)?
            && !origin.strip_prefix("http://").is_some_and(|host| self.knows(host))
        {
            return Err(forbidden(format!("origin = {origin}: requests from other sites are refused")));
        }
        let mode = single(headers, HeaderName::from_static("sec-fetch-mode"))?;
        // A link elsewhere may lead here: to the page, not into the API.
        let follows = mode.as_deref() == Some("navigate") && request.uri().path() == "/";
        match single(headers, HeaderName::from_static("sec-fetch-site"))?.as_deref() {
            None | Some("same-origin" | "none") => Ok(()),
            Some(_) if follows => Ok(()),
            Some(site) => {
                Err(forbidden(format!("sec-fetch-site = {site}: requests from other sites are refused")))
            }
        }
    }
}

fn forbidden(what: String) -> Refusal {
    Refusal::new(StatusCode::FORBIDDEN, what)
}

/// A header that may be there once. Of two, one might be checked and the other believed.
fn single(headers: &HeaderMap, name: HeaderName) -> Result<Option<String>, Refusal> {
    let values: Vec<&HeaderValue> = headers.get_all(&name).iter().collect();
    match values[..] {
        [] => Ok(None),
        [value] => Ok(Some(String::from_utf8_lossy(value.as_bytes()).into_owned())),
        _ => Err(forbidden(format!("{name} is given {} times: must be given once", values.len()))),
    }
}

/// Checks every request, and says on every answer what a browser may do with it.
pub async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut response = match guard.check(&request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    // Results change; files of the page change with the program.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine() {
        let guard = Guard::new(7333);
        for host in ["127.0.0.1:7333", "localhost:7333", "LOCALHOST:7333", "[::1]:7333"] {
            assert!(guard.knows(host), "{host}");
        }
        for host in
            ["", "127.0.0.1", "localhost:80", "evil.example:7333", "localhost:7333:7333", "a.localhost:7333"]
        {
            assert!(!guard.knows(host), "{host}");
        }
        assert!(Guard::new(80).knows("localhost"));
    }
}
