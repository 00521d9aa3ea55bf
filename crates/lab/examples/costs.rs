//! Compares measured with estimated seconds of random cells whose times differ by a factor of a thousand and more, and reports how
//! even the times of shares would be.
//!
//! `cargo run --release -p superpose-lab --example costs -- [cells] [maximum seconds of a cell] [noise]`
#![allow(clippy::unwrap_used)]

use superpose_core::backend::Backend;
use superpose_core::config::{Activation, EmbeddingSettings, Precision, Regime, Settings};
use superpose_core::random::{Stream, Words, unit};
use superpose_lab::cell::{deal, estimated_seconds, measure};

/// Returns the processor time of this thread in seconds, which other programs do not affect, where the system reports it.
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? * 1e-9)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let cells: u64 = arguments.next().map_or(60, |text| text.parse().unwrap());
    let most: f64 = arguments.next().map_or(20.0, |text| text.parse().unwrap());
    let noise = arguments.next().is_some();
    let (mut ratios, mut estimates, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for index in 0..cells {
        let mut words = [0; 32];
        Words::new(7, Stream::Train, index).fill(0, &mut words);
        let mut place = 0;
        let mut uniform = || {
            place += 2;
            unit(words[place - 2], words[place - 1])
        };
        let mut log = |low: f64, high: f64| (low * (high / low).powf(uniform())).round() as usize;
        let mut settings = Settings {
            vocab: log(16.0, 3000.0),
            dim: log(8.0, 500.0),
            length: log(2.0, 300.0),
            samples: log(100.0, 200_000.0),
            test_samples: log(100.0, 5000.0),
            ..Settings::default()
        };
        let kind = ["limit", "limit", "limit", "exact", "mlp", "f64", "orthonormal", "exact large"]
            [index as usize % 8];
        match kind {
            "exact" => settings.regime = Regime::Exact,
            "exact large" => (settings.regime, settings.eta) = (Regime::Exact, 1000.0),
            "mlp" => (settings.width, settings.activation) = (Some(log(16.0, 1000.0)), Activation::Relu),
            "f64" => settings.precision = Precision::F64,
            "orthonormal" => {
                settings.vocab = settings.vocab.min(600);
                (settings.embedding, settings.dim) = (EmbeddingSettings::Orthonormal, settings.vocab + 2);
            }
            _ => {}
        }
        if kind != "limit" {
            settings.samples = settings.samples.min(30_000);
        }
        let config = settings.check().unwrap();
        let estimate = estimated_seconds(&config, noise);
        if estimate > most {
            continue;
        }
        let before = processor_seconds();
        let outcome = measure(&config, noise, &Backend::single()).unwrap();
        let seconds =
            processor_seconds().zip(before).map_or(outcome.seconds, |(after, before)| after - before);
        println!(
            "{kind:12} V {:5} d {:4} L {:4} N {:7} m {:5} test {:5}: estimated {estimate:9.5} s, took {seconds:9.5} s, ratio {:.2}",
            config.vocab,
            config.dim,
            config.length,
            config.samples,
            config.width.unwrap_or(0),
            config.test_samples,
            seconds / estimate
        );
        ratios.push(seconds / estimate);
        estimates.push(estimate);
        times.push(seconds);
    }
    ratios.sort_by(f64::total_cmp);
    let share =
        ratios.iter().filter(|ratio| (0.5..=2.0).contains(*ratio)).count() as f64 / ratios.len() as f64;
    let at = |q: f64| ratios[((ratios.len() - 1) as f64 * q) as usize];
    println!(
        "ratio: smallest {:.2}, median {:.2}, largest {:.2}; within a factor of 2: {:.0}%",
        at(0.0),
        at(0.5),
        at(1.0),
        100.0 * share
    );
    let longest_cell = times.iter().copied().fold(0.0, f64::max);
    let shortest_cell = times.iter().copied().fold(f64::MAX, f64::min);
    println!(
        "{} cells, {shortest_cell:.5} to {longest_cell:.2} s, {:.1} s together",
        times.len(),
        times.iter().sum::<f64>()
    );
    for shares in [4, 8, 16] {
        let dealt = deal(&estimates, shares);
        let loads: Vec<f64> = dealt.iter().map(|share| share.iter().map(|&cell| times[cell]).sum()).collect();
        let (longest, sum) = (loads.iter().copied().fold(0.0, f64::max), loads.iter().sum::<f64>());
        let mean = sum / shares as f64;
        println!(
            "dealt to {shares} shares: longest over mean {:.2}; the longest cell alone {:.2}",
            longest / mean,
            longest_cell / mean
        );
    }
}
