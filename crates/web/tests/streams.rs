//! Runs in progress: events, queue, cancellation and shutdown.

use std::time::{Duration, Instant};

use crate::common::Running;
use serde_json::{Value, json};

/// A run of some seconds.
fn long() -> Value {
    json!({ "config": { "vocab": 2000, "dim": 256, "length": 64, "samples": 1_000_000, "repeats": 2 } })
}

fn short() -> Value {
    json!({ "config": { "vocab": 40, "dim": 32, "length": 4, "samples": 500, "test_samples": 100 } })
}

fn submit(server: &Running, body: &Value) -> u64 {
    let answer = server.post("/api/runs", body);
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["id"].as_u64().unwrap()
}

#[test]
fn events_report_progress_until_the_end() {
    let server = Running::new();
    let id = submit(&server, &json!({ "config": { "vocab": 400, "samples": 300_000, "repeats": 2 } }));
    let events: Vec<(String, Value)> = server.listen(&format!("/api/runs/{id}/events")).collect();
    let (last, before) = events.split_last().unwrap();
    assert_eq!((last.0.as_str(), &last.1["state"]), ("end", &json!("done")));
    assert!(before.iter().all(|(name, data)| name == "run" && data["id"] == id));
    let shares: Vec<f64> = events.iter().map(|(_, data)| data["share"].as_f64().unwrap()).collect();
    assert!(shares.windows(2).all(|pair| pair[0] <= pair[1]), "{shares:?}");
    assert!(before.iter().any(|(_, data)| data["stage"] == "training"), "{before:?}");
    assert!(last.1["accuracy"]["mean"].is_number() && last.1.get("result").is_none());
    // After the end a new listener gets the end event only.
    let late: Vec<(String, Value)> = server.listen(&format!("/api/runs/{id}/events")).collect();
    assert_eq!((late.len(), late[0].0.as_str()), (1, "end"));
}

#[test]
fn runs_queue_and_are_cancelled() {
    let server = Running::new();
    let (running, waiting, next) =
        (submit(&server, &long()), submit(&server, &long()), submit(&server, &short()));
    let mut events = server.listen("/api/events");
    let begun = events.find(|(_, data)| data["id"] == running && data["state"] == "running");
    assert!(begun.is_some());
    assert_eq!(server.get(&format!("/api/runs/{next}")).json()["position"], 1);
    // A cancelled run leaves the queue, and those behind it move up.
    assert_eq!(server.delete(&format!("/api/runs/{waiting}")).json()["state"], "cancelled");
    assert_eq!(server.get(&format!("/api/runs/{next}")).json()["position"], 0);
    // A cancelled run in progress stops soon, and the next one starts.
    let stopped = Instant::now();
    assert_eq!(server.delete(&format!("/api/runs/{running}")).json()["state"], "cancelled");
    assert_eq!(server.wait(next)["state"], "done");
    assert!(stopped.elapsed() < Duration::from_secs(20), "{:?}", stopped.elapsed());
    assert_eq!(server.get(&format!("/api/runs/{running}")).json()["state"], "cancelled");
    // Listeners are told of the removal.
    server.delete(&format!("/api/runs/{running}"));
    let gone = events.find(|(name, _)| name == "removed").unwrap();
    assert_eq!(gone.1["id"], running);
}

#[test]
fn queue_is_bounded() {
    let server = Running::new();
    let first = submit(&server, &long());
    let started = Instant::now();
    while server.get(&format!("/api/runs/{first}")).json()["state"] == "queued" {
        assert!(started.elapsed() < Duration::from_secs(20));
    }
    let ids: Vec<u64> = (0..16).map(|_| submit(&server, &short())).collect();
    let answer = server.post("/api/runs", &short());
    assert!(answer.refusal(429).contains("16 runs wait"), "{}", answer.text());
    assert_eq!(answer.header("retry-after"), Some("1"));
    server.delete(&format!("/api/runs/{}", ids[3]));
    submit(&server, &short());
    server.delete(&format!("/api/runs/{first}"));
    assert_eq!(server.wait(ids[15])["state"], "done");
}

#[test]
fn oldest_runs_are_removed() {
    let server = Running::new();
    let tiny = json!({ "config": { "vocab": 4, "dim": 4, "length": 2, "samples": 10, "test_samples": 10 } });
    let mut last = 0;
    for _ in 0..130 {
        last = submit(&server, &tiny);
        server.wait(last);
    }
    let runs = server.get("/api/runs").json()["runs"].as_array().unwrap().len();
    assert!((100..=101).contains(&runs), "{runs}");
    server.get("/api/runs/0").refusal(404);
    assert_eq!(server.get(&format!("/api/runs/{last}")).json()["state"], "done");
}

#[test]
fn listeners_are_bounded_and_release_their_permits() {
    let server = Running::new();
    let most = server.get("/api/about").json()["limits"]["streams"].as_u64().unwrap();
    let listeners: Vec<_> = (0..most).map(|_| server.listen("/api/events")).collect();
    let answer = server.get("/api/events");
    assert!(answer.refusal(503).contains("listen"));
    drop(listeners);
    let started = Instant::now();
    loop {
        let mut stream = server.connect();
        std::io::Write::write_all(
            &mut stream,
            format!("GET /api/events HTTP/1.1\r\nHost: {}\r\n\r\n", server.address).as_bytes(),
        )
        .unwrap();
        let mut head = [0; 12];
        std::io::Read::read_exact(&mut stream, &mut head).unwrap();
        if head.ends_with(b"200") {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(40), "permits are not released");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// A client that sends no head, or half of one, is disconnected soon, so that others get its place.
#[test]
fn connections_without_a_request_are_closed() {
    let server = Running::new();
    for sent in ["", "GET /api/events HTTP/1.1\r\nHost:"] {
        let mut stream = server.connect();
        std::io::Write::write_all(&mut stream, sent.as_bytes()).unwrap();
        let started = Instant::now();
        // An error is a connection that was reset.
        let _ = std::io::Read::read_to_end(&mut stream, &mut Vec::new());
        assert!(started.elapsed() < Duration::from_secs(12), "{sent:?}: {:?}", started.elapsed());
    }
}

#[test]
fn shutdown_is_clean_with_runs_and_listeners() {
    let server = Running::new();
    let id = submit(&server, &long());
    let events = server.listen(&format!("/api/runs/{id}/events"));
    let all = server.listen("/api/events");
    let idle = server.connect();
    let started = Instant::now();
    drop(server);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert!(events.count() < 1000 && all.count() < 1000);
    drop(idle);
}
