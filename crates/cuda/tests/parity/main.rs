//! The device beside the CPU: the same data, embeddings and numbers. Without a GPU these tests pass without checking anything,
//! unless `SUPERPOSE_DEVICE` asks for one.
#![allow(clippy::unwrap_used)]

mod bits;
mod random;
mod runs;
mod training;

use std::sync::Arc;

use superpose_core::backend::{Backend, Device, Problem, Real, Solution};
use superpose_core::config::{Config, Precision};
use superpose_core::early_phase::{EarlyPhase, early_phase, fact_frequency};
use superpose_core::embedding::Embeddings;
use superpose_core::evaluate::evaluate;
use superpose_core::measure::Missing;
use superpose_core::model::Model;
use superpose_core::random::Stream;
use superpose_core::task::{Drawn, Samples, Stored, Task};
use superpose_core::{Measure, Settings};
use superpose_cuda::Choice;

fn device() -> Option<Arc<dyn Device>> {
    match std::env::var("SUPERPOSE_DEVICE") {
        Ok(word) => {
            let device = word.parse::<Choice>().unwrap().open().unwrap();
            Some(device.expect("SUPERPOSE_DEVICE names a GPU"))
        }
        Err(_) => Choice::Auto.open().unwrap(),
    }
}

fn solve<T: Real>(
    device: &dyn Device,
    config: &Config,
    task: &Task,
    embeddings: Option<&Embeddings<T>>,
    stored: Option<&Stored>,
) -> Solution<T> {
    let (host, observe) = (Backend::cpu(2).unwrap(), |_: usize| {});
    let problem = Problem { config, task, embeddings, stored, host: &host, observe: &observe };
    T::solver(device).solve(&problem).unwrap()
}

/// The three steps on the CPU.
fn engine<T: Real>(config: &Config) -> EarlyPhase<T> {
    let backend = Backend::cpu(2).unwrap();
    let embeddings = Embeddings::<T>::draw(config, &backend).unwrap();
    let (task, model) = (Task::new(config), Model::new(config, &embeddings));
    let drawn = Drawn::new(&task, config.seed, Stream::Train, config.samples);
    early_phase(config, &model, &drawn, &backend).unwrap()
}

/// The value matrices and the query.
fn matrices<T: Real>(phase: EarlyPhase<T>) -> [Vec<f64>; 3] {
    [phase.m1, phase.w1, phase.m2].map(|matrix| matrix.iter().map(|x| x.to_f64()).collect())
}

/// The largest difference of two matrices, relative to the largest entry.
fn difference<T: Real>(a: &[T], b: &[T]) -> f64 {
    assert_eq!(a.len(), b.len());
    let size = b.iter().fold(0.0, |size: f64, x| size.max(x.to_f64().abs()));
    let apart = a.iter().zip(b).fold(0.0, |most: f64, (a, b)| {
        let apart = (a.to_f64() - b.to_f64()).abs();
        if apart.is_nan() { f64::INFINITY } else { most.max(apart) }
    });
    apart / size.max(f64::MIN_POSITIVE)
}

fn compare<T: Real>(device: &dyn Device, settings: Settings, stored: bool, tolerance: f64) {
    let config = settings.check().unwrap();
    let backend = Backend::cpu(2).unwrap();
    let embeddings = Embeddings::<T>::draw(&config, &backend).unwrap();
    let (task, model) = (Task::new(&config), Model::new(&config, &embeddings));
    let drawn = Drawn::new(&task, config.seed, Stream::Train, config.samples);
    let copy = stored.then(|| Stored::copy(&drawn, &backend).unwrap());
    let samples: &dyn Samples = copy.as_ref().map_or(&drawn, |copy| copy);
    let phase = early_phase(&config, &model, samples, &backend).unwrap();
    let frequency = fact_frequency(samples, config.vocab, &backend).unwrap();
    let test = Drawn::new(&task, config.seed, Stream::Test, config.test_samples);
    let evaluation = evaluate(&config, &model, &task, &phase, &frequency, &test, &backend).unwrap();

    let found = solve(device, &config, &task, Some(&embeddings), copy.as_ref());
    let what = format!("{:?}", *config);
    assert_eq!(found.frequency, frequency, "{what}");
    assert_eq!(found.phase.trigger_sign, phase.trigger_sign, "{what}");
    for (name, a, b) in [
        ("m1", &found.phase.m1, &phase.m1),
        ("w1", &found.phase.w1, &phase.w1),
        ("m2", &found.phase.m2, &phase.m2),
    ] {
        let apart = difference(a, b);
        assert!(apart <= tolerance, "{name} differs by {apart:e}: {what}");
    }
    for &measure in Measure::ALL {
        let (ours, theirs) = (&found.evaluation[measure], &evaluation[measure]);
        assert_eq!(ours.items(), theirs.items(), "{measure:?}: {what}");
        if theirs.is_missing() {
            continue;
        }
        let scale = theirs.mean().abs().max(theirs.variance().sqrt()).max(if measure == Measure::Margin {
            0.0
        } else {
            1.0
        });
        let apart = (ours.mean() - theirs.mean()).abs() / scale;
        // A rounding error changes a count when two logits are nearly equal.
        let allowed = if config.precision == Precision::F32 { 0.01 } else { 1e-9 };
        assert!(apart <= allowed, "{measure:?}: {} and {}: {what}", ours.mean(), theirs.mean());
    }
}

fn both(device: &dyn Device, settings: Settings) {
    compare::<f64>(device, Settings { precision: Precision::F64, ..settings.clone() }, false, 1e-10);
    compare::<f32>(device, Settings { precision: Precision::F32, ..settings }, false, 1e-4);
}

fn small() -> Settings {
    Settings { vocab: 60, dim: 24, length: 9, samples: 2000, test_samples: 500, ..Settings::default() }
}

/// Compares cells that share launches with the same cells alone, bit for bit.
fn small_batch<T: Real>(device: &dyn Device, settings: Settings) {
    let configs: Vec<Config> =
        (0..3).map(|seed| Settings { seed, ..settings.clone() }.check().unwrap()).collect();
    let tasks: Vec<Task> = configs.iter().map(Task::new).collect();
    assert!(device.batch(&configs[0]) > 3, "{settings:?}");
    let (host, observe) = (Backend::cpu(2).unwrap(), |_: usize| {});
    let problem = |(config, task)| Problem {
        config,
        task,
        embeddings: None,
        stored: None,
        host: &host,
        observe: &observe,
    };
    let problems: Vec<Problem<'_, T>> = configs.iter().zip(&tasks).map(problem).collect();
    let together = T::solver(device).measure(&problems).unwrap();
    assert_eq!(together.len(), 3);
    for (measured, problem) in together.into_iter().zip(&problems) {
        let alone = T::solver(device).solve(problem).unwrap();
        assert!(measured.finite);
        assert_eq!(measured.evaluation, alone.evaluation, "{settings:?}");
        let EarlyPhase { w1, gamma, eta2, trigger_sign, .. } = measured.phase;
        assert_eq!((gamma, eta2, trigger_sign), {
            let EarlyPhase { gamma, eta2, trigger_sign, .. } = alone.phase;
            (gamma, eta2, trigger_sign)
        });
        assert!(w1 == alone.phase.w1, "{settings:?}");
    }
}
