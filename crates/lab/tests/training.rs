//! Trained models as cells: the same outcome from `train` and from a sweep, and in a store; stores of earlier versions.

use superpose_core::backend::{Backend, Numerics};
use superpose_core::config::{Config, Optimiser, Positions, Settings, Training};
use superpose_core::measure::{Measure, Missing};
use superpose_lab::cell::{Entry, Event, Key, Outcome, Results, Runner, estimated_seconds, measure};
use superpose_lab::run::{Digests, Inputs};
use superpose_lab::store::Store;
use superpose_lab::train::{Checkpoint, Finish, Origin, TrainingRecord, train};

fn config() -> Config {
    Settings {
        vocab: 40,
        dim: 16,
        length: 5,
        samples: 600,
        test_samples: 300,
        training: Some(Training {
            every: Some(10),
            batch: Some(256),
            optimiser: Optimiser::Muon,
            positions: Positions::Learned,
            heads: 2,
            ..Training::new(30)
        }),
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
    assert!(cell.agrees(&record.outcomes[0]), "{cell:?} {:?}", record.outcome);
    let accuracy = record.outcome.measures[Measure::Accuracy];
    assert!(accuracy.mean > 3.0 * record.trajectory[0].measures[Measure::Accuracy]);
    let plain = Settings { training: None, ..(*config).clone() }.check().unwrap();
    let early = measure(&plain, false, &Backend::single()).unwrap();
    for (measure, value) in early.measures.iter() {
        assert_eq!(record.early_phase.measures[measure].mean, value.mean, "{measure}");
    }
    assert_ne!(Key::new(&config, &Numerics::this_cpu()), Key::new(&plain, &Numerics::this_cpu()));
    assert!(estimated_seconds(&config, false) > estimated_seconds(&plain, false));
}

#[test]
fn checkpoint_of_other_numerics_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.safetensors");
    train(&config(), &Inputs::default(), None, Some(&path), &Backend::single(), &mut ()).unwrap();
    let checkpoint = Checkpoint::open(&path).unwrap();
    let mut origin = Origin { numerics: Numerics::this_cpu(), inputs: Digests::new(), functions: Vec::new() };
    checkpoint.check_origin(&origin).unwrap();
    origin.numerics = Numerics::try_from("cuda-sm90".to_string()).unwrap();
    let error = checkpoint.check_origin(&origin).unwrap_err().to_string();
    assert!(error.contains("this run computes with cuda-sm90"), "{error}");
}

#[test]
fn trajectory_is_kept_with_its_result() {
    let folder = tempfile::tempdir().unwrap();
    let (path, config) = (folder.path().join("a.sqlite"), config());
    let (record, key) = (run(&config), Key::new(&config, &Numerics::this_cpu()));
    let mut store = Store::open(&path).unwrap();
    store.keep(&[Entry::new(&config, &Numerics::this_cpu(), Ok(record.outcomes[0]))]).unwrap();
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

/// A store written before a measure was added opens, is not run again, and is run again where the measure is required.
#[test]
fn a_store_without_a_measure_stays_readable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sqlite");
    let cells = [Settings { vocab: 30, dim: 8, samples: 200, ..Settings::default() }.check().unwrap()];
    let run = |require: Option<Measure>| {
        let mut runner = Runner::new(1).with_results(Store::open(&path).unwrap());
        require.into_iter().for_each(|measure| runner.require(measure));
        let mut ran = 0;
        let outcomes = runner
            .run(&cells, &mut |event| ran += usize::from(matches!(event, Event::Finished { .. })))
            .unwrap();
        (outcomes[0].clone().unwrap(), ran)
    };
    let (first, _) = run(None);
    std::fs::remove_file(&path).unwrap();
    let mut measures = first.measures;
    measures[Measure::LockRate] = Missing::missing();
    let older = Entry::new(&cells[0], &Numerics::this_cpu(), Ok(Outcome { measures, ..first }));
    Store::open(&path).unwrap().keep(&[older]).unwrap();
    let (partial, ran) = run(None);
    assert_eq!(ran, 0);
    assert!(partial.measures[Measure::LockRate].is_missing() && partial.agrees(&first));
    let (again, ran) = run(Some(Measure::LockRate));
    assert_eq!((ran, again.measures), (1, first.measures));
    assert_eq!(run(Some(Measure::LockRate)).1, 0, "the complete outcome was kept");
}

/// Repeats have consecutive seeds, are kept as a cell each, and their means have an interval.
#[test]
fn repeats_are_trained_with_consecutive_seeds() {
    let base = config();
    let several = Settings { repeats: 3, ..(*base).clone() }.check().unwrap();
    let record = run(&several);
    assert_eq!(record.outcomes.len(), 3);
    for (i, outcome) in record.outcomes.iter().enumerate() {
        let alone = run(&several.repeat(i));
        assert!(alone.outcomes[0].agrees(outcome));
        assert!(i > 0 || alone.trajectory == record.trajectory);
    }
    let accuracy = record.outcome.measures[Measure::Accuracy];
    let mean = record.outcomes.iter().map(|one| one.measures[Measure::Accuracy].mean).sum::<f64>() / 3.0;
    assert!((accuracy.mean - mean).abs() < 1e-12 && accuracy.low < mean && mean < accuracy.high);

    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("a.sqlite")).unwrap();
    record.keep(&several, &Numerics::this_cpu(), &mut store).unwrap();
    for i in 0..3 {
        let kept = store.get(Key::new(&several.repeat(i), &Numerics::this_cpu())).unwrap().unwrap();
        assert_eq!(kept.config.seed, i as u64);
    }
    let path = folder.path().join("a.safetensors");
    let error =
        train(&several, &Inputs::default(), None, Some(&path), &Backend::single(), &mut ()).err().unwrap();
    assert!(error.to_string().contains("repeats = 3: a checkpoint holds one run"), "{error}");
}
