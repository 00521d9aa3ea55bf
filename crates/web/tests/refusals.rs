//! Requests that are refused, and the error messages.

use std::sync::LazyLock;

use crate::common::Running;
use serde_json::{Value, json};

static SERVER: LazyLock<Running> = LazyLock::new(Running::new);

fn with(headers: &[(&str, &str)]) -> crate::common::Answer {
    SERVER.request("GET", "/api/about", headers, b"")
}

#[test]
fn other_hosts_are_refused() {
    let port = SERVER.address.port();
    for host in [format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")] {
        assert_eq!(with(&[("Host", &host)]).status, 200, "{host}");
    }
    let rebound = format!("evil.example:{port}");
    for host in [rebound.as_str(), "localhost", "127.0.0.1:1", "", "localhost:80"] {
        assert!(with(&[("Host", host)]).refusal(403).contains("host"), "{host}");
    }
    // No host, two hosts, and a host that contradicts the target.
    assert_eq!(SERVER.raw(b"GET /api/about HTTP/1.0\r\n\r\n").status, 403);
    let two = format!(
        "GET / HTTP/1.1\r\nHost: localhost:{port}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    );
    assert!(SERVER.raw(two.as_bytes()).refusal(403).contains("host is given 2 times"));
    let own = format!("localhost:{port}");
    assert!(with(&[("Host", &own), ("Host", &own)]).refusal(403).contains("host is given 2 times"));
    let target =
        format!("GET http://evil.example/ HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n");
    assert_eq!(SERVER.raw(target.as_bytes()).status, 403);
}

#[test]
fn other_sites_are_refused() {
    let port = SERVER.address.port();
    let own = format!("http://localhost:{port}");
    assert_eq!(with(&[("Origin", &own), ("Sec-Fetch-Site", "same-origin")]).status, 200);
    let other_scheme = format!("https://localhost:{port}");
    for origin in ["https://evil.example", "null", "", "http://localhost:1", &other_scheme] {
        assert!(with(&[("Origin", origin)]).refusal(403).contains("origin"), "{origin}");
    }
    for site in ["cross-site", "same-site", "anything"] {
        assert!(with(&[("Sec-Fetch-Site", site)]).refusal(403).contains("sec-fetch-site"), "{site}");
    }
    // Two headers are refused, in whichever order.
    for two in [[own.as_str(), "https://evil.example"], ["https://evil.example", &own], [&own, &own]] {
        let twice = two.map(|origin| ("Origin", origin));
        assert!(with(&twice).refusal(403).contains("origin is given 2 times"), "{two:?}");
    }
    let twice = [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")];
    assert!(with(&twice).refusal(403).contains("sec-fetch-site is given 2 times"));
    // The same for files of the page.
    for path in ["/", "/js/main.js", "/nothing"] {
        for header in
            [("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site"), ("Host", "evil.example")]
        {
            SERVER.request("GET", path, &[header], b"").refusal(403);
        }
    }
    // Other sites may link to the page and to nothing else.
    let link = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")];
    assert_eq!(SERVER.request("GET", "/", &link, b"").status, 200);
    assert_eq!(SERVER.request("GET", "/api/runs", &link, b"").status, 403);
    let posted = [("Origin", "https://evil.example"), ("Content-Type", "application/json")];
    assert_eq!(SERVER.request("POST", "/api/runs", &posted, b"{}").status, 403);
    // No other origin is allowed.
    assert_eq!(with(&[("Origin", &own)]).header("access-control-allow-origin"), None);
}

#[test]
fn every_response_has_security_headers() {
    for (path, status) in [("/", 200), ("/api/about", 200), ("/nothing", 404)] {
        let answer = SERVER.get(path);
        assert_eq!(answer.status, status);
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("x-frame-options", "DENY"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path}");
        }
        assert!(answer.header("content-security-policy").unwrap().contains("frame-ancestors 'none'"));
    }
}

#[test]
fn unknown_paths_and_methods_are_refused() {
    for path in [
        "/api/",
        "/api/nothing",
        "/api/runs/x",
        "/api/runs/99",
        "/api/runs/-1",
        "/api/runs/99999999999999999999",
    ] {
        SERVER.get(path).refusal(404);
    }
    for (method, path) in [
        ("PUT", "/api/runs"),
        ("GET", "/api/map"),
        ("POST", "/api/about"),
        ("DELETE", "/"),
        ("PATCH", "/api/runs/0"),
    ] {
        SERVER.request(method, path, &[], b"").refusal(405);
    }
}

#[test]
fn nothing_outside_the_page_is_served() {
    for path in [
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/..%2fCargo.toml",
        "/css/../../Cargo.toml",
        "//etc/passwd",
        "/etc/passwd",
        "/css/%2e%2e/%2e%2e/src/lib.rs",
        "/.git/config",
        "/index.html/",
        "/js/",
        "/index.html%00.js",
        "/\\..\\Cargo.toml",
    ] {
        let answer = SERVER.get(path);
        assert!([400, 404].contains(&answer.status), "{path}: {}", answer.status);
    }
}

#[test]
fn malformed_bodies_are_refused() {
    let json = [("Content-Type", "application/json")];
    for body in ["", "{", "[1,", "nonsense", "{\"config\":{}}x", "\u{0}"] {
        SERVER.request("POST", "/api/runs", &json, body.as_bytes()).refusal(400);
    }
    SERVER.request("POST", "/api/runs", &json, b"{\"config\": \"\xff\"}").refusal(400);
    let deep = "[".repeat(60_000);
    SERVER.request("POST", "/api/runs", &json, deep.as_bytes()).refusal(400);
    let large = format!("{{\"config\": {{}}, \"more\": \"{}\"}}", "x".repeat(70_000));
    SERVER.request("POST", "/api/runs", &json, large.as_bytes()).refusal(413);
    SERVER.request("POST", "/api/runs", &[], b"{}").refusal(415);
    SERVER.request("POST", "/api/runs", &[("Content-Type", "text/plain")], b"{}").refusal(415);
    // A name that is given twice is an error, not the last value.
    let twice = SERVER.request("POST", "/api/predict", &json, b"{\"config\": {\"dim\": 8, \"dim\": 9}}");
    assert!(twice.refusal(422).starts_with("config: dim is given twice"), "{}", twice.text());
    // A charset is allowed.
    let charset = [("Content-Type", "application/json; charset=utf-8")];
    SERVER.request("POST", "/api/predict", &charset, b"{\"nothing\": 1}").refusal(422);
}

#[test]
fn errors_name_the_value() {
    let config = |config: Value| json!({ "config": config });
    for (path, body, words) in [
        ("/api/predict", config(json!({ "dim": 0 })), "dim = 0: must be a whole number"),
        ("/api/predict", config(json!({ "dim": -1 })), "-1"),
        ("/api/predict", config(json!({ "dim": 1.5 })), "1.5"),
        (
            "/api/predict",
            config(json!({ "colour": "red" })),
            "config: unknown key colour: there are vocab, dim,",
        ),
        ("/api/predict", config(json!({ "dim": "many" })), "config: dim = \"many\": must be a whole number"),
        ("/api/predict", config(json!({ "dim": [128] })), "config.dim: invalid type: sequence"),
        ("/api/predict", config(json!({ "eta": "1" })), "config: eta = \"1\": must be a number"),
        (
            "/api/predict",
            config(json!({ "trigger": { "keys": null } })),
            "config.trigger = {...}: must be a single value",
        ),
        ("/api/predict", config(json!({ "trigger": 1 })), "config: trigger = 1: must be one of values, keys"),
        (
            "/api/predict",
            config(json!({ "labels": "odd" })),
            "config: labels = odd: must be permutation or mod:M",
        ),
        ("/api/predict", config(json!([512, 128, 16])), "config: invalid type: sequence, expected an object"),
        ("/api/predict", json!([{}, 0.5]), "the body: invalid type: sequence, expected an object"),
        ("/api/runs", json!([]), "the body: invalid type: sequence, expected an object"),
        ("/api/runs", json!("x"), "the body = \"x\": must be an object"),
        (
            "/api/map",
            json!({ "x": ["dim", 1, 9, "log"], "y": { "size": "vocab", "low": 2, "high": 9 } }),
            "x: invalid type: sequence, expected an object",
        ),
        (
            "/api/map",
            json!({ "x": { "size": "dim", "low": "1", "high": 9 }, "y": { "size": "vocab", "low": 2, "high": 9 } }),
            "x.low = \"1\": must be a whole number",
        ),
        ("/api/predict", config(json!({ "embedding": "orthonormal" })), "vocab + 2 = 514"),
        (
            "/api/predict",
            config(json!({ "keep": 17 })),
            "keep = 17: must be a whole number from 1 to length = 16",
        ),
        ("/api/runs", config(json!({ "keep": 0 })), "keep = 0: must be a whole number from 1"),
        ("/api/predict", json!({ "accuracy": 1.0 }), "accuracy = 1"),
        (
            "/api/predict",
            config(json!({ "embedding": "file", "embedding_file": "/etc/passwd", "embedding_tensor": "x" })),
            "embedding_file = /etc/passwd",
        ),
        ("/api/runs", config(json!({ "import": "/etc/passwd" })), "import = /etc/passwd"),
        ("/api/runs", config(json!({ "seed": u64::MAX })), "seed"),
        (
            "/api/runs",
            config(json!({ "vocab": 2_000_000, "dim": 4096 })),
            "vocab = 2000000: this run needs about",
        ),
        (
            "/api/runs",
            config(json!({ "samples": 2_000_000_000 })),
            "samples = 2000000000: this run needs about 24 GB of memory, and 1.0 GB are allowed; samples up to 8",
        ),
        (
            "/api/runs",
            config(json!({ "test_samples": 1_000_000_000 })),
            "test_samples = 1000000000: this run needs about",
        ),
        (
            "/api/runs",
            config(json!({ "samples": 10_000_000, "length": 100_000 })),
            "and 60 s are allowed; length up to ",
        ),
        ("/api/runs", config(json!({ "samples": 1_000_000, "repeats": 100 })), "and 60 s are allowed; "),
        (
            "/api/runs",
            config(json!({ "repeats": 101 })),
            "repeats = 101: must be a whole number from 1 to 100",
        ),
        (
            "/api/map",
            json!({ "x": { "size": "dim", "low": 1, "high": 9 }, "y": { "size": "dim", "low": 1, "high": 9 } }),
            "both dim",
        ),
        (
            "/api/map",
            json!({ "x": { "size": "dim", "low": 9, "high": 1 }, "y": { "size": "vocab", "low": 2, "high": 9 } }),
            "dim = 9..1",
        ),
        (
            "/api/map",
            json!({ "x": { "size": "dim", "low": 1, "high": u64::MAX }, "y": { "size": "vocab", "low": 2, "high": 9 } }),
            "dim = ",
        ),
        (
            "/api/map",
            json!({ "x": { "size": "dim", "low": 1, "high": 9 }, "y": { "size": "vocab", "low": 2, "high": 9 }, "resolution": 1000 }),
            "resolution = 1000",
        ),
        (
            "/api/map",
            json!({ "x": { "size": "hue", "low": 1, "high": 9 }, "y": { "size": "vocab", "low": 2, "high": 9 } }),
            "x.size = \"hue\": must be one of samples, dim,",
        ),
        ("/api/plan", json!({ "facts": 1, "length": 4 }), "facts = 1"),
        ("/api/plan", json!({ "length": 4 }), "facts: must be given"),
    ] {
        let answer = SERVER.post(path, &body);
        let sentence = answer.refusal(422);
        assert!(sentence.contains(words), "{path} {body}: {sentence}");
    }
}

#[test]
fn invalid_queries_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::open(vec![folder.path().to_owned()]);
    server.get("/api/studies/0/pictures/a.svg?theme=blue").refusal(400);
    server.get("/api/studies/0/pictures/a.svg?theme=light").refusal(404);
    server.get("/api/studies/1").refusal(404);
}

#[test]
#[cfg(unix)]
fn files_outside_the_folder_are_not_served() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.csv"), "secret").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    std::fs::write(root.join("manifest.json"), "{}").unwrap();
    std::fs::write(root.join("other.txt"), "not of a study").unwrap();
    // A report that is a link to a file elsewhere.
    std::os::unix::fs::symlink(outside.path().join("secret.csv"), root.join("report.html")).unwrap();
    let server = Running::open(vec![root.to_owned()]);
    assert_eq!(server.get("/api/studies/0/files/manifest.json").text(), "{}");
    let up = format!("../{}/secret.csv", outside.path().file_name().unwrap().to_string_lossy());
    let whole = outside.path().join("secret.csv").to_string_lossy().into_owned();
    for name in [
        "report.html",
        "other.txt",
        "secret.csv",
        &up,
        &up.replace("../", "..%2f"),
        &up.replace("..", "%2e%2e"),
        &whole,
        "manifest.json/..",
        "./manifest.json",
        "figures/../manifest.json",
        "manifest.json%00",
        "store.sqlite",
    ] {
        let answer = server.get(&format!("/api/studies/0/files/{name}"));
        assert!(answer.status == 404 || answer.status == 400, "{name}: {}", answer.status);
        assert!(!answer.text().contains("secret\n") && answer.text() != "secret", "{name}");
    }
}

#[test]
fn unreadable_paths_and_taken_ports_are_errors() {
    use superpose_web::{Server, ServerOptions};
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "no store").unwrap();
    for path in [text, folder.path().join("absent")] {
        let options = ServerOptions { open: vec![path.clone()], threads: 1, memory: 1e9, device: None };
        let error = Server::bind(0, options).err().unwrap().to_string();
        assert!(
            error.contains("open = ") && error.contains(path.file_name().unwrap().to_str().unwrap()),
            "{error}"
        );
    }
    // A port that is taken.
    let taken = SERVER.address.port();
    let error =
        Server::bind(taken, ServerOptions { open: Vec::new(), threads: 1, memory: 1e9, device: None })
            .err()
            .unwrap();
    assert!(error.to_string().contains(&format!("port = {taken}")), "{error}");
}
