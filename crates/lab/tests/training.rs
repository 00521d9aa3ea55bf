//! Trained models as cells: the same outcome from `train` and from a sweep, and in a store; stores of version 1.
#![allow(clippy::unwrap_used)]

use superpose_core::backend::Backend;
use superpose_core::config::{Config, Optimiser, Positions, Settings};
use superpose_lab::cell::{Entry, Key, Results, estimated_seconds, measure};
use superpose_lab::run::Inputs;
use superpose_lab::store::Store;
use superpose_lab::train::{Finish, TrainingRecord, train};

fn config() -> Config {
    Settings {
        vocab: 40,
        dim: 16,
        length: 5,
        samples: 600,
        test_samples: 300,
        steps: 30,
        every: Some(10),
        batch: Some(256),
        optimiser: Optimiser::Muon,
        positions: Positions::Learned,
        heads: 2,
        ..Settings::default()
    }
    .check()
    .unwrap()
}

fn run(config: &Config) -> TrainingRecord {
    let backend = Backend::single();
    match train(config, &Inputs::default(), None, None, &backend, &mut ()).unwrap() {
        Finish::Done(record, _) => *record,
        Finish::Interrupted { step } => panic!("interrupted after {step}"),
    }
}

#[test]
fn trained_model_is_a_cell() {
    let config = config();
    let record = run(&config);
    let cell = measure(&config, false, &Backend::cpu(2).unwrap()).unwrap();
    assert!(cell.agrees(&record.outcome), "{cell:?} {:?}", record.outcome);
    assert!(record.outcome.accuracy.mean > 3.0 * record.trajectory[0].accuracy);
    let plain = Settings { steps: 0, heads: 1, positions: Positions::None, ..(*config).clone() };
    let plain = plain.check().unwrap();
    assert_eq!(record.early_phase.accuracy, measure(&plain, false, &Backend::single()).unwrap().accuracy);
    assert_ne!(Key::new(&config), Key::new(&plain));
    // Without steps, training settings do not change the key.
    let idle = Settings { batch: Some(3), rate: 9.0, factored: true, ..(*plain).clone() }.check().unwrap();
    assert_eq!(Key::new(&idle), Key::new(&plain));
    assert!(estimated_seconds(&config, false) > estimated_seconds(&plain, false));
}

#[test]
fn trajectory_is_kept_with_its_result() {
    let folder = tempfile::tempdir().unwrap();
    let (path, config) = (folder.path().join("a.sqlite"), config());
    let (record, key) = (run(&config), Key::new(&config));
    let mut store = Store::open(&path).unwrap();
    store.keep(&[Entry::new(key, &config, Ok(record.outcome))]).unwrap();
    for _ in 0..2 {
        store.keep_trajectory(key, &record.trajectory).unwrap();
        assert_eq!(store.trajectory(key).unwrap(), record.trajectory);
    }
    assert_eq!(store.get(key).unwrap().unwrap().config, *config);
    let sql = rusqlite::Connection::open(&path).unwrap();
    let row = sql.query_row("SELECT steps, optimiser, heads, batch, rank FROM results", [], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
    });
    let expected: (i64, String, i64, i64, Option<i64>) = (30, "muon".into(), 2, 256, None);
    assert_eq!(row.unwrap(), expected);
}

/// A store of version 1 can be read, and is upgraded without losing a row.
#[test]
fn store_of_version_1_is_upgraded() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old.sqlite"), folder.path().join("new.sqlite"));
    let config = Settings { vocab: 30, dim: 8, samples: 200, ..Settings::default() }.check().unwrap();
    let key = Key::new(&config);
    let entry = Entry::new(key, &config, Ok(measure(&config, true, &Backend::single()).unwrap()));
    Store::open(&new).unwrap().keep(std::slice::from_ref(&entry)).unwrap();

    let sql = rusqlite::Connection::open(&old).unwrap();
    sql.execute_batch(include_str!("../src/store/version_1.sql")).unwrap();
    sql.execute("ATTACH ?1 AS new", [new.to_str().unwrap()]).unwrap();
    let names = |sql: &rusqlite::Connection| -> Vec<String> {
        let mut statement = sql.prepare("SELECT name FROM pragma_table_info('results')").unwrap();
        let names = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        names.map(|name| format!("\"{}\"", name.unwrap())).collect()
    };
    let columns = names(&sql).join(", ");
    sql.execute(&format!("INSERT INTO main.results ({columns}) SELECT {columns} FROM new.results"), [])
        .unwrap();
    sql.execute_batch("PRAGMA application_id = 1397780339; PRAGMA user_version = 1").unwrap();
    drop(sql);

    let same = |there: Option<Entry>| {
        let there = there.unwrap();
        there.config == entry.config && there.result == entry.result && there.key == key
    };
    assert!(same(Store::peek(&old).unwrap().get(key).unwrap()), "looked into as it is");
    assert!(same(Store::open(&old).unwrap().get(key).unwrap()), "brought to this version");
    assert!(same(Store::peek(&old).unwrap().get(key).unwrap()), "and looked into again");
}
