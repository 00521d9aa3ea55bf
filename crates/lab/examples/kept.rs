//! Compares predicted kept rates and recall with simulations of random configurations at several numbers of kept tokens.
//!
//! `cargo run --release -p superpose-lab --example kept -- 60 48 kept.csv` (configurations; seeds; output).
//!
//! Sizes are log-uniform: V from 129 to 1437, d from 39 to 541, L from 3 to 815; the trigger in the values or not. In every other
//! configuration the number of samples is where the predicted lock rate has a random value from 0.1 to 0.9, elsewhere it is
//! log-uniform from V/2 to 50 V. Configurations with more than 2^22 training tokens are drawn anew. Of the kept tokens, one number is
//! 1, one is 2 and the others are log-uniform up to L - 1.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use superpose_core::Measure::{self, Accuracy, KeptRate};
use superpose_core::backend::Backend;
use superpose_core::config::{Settings, Trigger};
use superpose_core::early_phase::{early_phase, fact_frequency};
use superpose_core::embedding::Embeddings;
use superpose_core::evaluate::{Evaluation, evaluate};
use superpose_core::model::Model;
use superpose_core::random::{Stream, Words, unit};
use superpose_core::task::{Drawn, Task};
use superpose_theory::attention::lock_rate;
use superpose_theory::{Point, predict_at};

const TOKENS: f64 = (1u64 << 22) as f64;
const BUDGETS: usize = 6;
const MEASURES: [Measure; 2] = [KeptRate, Accuracy];

/// Mean over seeds, its standard error, and the prediction.
type Compared = [f64; 3];

struct Cell {
    trigger: Trigger,
    text: String,
    values: [Compared; MEASURES.len()],
}

/// Settings of one configuration and its numbers of kept tokens, or None where training would take too long.
fn draw(index: u64) -> Option<(Settings, Vec<usize>)> {
    let mut words = [0; 32];
    Words::new(20_261_116, Stream::Train, index).fill(0, &mut words);
    let mut pairs = words.chunks_exact(2).map(|pair| unit(pair[0], pair[1]));
    let mut uniform = || pairs.next().unwrap();
    let mut log = |low: f64, high: f64| (low.ln() + (high / low).ln() * uniform()).exp();
    let [vocab, dim, length] = [(129.0, 1437.0), (39.0, 541.0), (3.0, 815.0)].map(|(a, b)| log(a, b).round());
    let trigger = if log(1.0, 4.0) < 2.0 { Trigger::Keys } else { Trigger::Values };
    let free = log(0.5 * vocab, 50.0 * vocab);
    let share = log(1.0, std::f64::consts::E).ln();
    let keep = (0..BUDGETS).map(|i| if i < 2 { i + 1 } else { log(1.0, length - 1.0).round() as usize });
    let mut keep: Vec<usize> = keep.filter(|&keep| (keep as f64) < length).collect();
    keep.sort_unstable();
    keep.dedup();
    let mut settings = Settings {
        vocab: vocab as usize,
        dim: dim as usize,
        length: length as usize,
        trigger,
        test_samples: 1024,
        ..Settings::default()
    };
    let lock = |samples: f64| lock_rate(&Point { samples, ..Point::from(&settings) });
    let samples = match index % 2 {
        0 => {
            let mut logs = (1..=160).map(|i| f64::exp2(0.15 * f64::from(i)).round());
            logs.find(|&samples| lock(samples) > 0.1 + 0.8 * share)?
        }
        _ => free,
    };
    settings.samples = samples as usize;
    (samples * length <= TOKENS && samples >= 8.0).then_some((settings, keep))
}

/// The measurements of one trained model, for each number of kept tokens.
fn measure(settings: &Settings, seed: u64, keep: &[usize]) -> Vec<Evaluation> {
    let backend = Backend::single();
    let with = |keep| Settings { keep, seed, ..settings.clone() }.check().unwrap();
    let config = with(None);
    let (task, embeddings) = (Task::new(&config), Embeddings::<f32>::draw(&config, &backend).unwrap());
    let model = Model::new(&config, &embeddings);
    let [train, test] = [(Stream::Train, config.samples), (Stream::Test, config.test_samples)]
        .map(|(stream, count)| Drawn::new(&task, seed, stream, count));
    let phase = early_phase(&config, &model, &train, &backend).unwrap();
    let frequency = fact_frequency(&train, config.vocab, &backend).unwrap();
    let read =
        |&keep| evaluate(&with(Some(keep)), &model, &task, &phase, &frequency, &test, &backend).unwrap();
    keep.iter().map(read).collect()
}

fn simulate(index: u64, seeds: u64) -> Option<Vec<Cell>> {
    let (settings, keep) = draw(index)?;
    let runs: Vec<_> = (0..seeds).map(|seed| measure(&settings, 1000 * (index + 1) + seed, &keep)).collect();
    let cell = |(i, &keep): (usize, &usize)| {
        let point = Point { keep: Some(keep as f64), ..Point::from(&settings) };
        let predicted = predict_at(&point);
        let values = MEASURES.map(|measure| {
            let count = seeds as f64;
            let means = runs.iter().map(|run| run[i][measure].mean());
            let mean = means.clone().sum::<f64>() / count;
            let variance = means.map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
            [mean, (variance / count).sqrt(), predicted.measures[measure].unwrap()]
        });
        let Settings { vocab, dim, length, samples, trigger, .. } = settings;
        let mut text = format!("{index},{trigger},{vocab},{dim},{length},{samples},{keep}");
        values.iter().flatten().for_each(|x| write!(text, ",{x:.5}").unwrap());
        Cell { trigger, text, values }
    };
    Some(keep.iter().enumerate().map(cell).collect())
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [count, seeds, path] = &arguments[..] else {
        eprintln!("usage: kept CONFIGURATIONS SEEDS OUT.csv");
        std::process::exit(2);
    };
    let (count, seeds): (usize, u64) = (count.parse().unwrap(), seeds.parse().unwrap());
    let (next, done) = (AtomicU64::new(0), Mutex::new(Vec::<(u64, Vec<Cell>)>::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while done.lock().unwrap().len() < count {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if let Some(cells) = simulate(index, seeds) {
                        done.lock().unwrap().push((index, cells));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|&(index, _)| index);
    let cells: Vec<Cell> = done.into_iter().flat_map(|(_, cells)| cells).collect();
    let columns = MEASURES.map(|measure| format!("{measure},{measure}_se,{measure}_predicted"));
    let lines: String = cells.iter().map(|cell| format!("{}\n", cell.text)).collect();
    let header = format!("index,trigger,vocab,dim,length,samples,keep,{}", columns.join(","));
    std::fs::write(path, format!("{header}\n{lines}")).unwrap();
    println!("| quantity | trigger | cells | rms error | of which seeds | rms, seeds taken off | bias |");
    println!("|---|---|---|---|---|---|---|");
    for (i, measure) in MEASURES.iter().enumerate() {
        for trigger in [Some(Trigger::Keys), Some(Trigger::Values), None] {
            let chosen = cells.iter().filter(|cell| trigger.is_none_or(|trigger| trigger == cell.trigger));
            let values: Vec<Compared> = chosen.map(|cell| cell.values[i]).collect();
            println!("| {measure} | {} {}", trigger.map_or("both", Trigger::word), errors(&values));
        }
    }
}

/// Errors where the simulated value is from 0.05 to 0.95, as columns of a table.
fn errors(values: &[Compared]) -> String {
    let counted: Vec<&Compared> = values.iter().filter(|value| (0.05..0.95).contains(&value[0])).collect();
    let mean =
        |f: &dyn Fn(&Compared) -> f64| counted.iter().map(|c| f(c)).sum::<f64>() / counted.len() as f64;
    let (square, seeds) = (mean(&|c| (c[2] - c[0]).powi(2)), mean(&|c| c[1].powi(2)));
    let off = (square - seeds).max(0.0).sqrt();
    let bias = mean(&|c| c[2] - c[0]);
    format!("| {} | {:.4} | {:.4} | {off:.4} | {bias:+.4} |", counted.len(), square.sqrt(), seeds.sqrt())
}
