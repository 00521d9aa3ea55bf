//! Compares predictions with the simulations of `simulate.rs`: errors by quantity, with the variance of the seeds subtracted.
//!
//! `cargo run --release -p superpose-lab --example validate -- docs/validation/attention.csv`
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet, HashMap};

use superpose_core::Measure;
use superpose_core::config::Trigger;
use superpose_core::random::{Stream, Words, normal_quantile, unit};
use superpose_theory::{Point, Zipf, predict_at};

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

const QUANTITIES: [Measure; 5] = [
    Measure::Accuracy,
    Measure::MemoryAccuracy,
    Measure::LockRate,
    Measure::OneStepAccuracy,
    Measure::AttentionMass,
];

fn read(path: &str) -> Vec<Cell> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            let row: HashMap<&str, &str> = names.iter().copied().zip(line.split(',')).collect();
            let number = |name: &str| row[name].parse::<f64>().unwrap();
            // Files of uniform tokens have no columns for exponents.
            let exponent = |name: &str| row.get(name).map_or(0.0, |text| text.parse().unwrap());
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
                zipf: Zipf { facts: exponent("zipf"), noise: exponent("noise_zipf") },
                rows: None,
            };
            let p = predict_at(&point);
            // Only some files have the attention mass.
            let values =
                QUANTITIES.iter().filter(|measure| row.contains_key(measure.word())).map(|measure| {
                    let name = measure.word();
                    (number(name), number(&format!("{name}_se")), p.measures[*measure])
                });
            let name =
                ["trigger", "vocab", "dim", "length", "width", "activation", "samples", "zipf", "noise_zipf"];
            let name = name.iter().filter_map(|column| Some(format!("{column} {}", row.get(column)?)));
            let name = name.collect::<Vec<_>>().join(", ");
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
        println!("| quantity | trigger {HEADER}");
        for (i, quantity) in QUANTITIES.iter().enumerate() {
            for trigger in [Some(Trigger::Keys), Some(Trigger::Values), None] {
                let chosen =
                    cells.iter().filter(|cell| trigger.is_none_or(|trigger| trigger == cell.trigger));
                if let Some(errors) = errors(chosen, i) {
                    println!("| {quantity} | {} {errors}", trigger.map_or("both", Trigger::word));
                }
            }
        }
        println!("\n| accuracy, lock rate | trigger {HEADER}");
        for loose in [true, false] {
            for trigger in [Some(Trigger::Keys), Some(Trigger::Values), None] {
                let chosen =
                    cells.iter().filter(|cell| trigger.is_none_or(|trigger| trigger == cell.trigger));
                if let Some(errors) = errors(chosen.filter(|cell| (cell.values[2].0 < 0.95) == loose), 0) {
                    let name = if loose { "below 0.95" } else { "at least 0.95" };
                    println!("| {name} | {} {errors}", trigger.map_or("both", Trigger::word));
                }
            }
        }
        println!("\n| what limits recall | {}", HEADER.trim_start_matches("| ").replacen("|---", "", 1));
        let regimes: BTreeSet<&str> = cells.iter().map(|cell| cell.regime.as_str()).collect();
        for regime in regimes {
            let chosen = cells.iter().filter(|cell| cell.regime == regime);
            if let Some(errors) = errors(chosen, 0) {
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
        read_critical_samples(&cells);
    }
}

/// The columns of errors, and the line below the head of a table with two more.
const HEADER: &str = "| cells | rms error | of which seeds | rms, seeds taken off (95% interval) | the same of an exact theory, 95% | bias |\n|---|---|---|---|---|---|---|---|";

/// Returns the errors of the predictions of a quantity, for simulated values between 0.05 and 0.95, as columns of a table. The interval is a
/// bootstrap over configurations. Beside it is what an exact theory would stay below in 95% of simulations with the same standard errors
/// (parametric bootstrap).
fn errors<'a>(cells: impl Iterator<Item = &'a Cell>, quantity: usize) -> Option<String> {
    // By configuration: the number of cells, and sums of squared errors, of variances of seeds and of errors.
    let mut sums: BTreeMap<&str, [f64; 4]> = BTreeMap::new();
    let mut all_cells = Vec::new();
    let add = |sum: &mut [f64; 4], seen: f64, error: f64, predicted: f64| {
        if (0.05..0.95).contains(&seen) {
            let terms = [1.0, (seen - predicted).powi(2), error * error, predicted - seen];
            sum.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        }
    };
    for cell in cells {
        let Some(&(seen, error, Some(predicted))) = cell.values.get(quantity) else { continue };
        all_cells.push((predicted, error));
        add(sums.entry(&cell.index).or_default(), seen, error, predicted);
    }
    let groups: Vec<[f64; 4]> = sums.into_values().collect();
    let total = |chosen: &mut dyn Iterator<Item = usize>| {
        chosen.fold([0.0; 4], |sum, i| std::array::from_fn(|k| sum[k] + groups[i][k]))
    };
    let net = |sum: [f64; 4]| ((sum[1] - sum[2]) / sum[0]).max(0.0).sqrt();
    let all = total(&mut (0..groups.len()));
    if all[0] == 0.0 {
        return None;
    }
    let mut random = Uniform::new(1);
    let mut draws: Vec<f64> = (0..1000)
        .map(|_| net(total(&mut (0..groups.len()).map(|_| (random.next() * groups.len() as f64) as usize))))
        .collect();
    draws.sort_by(f64::total_cmp);
    let mut exact: Vec<f64> = (0..200)
        .map(|_| {
            let mut sum = [0.0; 4];
            for &(predicted, error) in &all_cells {
                let seen = (predicted + error * random.normal()).clamp(0.0, 1.0);
                add(&mut sum, seen, error, predicted);
            }
            net(sum)
        })
        .collect();
    exact.sort_by(f64::total_cmp);
    Some(format!(
        "| {} | {:.4} | {:.4} | {:.4} ({:.4} to {:.4}) | {:.4} | {:+.4} |",
        all[0],
        (all[1] / all[0]).sqrt(),
        (all[2] / all[0]).sqrt(),
        net(all),
        draws[25],
        draws[974],
        exact[189],
        all[3] / all[0]
    ))
}

/// Uniform random numbers.
struct Uniform {
    words: Vec<u32>,
    seed: u64,
    used: usize,
}

impl Uniform {
    fn new(seed: u64) -> Uniform {
        Uniform { words: Vec::new(), seed, used: 0 }
    }

    fn next(&mut self) -> f64 {
        if self.used + 2 > self.words.len() {
            self.seed += 1;
            self.words = vec![0; 4096];
            Words::new(self.seed, Stream::Train, 0).fill(0, &mut self.words);
            self.used = 0;
        }
        self.used += 2;
        unit(self.words[self.used - 2], self.words[self.used - 1])
    }

    fn normal(&mut self) -> f64 {
        normal_quantile(self.next())
    }
}

/// The logarithm of the number of samples at which a line through the log odds of cells crosses one half: cells with an accuracy of 0.1 to
/// 0.9, weighted by their standard errors. None without two of them or far from them.
fn crossing(cells: &[(f64, f64, f64)]) -> Option<f64> {
    let inside = cells.iter().filter(|cell| (0.1..0.9).contains(&cell.1));
    let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for &(x, accuracy, error) in inside {
        let slope = 1.0 / (accuracy * (1.0 - accuracy));
        let (y, weight) =
            ((accuracy / (1.0 - accuracy)).ln(), 1.0 / (slope * slope * (error * error + 2.5e-5)));
        (w, wx, wy, wxx, wxy) =
            (w + weight, wx + weight * x, wy + weight * y, wxx + weight * x * x, wxy + weight * x * y);
        (low, high) = (low.min(x), high.max(x));
    }
    let slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
    let at = (wx - wy / slope) / w;
    (slope > 0.0 && high > low && (low - 0.3..high + 0.3).contains(&at)).then_some(at)
}

/// Prints how often the critical number of samples read from the predictions for the cells is close to that read from the simulated cells in
/// the same way, and how often it would be if the theory were exact, given the noise of the seeds (parametric bootstrap).
fn read_critical_samples(cells: &[Cell]) {
    let mut random = Uniform::new(1000);
    let (mut ratios, mut exact) = (Vec::new(), Vec::new());
    for group in cells.chunk_by(|a, b| a.index == b.index) {
        let cell = |cell: &Cell| {
            let (seen, error, predicted) = cell.values[0];
            Some((cell.point.samples.ln(), seen, error, predicted?))
        };
        let Some(group) = group.iter().map(cell).collect::<Option<Vec<_>>>() else { continue };
        let seen: Vec<_> = group.iter().map(|&(x, seen, error, _)| (x, seen, error)).collect();
        let Some(at) = crossing(&seen) else { continue };
        let curve: Vec<_> = group.iter().map(|&(x, _, error, predicted)| (x, predicted, error)).collect();
        let Some(truth) = crossing(&curve) else { continue };
        ratios.push((truth - at).exp());
        for _ in 0..20 {
            let noisy: Vec<_> =
                curve.iter().map(|&(x, mean, error)| (x, mean + error * random.normal(), error)).collect();
            exact.extend(crossing(&noisy).map(|at| (truth - at).exp()));
        }
    }
    let within = |ratios: &[f64], share: f64| {
        let close = |ratio: &&f64| (1.0 / (1.0 + share)..=1.0 + share).contains(*ratio);
        100.0 * ratios.iter().filter(close).count() as f64 / ratios.len().max(1) as f64
    };
    println!(
        "Predicted over measured critical N at one half, read from the cells alone, {} configurations:",
        ratios.len()
    );
    for share in [0.1, 0.15, 0.25] {
        println!(
            "- within {:.0}%: {:.1}%; an exact theory, given the seeds: {:.1}%",
            100.0 * share,
            within(&ratios, share),
            within(&exact, share)
        );
    }
    println!();
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
