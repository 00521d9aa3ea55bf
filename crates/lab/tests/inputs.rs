//! Cells whose embeddings come from a file: their keys, and files that were changed in between.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use superpose_core::Measure;
use superpose_core::backend::{Backend, Numerics};
use superpose_core::config::{Config, EmbeddingSettings, Settings};
use superpose_lab::cell::{Event, Key, Results, Runner, StoreError};
use superpose_lab::phase::PhaseOptions;
use superpose_lab::run::{Import, Inputs, evaluation};
use superpose_lab::store::Store;
use superpose_lab::sweep::{Shard, Sweep, merge};
use superpose_lab::threshold::ThresholdOptions;
use superpose_tensors::{Entry, Tensor, TensorError, write};

/// Writes 60 rows with 12 columns.
fn embeddings(path: &Path, angle: f32) -> PathBuf {
    let rows: Vec<f32> = (0..60 * 12).map(|i| 0.4 * (i as f32 * angle).sin()).collect();
    write(path, &[Entry::f32("words", &[60, 12], rows)]).unwrap();
    path.into()
}

fn settings(file: &Path) -> Settings {
    let embedding = EmbeddingSettings::File { file: file.display().to_string(), tensor: "words".into() };
    Settings { vocab: 40, length: 4, samples: 200, test_samples: 100, embedding, ..Settings::default() }
}

fn opened(file: &Path) -> (Settings, Arc<Inputs>) {
    let mut settings = settings(file);
    let inputs = Inputs::open_with_digest(&mut settings, None, |name| name == "vocab").unwrap();
    (settings, inputs.into())
}

fn cells(settings: &Settings) -> Vec<Config> {
    (0..2).map(|seed| Settings { seed, ..settings.clone() }.check().unwrap()).collect()
}

/// Runs the cells of a file; returns how many were run.
fn run(file: &Path, results: impl Results) -> Result<usize, StoreError> {
    let (settings, inputs) = opened(file);
    let mut runs = 0;
    let count = &mut |event: Event<'_>| runs += usize::from(matches!(event, Event::Finished { .. }));
    let outcomes = Runner::new(1).with_results(results).with_inputs(inputs).run(&cells(&settings), count)?;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    Ok(runs)
}

#[test]
fn cells_equal_runs_with_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let (settings, inputs) = opened(&embeddings(&folder.path().join("a.safetensors"), 0.7));
    assert_eq!(settings.dim, 12);
    let cells = cells(&settings);
    let found = Runner::new(2).with_inputs(Arc::clone(&inputs)).run(&cells, &mut |_| {}).unwrap();
    for (cell, found) in cells.iter().zip(found) {
        let own = evaluation(cell, &inputs, &Backend::single()).unwrap();
        assert_eq!(found.unwrap().measures[Measure::Accuracy].mean, own[Measure::Accuracy].mean());
    }
    let [a, b] = [0, 1].map(|i| Key::new(&cells[i], &Numerics::CPU));
    assert_ne!(a, b);
}

#[test]
fn moved_file_is_known_and_changed_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let (first, store) = (embeddings(&place("a.safetensors"), 0.7), place("s.sqlite"));
    assert_eq!(run(&first, Store::open(&store).unwrap()).unwrap(), 2);
    // The same contents under another name are the same cells.
    let moved = embeddings(&place("b.safetensors"), 0.7);
    assert_eq!(run(&moved, Store::open(&store).unwrap()).unwrap(), 0);
    // Other contents under the same name are refused, by the store and by a shard that knows the store or itself.
    let shard = Shard::path(folder.path(), 1, 2);
    assert_eq!(run(&first, Shard::open(&shard, None).unwrap()).unwrap(), 2);
    embeddings(&first, 0.9);
    let errors = [
        run(&first, Store::open(&store).unwrap()),
        run(&first, Shard::open(&shard, None).unwrap()),
        run(&first, Shard::open(&Shard::path(folder.path(), 2, 2), Some(&store)).unwrap()),
    ];
    for error in errors.map(|found| found.unwrap_err().to_string()) {
        assert!(
            error.starts_with("embedding_file = ") && error.contains("a.safetensors: its tensors"),
            "{error}"
        );
    }
    // Two workers that saw different contents are not merged.
    let other = Shard::path(folder.path(), 2, 2);
    assert_eq!(run(&first, Shard::open(&other, None).unwrap()).unwrap(), 2);
    let mixed = place("mixed.jsonl");
    std::fs::write(&mixed, [&shard, &other].map(|path| std::fs::read_to_string(path).unwrap()).concat())
        .unwrap();
    let merged = merge(&[shard, other], &mut Store::open(&place("m.sqlite")).unwrap(), &mut |_| {}).unwrap();
    assert_eq!((merged.shards, merged.added, merged.refused.len()), (1, 2, 1));
    assert!(merged.refused[0].to_string().contains("2-of-2.jsonl, line 1: embedding_file = "));
    // Nor is a shard with both.
    let merged = merge(&[mixed], &mut Store::open(&place("n.sqlite")).unwrap(), &mut |_| {}).unwrap();
    assert_eq!((merged.shards, merged.added, merged.refused.len()), (0, 0, 1));
    assert!(merged.refused[0].to_string().contains("mixed.jsonl, line 3: embedding_file = "));
}

#[test]
fn required_digest_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let file = embeddings(&folder.path().join("a.safetensors"), 0.7);
    let mut same = opened(&file).0;
    Inputs::open(&mut same.clone(), |_| false).unwrap();
    same.input_digest = Some("0".repeat(64));
    let error = Inputs::open(&mut same, |_| false).unwrap_err().to_string();
    assert!(error.starts_with("embedding_file = ") && error.contains("is required"), "{error}");
    let lost = Settings { input_digest: same.input_digest, ..Settings::default() };
    assert!(lost.check().unwrap_err().to_string().starts_with("input_digest = 000"));
}

#[test]
fn sizes_that_a_file_fixes_cannot_vary() {
    let folder = tempfile::tempdir().unwrap();
    let (settings, inputs) = opened(&embeddings(&folder.path().join("a.safetensors"), 0.7));
    let threshold = |find: &str, range: Option<&str>| {
        let range = range.map(|range| range.parse().unwrap());
        let options = ThresholdOptions { find: find.parse().unwrap(), range, ..ThresholdOptions::default() };
        options.check(settings.clone(), &inputs).map(|_| ()).map_err(|error| error.to_string())
    };
    assert!(threshold("dim", None).unwrap_err().starts_with("find = dim: the columns of the embedding file"));
    assert!(
        threshold("vocab", Some("10..61")).unwrap_err().starts_with("vocab = 61: tensor words has 60 rows")
    );
    assert_eq!((threshold("vocab", None), threshold("samples", None)), (Ok(()), Ok(())));

    let phase = |x: &str| {
        let options = PhaseOptions { x: x.parse().unwrap(), ..PhaseOptions::default() };
        options.check(settings.clone(), &inputs).map(|_| ()).map_err(|error| error.to_string())
    };
    assert!(phase("dim:4..16").unwrap_err().starts_with("x = dim: the columns of the embedding file"));
    assert!(phase("vocab:4..70").unwrap_err().starts_with("vocab = 70: tensor words has 60 rows"));
    assert_eq!(phase("length:2..16"), Ok(()));

    let file = folder.path().join("a.safetensors").display().to_string();
    let sweep = |axes: &str| {
        let text =
            format!("embedding_file = '{file}'\nembedding_tensor = 'words'\nsamples = 100\n[axes]\n{axes}");
        let mut sweep = Sweep::read(&text).unwrap();
        sweep.open(None).map_err(|error| error.to_string())?;
        sweep.cells().map_err(|error| error.to_string())
    };
    let cells = sweep("vocab = [30, 60]\nlength = [2, 4]").unwrap();
    assert!(cells.len() == 4 && cells.iter().all(|cell| cell.dim == 12 && cell.input_digest.is_some()));
    assert!(sweep("dim = [8, 16]").unwrap_err().starts_with("dim = (several values): the columns"));
    assert!(sweep("embedding = ['gaussian', 'sphere']").unwrap_err().starts_with("embedding"));
    assert!(sweep("vocab = [30, 61]").unwrap_err().contains("vocab = 61: tensor words has 60 rows"));
}

#[test]
fn imported_rows_fix_the_vocabulary() {
    let rows = || {
        let data = (0..30 * 8).map(|i| (f64::from(i) * 0.7).sin()).collect();
        let z_in = Tensor { name: "z_in".into(), shape: vec![30, 8], data };
        let floats = |name| Ok((name == "z_in").then(|| z_in.clone()));
        Import::gather::<TensorError>(floats, |_| Ok(None)).unwrap()
    };
    let mut settings = Settings { length: 4, samples: 100, test_samples: 100, ..Settings::default() };
    let inputs = Inputs::open_with_digest(&mut settings, Some(rows()), |_| false).unwrap();
    assert_eq!((settings.vocab, settings.dim), (30, 8));
    let find = "vocab".parse().unwrap();
    let error =
        ThresholdOptions { find, ..ThresholdOptions::default() }.check(settings, &inputs).unwrap_err();
    assert!(error.to_string().starts_with("find = vocab: the rows of z_in"), "{error}");
    let mut sweep = Sweep::read("[axes]\nsamples = [100, 200]\nlength = [2, 4]").unwrap();
    sweep.open(Some(rows())).unwrap();
    let cells = sweep.cells().unwrap();
    assert!(cells.iter().all(|cell| (cell.vocab, cell.dim) == (30, 8)));
    let inputs = Arc::clone(&sweep.inputs);
    let found = Runner::new(2).with_inputs(inputs).run(&cells, &mut |_| {}).unwrap();
    assert!(found.len() == 4 && found.iter().all(Result::is_ok));
}

/// Tokens, positions and labels under these names, 30 rows of 4 positions and 10 tokens.
fn sequences(names: [&'static str; 3], label: impl Fn(u32, u32) -> u32) -> Vec<Tensor<u32>> {
    let tokens: Vec<u32> = (0..120).map(|i| (i * 7 + i / 11) % 10).collect();
    let position: Vec<u32> = (0..30).map(|i| i % 4).collect();
    let at = |n: u32, shift: u32| tokens[(4 * n + (position[n as usize] + shift) % 4) as usize];
    let labels = (0..30).map(|n| label(at(n, 0), at(n, 1))).collect();
    let shapes = [vec![30, 4], vec![30], vec![30]];
    let data = [tokens.clone(), position.clone(), labels];
    let tensor = |((name, shape), data): ((&str, _), _)| Tensor { name: name.into(), shape, data };
    names.into_iter().zip(shapes).zip(data).map(tensor).collect()
}

#[test]
fn test_sequences_are_given_where_labels_contradict() {
    let (train, test) = (["tokens", "position", "labels"], ["test_tokens", "test_position", "test_labels"]);
    let measured = |given: Vec<Tensor<u32>>| {
        let whole = |name: &str| Ok(given.iter().find(|tensor| tensor.name == name).cloned());
        let import = Import::gather::<TensorError>(|_| Ok(None), whole).unwrap();
        let mut settings = Settings { vocab: 10, dim: 16, ..Settings::default() };
        let inputs = Inputs::open_with_digest(&mut settings, Some(import), |name| name == "vocab").unwrap();
        assert_eq!((settings.length, settings.samples), (4, 30));
        evaluation(&settings.check().unwrap(), &inputs, &Backend::single()).map_err(|e| e.to_string())
    };
    let (one, two) = (|a: u32, _: u32| (a + 3) % 10, |a: u32, b: u32| (a + b) % 10);
    measured(sequences(train, one)).unwrap();
    let error = measured(sequences(train, two)).unwrap_err();
    assert!(error.starts_with("tensor labels holds") && error.contains("give test_tokens"), "{error}");
    let both = [sequences(train, two), sequences(test, two)].concat();
    let found = measured(both).unwrap();
    assert_eq!(found[Measure::Accuracy].items(), 30);
    assert_eq!(found[Measure::MemoryAccuracy].items(), 30);
}
