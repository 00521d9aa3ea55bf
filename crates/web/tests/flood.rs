//! A minute under load: fifty event streams, a flood of invalid requests, training runs, and a slider that moves.
//!
//! `cargo xtask test --full` runs it (`cargo test --release -p superpose-web --test all flood -- --ignored --nocapture`).

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::common::Running;
use serde_json::{Value, json};

const LISTENERS: usize = 50;
const MINUTE: Duration = Duration::from_secs(60);

/// Resident memory of this process in megabytes, the clients' included.
fn megabytes() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()).unwrap_or(0.0) * 4096.0 / 1e6
}

/// Requests that must all be refused, with the status.
fn nonsense(server: &Running, turn: usize) -> (u16, u16) {
    let json = [("Content-Type", "application/json")];
    let large = vec![b'x'; 100_000];
    let port = server.address.port();
    let (answer, expected) = match turn % 10 {
        0 => (server.request("POST", "/api/runs", &json, b"{\"config\": {"), 400),
        1 => (server.request("POST", "/api/map", &json, &large), 413),
        2 => (server.request("GET", "/api/about", &[("Host", "evil.example")], b""), 403),
        3 => (server.request("POST", "/api/runs", &[("Origin", "http://evil.example")], b"{}"), 403),
        4 => (server.get("/../../../../etc/passwd"), 404),
        5 => (server.post("/api/predict", &json!({ "config": { "dim": 0 } })), 422),
        6 => (server.request("PUT", "/api/runs", &[], b""), 405),
        7 => (
            server.post("/api/runs", &json!({ "config": { "samples": 2_000_000_000, "vocab": 2_000_000 } })),
            422,
        ),
        8 => (server.get("/api/runs/123456789"), 404),
        _ => {
            // Half a head, then nothing: the connection is left open for a while and dropped.
            let mut stream = server.connect();
            let _ = stream.write_all(format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\nX-").as_bytes());
            return (0, 0);
        }
    };
    (answer.status, expected)
}

#[test]
#[ignore = "takes a minute; part of cargo xtask test --full"]
fn valid_requests_are_answered_under_a_flood() {
    let server = Running::new();
    let server = &server;
    // Warm: the first map sets tables up.
    let slide = |turn: usize| -> Value {
        json!({ "config": { "vocab": 300 + turn % 400, "length": 8 + turn % 60 }, "resolution": 64,
            "x": { "size": "dim", "low": 16, "high": 512 }, "y": { "size": "samples", "low": 100, "high": 1_000_000 } })
    };
    assert_eq!(server.post("/api/map", &slide(0)).status, 200);
    let quiet: Vec<f64> =
        (0..9).map(|turn| timed(|| assert_eq!(server.post("/api/map", &slide(turn)).status, 200))).collect();
    let before = megabytes();
    let over = AtomicBool::new(false);
    let (bad, wrong, heard, trained) =
        (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let mut most = before;
    let mut slides: Vec<f64> = Vec::new();
    let mut answered = 0;
    std::thread::scope(|scope| {
        for _ in 0..LISTENERS {
            let mut events = server.listen("/api/events");
            let (over, heard) = (&over, &heard);
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) && events.next().is_some() {
                    heard.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(|| {
            let mut turn = 0;
            while !over.load(Ordering::Relaxed) {
                let (status, expected) = nonsense(server, turn);
                turn += 1;
                bad.fetch_add(1, Ordering::Relaxed);
                wrong.fetch_add(usize::from(status != expected), Ordering::Relaxed);
            }
        });
        scope.spawn(|| {
            // The queue always has something, and listeners something to hear.
            let small = json!({ "config": { "vocab": 256, "dim": 64, "samples": 50_000, "repeats": 2 } });
            while !over.load(Ordering::Relaxed) {
                let answer = server.post("/api/runs", &small);
                assert_eq!(answer.status, 201, "{}", answer.text());
                let run = server.wait(answer.json()["id"].as_u64().unwrap());
                assert_eq!(run["state"], "done", "{run}");
                trained.fetch_add(1, Ordering::Relaxed);
            }
        });
        let started = Instant::now();
        let mut turn = 0;
        while started.elapsed() < MINUTE {
            turn += 1;
            slides.push(timed(|| assert_eq!(server.post("/api/map", &slide(turn)).status, 200)));
            assert_eq!(
                server.post("/api/predict", &json!({ "config": { "dim": 32 + turn % 200 } })).status,
                200
            );
            assert_eq!(server.get("/").status, 200);
            answered += 3;
            most = most.max(megabytes());
            // A hand moves a slider some ten times a second.
            std::thread::sleep(Duration::from_millis(50));
        }
        over.store(true, Ordering::Relaxed);
        // Something to hear, so that all listeners see that it is over.
        server.post("/api/runs", &json!({ "config": { "vocab": 4, "dim": 4, "samples": 10 } }));
    });
    let (median, quiet) = (median(slides), median(quiet));
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    println!(
        "map: median {median:.1} ms under load, {quiet:.1} ms before; {answered} valid requests answered; {} bad ones refused; \
         {} events heard by {LISTENERS}; {} runs trained; memory {before:.0} MB before, {most:.0} MB at most",
        count(&bad),
        count(&heard),
        count(&trained),
    );
    assert_eq!(count(&wrong), 0, "bad requests with another status than theirs");
    assert!(count(&bad) > 1000 && count(&heard) > 50 * LISTENERS && count(&trained) > 0);
    assert!(most < before + 200.0, "memory grew from {before:.0} to {most:.0} MB");
    assert!(median < 100.0, "the slider took {median:.1} ms");
}

fn timed(work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    started.elapsed().as_secs_f64() * 1e3
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
