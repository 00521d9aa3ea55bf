//! Checks on random configurations that no decoder of the first gradient is below a bound that holds for it.
//!
//! `cargo run --release -p superpose-lab --example decoders -- 30 3` (configurations, seeds for each).
//!
//! V is log-uniform from 50 to 1000, L from 2 to 64, d from `1.2 sqrt(2 V log V)`, where argmax can work, to `1.2 V`;
//! the accuracy is 0.3, 0.5 or 0.8, the trigger in the values or not. With the third argument `mlp`, the model has an MLP: V from 50 to
//! 300, L from 2 to 24, d from `0.5 sqrt(2 V log V)`, width m from d to `8 d`, at most 600, any activation.
//!
//! The first table has the bounds. In the second one a critical N is divided by the largest bound that holds for the decoder with
//! the true noise: `linear` or `coverage` for argmax and MMSE, `coverage` for the others.
#![allow(clippy::unwrap_used)]

use superpose_core::backend::Backend;
use superpose_core::config::{Activation, Settings, Trigger};
use superpose_core::random::{Stream, Words, unit};
use superpose_lab::decoders::{BoundOptions, BoundRecord, Critical, DECODERS, bound, is_linear};
use superpose_lab::run::Inputs;

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mlp = arguments.pop_if(|last| last == "mlp").is_some();
    let numbers: Vec<usize> = arguments.iter().map(|x| x.parse().unwrap()).collect();
    let [count, seeds] = numbers[..] else {
        eprintln!("usage: decoders CONFIGURATIONS SEEDS [mlp]");
        std::process::exit(2);
    };
    let backend = Backend::cpu(std::thread::available_parallelism().map_or(1, usize::from)).unwrap();
    let mut records = Vec::new();
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
        records.push(
            bound(
                &config,
                &Inputs::default(),
                &BoundOptions { accuracy, seeds },
                None,
                &backend,
                &mut |_, _| {},
            )
            .unwrap(),
        );
        eprintln!("{} of {count}", index + 1);
    }
    table(&records, &["coverage", "linear", "genie", "surrogate", "bits"], |record| {
        let bounds = &record.bounds;
        let whole = |bound: Option<f64>| bound.map_or("no N".into(), |bound| format!("{bound:.0}"));
        let samples = [Some(bounds.coverage), bounds.linear, bounds.genie, bounds.surrogate].map(whole);
        [&samples[..], &[format!("{:.3}", bounds.bits)]].concat()
    });
    table(&records, &[&DECODERS[..], &["three_step"]].concat(), |record| {
        DECODERS.iter().map(|name| cell(&record.decoders[*name])).chain([cell(&record.three_step)]).collect()
    });
    println!();
    summary("argmax and mmse", "bound", all(&records, is_linear, |_, critical| critical.bound));
    summary("argmax and mmse", "genie", all(&records, is_linear, |record, _| record.bounds.genie));
    let permutation = |name: &str| !is_linear(name);
    summary("assignments", "bound", all(&records, permutation, |_, critical| critical.bound));
    summary("assignments", "genie", all(&records, permutation, |record, _| record.bounds.genie));
    summary("assignments", "surrogate", all(&records, permutation, |record, _| record.bounds.surrogate));
    summary("three_step", "bound", records.iter().map(|r| (r.three_step, r.three_step.bound)).collect());
    summary("three_step", "surrogate", records.iter().map(|r| (r.three_step, r.bounds.surrogate)).collect());
}

/// Prints a row per record: its sizes, and the cells.
fn table(records: &[BoundRecord], columns: &[&str], cells: impl Fn(&BoundRecord) -> Vec<String>) {
    let mlp = records.iter().any(|record| record.config.width.is_some());
    let layer = if mlp { " m | activation |" } else { "" };
    println!("\n| V | d |{layer} L | trigger | accuracy | {} |", columns.join(" | "));
    println!("|{}", "---|".repeat(columns.len() + if mlp { 7 } else { 5 }));
    for record in records {
        let Settings { vocab, dim, width, activation, length, trigger, .. } = &record.config;
        let layer = width.map_or(String::new(), |width| format!(" {width} | {activation} |"));
        let cells = cells(record).join(" | ");
        println!("| {vocab} | {dim} |{layer} {length} | {trigger} | {} | {cells} |", record.accuracy);
    }
}

/// Critical N over the bound that holds for it, with its 95% interval.
fn cell(critical: &Critical) -> String {
    let bound = critical.bound.unwrap_or(f64::INFINITY);
    match (critical.estimate, critical.low, critical.high) {
        (Some(n), Some(low), Some(high)) => {
            format!("{:.2} [{:.2}, {:.2}]", n / bound, low / bound, high / bound)
        }
        _ => "not reached".into(),
    }
}

/// The decoders that `of` selects, each with a bound.
fn all(
    records: &[BoundRecord],
    of: impl Fn(&str) -> bool,
    bound: impl Fn(&BoundRecord, &Critical) -> Option<f64>,
) -> Vec<(Critical, Option<f64>)> {
    let of = &of;
    let decoders = records.iter().flat_map(|record| record.decoders.iter().map(move |(n, c)| (record, n, c)));
    decoders.filter(|(_, name, _)| of(name)).map(|(record, _, c)| (*c, bound(record, c))).collect()
}

/// Prints the smallest ratio, and how many estimates and whole intervals are below 1.
fn summary(who: &str, what: &str, found: Vec<(Critical, Option<f64>)>) {
    // Where no number of samples is enough, a decoder that reaches the accuracy is below the bound.
    let ratio = |x: Option<f64>, bound: Option<f64>| x.map(|x| x / bound.unwrap_or(f64::INFINITY));
    let ratios: Vec<f64> = found.iter().filter_map(|(c, bound)| ratio(c.estimate, *bound)).collect();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let below = ratios.iter().filter(|ratio| **ratio < 1.0).count();
    let highs = found.iter().filter_map(|(c, bound)| ratio(c.high, *bound));
    let (all, whole) = (found.len(), highs.filter(|high| *high < 1.0).count());
    println!(
        "{who} over {what}: smallest {least:.2}; below 1: {below} of {all}, with the whole interval: {whole}."
    );
}
