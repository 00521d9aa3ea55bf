//! Compares many threads with one in alternating runs, and with a product that fits in the caches of a core, which shows about the
//! largest speed-up of this machine.
//!
//! `cargo run --release -p superpose-core --example cores -- [threads] [rounds]`
//!
//! The first row is that product, computed by each thread on its own, so that the threads share only arithmetic units. The column "busy" is the processor
//! time of the run divided by its duration.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Instant;

use superpose_core::backend::{Backend, View, product};
use superpose_core::config::{Config, Regime, Settings};
use superpose_core::early_phase::early_phase;
use superpose_core::embedding::Embeddings;
use superpose_core::model::Model;
use superpose_core::random::Stream;
use superpose_core::task::{Drawn, Task};

/// Processor time of this process in seconds, where the system reports it, in steps of 10 ms.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let ticks = |place: usize| after_name.split_whitespace().nth(place).and_then(|x| x.parse::<f64>().ok());
    (ticks(11).unwrap_or(f64::NAN) + ticks(12).unwrap_or(f64::NAN)) / 100.0
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Compares one thread with all in alternating runs, and prints a row.
fn row(name: &str, backends: &[Backend; 2], rounds: usize, mut work: impl FnMut(&Backend)) {
    let mut times = [const { Vec::new() }; 2];
    let mut busy = 0.0;
    backends.iter().for_each(&mut work);
    for _ in 0..rounds {
        for (i, backend) in backends.iter().enumerate() {
            let (processor, started) = (processor_seconds(), Instant::now());
            work(backend);
            times[i].push(started.elapsed().as_secs_f64());
            if i == 1 {
                busy += processor_seconds() - processor;
            }
        }
    }
    busy /= times[1].iter().sum::<f64>();
    let ratios = times[0].iter().zip(&times[1]).map(|(one, all)| one / all).collect();
    let [one, all] = times.map(median);
    println!("{name:58} {one:8.4} s {all:8.4} s {:8.1} {busy:6.1}", median(ratios));
}

fn config((vocab, samples, dim, length): (usize, usize, usize, usize), regime: Regime, eta: f64) -> Config {
    Settings { vocab, samples, dim, length, regime, eta, ..Settings::default() }.check().unwrap()
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().unwrap());
    let threads = arguments.next().unwrap_or(2);
    let rounds = arguments.next().unwrap_or(5);
    let backends = [Backend::single(), Backend::cpu(threads).unwrap()];
    println!(
        "{:58} {:>10} {:>10} {:>8} {:>6}",
        "",
        "one thread",
        format!("{threads} threads"),
        "speed-up",
        "busy"
    );

    row("a product in the caches of one core", &backends, rounds, |backend| {
        const SIZE: usize = 64;
        const TASKS: usize = 1 << 10;
        let task = |_: usize| {
            let (a, b, mut out) = ([1.0f32; SIZE * SIZE], [0.5f32; SIZE * SIZE], [0.0f32; SIZE * SIZE]);
            for _ in 0..32 {
                let (a, b) = (View::new(&a, SIZE, SIZE), View::new(&b, SIZE, SIZE));
                product(&mut out, black_box(a), black_box(b), false);
            }
            black_box(out[0])
        };
        backend.map(TASKS, task).unwrap();
    });
    row("a product of 65,536 x 128 and 128 x 1,024 numbers", &backends, rounds, {
        let (a, b) = (vec![1.0f32; 65_536 * 128], vec![0.5f32; 128 * 1024]);
        move |backend| {
            let task = |i: usize| {
                let mut out = vec![0.0; 256 * 1024];
                let a = View::new(&a, 65_536, 128).rows_in(256 * i, 256 * (i + 1));
                product(&mut out, a, View::new(&b, 128, 1024), false);
                black_box(out[0])
            };
            backend.map(256, task).unwrap();
        }
    });
    for (name, config) in [
        ("exact, first rate 1", config((1024, 65_536, 128, 64), Regime::Exact, 1.0)),
        ("exact, first rate 1000", config((1024, 65_536, 128, 64), Regime::Exact, 1000.0)),
        ("infinitesimal", config((4096, 1_000_000, 256, 64), Regime::Infinitesimal, 1.0)),
    ] {
        let embeddings = Embeddings::<f32>::draw(&config, &backends[1]).unwrap();
        let (model, task) = (Model::new(&config, &embeddings), Task::new(&config));
        let samples = Drawn::new(&task, config.seed, Stream::Train, config.samples);
        let Settings { vocab, dim, length, .. } = *config;
        let name = format!("{name}; V {vocab}, d {dim}, L {length}, N {}", config.samples);
        row(&name, &backends, rounds, |backend| {
            black_box(early_phase(&config, &model, &samples, backend).unwrap());
        });
    }
}
