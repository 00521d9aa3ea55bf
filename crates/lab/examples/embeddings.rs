//! Compares recall with a real model's embeddings with the prediction from their statistics.
//!
//! `cargo run --release -p superpose-lab --example embeddings -- model.safetensors embeddings.word_embeddings.weight`
//!
//! The matrix is raw or centred, complete or after a random rotation of which the first k coordinates are kept. The attention is
//! placed on `ell`, the trigger in the keys, N = 100 V samples, Gaussian output embeddings; V rows are drawn at random for
//! each of eight seeds. The predictions are those of `superpose inspect`: from pairs of rows, and from mean statistics.
#![allow(clippy::unwrap_used)]

use superpose_core::Measure;
use superpose_core::backend::{Backend, View};
use superpose_core::config::{EmbeddingSettings, Settings, Trigger};
use superpose_core::random::{Stream, Words, normals};
use superpose_lab::inspect::{SAMPLES_PER_FACT, inspect};
use superpose_lab::run::{Inputs, evaluation};
use superpose_tensors::{Entry, TensorFile, write};
use superpose_theory::Memory;

const SEEDS: u64 = 8;
const VOCABS: [usize; 8] = [32, 64, 125, 250, 500, 1000, 2000, 4000];

/// Returns `keep` orthonormal vectors of `dim` entries each, as rows.
fn rotation(dim: usize, keep: usize) -> Vec<f64> {
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for k in 0..keep {
        let mut row = vec![0.0; dim];
        normals(&Words::new(17, Stream::FileRows, k as u64), &mut row);
        // Twice, because a single pass leaves rounding errors.
        for _ in 0..2 {
            for other in &rows {
                let dot: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
                row.iter_mut().zip(other).for_each(|(a, b)| *a -= dot * b);
            }
        }
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        row.iter_mut().for_each(|x| *x /= norm);
        rows.push(row);
    }
    rows.concat()
}

fn centred(data: &[f64], dim: usize) -> Vec<f64> {
    let rows = data.len() / dim;
    let mut mean = vec![0.0; dim];
    data.chunks(dim).for_each(|row| mean.iter_mut().zip(row).for_each(|(m, x)| *m += x / rows as f64));
    data.chunks(dim).flat_map(|row| row.iter().zip(&mean).map(|(x, m)| x - m)).collect()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, tensor] = &arguments[..] else {
        eprintln!("usage: embeddings FILE.safetensors TENSOR");
        std::process::exit(2);
    };
    let backend = Backend::cpu(std::thread::available_parallelism().map_or(1, usize::from)).unwrap();
    let whole = TensorFile::open(file.as_ref()).unwrap().tensors().floats(tensor).unwrap();
    let (rows, dim) = whole.matrix().unwrap();
    let folder = std::env::temp_dir().join(format!("superpose-embeddings-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    println!(
        "| rows | d | effective dimension | facts at 0.99 | V | simulated | standard error | predicted | from means |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let (mut squares, mut bias, mut cells) = ([0.0; 2], [0.0; 2], 0.0);
    for (kind, data) in [("raw", whole.data.clone()), ("centred", centred(&whole.data, dim))] {
        for keep in [dim, 128, 64] {
            let kept = match keep == dim {
                true => data.clone(),
                false => {
                    let mut out = vec![0.0; rows * keep];
                    let rotation = rotation(dim, keep);
                    backend
                        .product(&mut out, View::new(&data, rows, dim), View::new(&rotation, keep, dim).t())
                        .unwrap();
                    out
                }
            };
            let path = folder.join(format!("{kind}-{keep}.safetensors"));
            let kept = kept.iter().map(|&x| x as f32).collect();
            write(&path, &[Entry::f32("rows", &[rows, keep], kept)]).unwrap();
            let file = TensorFile::open(&path).unwrap();
            let (found, [pairs, _]) =
                inspect(&file.tensors(), None, None, 0.99, &backend, &mut |_, _| {}).unwrap();
            for vocab in VOCABS {
                let runs: Vec<f64> = (0..SEEDS)
                    .map(|seed| {
                        let mut settings = Settings {
                            vocab,
                            length: 2,
                            samples: SAMPLES_PER_FACT as usize * vocab,
                            embedding: EmbeddingSettings::File {
                                file: path.display().to_string(),
                                tensor: "rows".into(),
                            },
                            trigger: Trigger::Keys,
                            test_samples: 64,
                            seed,
                            ..Settings::default()
                        };
                        let inputs = Inputs::open(&mut settings, |_| false).unwrap();
                        let config = settings.check().unwrap();
                        evaluation(&config, &inputs, &backend).unwrap()[Measure::MemoryAccuracy].mean()
                    })
                    .collect();
                let mean = runs.iter().sum::<f64>() / SEEDS as f64;
                let variance = runs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (SEEDS - 1) as f64;
                let size = vocab as f64;
                let predicted = pairs.accuracy(size, SAMPLES_PER_FACT, &backend).unwrap();
                let means = Memory::measured(size, &found.raw.kernel).accuracy(SAMPLES_PER_FACT * size);
                println!(
                    "| {kind} | {keep} | {:.1} | {} | {vocab} | {mean:.3} | {:.3} | {predicted:.3} | {means:.3} |",
                    found.raw.geometry.effective_dimension,
                    found.raw.facts,
                    (variance / SEEDS as f64).sqrt()
                );
                if (0.05..0.95).contains(&mean) {
                    for (i, guess) in [predicted, means].into_iter().enumerate() {
                        squares[i] += (guess - mean).powi(2);
                        bias[i] += guess - mean;
                    }
                    cells += 1.0;
                }
            }
        }
    }
    println!("\nWhere the simulated accuracy is between 0.05 and 0.95 ({cells} cells):");
    for (i, name) in ["predicted", "from means"].iter().enumerate() {
        println!("- {name}: rms error {:.3}, bias {:+.3}", (squares[i] / cells).sqrt(), bias[i] / cells);
    }
    let _ = std::fs::remove_dir_all(&folder);
}
