//! Simulates random configurations near their critical number of samples, to validate the predictions.
//!
//! `cargo run --release -p superpose-lab --example simulate -- attention 200 6 attention.csv`
//! (kind: attention, crossing, mlp, sphere, orthonormal, zipf, noise_zipf, middle or middle_mlp; configurations; seeds per cell; output; then, if given, the
//! number of the first configuration, 0 otherwise, and of threads, all otherwise). Configurations with other numbers are fresh ones.
//!
//! Sizes are log-uniform: V from 100 to 4000, d from 16 to 512, L from 2 to 512 (attention-MLP: V to 1000, d and L to 128, m from 64
//! to 2048, any activation); the trigger in the values or not. A pilot finds the number of samples at which recall crosses one half;
//! four numbers of samples are drawn log-uniformly within a factor of 8 of it. Configurations that do not cross
//! within 2^28 tokens (attention-MLP: `N m d` within 2^31 too) are drawn anew. The kind `crossing` has the sizes of `attention`, every
//! second length near where attention becomes the limit, six numbers of samples close to the crossing and at most 2^22 tokens there.
//!
//! The kinds `zipf` and `noise_zipf` have V from 129 to 1,425, d from 24 to 400, L from 3 to 128 and one number of samples from 0.4 V to
//! 100 V, all log-uniform, and an exponent of Zipf's law from 0.3 to 2, uniform; with `noise_zipf` the noise tokens have another.
//!
//! The kind `middle` has the sizes between those of `attention` and of `large.rs`: V from 4,000 to 20,000, d from 128 to 1,024, L from 4
//! to 256; `middle_mlp` has V from 1,000 to 20,000, d from 64 to 512, L from 4 to 64, m from 512 to 4,096 and any activation. The
//! one number of samples is where an accuracy is predicted that is uniform between 0.1 and 0.9, with at most 2^24 tokens or `N m d` up to 2^35.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use superpose_core::Measure;
use superpose_core::backend::Backend;
use superpose_core::config::{Activation, EmbeddingSettings, Settings, Trigger};
use superpose_core::evaluate::Evaluation;
use superpose_core::random::{Stream, Words, unit};
use superpose_lab::run::{Inputs, evaluation};
use superpose_theory::Point;
use superpose_theory::critical::{Critical, Parameter, critical};

const TOKENS: f64 = (1u64 << 28) as f64;
const PRODUCTS: f64 = (1u64 << 31) as f64;
const CROSSING_TOKENS: f64 = (1u64 << 25) as f64;

/// Numbers of samples near the crossing, in units of the pilot's.
const NEAR: [f64; 6] = [0.5, 0.7, 0.9, 1.15, 1.5, 2.1];

/// Uniform random numbers of one configuration.
struct Draw(Vec<u32>, usize);

impl Draw {
    fn new(index: u64, seed: u64) -> Draw {
        let mut words = vec![0; 64];
        Words::new(seed, Stream::Train, index).fill(0, &mut words);
        Draw(words, 0)
    }

    fn uniform(&mut self) -> f64 {
        self.1 += 2;
        unit(self.0[self.1 - 2], self.0[self.1 - 1])
    }

    fn log(&mut self, low: f64, high: f64) -> usize {
        (low.ln() + (high / low).ln() * self.uniform()).exp().round() as usize
    }
}

fn any_activation(draw: &mut Draw) -> Activation {
    Activation::ALL[(draw.uniform() * Activation::ALL.len() as f64) as usize]
}

fn settings(kind: &str, draw: &mut Draw) -> Settings {
    let mlp = kind == "mlp";
    let mut settings = Settings {
        vocab: draw.log(100.0, if mlp { 1000.0 } else { 4000.0 }),
        dim: draw.log(16.0, if mlp { 128.0 } else { 512.0 }),
        length: draw.log(2.0, if mlp { 128.0 } else { 512.0 }),
        trigger: if draw.uniform() < 0.5 { Trigger::Keys } else { Trigger::Values },
        test_samples: 2048,
        ..Settings::default()
    };
    match kind {
        "crossing" => {
            let (vocab, dim) = (settings.vocab as f64, settings.dim as f64);
            let limit = match settings.trigger {
                Trigger::Keys => dim.powf(0.75) * vocab.powf(0.25),
                Trigger::Values => vocab.powf(0.75) * dim.powf(0.25),
            };
            if draw.uniform() < 0.5 {
                settings.length = draw.log(0.5 * limit, 3.0 * limit).clamp(2, 800);
            }
        }
        "zipf" | "noise_zipf" => {
            settings.vocab = draw.log(129.0, 1425.0);
            settings.dim = draw.log(24.0, 400.0);
            settings.length = draw.log(3.0, 128.0);
            let mut exponent = || Some((100.0 * (0.3 + 1.7 * draw.uniform())).round() / 100.0);
            settings.zipf = exponent();
            settings.noise_zipf = if kind == "zipf" { None } else { exponent() };
            settings.samples = draw.log(0.4 * settings.vocab as f64, 100.0 * settings.vocab as f64);
        }
        "middle" => {
            settings.vocab = draw.log(4000.0, 20_000.0);
            settings.dim = draw.log(128.0, 1024.0);
            settings.length = draw.log(4.0, 256.0);
        }
        "middle_mlp" => {
            settings.vocab = draw.log(1000.0, 20_000.0);
            settings.dim = draw.log(64.0, 512.0);
            settings.length = draw.log(4.0, 64.0);
            settings.width = Some(draw.log(512.0, 4096.0));
            settings.activation = any_activation(draw);
        }
        "mlp" => {
            settings.width = Some(draw.log(64.0, 2048.0));
            settings.activation = any_activation(draw);
        }
        "sphere" => settings.embedding = EmbeddingSettings::Sphere,
        "orthonormal" => {
            settings.embedding = EmbeddingSettings::Orthonormal;
            settings.vocab = settings.vocab.min(600);
            settings.dim = settings.vocab + 2;
        }
        _ => {}
    }
    settings
}

fn measure(settings: &Settings, samples: usize, seed: u64) -> Evaluation {
    let config = Settings { samples, seed, ..settings.clone() }.check().unwrap();
    evaluation(&config, &Inputs::default(), &Backend::single()).unwrap()
}

/// Returns the number of samples at which recall crosses one half, to a factor of about 1.3, from single runs.
fn pilot(settings: &Settings, max: f64, seed: u64) -> Option<f64> {
    let recall = |log: f64| measure(settings, log.exp2().round() as usize, seed)[Measure::Accuracy].mean();
    let (mut low, mut high) = (4.0, max.log2());
    // Reject early if the memory cannot reach it with placed attention and the maximum number of samples.
    if high <= low + 3.0 || recall(high - 3.0) < 0.5 {
        return None;
    }
    high -= 3.0;
    while high - low > 0.4 {
        let middle = 0.5 * (low + high);
        if recall(middle) < 0.5 { low = middle } else { high = middle }
    }
    Some((0.5 * (low + high)).exp2())
}

/// The number of samples at which an accuracy is predicted, if it is small enough to simulate.
fn predicted_samples(settings: &Settings, accuracy: f64) -> Option<usize> {
    const MAX_TOKENS: f64 = (1u64 << 24) as f64;
    const MAX_PRODUCTS: f64 = (1u64 << 35) as f64;
    let Critical::At(samples) = critical(&Point::from(settings), Parameter::Samples, accuracy) else {
        return None;
    };
    let products = settings.width.map_or(0.0, |width| samples * (width * settings.dim) as f64);
    let fits = samples * settings.length as f64 <= MAX_TOKENS && products <= MAX_PRODUCTS;
    fits.then_some(samples as usize)
}

fn simulate(kind: &str, index: u64, seeds: u64) -> Option<String> {
    let crossing = kind == "crossing";
    // The kinds `crossing`, `zipf`, `noise_zipf` and those in the middle were drawn after the formulas that they validate.
    let mut draw = Draw::new(
        index,
        match kind {
            "crossing" => 20_261_117,
            "zipf" => 20_261_116,
            "noise_zipf" => 20_261_118,
            "middle" | "middle_mlp" => 20_261_119,
            _ => 20_260_315,
        },
    );
    let settings = settings(kind, &mut draw);
    // Every cell has its own seeds. Equal ones would correlate the errors of cells, for example through the trigger's length.
    let first = 1000 * (index + 1);
    // The pilot looks for a crossing up to an eighth of this.
    let most = if crossing { CROSSING_TOKENS } else { TOKENS } / settings.length as f64;
    let most = settings.width.map_or(most, |width| most.min(PRODUCTS / (width * settings.dim) as f64));
    let mut lines = String::new();
    let samples: Vec<usize> = match settings.zipf {
        Some(_) => vec![settings.samples],
        None if kind.starts_with("middle") => {
            vec![predicted_samples(&settings, 0.1 + 0.8 * draw.uniform())?]
        }
        None => {
            let critical = pilot(&settings, most, first - 1)?;
            match crossing {
                true => NEAR.iter().map(|factor| (factor * critical).round().max(1.0) as usize).collect(),
                false => (0..4).map(|_| draw.log(critical / 8.0, critical * 8.0).max(1)).collect(),
            }
        }
    };
    for (cell, samples) in samples.into_iter().enumerate() {
        let first = first + cell as u64 * seeds;
        let runs: Vec<Evaluation> =
            (0..seeds).map(|seed| measure(&settings, samples, first + seed)).collect();
        let Settings { vocab, dim, length, trigger, width, activation, embedding, .. } = &settings;
        let width = width.map_or(String::new(), |width| width.to_string());
        write!(
            lines,
            "{index},{embedding},{trigger},{vocab},{dim},{length},{width},{activation},{samples},{seeds}"
        )
        .unwrap();
        if let Some(zipf) = settings.zipf {
            write!(lines, ",{zipf},{}", settings.noise_zipf.unwrap_or(zipf)).unwrap();
        }
        for column in columns(kind) {
            let means: Vec<f64> = runs.iter().map(|run| run[column].mean()).collect();
            let mean = means.iter().sum::<f64>() / means.len() as f64;
            let variance = means.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (means.len() - 1) as f64;
            write!(lines, ",{mean:.5},{:.5}", (variance / means.len() as f64).sqrt()).unwrap();
        }
        lines.push('\n');
    }
    Some(lines)
}

/// The measures of a cell.
fn columns(kind: &str) -> Vec<Measure> {
    let mut columns =
        vec![Measure::Accuracy, Measure::MemoryAccuracy, Measure::LockRate, Measure::OneStepAccuracy];
    if kind.ends_with("zipf") {
        columns.push(Measure::AttentionMass);
    }
    columns
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, count, seeds, path, more @ ..] = &arguments[..] else {
        eprintln!(
            "usage: simulate attention|crossing|mlp|sphere|orthonormal|zipf|noise_zipf|middle|middle_mlp CONFIGURATIONS SEEDS OUT.csv [FIRST [THREADS]]"
        );
        std::process::exit(2);
    };
    let (count, seeds): (usize, u64) = (count.parse().unwrap(), seeds.parse().unwrap());
    assert!((2..=1000).contains(&seeds), "seeds = {seeds}: must be from 2 to 1,000");
    let next = AtomicUsize::new(more.first().map_or(0, |first| first.parse().unwrap()));
    let done = Mutex::new(Vec::<(usize, String)>::new());
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = more.get(1).map_or_else(all, |threads| threads.parse().unwrap());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while done.lock().unwrap().len() < count {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if let Some(lines) = simulate(kind, index as u64, seeds) {
                        let mut done = done.lock().unwrap();
                        done.push((index, lines));
                        eprintln!("{} of {count}", done.len());
                        // Written in order as results arrive, so that an interruption loses little.
                        done.sort_by_key(|&(index, _)| index);
                        let sizes = "index,embedding,trigger,vocab,dim,length,width,activation,samples,seeds";
                        let exponents = if kind.ends_with("zipf") { ",zipf,noise_zipf" } else { "" };
                        let measures = columns(kind).into_iter().map(|m| format!(",{m},{m}_se"));
                        let header = format!("{sizes}{exponents}{}\n", measures.collect::<String>());
                        let text: String = done.iter().map(|(_, lines)| lines.as_str()).collect();
                        std::fs::write(path, format!("{header}{text}")).unwrap();
                    }
                }
            });
        }
    });
}
