//! Measures how long it takes to merge many shards into one store.
//!
//! `cargo run --release -p superpose-lab --example merging -- [shards] [records each]` (1,000 of 1,000). The records have
//! the real format; their outcomes are those of one run under many seeds.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::time::Instant;

use superpose_core::backend::{Backend, Numerics};
use superpose_core::config::Settings;
use superpose_lab::cell::{Entry, Results, measure};
use superpose_lab::store::Store;
use superpose_lab::sweep::{Shard, merge};

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>().unwrap());
    let (shards, records) = (arguments.next().unwrap_or(1000), arguments.next().unwrap_or(1000));
    let folder = tempfile::tempdir().unwrap();
    let settings =
        Settings { vocab: 32, dim: 16, length: 4, samples: 256, test_samples: 256, ..Settings::default() };
    let outcome = measure(&settings.clone().check().unwrap(), false, &Backend::single()).unwrap();
    let started = Instant::now();
    let paths: Vec<PathBuf> = (0..shards)
        .map(|shard| {
            let path = Shard::path(folder.path(), shard + 1, shards);
            let entries: Vec<Entry> = (0..records)
                .map(|record| {
                    let seed = (shard * records + record) as u64;
                    let config = Settings { seed, ..settings.clone() }.check().unwrap();
                    Entry::new(&config, &Numerics::this_cpu(), Ok(outcome))
                })
                .collect();
            Shard::open(&path, None).unwrap().keep(&entries).unwrap();
            path
        })
        .collect();
    println!("{shards} shards of {records} records written in {:.1} s", started.elapsed().as_secs_f64());
    let path = folder.path().join("store.sqlite");
    for what in ["merged into a new store", "merged again"] {
        let started = Instant::now();
        let merged = merge(&paths, &mut Store::open(&path).unwrap(), &mut |_| {}).unwrap();
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "  {what}: {seconds:.1} s, {} new, {} known, {} refused",
            merged.added,
            merged.known,
            merged.refused.len()
        );
    }
    let size = std::fs::metadata(&path).unwrap().len();
    println!(
        "  store: {:.0} MB, {:.0} bytes a record",
        size as f64 * 1e-6,
        size as f64 / (shards * records) as f64
    );
}
