//! Measures the overhead of the laboratory over the engine on many tiny cells, with and without a store.
//!
//! `cargo run --release -p superpose-lab --example overhead -- [cells] [test samples]` (10,000 cells of V = 32, d = 16, L = 4,
//! N = 256, tested on 256 sequences, into a new file).
#![allow(clippy::unwrap_used)]

use std::time::Instant;

use superpose_core::backend::Backend;
use superpose_core::config::{Config, Settings};
use superpose_lab::cell::{Runner, measure};
use superpose_lab::store::Store;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>().unwrap());
    let count = arguments.next().unwrap_or(10_000);
    let test_samples = arguments.next().unwrap_or(256);
    let settings =
        Settings { vocab: 32, dim: 16, length: 4, samples: 256, test_samples, ..Settings::default() };
    let cells: Vec<Config> =
        (0..count as u64).map(|seed| Settings { seed, ..settings.clone() }.check().unwrap()).collect();
    let folder = tempfile::tempdir().unwrap();
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{count} cells of V = 32, d = 16, L = 4, N = 256, {test_samples} test samples");
    let report = |what: &str, threads: usize, started: Instant| {
        let seconds = started.elapsed().as_secs_f64();
        let rate = count as f64 / seconds / threads as f64;
        println!("  {what:32} {threads} threads: {seconds:6.2} s, {rate:6.0} per second and core");
    };

    let started = Instant::now();
    cells.iter().for_each(|config| assert!(measure(config, false, &Backend::single()).is_ok()));
    report("engine alone", 1, started);
    for threads in [1, all] {
        let started = Instant::now();
        let outcomes = Runner::new(threads).run(&cells, &mut |_| {}).unwrap();
        assert!(outcomes.iter().all(Result::is_ok));
        report("runner, in memory", threads, started);

        let path = folder.path().join(format!("{threads}.sqlite"));
        for what in ["runner, into a new store", "runner, all known to the store"] {
            let started = Instant::now();
            let mut runner = Runner::new(threads).with_results(Store::open(&path).unwrap());
            let outcomes = runner.run(&cells, &mut |_| {}).unwrap();
            assert!(outcomes.iter().all(Result::is_ok));
            drop(runner);
            report(what, threads, started);
        }
    }
}
