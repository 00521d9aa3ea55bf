//! Compares a phase diagram with the same map measured at every cell: V = 512, L = 16, dimensions 16 to 256, samples 100 to 10^6.
//!
//! `cargo run --release -p superpose-lab --example phase_check -- STORE.sqlite` (about ten minutes on two cores; repeated runs use the store)
#![allow(clippy::unwrap_used)]

use superpose_core::Measure;
use superpose_core::config::{Config, Settings};
use superpose_lab::cell::Runner;
use superpose_lab::phase::{Axis, Request, Scale, Size, TOLERANCE};
use superpose_lab::store::Store;
use superpose_lab::threshold::{SearchError, estimates};
use superpose_theory::critical::Parameter;

const REPEATS: usize = 2;

fn main() {
    let mut runner = Runner::new(2);
    if let Some(path) = std::env::args().nth(1) {
        runner = runner.with_results(Store::open(path.as_ref()).unwrap());
    }
    let config = Settings { test_samples: 2048, ..Settings::default() }.check().unwrap();
    let axis = |parameter, low, high| Axis::new(Size::One(parameter), Scale::Log, low, high, 40).unwrap();
    let request = Request {
        config: config.clone(),
        x: axis(Parameter::Dim, 16, 256),
        y: axis(Parameter::Samples, 100, 1_000_000),
        measure: Measure::Accuracy,
        level: 0.5,
        repeats: REPEATS,
        max_cells: 400,
        tolerance: TOLERANCE,
        trust: true,
        rows: None,
    };
    let (dims, samples) = (request.x.values(), request.y.values());
    let mut brute = Vec::new();
    for &n in &samples {
        let row = |&d: &u64| {
            let settings =
                Settings { dim: d as usize, samples: n as usize, repeats: REPEATS, ..(*config).clone() };
            let config = settings.check().unwrap();
            (0..REPEATS).map(move |r| config.repeat(r)).collect::<Vec<Config>>()
        };
        let cells: Vec<Config> = dims.iter().flat_map(row).collect();
        let found = estimates(&mut runner, &cells, Measure::Accuracy, &mut |_| ()).unwrap();
        brute.extend(found.chunks(REPEATS).map(|c| c.iter().map(|s| s.mean).sum::<f64>() / REPEATS as f64));
        eprintln!("N = {n} done");
    }
    println!("| map | cells run | rest within 0.05 of brute force | within 0.1 | largest error |");
    println!("|---|---|---|---|---|");
    let mut runner = |cells: &[Config]| -> Result<_, SearchError> {
        estimates(&mut runner, cells, Measure::Accuracy, &mut |_| ())
    };
    for (name, trust) in [("beside the closed form", true), ("without a prediction", false)] {
        let mut request = request.clone();
        request.trust = trust;
        let diagram = request.map(2, &mut runner).unwrap();
        let errors: Vec<f64> = diagram
            .cells
            .iter()
            .zip(&brute)
            .filter(|(cell, _)| !cell.measured)
            .map(|(cell, truth)| (cell.value - truth).abs())
            .collect();
        let within = |limit: f64| errors.iter().filter(|&&e| e <= limit).count() as f64 / errors.len() as f64;
        println!(
            "| {name} | {} of {} | {:.1}% | {:.1}% | {:.3} |",
            diagram.measured,
            diagram.cells.len(),
            100.0 * within(0.05),
            100.0 * within(0.1),
            errors.iter().fold(0.0_f64, |a, &b| a.max(b))
        );
        if trust {
            let predicted =
                diagram.cells.iter().zip(&brute).map(|(cell, b)| (cell.predicted.unwrap_or(0.0) - b).abs());
            let near = predicted.filter(|&e| e <= 0.05).count();
            println!("| the closed form alone | 0 | {:.1}% | | |", 100.0 * near as f64 / brute.len() as f64);
        }
    }
    let changing = brute.iter().filter(|b| (0.05..0.95).contains(*b)).count();
    println!("\n{changing} of {} cells have an accuracy between 0.05 and 0.95.", brute.len());
}
