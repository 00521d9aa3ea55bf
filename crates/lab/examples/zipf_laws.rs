//! Scaling laws of the error under Zipf's law: exponents of N, d and L, measured with intervals and predicted.
//!
//! `cargo run --release -p superpose-lab --example zipf_laws -- 64 docs/validation/zipf_laws.csv`
//! (seeds per cell; output; an existing output is read, not computed again).
//!
//! V = 1,000, trigger in the keys. Around N = 50,000, d = 256, L = 8 one size is varied by factors of two. The error is one minus the
//! accuracy by use. An exponent is the slope of a line through the logarithms; its interval is a bootstrap over seeds. The predicted
//! exponent is the slope of the same line through the predictions for the same cells.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use superpose_core::Measure;
use superpose_core::backend::Backend;
use superpose_core::config::{Settings, Trigger};
use superpose_core::random::{Stream, Words, unit};
use superpose_lab::run::{Inputs, evaluation};
use superpose_theory::predict;

const EXPONENTS: [f64; 4] = [0.5, 1.0, 1.5, 2.0];
const MEASURES: [Measure; 3] = [Measure::MemoryAccuracy, Measure::OneStepAccuracy, Measure::Accuracy];
const SIZES: [(&str, &[usize]); 3] = [
    ("samples", &[800, 1600, 3200, 6400, 12_800, 25_600, 51_200]),
    ("dim", &[16, 32, 64, 128, 256, 512]),
    ("length", &[2, 4, 8, 16, 32, 64]),
];

/// The lines that are fitted: a size, and the smallest value that counts. The formulas were validated from d = 24 on.
const LINES: [(&str, usize); 4] = [("samples", 0), ("dim", 0), ("dim", 32), ("length", 0)];

struct Cell {
    zipf: f64,
    size: &'static str,
    value: usize,
}

impl Cell {
    fn settings(&self, seed: u64) -> Settings {
        let mut settings = Settings {
            vocab: 1000,
            dim: 256,
            length: 8,
            samples: 50_000,
            zipf: Some(self.zipf),
            trigger: Trigger::Keys,
            test_samples: 4096,
            seed,
            ..Settings::default()
        };
        match self.size {
            "samples" => settings.samples = self.value,
            "dim" => settings.dim = self.value,
            _ => settings.length = self.value,
        }
        settings
    }

    /// The errors of every measure in a run.
    fn measured(&self, seed: u64) -> [f64; 3] {
        let config = self.settings(seed).check().unwrap();
        let found = evaluation(&config, &Inputs::default(), &Backend::single()).unwrap();
        MEASURES.map(|measure| 1.0 - found[measure].mean())
    }

    fn predicted(&self) -> [f64; 3] {
        let found = predict(&self.settings(0).check().unwrap());
        MEASURES.map(|measure| 1.0 - found.measures[measure].unwrap())
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [seeds, path] = &arguments[..] else {
        eprintln!("usage: zipf_laws SEEDS OUT.csv");
        std::process::exit(2);
    };
    let seeds: usize = seeds.parse().unwrap();
    let mut cells = Vec::new();
    for zipf in EXPONENTS {
        for (size, values) in SIZES {
            cells.extend(values.iter().map(|&value| Cell { zipf, size, value }));
        }
    }
    let runs = match std::fs::read_to_string(path) {
        Ok(text) => read(&text, seeds),
        Err(_) => simulate(&cells, seeds, path),
    };
    println!(
        "| s | size | error of | measured exponent (95% interval) | predicted | errors, measured | errors, predicted |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut random = Uniform(0);
    let predicted: Vec<[f64; 3]> = cells.iter().map(Cell::predicted).collect();
    for zipf in EXPONENTS {
        for (size, least) in LINES {
            let name = if least > 0 { format!("{size} from {least}") } else { size.into() };
            for (i, measure) in MEASURES.iter().enumerate() {
                let chosen: Vec<usize> = (0..cells.len())
                    .filter(|&c| cells[c].zipf == zipf && cells[c].size == size && cells[c].value >= least)
                    .collect();
                let slope = |error: &mut dyn FnMut(usize) -> f64| {
                    let point = |&c: &usize| ((cells[c].value as f64).ln(), error(c).max(1e-6).ln());
                    slope(&chosen.iter().map(point).collect::<Vec<_>>())
                };
                let mean = |c: usize| runs[c].iter().map(|run| run[i]).sum::<f64>() / seeds as f64;
                let mut draws: Vec<f64> = (0..1000)
                    .map(|_| {
                        slope(&mut |c| {
                            let draw = |_| runs[c][(random.next() * seeds as f64) as usize][i];
                            (0..seeds).map(draw).sum::<f64>() / seeds as f64
                        })
                    })
                    .collect();
                draws.sort_by(f64::total_cmp);
                let list = |error: &dyn Fn(usize) -> f64| {
                    chosen.iter().map(|&c| format!("{:.3}", error(c))).collect::<Vec<_>>().join(" ")
                };
                println!(
                    "| {zipf} | {name} | {measure} | {:.3} ({:.3} to {:.3}) | {:.3} | {} | {} |",
                    slope(&mut |c| mean(c)),
                    draws[25],
                    draws[974],
                    slope(&mut |c| predicted[c][i]),
                    list(&mean),
                    list(&|c| predicted[c][i])
                );
            }
        }
    }
}

/// The runs of every cell, in order, one line per run.
fn read(text: &str, seeds: usize) -> Vec<Vec<[f64; 3]>> {
    let run = |line: &str| {
        let columns: Vec<f64> = line.split(',').skip(4).map(|column| column.parse().unwrap()).collect();
        [columns[0], columns[1], columns[2]]
    };
    let runs: Vec<[f64; 3]> = text.lines().skip(1).map(run).collect();
    runs.chunks(seeds).map(<[_]>::to_vec).collect()
}

fn simulate(cells: &[Cell], seeds: usize, path: &str) -> Vec<Vec<[f64; 3]>> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(vec![vec![[0.0; 3]; seeds]; cells.len()]));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let job = next.fetch_add(1, Ordering::Relaxed);
                    let (cell, seed) = (job / seeds, job % seeds);
                    if cell >= cells.len() {
                        break;
                    }
                    // Every cell has its own seeds.
                    let found = cells[cell].measured(1_000_000 + job as u64);
                    done.lock().unwrap()[cell][seed] = found;
                }
            });
        }
    });
    let runs = done.into_inner().unwrap();
    let mut text = String::from("zipf,size,value,seed,memory_error,one_step_error,error\n");
    for (cell, runs) in cells.iter().zip(&runs) {
        for (seed, [memory, one_step, recall]) in runs.iter().enumerate() {
            let Cell { zipf, size, value } = cell;
            writeln!(text, "{zipf},{size},{value},{seed},{memory:.5},{one_step:.5},{recall:.5}").unwrap();
        }
    }
    std::fs::write(path, text).unwrap();
    runs
}

/// The slope of a line by least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / n, sum.1 + point.1 / n));
    let (xy, xx) = points.iter().fold((0.0, 0.0), |sum, point| {
        (sum.0 + (point.0 - x) * (point.1 - y), sum.1 + (point.0 - x).powi(2))
    });
    xy / xx
}

/// Uniform random numbers by index.
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 += 1;
        let block = Words::new(17, Stream::Train, self.0).block(0);
        unit(block[0], block[1])
    }
}
