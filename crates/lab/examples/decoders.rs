//! Checks on random configurations that no decoder of the first gradient beats the surrogate lower bound.
//!
//! `cargo run --release -p superpose-lab --example decoders -- 30 3` (configurations, seeds for each).
//!
//! V is log-uniform from 50 to 1000, L from 2 to 64, d from `1.2 sqrt(2 V log V)`, where argmax can work, to `1.2 V`;
//! the accuracy is 0.3, 0.5 or 0.8, the trigger in the values or not. With the third argument `mlp`, the model has an MLP: V from 50 to
//! 300, L from 2 to 24, d from `0.5 sqrt(2 V log V)`, width m from d to `8 d`, at most 600, any activation.
#![allow(clippy::unwrap_used)]

use superpose_core::backend::Backend;
use superpose_core::config::{Activation, Settings, Trigger};
use superpose_core::random::{Stream, Words, unit};
use superpose_lab::decoders::{BoundOptions, Critical, DECODERS, bound};

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mlp = arguments.pop_if(|last| last == "mlp").is_some();
    let numbers: Vec<usize> = arguments.iter().map(|x| x.parse().unwrap()).collect();
    let [count, seeds] = numbers[..] else {
        eprintln!("usage: decoders CONFIGURATIONS SEEDS [mlp]");
        std::process::exit(2);
    };
    let backend = Backend::cpu(std::thread::available_parallelism().map_or(1, usize::from)).unwrap();
    println!("Critical N over the surrogate bound, 95% interval in brackets\n");
    let layer = if mlp { " m | activation |" } else { "" };
    println!("| V | d |{layer} L | trigger | accuracy | bound | {} | three_step |", DECODERS.join(" | "));
    println!("|{}", "---|".repeat(if mlp { 13 } else { 11 }));
    let (mut least, mut below, mut past) = (f64::INFINITY, 0, 0);
    for index in 0..count {
        let mut words = vec![0; 16];
        Words::new(20_260_401, Stream::Train, index as u64).fill(0, &mut words);
        let u: Vec<f64> = words.chunks(2).map(|w| unit(w[0], w[1])).collect();
        let log = |low: f64, high: f64, u: f64| (low.ln() + (high / low).ln() * u).exp().round();
        let vocab = log(50.0, if mlp { 300.0 } else { 1000.0 }, u[0]);
        let least_dim = if mlp { 0.5 } else { 1.2 } * (2.0 * vocab * vocab.ln()).sqrt();
        let dim = log(least_dim, 1.2 * vocab, u[1]);
        let accuracy = [0.3, 0.5, 0.8][(3.0 * u[3]) as usize];
        let settings = Settings {
            vocab: vocab as usize,
            dim: dim as usize,
            length: log(2.0, if mlp { 24.0 } else { 64.0 }, u[2]) as usize,
            width: mlp.then(|| log(dim, 8.0 * dim, u[5]).min(600.0) as usize),
            activation: Activation::ALL[(u[6] * Activation::ALL.len() as f64) as usize],
            trigger: if u[4] < 0.5 { Trigger::Keys } else { Trigger::Values },
            test_samples: 1024,
            seed: 1000 * index as u64,
            ..Settings::default()
        };
        let config = settings.check().unwrap();
        let found = bound(&config, &BoundOptions { accuracy, seeds }, &backend, &mut |_, _| {}).unwrap();
        let limit = found.bound.unwrap();
        let cell = |critical: &Critical| match (critical.ratio, critical.low, critical.high) {
            (Some(ratio), Some(low), Some(high)) => {
                format!("{ratio:.2} [{:.2}, {:.2}]", low / limit, high / limit)
            }
            _ => "not reached".into(),
        };
        for name in DECODERS {
            let ratio = found.decoders[name].ratio.unwrap_or(f64::INFINITY);
            least = ratio.min(least);
            below += usize::from(ratio < 1.0);
        }
        past += usize::from(found.three_step.ratio.is_some_and(|ratio| ratio < 1.0));
        let cells: Vec<String> = DECODERS.iter().map(|name| cell(&found.decoders[*name])).collect();
        let layer = config.width.map_or(String::new(), |width| format!(" {width} | {} |", config.activation));
        println!(
            "| {} | {} |{layer} {} | {} | {accuracy} | {limit:.0} | {} | {} |",
            config.vocab,
            config.dim,
            config.length,
            config.trigger,
            cells.join(" | "),
            cell(&found.three_step)
        );
    }
    println!(
        "\nSmallest ratio of a decoder: {least:.2}; below the surrogate bound: {below} of {}.",
        4 * count
    );
    println!("The three-step algorithm is below it in {past} of {count} configurations.");
}
