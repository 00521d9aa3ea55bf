//! Runs configurations of the sizes of language models on a GPU, beside the predictions: `docs/validation/large.csv`.
//!
//! `cargo run --release -p superpose-lab --example large -- cuda SEEDS OUT.csv`
//!
//! `large predict FILE.csv` computes the predictions of a file again, at the sizes that were run. `large tables FILE.csv` prints the
//! tables and errors of `docs/validation/large.md`.
//!
//! The number of samples of a configuration is where the formulas predict the accuracy given with it. Where they predict that no
//! number of samples reaches it, the model is below capacity and is run with many samples. Standard errors are the larger of
//! those over seeds and over test samples. A case is run with SEEDS seeds, and with more, up to 16, while
//! it has taken less than four seconds. Lines are written as results arrive; a file that exists is continued.
#![allow(clippy::unwrap_used)]

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Instant;

use superpose_core::backend::Backend;
use superpose_core::config::{Activation, Config, Settings, Trigger};
use superpose_core::evaluate::Evaluation;
use superpose_core::{Measure, config::Trigger::Keys, config::Trigger::Values};
use superpose_lab::run::{Inputs, evaluation};
use superpose_lab::words::grouped;
use superpose_store::interval::student;
use superpose_theory::{Point, predict_at};

/// Trigger, V, d, L, width of the MLP, its activation, predicted accuracy to aim for.
type Case = (Trigger, usize, usize, usize, Option<usize>, Activation, f64);

const NONE: Activation = Activation::Relu;
const CASES: [Case; 37] = [
    (Keys, 20_000, 1024, 64, None, NONE, 0.5),
    (Keys, 20_000, 1024, 64, None, NONE, 0.9),
    (Keys, 20_000, 1024, 1024, None, NONE, 0.5),
    (Keys, 20_000, 2048, 4096, None, NONE, 0.5),
    (Keys, 50_000, 1536, 256, None, NONE, 0.5),
    (Keys, 50_000, 1536, 256, None, NONE, 0.9),
    (Keys, 100_000, 2048, 64, None, NONE, 0.5),
    (Keys, 100_000, 2048, 64, None, NONE, 0.9),
    (Keys, 100_000, 2048, 512, None, NONE, 0.5),
    (Keys, 100_000, 4096, 128, None, NONE, 0.5),
    (Keys, 200_000, 3072, 64, None, NONE, 0.5),
    (Keys, 500_000, 4096, 32, None, NONE, 0.5),
    (Keys, 1_000_000, 6144, 16, None, NONE, 0.5),
    (Keys, 30_000, 8192, 128, None, NONE, 0.5),
    (Values, 20_000, 1024, 64, None, NONE, 0.5),
    (Values, 20_000, 1024, 64, None, NONE, 0.3),
    (Values, 20_000, 1536, 1024, None, NONE, 0.5),
    (Values, 20_000, 1536, 1024, None, NONE, 0.9),
    (Values, 20_000, 2048, 4096, None, NONE, 0.5),
    (Values, 30_000, 8192, 128, None, NONE, 0.5),
    (Values, 50_000, 2048, 8, None, NONE, 0.5),
    (Values, 50_000, 4096, 64, None, NONE, 0.5),
    (Values, 100_000, 2560, 4, None, NONE, 0.5),
    (Values, 100_000, 4096, 16, None, NONE, 0.5),
    (Values, 200_000, 4096, 4, None, NONE, 0.5),
    (Keys, 20_000, 512, 32, Some(8192), Activation::Gelu, 0.3),
    (Keys, 20_000, 1024, 32, Some(4096), Activation::Relu, 0.5),
    (Keys, 20_000, 1024, 32, Some(4096), Activation::Relu, 0.8),
    (Keys, 50_000, 1024, 32, Some(8192), Activation::Relu, 0.3),
    (Values, 20_000, 2048, 16, Some(4096), Activation::Relu, 0.5),
    (Values, 20_000, 2048, 16, Some(8192), Activation::He3, 0.5),
    // Below capacity: d^2, or d m, is less than 2 (1 + t) V log V.
    (Keys, 50_000, 512, 64, None, NONE, 0.9),
    (Values, 50_000, 512, 64, None, NONE, 0.9),
    (Keys, 100_000, 768, 32, None, NONE, 0.9),
    (Values, 200_000, 1024, 32, None, NONE, 0.9),
    (Keys, 1_000_000, 2048, 16, None, NONE, 0.9),
    (Values, 100_000, 512, 16, Some(1024), Activation::Relu, 0.9),
];

/// Tokens of a dataset at most, and those where the model is below capacity.
const TOKENS: f64 = 1e10;
const BELOW_CAPACITY: f64 = 3e8;
/// Entries of embedding rows and of products over samples at most: seconds on an H200.
const ENTRIES: f64 = 8e11;
const PRODUCTS: f64 = 1.5e13;
/// Samples that stand for unlimited data.
const UNLIMITED: f64 = 1e15;
const MEASURES: [Measure; 4] =
    [Measure::Accuracy, Measure::MemoryAccuracy, Measure::LockRate, Measure::OneStepAccuracy];

fn predicted(point: &Point, samples: f64) -> [f64; 4] {
    let predicted = predict_at(&Point { samples, ..*point });
    MEASURES.map(|measure| predicted.measures[measure].unwrap_or(f64::NAN))
}

/// The number of samples at which the predicted accuracy crosses the goal, if it does with unlimited data.
fn samples(point: &Point, goal: f64) -> Option<f64> {
    let (mut low, mut high) = (2.0_f64, 50.0_f64);
    if predicted(point, high.exp2())[0] < goal {
        return None;
    }
    while high - low > 1e-3 {
        let middle = 0.5 * (low + high);
        if predicted(point, middle.exp2())[0] < goal { low = middle } else { high = middle }
    }
    Some(high.exp2())
}

fn settings(case: &Case) -> Settings {
    let &(trigger, vocab, dim, length, width, activation, _) = case;
    Settings { trigger, vocab, dim, length, width, activation, test_samples: 8192, ..Settings::default() }
}

/// The lines of a file with new predictions. Those of a measure are in the third of its columns.
fn predict_again(found: &str) -> String {
    let line = |line: &str| {
        let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
        if let Some(case) = fields[0].parse().ok().and_then(|index: usize| CASES.get(index)) {
            let point = Point::from(&settings(case));
            for (i, predicted) in predicted(&point, fields[8].parse().unwrap()).into_iter().enumerate() {
                fields[12 + 3 * i] = format!("{predicted:.5}");
            }
            fields[22] = format!("{:.5}", predicted(&point, UNLIMITED)[0]);
        }
        fields.join(",") + "\n"
    };
    found.lines().map(line).collect()
}

/// A line of the file.
struct Row {
    case: &'static Case,
    samples: String,
    seeds: usize,
    accuracy: Estimate,
    lock_rate: Estimate,
    unlimited: f64,
}

/// A simulated mean with its standard error, and the prediction.
struct Estimate {
    mean: f64,
    error: f64,
    predicted: f64,
}

impl Estimate {
    /// Student's interval for a number of seeds.
    fn interval(&self, seeds: usize) -> (f64, f64) {
        let half = student(seeds as f64 - 1.0).unwrap() * self.error;
        ((self.mean - half).max(0.0), (self.mean + half).min(1.0))
    }
}

impl Row {
    fn read(line: &str) -> Option<Row> {
        let fields: Vec<&str> = line.split(',').collect();
        let case = CASES.get(fields[0].parse::<usize>().ok()?)?;
        let number = |column: usize| fields[column].parse::<f64>().unwrap();
        let estimate = |first: usize| Estimate {
            mean: number(first),
            error: number(first + 1),
            predicted: number(first + 2),
        };
        let (samples, seeds) = (grouped(fields[8].parse().unwrap()), fields[9].parse().unwrap());
        let (accuracy, lock_rate) = (estimate(10), estimate(16));
        Some(Row { case, samples, seeds, accuracy, lock_rate, unlimited: number(22) })
    }

    fn below_capacity(&self) -> bool {
        self.unlimited < self.case.6
    }

    /// The row of a table: beside the accuracy the lock rate or, below capacity, the accuracy with unlimited data.
    fn markdown(&self) -> String {
        let &(trigger, vocab, dim, length, width, activation, _) = self.case;
        let sizes = [vocab, dim, length].map(|size| grouped(size as f64)).join(" | ");
        let mlp = width.map_or(String::new(), |width| format!("{} {activation}", grouped(width as f64)));
        let value = |estimate: &Estimate| {
            let (low, high) = estimate.interval(self.seeds);
            format!("{:.4} ({low:.4} to {high:.4}) | {:.4}", estimate.mean, estimate.predicted)
        };
        let last =
            if self.below_capacity() { format!("{:.4}", self.unlimited) } else { value(&self.lock_rate) };
        let Row { samples, seeds, accuracy, .. } = self;
        format!("| {trigger} | {sizes} | {mlp} | {samples} | {seeds} | {} | {last} |", value(accuracy))
    }
}

fn print_tables(found: &str) {
    let rows: Vec<Row> = found.lines().filter_map(Row::read).collect();
    let (below, above): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.below_capacity());
    let (mlp, attention): (Vec<&Row>, Vec<&Row>) = above.into_iter().partition(|row| row.case.4.is_some());
    for (title, rows, last) in [
        ("Attention-only model", attention, "lock rate | predicted"),
        ("Attention-MLP model", mlp, "lock rate | predicted"),
        ("Below capacity", below, "with unlimited data"),
    ] {
        let head = format!("| trigger | V | d | L | MLP | N | seeds | accuracy | predicted | {last} |");
        println!("## {title}\n\n{head}\n|{}", "---|".repeat(head.matches('|').count() - 1));
        rows.iter().for_each(|row| println!("{}", row.markdown()));
        println!();
        for trigger in [Keys, Values] {
            let rows = rows.iter().filter(|row| row.case.0 == trigger);
            let rows: Vec<&Row> =
                rows.filter(|row| (0.05..0.95).contains(&row.accuracy.mean)).copied().collect();
            let rms = |term: &dyn Fn(&Row) -> f64| {
                (rows.iter().map(|row| term(row).powi(2)).sum::<f64>() / rows.len() as f64).sqrt()
            };
            if rows.is_empty() {
                continue;
            }
            let all = rms(&|row| row.accuracy.mean - row.accuracy.predicted);
            let seeds = rms(&|row| row.accuracy.error);
            let net = (all * all - seeds * seeds).max(0.0).sqrt();
            println!(
                "{trigger}, accuracy 0.05 to 0.95: {} cells, rms error {all:.4}, standard errors of the simulation {seeds:.4}, rms error without them {net:.4}\n",
                rows.len()
            );
        }
    }
    let outside: Vec<&Row> = rows
        .iter()
        .filter(|row| {
            let (low, high) = row.accuracy.interval(row.seeds);
            !(low..=high).contains(&row.accuracy.predicted)
        })
        .collect();
    println!("{} of {} predictions are outside their interval:", outside.len(), rows.len());
    outside.iter().for_each(|row| println!("{}", row.markdown()));
}

fn row(index: usize, case: &Case, seeds: usize, backend: &Backend) -> String {
    let &(trigger, vocab, dim, length, width, activation, goal) = case;
    let settings = settings(case);
    let point = Point::from(&settings);
    let unlimited = predicted(&point, UNLIMITED)[0];
    let wanted = samples(&point, goal).unwrap_or(BELOW_CAPACITY / length as f64);
    let tokens = if vocab <= 32_000 { TOKENS } else { TOKENS.min(ENTRIES / dim as f64) };
    let products = width.map_or(f64::INFINITY, |width| PRODUCTS / (width * dim) as f64);
    let samples = wanted.min(tokens / length as f64).min(products).round() as usize;
    let started = Instant::now();
    let run = |seed| {
        let config: Config = Settings { samples, seed, ..settings.clone() }.check().unwrap();
        evaluation(&config, &Inputs::default(), backend).unwrap()
    };
    let first = 1000 * (index as u64 + 1);
    let mut runs: Vec<Evaluation> = Vec::new();
    while runs.len() < seeds || (runs.len() < 16 && seeds > 0 && started.elapsed().as_secs_f64() < 4.0) {
        runs.push(run(first + runs.len() as u64));
    }
    let seeds = runs.len();
    let width = width.map_or(String::new(), |width| width.to_string());
    let embedding = &settings.embedding;
    let mut line = format!(
        "{index},{embedding},{trigger},{vocab},{dim},{length},{width},{activation},{samples},{seeds}"
    );
    for (measure, predicted) in MEASURES.into_iter().zip(predicted(&point, samples as f64)) {
        let count = runs.len() as f64;
        let mean = runs.iter().map(|run| run[measure].mean()).sum::<f64>() / count;
        let over_seeds =
            runs.iter().map(|run| (run[measure].mean() - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        let over_items =
            runs.iter().map(|run| run[measure].variance() / run[measure].items() as f64).sum::<f64>() / count;
        let error = (over_seeds.max(over_items) / count).sqrt();
        line += &format!(",{mean:.5},{error:.5},{predicted:.5}");
    }
    let seconds = started.elapsed().as_secs_f64() / runs.len() as f64;
    format!("{line},{unlimited:.5},{seconds:.2}\n")
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word @ ("predict" | "tables"), path] =
        arguments.iter().map(String::as_str).collect::<Vec<_>>()[..]
    {
        let found = std::fs::read_to_string(path).unwrap();
        match word {
            "tables" => print_tables(&found),
            _ => std::fs::write(path, predict_again(&found)).unwrap(),
        }
        return;
    }
    let [device, seeds, path] = &arguments[..] else {
        eprintln!("usage: large cpu|cuda|cuda:N SEEDS OUT.csv, or large predict|tables FILE.csv");
        std::process::exit(2);
    };
    let device = device.parse::<superpose_cuda::Choice>().unwrap().open().unwrap();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let backend = Backend::cpu(threads).unwrap().with_device(device);
    let seeds: usize = seeds.parse().unwrap();
    let found = std::fs::read_to_string(path).unwrap_or_default();
    let done: Vec<usize> = found.lines().filter_map(|line| line.split(',').next()?.parse().ok()).collect();
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    if found.is_empty() {
        let names = ["accuracy", "memory_accuracy", "lock_rate", "one_step_accuracy"];
        let columns: String =
            names.iter().map(|name| format!(",{name},{name}_se,{name}_predicted")).collect();
        let sizes = "index,embedding,trigger,vocab,dim,length,width,activation,samples,seeds";
        writeln!(file, "{sizes}{columns},accuracy_with_unlimited_data_predicted,seconds").unwrap();
    }
    // The quickest first, so that an interruption loses little.
    let mut order: Vec<usize> = (0..CASES.len()).filter(|index| !done.contains(index)).collect();
    order.sort_by_key(|&index| CASES[index].1 * CASES[index].2);
    for index in order {
        let line = row(index, &CASES[index], seeds, &backend);
        eprint!("{line}");
        file.write_all(line.as_bytes()).unwrap();
    }
}
