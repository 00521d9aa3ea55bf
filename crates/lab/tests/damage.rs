//! Damaged, removed and replaced files: every flipped bit is an error or changes nothing, and no result is lost silently.

use std::cell::Cell;
use std::path::Path;

use rusqlite::Connection;
use superpose_core::backend::{Backend, Numerics};
use superpose_core::config::{Config, Settings, Training};
use superpose_core::random::{Stream, Words};
use superpose_lab::cell::{Entry, Key, Results, Runner, measure};
use superpose_lab::run::Inputs;
use superpose_lab::store::{Store, StoreError, csv, json_lines};
use superpose_lab::sweep::{Shard, merge};
use superpose_lab::train::{Checkpoint, Finish, train};

fn cells(count: u64) -> Vec<Config> {
    let sizes =
        Settings { vocab: 24, dim: 12, length: 4, samples: 100, test_samples: 50, ..Settings::default() };
    (0..count).map(|seed| Settings { seed, ..sizes.clone() }.check().unwrap()).collect()
}

fn run_into(results: impl Results) -> Result<(), StoreError> {
    Runner::new(1).with_results(results).run(&cells(20), &mut |_| {}).map(drop)
}

/// Flips `count` random bits of a file, one at a time. `read` returns what the program makes of the file; `None` is an error.
/// Returns the number of flips that were errors; the others must change nothing.
fn flip<R: PartialEq + std::fmt::Debug>(path: &Path, count: u64, read: impl Fn(&Path) -> Option<R>) -> u64 {
    let good = std::fs::read(path).unwrap();
    let whole = read(path);
    assert!(whole.is_some());
    std::fs::write(path, &good).unwrap();
    let mut found = 0;
    for i in 0..count {
        let [a, b, ..] = Words::new(7, Stream::Test, i).block(0);
        let bit = ((u64::from(a) << 32 | u64::from(b)) % (8 * good.len() as u64)) as usize;
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(path, bytes).unwrap();
        let now = read(path);
        found += u64::from(now.is_none());
        assert!(now.is_none() || now == whole, "bit {bit} of {}", path.display());
    }
    let name = path.file_name().unwrap_or_default();
    println!("{}: {found} of {count} flips are errors, the others change nothing", name.display());
    found
}

/// Returns the store in both formats of export.
fn exports(store: &Store) -> Option<(Vec<u8>, Vec<u8>)> {
    let (mut table, mut lines) = (Vec::new(), Vec::new());
    csv(store, &mut table).ok()?;
    json_lines(store, &mut lines).ok()?;
    Some((table, lines))
}

/// Returns the tables of a store: a copy without the unused parts of its pages and without the views, which the program makes anew
/// when they are damaged.
fn tables(path: &Path) -> Option<Vec<u8>> {
    let copy = path.with_extension("copy");
    let _ = std::fs::remove_file(&copy);
    Connection::open(path).ok()?.execute("VACUUM INTO ?1", [copy.to_str()?]).ok()?;
    let drop = "DROP VIEW results; DROP VIEW trajectory; VACUUM";
    Connection::open(&copy).ok()?.execute_batch(drop).ok()?;
    let mut bytes = std::fs::read(copy).ok()?;
    // The header's counters of changes and of layouts.
    for counter in [24..28, 40..44, 92..96] {
        bytes[counter].fill(0);
    }
    Some(bytes)
}

fn flip_everything(count: u64) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);

    let training = Some(Training { every: Some(2), ..Training::new(4) });
    let config = Settings { training, ..(*cells(1)[0]).clone() }.check().unwrap();
    let resume = |path: &Path| {
        let saved = path.exists().then(|| Checkpoint::open(path)).transpose().ok()?;
        saved.as_ref().map(|saved| saved.check(&config)).transpose().ok()?;
        let backend = Backend::single();
        match train(&config, &Inputs::default(), saved.as_ref(), Some(path), &backend, &mut ()).ok()? {
            Finish::Done(record, _) => Some((record.outcome.measures, record.trajectory)),
            Finish::Interrupted { .. } => None,
        }
    };
    resume(&at("a.safetensors"));
    assert_eq!(flip(&at("a.safetensors"), count, resume), count, "a checkpoint is covered by its checksum");

    run_into(Shard::open(&at("a.jsonl"), None).unwrap()).unwrap();
    let known = |store: &mut dyn Results| {
        let keys: Vec<Key> = cells(20).iter().map(|cell| Key::new(cell, &Numerics::this_cpu())).collect();
        let mut known: Vec<_> = store.find(&keys).ok()?.into_iter().collect();
        known.sort_by_key(|(key, _)| *key);
        Some(known)
    };
    flip(&at("a.jsonl"), count, |path| {
        let mut store = Store::open(&folder.path().join("merged.sqlite")).unwrap();
        let merged = merge(&[path.to_owned()], &mut store, &mut |_| {}).unwrap();
        // A damaged end of the last line looks like an unfinished one, which is reported and run again.
        if merged.refused.is_empty() && merged.torn.is_empty() { known(&mut store) } else { None }
    });

    run_into(Store::open(&at("a.sqlite")).unwrap()).unwrap();
    let content = tables(&at("a.sqlite")).unwrap();
    let unused = Cell::new(0);
    let found = flip(&at("a.sqlite"), count, |path| {
        let mut store = Store::open(path).ok()?;
        let exports = exports(&store)?;
        let known = known(&mut store)?;
        assert_eq!(known.len(), 20, "a key that is not found would be run and written again");
        drop(store);
        unused.set(unused.get() + u64::from(tables(path)? == content));
        Some((known, exports))
    });
    // The first reading is that of the undamaged file.
    let (unused, silent) = (unused.get() - 1, count - found);
    println!("a.sqlite: of {silent} flips that change nothing {unused} leave the tables as they were");
    assert!(unused > 0 && silent - unused <= count / 20, "{unused} of {silent}");
}

#[test]
fn no_flipped_bit_is_silent() {
    flip_everything(40);
}

#[test]
#[ignore = "long: 500 flips of each file"]
fn no_flipped_bit_is_silent_in_500() {
    flip_everything(500);
}

/// Results that would go into a file that was removed or replaced are an error.
#[cfg(unix)]
#[test]
fn removed_and_replaced_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for replace in [false, true] {
        for name in ["a.sqlite", "a.jsonl"] {
            let _ = std::fs::remove_file(at(name));
            let _ = std::fs::remove_file(at("a.sqlite-wal"));
            let mut results: Box<dyn Results> = match name {
                "a.sqlite" => Box::new(Store::open(&at(name)).unwrap()),
                _ => Box::new(Shard::open(&at(name), None).unwrap()),
            };
            std::fs::remove_file(at(name)).unwrap();
            if replace {
                run_into(Store::open(&at("other.sqlite")).unwrap()).unwrap();
                std::fs::copy(at("other.sqlite"), at(name)).unwrap();
            }
            let outcome = measure(&cells(1)[0], false, &Backend::single()).unwrap();
            let entry = Entry::new(&cells(1)[0], &Numerics::this_cpu(), Ok(outcome));
            let error = results.keep(&[entry]).unwrap_err();
            assert!(matches!(error, StoreError::Replaced { .. }), "{name}: {error}");
            // The file in its place is as it was, and is not changed by the old one's log.
            if replace && name == "a.sqlite" {
                assert_eq!(Store::open(&at(name)).unwrap().counts().unwrap(), (20, 0));
            }
        }
    }
}

/// A merge into a store that is removed or replaced before or during it is an error.
#[cfg(unix)]
#[test]
fn store_removed_during_a_merge_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    run_into(Shard::open(&at("a.jsonl"), None).unwrap()).unwrap();
    run_into(Store::open(&at("other.sqlite")).unwrap()).unwrap();
    for early in [true, false] {
        let mut store = Store::open(&at("a.sqlite")).unwrap();
        let replace = || {
            std::fs::remove_file(at("a.sqlite")).unwrap();
            std::fs::copy(at("other.sqlite"), at("a.sqlite")).unwrap();
        };
        if early {
            replace();
        }
        let each = &mut |_: &Path| {
            if !early {
                replace()
            }
        };
        let error = merge(&[at("a.jsonl")], &mut store, each).unwrap_err();
        assert!(matches!(error, StoreError::Replaced { .. }), "{error}");
    }
}
