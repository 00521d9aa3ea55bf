//! The unit costs that the choice of algorithms depends on, on one thread: `cargo bench -p superpose-core`.
//!
//! `Way::choose` in `early_phase/limit.rs` uses their ratios to a multiply-add inside a product.

use std::hint::black_box;
use std::time::Instant;

use superpose_core::backend::{View, Weights, gather_dots, gather_sums, product};
use superpose_core::random::{Stream, Words, below};

/// Nanoseconds per unit of the fastest of several runs.
fn cost(units: f64, mut work: impl FnMut()) -> f64 {
    let time = |work: &mut dyn FnMut()| {
        let started = Instant::now();
        work();
        started.elapsed().as_secs_f64()
    };
    (0..7).map(|_| time(&mut work)).fold(f64::INFINITY, f64::min) * 1e9 / units
}

fn main() {
    println!("nanoseconds per unit, f32; in brackets, in units of a multiply-add of the product");
    for (tokens, dim) in [(512, 64), (1024, 128), (4096, 256), (16384, 256)] {
        let (length, samples, labels) = (64, 2048, 64);
        let table: Vec<f32> = (0..tokens * dim).map(|i| (i as f32 * 0.37).sin()).collect();
        let mut words = vec![0; samples * length];
        Words::new(0, Stream::Train, 0).fill(0, &mut words);
        let sequence: Vec<u32> = words.iter().map(|&word| below(word, tokens as u32)).collect();
        let entries = (samples * length * dim) as f64;

        let left = vec![1.0_f32; labels * tokens];
        let mut out = vec![0.0_f32; labels * dim];
        let fma = cost((labels * tokens * dim) as f64, || {
            product(&mut out, View::new(&left, labels, tokens), View::new(&table, tokens, dim), false);
            black_box(&out);
        });
        let mut heads = vec![0.0_f32; samples * dim];
        let sums = cost(entries, || {
            gather_sums(&mut heads, &table, dim, &sequence, length, Weights::Equal(1.0));
            black_box(&heads);
        });
        let mut dots = vec![0.0_f32; samples * length];
        let dot = cost(entries, || {
            gather_dots(&mut dots, &heads, &table, dim, &sequence, length);
            black_box(&dots);
        });
        let mut histogram = vec![0.0_f64; labels * tokens];
        let access = cost((samples * length) as f64, || {
            for (b, sequence) in sequence.chunks_exact(length).enumerate() {
                let row = &mut histogram[b * labels / samples * tokens..][..tokens];
                sequence.iter().for_each(|&token| row[token as usize] += 0.5);
            }
            black_box(&histogram);
        });
        let relative = |x: f64| format!("{x:8.3} ({:5.1})", x / fma);
        println!(
            "V {tokens:6} d {dim:4}: product {fma:6.4}, row added, per entry {}, row multiplied {}, table access {}",
            relative(sums),
            relative(dot),
            relative(access)
        );
    }
}
