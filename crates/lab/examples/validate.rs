//! Compares predictions with the simulations of `simulate.rs`: errors by quantity, with the variance of the seeds subtracted.
//!
//! `cargo run --release -p superpose-lab --example validate -- docs/validation/attention.csv`
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeSet, HashMap};

use superpose_core::Measure;
use superpose_core::config::Trigger;
use superpose_theory::{Point, predict_at};

struct Cell {
    index: String,
    point: Point,
    name: String,
    trigger: Trigger,
    /// The predicted limiting noise term.
    regime: String,
    /// Simulated mean, its standard error and prediction of each quantity.
    values: Vec<(f64, f64, Option<f64>)>,
}

const QUANTITIES: [&str; 4] = ["accuracy", "memory_accuracy", "lock_rate", "one_step_accuracy"];

fn read(path: &str) -> Vec<Cell> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            let row: HashMap<&str, &str> = names.iter().copied().zip(line.split(',')).collect();
            let number = |name: &str| row[name].parse::<f64>().unwrap();
            let point = Point {
                vocab: number("vocab"),
                dim: number("dim"),
                length: number("length"),
                samples: number("samples"),
                width: row["width"].parse().ok(),
                activation: row["activation"].parse().unwrap(),
                embedding: row["embedding"].parse().unwrap(),
                trigger: row["trigger"].parse().unwrap(),
                keep: None,
                lead: 4.0,
            };
            let p = predict_at(&point);
            let predicted =
                [Measure::Accuracy, Measure::MemoryAccuracy, Measure::LockRate, Measure::OneStepAccuracy]
                    .map(|measure| p.measures[measure]);
            let values = QUANTITIES
                .iter()
                .zip(predicted)
                .map(|(name, predicted)| (number(name), number(&format!("{name}_se")), predicted));
            let name = ["trigger", "vocab", "dim", "length", "width", "activation", "samples"];
            let name = name.map(|column| format!("{column} {}", row[column])).join(", ");
            let regime = p.dominant.map_or("nothing".into(), |dominant| {
                format!("{:?}: {}", dominant.part, dominant.term).to_lowercase()
            });
            let values = values.collect();
            Cell { index: row["index"].into(), point, name, trigger: point.trigger, regime, values }
        })
        .collect()
}

fn main() {
    for path in std::env::args().skip(1) {
        let cells = read(&path);
        println!("{path}: {} cells; those with a simulated value between 0.05 and 0.95 count", cells.len());
        println!("| quantity | trigger | cells | rms error | of which seeds | rms, seeds taken off | bias |");
        println!("|---|---|---|---|---|---|---|");
        for (i, quantity) in QUANTITIES.iter().enumerate() {
            for trigger in [Some(Trigger::Keys), Some(Trigger::Values), None] {
                let chosen =
                    cells.iter().filter(|cell| trigger.is_none_or(|trigger| trigger == cell.trigger));
                if let Some(errors) = errors(chosen.map(|cell| cell.values[i])) {
                    println!("| {quantity} | {} {errors}", trigger.map_or("both", Trigger::word));
                }
            }
        }
        println!(
            "\n| what limits recall | cells | rms error | of which seeds | rms, seeds taken off | bias |"
        );
        println!("|---|---|---|---|---|---|");
        let regimes: BTreeSet<&str> = cells.iter().map(|cell| cell.regime.as_str()).collect();
        for regime in regimes {
            let chosen = cells.iter().filter(|cell| cell.regime == regime);
            if let Some(errors) = errors(chosen.map(|cell| cell.values[0])) {
                println!("| {regime} {errors}");
            }
        }
        let mut worst: Vec<(f64, &Cell)> = cells
            .iter()
            .filter_map(|cell| Some(((cell.values[0].2? - cell.values[0].0).abs(), cell)))
            .collect();
        worst.sort_by(|a, b| b.0.total_cmp(&a.0));
        println!("\nWorst cells in accuracy:");
        for (error, cell) in worst.iter().take(8) {
            let (seen, spread, predicted) = cell.values[0];
            println!(
                "- {}: simulated {seen:.3} (standard error {spread:.3}), predicted {:.3}, off by {error:.3}",
                cell.name,
                predicted.unwrap_or(f64::NAN)
            );
        }
        println!();
        critical_samples(&cells);
    }
}

/// Returns the errors of the predictions for simulated values between 0.05 and 0.95, as columns of a table.
fn errors(values: impl Iterator<Item = (f64, f64, Option<f64>)>) -> Option<String> {
    let counted: Vec<(f64, f64, f64)> = values
        .filter(|value| (0.05..0.95).contains(&value.0))
        .filter_map(|(seen, error, predicted)| Some((seen, error, predicted?)))
        .collect();
    if counted.is_empty() {
        return None;
    }
    let mean =
        |f: &dyn Fn(&(f64, f64, f64)) -> f64| counted.iter().map(f).sum::<f64>() / counted.len() as f64;
    let square = mean(&|c| (c.0 - c.2).powi(2));
    let seeds = mean(&|c| c.1.powi(2));
    Some(format!(
        "| {} | {:.4} | {:.4} | {:.4} | {:+.4} |",
        counted.len(),
        square.sqrt(),
        seeds.sqrt(),
        (square - seeds).max(0.0).sqrt(),
        mean(&|c| c.2 - c.0)
    ))
}

/// Prints the ratio of the simulated to the predicted critical number of samples: the factor by which the predicted curve must be
/// shifted to fit the cells of a configuration best, weighted by their standard errors. Configurations that would not reach 0.7 with
/// N = 100 V L do not count.
fn critical_samples(cells: &[Cell]) {
    let accuracy = |point: &Point, samples: f64| {
        predict_at(&Point { samples, ..*point }).measures[Measure::Accuracy].unwrap_or(f64::NAN)
    };
    let mut factors = Vec::new();
    for group in cells.chunk_by(|a, b| a.index == b.index) {
        let point = &group[0].point;
        if group[0].values[0].2.is_none() || accuracy(point, 100.0 * point.vocab * point.length) <= 0.7 {
            continue;
        }
        let misfit = |shift: f64| {
            let term = |cell: &Cell| {
                let (seen, error, _) = cell.values[0];
                // Half a percent for the finite test sample and for seeds that agree by chance.
                let weight = 1.0 / (error * error + 0.005 * 0.005);
                weight * (seen - accuracy(&cell.point, cell.point.samples * shift.exp())).powi(2)
            };
            group.iter().map(term).sum::<f64>()
        };
        let best = (-150..=150).map(|i| 0.01 * f64::from(i)).min_by(|a, b| misfit(*a).total_cmp(&misfit(*b)));
        factors.extend(best.map(|shift| shift.exp()));
    }
    if factors.is_empty() {
        return;
    }
    factors.sort_by(f64::total_cmp);
    let within = |share: f64| {
        let close = |factor: &&f64| (1.0 / (1.0 + share)..=1.0 + share).contains(*factor);
        100.0 * factors.iter().filter(close).count() as f64 / factors.len() as f64
    };
    let quantile = |share: f64| factors[(share * (factors.len() - 1) as f64).round() as usize];
    println!(
        "Predicted over simulated critical N at one half, {} configurations: median {:.3}, 10% to 90%: {:.3} to {:.3}; within 15%: {:.0}%, within 25%: {:.0}%\n",
        factors.len(),
        quantile(0.5),
        quantile(0.1),
        quantile(0.9),
        within(0.15),
        within(0.25)
    );
}
