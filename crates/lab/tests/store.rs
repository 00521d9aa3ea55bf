//! The store and the runner: which cells are run, kept and left unchanged.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use superpose_core::Measure;
use superpose_core::backend::{Backend, CancelToken, Numerics};
use superpose_core::config::{Config, Regime, Settings};
use superpose_lab::cell::{
    CellError, Entry, Event, Key, Memory, NUMERICS_REVISION, Outcome, Results, Runner, measure,
};
use superpose_lab::store::{COLUMNS, Store, StoreError};

fn settings() -> Settings {
    Settings { vocab: 24, dim: 12, length: 4, samples: 200, test_samples: 100, ..Settings::default() }
}

fn cells(count: u64) -> Vec<Config> {
    (0..count).map(|seed| Settings { seed, ..settings() }.check().unwrap()).collect()
}

/// A cell that fails: its rate is too large for f32.
fn failing() -> Config {
    Settings { regime: Regime::Exact, eta: 1e20, gamma: Some(1e30), ..settings() }.check().unwrap()
}

fn entries(path: &Path) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut each = |entry: Entry| {
        entries.push(entry);
        Ok::<_, StoreError>(())
    };
    Store::open(path).unwrap().entries(&mut each).unwrap();
    entries
}

/// Runs the cells on a store and returns how many were run.
fn run(path: &Path, cells: &[Config], change: impl Fn(Runner<'static>) -> Runner<'static>) -> usize {
    let mut runs = 0;
    let mut runner = change(Runner::new(2).with_results(Store::open(path).unwrap()));
    let outcomes =
        runner.run(cells, &mut |event| runs += usize::from(matches!(event, Event::Finished { .. }))).unwrap();
    assert_eq!(outcomes.len(), cells.len());
    runs
}

#[test]
fn cell_is_run_once_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sqlite");
    let mut asked = cells(20);
    asked.extend(cells(5));
    assert_eq!(run(&path, &asked, |runner| runner), 20);
    assert_eq!(run(&path, &asked, |runner| runner), 0);
    assert_eq!(run(&path, &cells(25), |runner| runner), 5);

    let alone = Runner::new(1).run(&asked, &mut |_| {}).unwrap();
    let kept = Runner::new(2).with_results(Store::open(&path).unwrap()).run(&asked, &mut |_| {}).unwrap();
    for (alone, kept) in alone.iter().zip(&kept) {
        assert!(alone.as_ref().unwrap().agrees(kept.as_ref().unwrap()));
    }
    let entries = entries(&path);
    assert_eq!(entries.len(), 25);
    for entry in entries {
        assert_eq!(entry.key, Key::new(&entry.config, &Numerics::this_cpu()));
        assert_eq!(entry.numerics_revision, NUMERICS_REVISION);
    }
}

#[test]
fn noise_budget_is_added_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sqlite");
    assert_eq!(run(&path, &cells(3), |runner| runner), 3);
    let before = entries(&path);
    assert_eq!(run(&path, &cells(3), |runner| runner.with_noise(true)), 3);
    assert_eq!(run(&path, &cells(3), |runner| runner.with_noise(true)), 0);
    assert_eq!(run(&path, &cells(3), |runner| runner), 0);
    for (before, after) in before.iter().zip(&entries(&path)) {
        let (before, after) = (before.result.as_ref().unwrap(), after.result.as_ref().unwrap());
        assert!(before.agrees(after) && before.noise.is_none() && after.noise.is_some());
    }
}

#[test]
fn failed_cell_is_recorded_and_others_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sqlite");
    let mut asked = cells(4);
    asked.insert(1, failing());
    assert_eq!(run(&path, &asked, |runner| runner), 5);
    assert_eq!(Store::open(&path).unwrap().counts().unwrap(), (4, 1));
    assert_eq!(run(&path, &asked, |runner| runner), 0);
    assert_eq!(run(&path, &asked, |runner| runner.with_retry_failed(true)), 1);
    let outcomes = Runner::new(1).with_results(Store::open(&path).unwrap()).run(&asked, &mut |_| {}).unwrap();
    let Err(CellError::Failed { reason }) = &outcomes[1] else { panic!("{:?}", outcomes[1]) };
    assert!(reason.contains("not finite"), "{reason}");
}

#[test]
fn cells_beyond_the_available_memory_are_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sqlite");
    let mut runner = Runner::new(2).with_results(Store::open(&path).unwrap()).with_memory(1000.0);
    let mut told = 0;
    let outcomes = runner
        .run(&cells(2), &mut |event| told += usize::from(matches!(event, Event::Finished { .. })))
        .unwrap();
    drop(runner);
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Err(CellError::TooLarge { .. }))));
    assert!(outcomes[0].as_ref().is_err_and(|error| error.to_string().contains("memory")));
    // The memory available now is no property of the cell, so this error is not stored.
    assert_eq!((told, Store::open(&path).unwrap().counts().unwrap()), (2, (0, 0)));
    assert_eq!(run(&path, &cells(2), |runner| runner), 2);
}

/// A failure never replaces an outcome, and an outcome without a noise budget never replaces one with it.
#[test]
fn better_result_is_kept() {
    let config = cells(1).remove(0);
    let key = Key::new(&config, &Numerics::this_cpu());
    let full = measure(&config, true, &Backend::single()).unwrap();
    let bare = Outcome { noise: None, ..full };
    let folder = tempfile::tempdir().unwrap();
    let places: [Box<dyn Results>; 2] =
        [Box::new(Memory::default()), Box::new(Store::open(&folder.path().join("a.sqlite")).unwrap())];
    for mut place in places {
        let mut keep = |result| {
            place.keep(&[Entry::new(&config, &Numerics::this_cpu(), result)]).unwrap();
            place.find(&[key]).unwrap().remove(&key).unwrap()
        };
        assert_eq!(keep(Err("no".into())), Err("no".into()));
        assert_eq!(keep(Ok(bare)), Ok(bare));
        assert_eq!(keep(Err("no".into())), Ok(bare));
        assert_eq!(keep(Ok(full)), Ok(full));
        assert_eq!(keep(Ok(bare)), Ok(full));
        assert_eq!(keep(Err("no".into())), Ok(full));
    }
}

#[test]
fn invalid_cell_is_rejected_and_others_run() {
    let repeated = Settings { repeats: 2, ..settings() }.check().unwrap();
    let imported = Settings { import: Some("a.safetensors".into()), ..settings() }.check().unwrap();
    let large = Settings { seed: u64::MAX - 9, ..settings() }.check().unwrap();
    let outcomes = Runner::new(1).run(&[repeated, imported, large, cells(1).remove(0)], &mut |_| {}).unwrap();
    for (outcome, name) in outcomes.iter().zip(["repeats", "import", "seed"]) {
        assert!(outcome.as_ref().unwrap_err().to_string().starts_with(name), "{outcome:?}");
    }
    assert!(outcomes[3].is_ok());
}

#[test]
fn stopping_keeps_finished_cells() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sqlite");
    let stop = AtomicBool::new(false);
    let mut finished = 0;
    let mut runner = Runner::new(2).with_results(Store::open(&path).unwrap()).with_stop(&stop);
    let outcomes = runner
        .run(&cells(3000), &mut |event| {
            if matches!(event, Event::Finished { .. }) {
                finished += 1;
                stop.store(finished >= 50, Ordering::Relaxed);
            }
        })
        .unwrap();
    drop(runner);
    let done = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert!(done == finished && (50..3000).contains(&done), "{done} {finished}");
    assert!(outcomes.contains(&Err(CellError::Stopped)));
    assert_eq!(entries(&path).len(), done);
}

#[test]
fn unfinished_cell_is_neither_done_nor_failed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sqlite");
    let leave = CancelToken::new();
    leave.cancel();
    let runner = Runner::new(2).with_results(Store::open(&path).unwrap());
    let outcomes = runner.with_leave(leave).run(&cells(5), &mut |_| {}).unwrap();
    assert!(outcomes.iter().all(|outcome| *outcome == Err(CellError::Stopped)));
    assert!(entries(&path).is_empty());
    assert_eq!(run(&path, &cells(5), |runner| runner), 5);
}

#[test]
fn foreign_and_damaged_files_are_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("text"), "vocab = 512\n").unwrap();
    std::fs::write(at("short"), "SQLite format 3\0").unwrap();
    let other = rusqlite::Connection::open(at("other")).unwrap();
    other.execute_batch("CREATE TABLE results (key TEXT); PRAGMA user_version = 1").unwrap();
    drop(other);
    assert_eq!(run(&at("good"), &cells(40), |runner| runner), 40);
    let good = std::fs::read(at("good")).unwrap();
    std::fs::write(at("cut"), &good[..good.len() / 2]).unwrap();
    let mut scribbled = good.clone();
    scribbled[4096..4096 + 2000].fill(0xA5);
    std::fs::write(at("scribbled"), scribbled).unwrap();
    let mut newer = good.clone();
    newer[63] = 99;
    std::fs::write(at("newer"), newer).unwrap();
    std::fs::create_dir(at("folder")).unwrap();

    for (name, word) in [
        ("text", "not a SQLite file"),
        ("short", "not a SQLite file"),
        ("other", "another program"),
        ("cut", "damaged"),
        ("scribbled", "damaged"),
        ("newer", "newer superpose"),
    ] {
        let before = std::fs::read(at(name)).unwrap();
        let error = Store::open(&at(name)).unwrap_err().to_string();
        assert!(
            error.contains(word) && error.contains(name) && error.contains("not changed"),
            "{name}: {error}"
        );
        assert_eq!(std::fs::read(at(name)).unwrap(), before, "{name}");
    }
    assert!(Store::open(&at("folder")).is_err());
    assert!(matches!(Store::open_existing(&at("absent")), Err(StoreError::Io { .. })));
    assert!(!at("absent").exists());
    let error = Store::open(&at("text").join("below a file.sqlite")).unwrap_err();
    assert!(error.to_string().contains("below a file.sqlite"), "{error}");
}

#[test]
fn two_writers_share_one_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sqlite");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut store = Store::open(&path).unwrap();
                for cell in cells(60) {
                    let outcome = measure(&cell, false, &Backend::single()).unwrap();
                    store.keep(&[Entry::new(&cell, &Numerics::this_cpu(), Ok(outcome))]).unwrap();
                }
            });
        }
    });
    assert_eq!(entries(&path).len(), 60);
}

#[test]
fn store_can_be_read_without_locks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("50% of #1?.sqlite");
    assert_eq!(run(&path, &cells(5), |runner| runner), 5);
    let keys: Vec<Key> = cells(9).iter().map(|cell| Key::new(cell, &Numerics::this_cpu())).collect();
    assert_eq!(Store::peek(&path).unwrap().find(&keys).unwrap().len(), 5);
    assert!(
        Store::peek(&path).unwrap().keep(&[]).is_err()
            || std::fs::read_dir(folder.path()).unwrap().count() == 1
    );
}

/// The columns of the table are those of the code, and each has the value of its name.
#[test]
fn columns_can_be_read_with_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sqlite");
    run(&path, &cells(1), |runner| runner.with_noise(true));
    let connection = rusqlite::Connection::open(&path).unwrap();
    let mut statement = connection.prepare("SELECT * FROM results").unwrap();
    let names: Vec<String> = statement.column_names().map(ToString::to_string).collect();
    assert_eq!(names[0], "id");
    assert!(names[1..].iter().eq(COLUMNS.iter().map(|column| &column.name)), "{names:?}");
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>("dim")?, row.get::<_, f64>("accuracy")?));
    let (dim, accuracy) = statement.query_row([], row).unwrap();
    let outcome = measure(&cells(1)[0], false, &Backend::single()).unwrap();
    assert_eq!((dim, accuracy), (12, outcome.measures[Measure::Accuracy].mean));
}
