//! Benchmark of phase maps and predictions: `cargo bench -p superpose-theory`.
//!
//! A map has 64 x 64 cells over the validated range and is computed on two threads. A prediction is one call of [`predict_at`]
//! on one thread; all critical values together, as `superpose predict` prints them, use two threads. Times are the fastest of
//! several runs.

use std::hint::black_box;
use std::time::Instant;

use superpose_core::config::{Activation, Embedding, Trigger};
use superpose_theory::critical::Parameter;
use superpose_theory::map::{Axis, fill};
use superpose_theory::{Point, Zipf, critical, predict_at};

/// Milliseconds of the fastest of several runs.
fn fastest(runs: usize, mut work: impl FnMut()) -> f64 {
    let mut time = || {
        let started = Instant::now();
        work();
        started.elapsed().as_secs_f64() * 1e3
    };
    (0..runs).map(|_| time()).fold(f64::INFINITY, f64::min)
}

fn point(embedding: Embedding, trigger: Trigger) -> Point {
    let (vocab, dim, length, samples) = (512.0, 128.0, 32.0, 20_000.0);
    let (width, activation, keep, lead, zipf) = (None, Activation::Relu, None, 4.0, Zipf::default());
    Point { vocab, dim, length, samples, width, activation, embedding, trigger, keep, lead, zipf, rows: None }
}

fn axes(mlp: bool) -> Vec<Axis> {
    let mut axes = vec![
        Axis::logarithmic(Parameter::Samples, 100.0, 1e6, 64),
        Axis::logarithmic(Parameter::Dim, 16.0, 512.0, 64),
        Axis::logarithmic(Parameter::Length, 2.0, 512.0, 64),
        Axis::logarithmic(Parameter::Vocab, 100.0, 4000.0, 64),
    ];
    if mlp {
        axes.push(Axis::logarithmic(Parameter::Width, 32.0, 8192.0, 64));
    }
    axes
}

/// Times a map for every pair of axes around a point and returns the slowest; prints all of them on request.
fn maps(name: &str, point: &Point, all: bool) -> (f64, String) {
    let axes = axes(point.width.is_some());
    let mut slowest = (0.0, String::new());
    for (i, rows) in axes.iter().enumerate() {
        for columns in &axes[i + 1..] {
            let pair = format!("{} by {}", rows.parameter, columns.parameter);
            let mut computed = 0;
            let time = fastest(9, || computed = fill(point, rows.clone(), columns.clone(), 2).computed);
            let line = format!("{name}, {pair}: {time:.1} ms, {computed} memories computed");
            if all {
                println!("  {line}");
            }
            if time > slowest.0 {
                slowest = (time, line);
            }
        }
    }
    slowest
}

fn main() {
    let all = std::env::args().any(|argument| argument == "--all");
    let embeddings = [Embedding::Gaussian, Embedding::Sphere, Embedding::Orthonormal];
    let mut slowest = Vec::new();
    for &trigger in Trigger::ALL {
        for embedding in embeddings {
            // Orthonormal embeddings need a fixed dimension, so they have no axis over it.
            if embedding != Embedding::Orthonormal {
                slowest.push(maps(&format!("{embedding}, {trigger}"), &point(embedding, trigger), all));
            }
        }
    }
    print("map, attention only", &mut slowest);
    for &trigger in Trigger::ALL {
        for &activation in Activation::ALL {
            let point = Point { width: Some(1024.0), activation, ..point(Embedding::Gaussian, trigger) };
            slowest.push(maps(&format!("{activation}, {trigger}"), &point, all));
        }
    }
    print("map, attention-MLP", &mut slowest);

    for critical_too in [false, true] {
        for mlp in [false, true] {
            for &trigger in Trigger::ALL {
                for embedding in embeddings {
                    for &activation in if mlp { Activation::ALL } else { &[Activation::Relu] } {
                        let mut point = Point { activation, ..point(embedding, trigger) };
                        if mlp {
                            point.width = Some(1024.0);
                        }
                        if embedding == Embedding::Orthonormal {
                            point.dim = point.vocab + 2.0;
                        }
                        let time = fastest(9, || {
                            black_box(predict_at(&point));
                            if critical_too {
                                solve(&point);
                            }
                        });
                        let phi = if mlp { format!(", {activation}") } else { String::new() };
                        slowest.push((time, format!("{embedding}, {trigger}{phi}: {time:.2} ms")));
                    }
                }
            }
            let model = if mlp { "attention-MLP" } else { "attention only" };
            let what = if critical_too { "prediction with critical values" } else { "prediction" };
            print(&format!("{what}, {model}"), &mut slowest);
        }
    }
}

/// Computes all critical values on two threads.
fn solve(point: &Point) {
    std::thread::scope(|scope| {
        for parameters in [&Parameter::ALL[..2], &Parameter::ALL[2..]] {
            scope.spawn(|| {
                parameters.iter().for_each(|&p| {
                    black_box(critical(point, p, 0.5));
                })
            });
        }
    });
}

fn print(title: &str, times: &mut Vec<(f64, String)>) {
    times.sort_by(|a, b| b.0.total_cmp(&a.0));
    if let Some((_, slowest)) = times.first() {
        println!("{title}, slowest: {slowest}");
    }
    times.clear();
}
