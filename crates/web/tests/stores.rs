//! Stores that are written, replaced and read at the same time.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::Running;
use serde_json::{Value, json};
use superpose_core::Measure;
use superpose_core::Settings;
use superpose_core::backend::{Backend, Numerics};
use superpose_core::config::Config;
use superpose_lab::cell::{Entry, Outcome, Results, measure};
use superpose_lab::store::Store;

fn config(samples: usize) -> Config {
    Settings { vocab: 32, dim: 24, length: 4, samples, ..Settings::default() }.check().unwrap()
}

/// Any outcome.
fn outcome() -> Outcome {
    measure(&config(100), false, &Backend::single()).unwrap()
}

/// Cells with these numbers of samples and the same outcome.
fn entries(samples: impl Iterator<Item = usize>, outcome: &Outcome) -> Vec<Entry> {
    samples.map(config).map(|config| Entry::new(&config, &Numerics::this_cpu(), Ok(*outcome))).collect()
}

/// The first column of the table of a store's runs.
fn samples(server: &Running) -> Vec<Value> {
    let shown = server.get("/api/studies/0").json();
    assert!(shown["error"].is_null(), "{shown}");
    shown["sections"][0]["tables"][0]["rows"].as_array().unwrap().iter().map(|row| row[0].clone()).collect()
}

/// A store is not summarised more often than every two seconds.
fn pause() {
    std::thread::sleep(Duration::from_millis(2100));
}

fn log(path: &Path) -> std::path::PathBuf {
    path.with_file_name(format!("{}-wal", path.file_name().unwrap().to_string_lossy()))
}

#[test]
fn slow_summary_does_not_delay_events() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.sqlite");
    // So many cells take a second or more: all are read, and every configuration is predicted.
    let outcome = outcome();
    let cell = |i: usize| {
        let settings = Settings { samples: 1000 + i % 1900, seed: i as u64, ..(*config(1000)).clone() };
        let config = settings.check().unwrap();
        Entry::new(&config, &Numerics::this_cpu(), Ok(outcome))
    };
    Store::open(&path).unwrap().keep(&(0..60_000).map(cell).collect::<Vec<_>>()).unwrap();
    let server = Running::open(vec![path]);
    let (heard, whole) = std::thread::scope(|scope| {
        let summary = scope.spawn(|| {
            let started = Instant::now();
            assert_eq!(samples(&server).len(), 500);
            started.elapsed()
        });
        std::thread::sleep(Duration::from_millis(100));
        let started = Instant::now();
        let heard = server.listen("/api/events").next().unwrap();
        assert_eq!((heard.0.as_str(), &heard.1["cells"]["done"]), ("study", &json!(60_000)));
        (started.elapsed(), summary.join().unwrap())
    });
    assert!(whole > Duration::from_millis(400), "the summary was too fast to test anything: {whole:?}");
    assert!(heard < whole / 3, "heard after {heard:?} of {whole:?}");
}

#[test]
fn replaced_store_is_read_without_the_old_log() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("sweep.sqlite"), folder.path().join("other.sqlite"));
    let outcome = outcome();
    // The old store is still open, and its last cells are only in the log.
    let mut old = Store::open(&path).unwrap();
    old.keep(&entries([200, 300].into_iter(), &outcome)).unwrap();
    let server = Running::open(vec![path.clone()]);
    assert_eq!(samples(&server), [200, 300]);
    assert!(std::fs::metadata(log(&path)).unwrap().len() > 0);
    // As many cells, so that only the identity of the file differs.
    Store::open(&other).unwrap().keep(&entries([5000, 7000].into_iter(), &outcome)).unwrap();
    let bytes = std::fs::read(&other).unwrap();
    std::fs::rename(&other, &path).unwrap();
    pause();
    assert_eq!(samples(&server), [5000, 7000]);
    let csv = server.get("/api/studies/0/files/cells.csv").text();
    assert!(csv.contains("5000") && csv.lines().count() == 3, "{csv}");
    // Nothing of the old store was written into the new one.
    drop(server);
    assert!(std::fs::read(&path).unwrap() == bytes);
    drop(old);
    assert!(std::fs::read(&path).unwrap() == bytes);
}

#[test]
fn reading_leaves_no_log_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.sqlite");
    let outcome = outcome();
    let mut store = Store::open(&path).unwrap();
    store.keep(&entries([100, 200].into_iter(), &outcome)).unwrap();
    let server = Running::open(vec![path.clone()]);
    assert_eq!(samples(&server), [100, 200]);
    store.keep(&entries([300].into_iter(), &outcome)).unwrap();
    // The writer closes: the log is merged into the file although the server is running.
    drop(store);
    assert!(!log(&path).exists());
    pause();
    assert_eq!(samples(&server), [100, 200, 300]);
    assert!(!log(&path).exists());
    // It is seen to grow again.
    Store::open(&path).unwrap().keep(&entries([400].into_iter(), &outcome)).unwrap();
    pause();
    assert_eq!(samples(&server), [100, 200, 300, 400]);
}

/// The file may hold any numbers.
#[test]
fn impossible_numbers_in_a_store_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    for (i, mean) in [2.0, -3.0, 1e308, f64::INFINITY].into_iter().enumerate() {
        let (wrong, right) = (folder.path().join(format!("{i}.sqlite")), folder.path().join("right.sqlite"));
        let usual = outcome();
        let mut outcome = usual;
        outcome.measures[Measure::Accuracy].mean = mean;
        outcome.measures[Measure::LockRate].mean = mean;
        Store::open(&wrong).unwrap().keep(&entries([100, 200].into_iter(), &outcome)).unwrap();
        Store::open(&right).unwrap().keep(&entries([100].into_iter(), &usual)).unwrap();
        let server = Running::open(vec![wrong, right]);
        for study in [0, 0, 1] {
            assert_eq!(server.get(&format!("/api/studies/{study}")).status, 200, "{mean}");
        }
    }
}
