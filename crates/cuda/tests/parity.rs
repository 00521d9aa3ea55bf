//! The device beside the CPU: the same data, embeddings and numbers. Without a GPU these tests pass without checking anything,
//! unless `SUPERPOSE_DEVICE` asks for one.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use superpose_core::backend::{Backend, CancelToken, Device, Problem, Real, Solution};
use superpose_core::config::{
    Activation, Config, Embedding, EmbeddingSettings, Labels, Precision, Regime, Trigger,
};
use superpose_core::early_phase::{EarlyPhase, early_phase, fact_frequency};
use superpose_core::embedding::Embeddings;
use superpose_core::evaluate::evaluate;
use superpose_core::measure::Missing;
use superpose_core::model::Model;
use superpose_core::random::Stream;
use superpose_core::task::{Drawn, Samples, Stored, Task};
use superpose_core::{Measure, Settings};

fn device() -> Option<Arc<dyn Device>> {
    match (superpose_cuda::open(0), std::env::var_os("SUPERPOSE_DEVICE")) {
        (Ok(device), _) => Some(device),
        (Err(error), Some(_)) => panic!("{error}"),
        (Err(_), None) => None,
    }
}

fn solve<T: Real>(
    device: &dyn Device,
    config: &Config,
    task: &Task,
    embeddings: Option<&Embeddings<T>>,
    stored: Option<&Stored>,
) -> Solution<T> {
    let (cancel, observe) = (CancelToken::new(), |_: usize| {});
    let problem = Problem { config, task, embeddings, stored, cancel: &cancel, observe: &observe };
    T::solver(device).solve(&problem).unwrap()
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

/// The shortest test that launches every kernel, for compute-sanitizer.
#[test]
fn small_runs_agree() {
    let Some(device) = device() else { return };
    let tiny = Settings { vocab: 40, dim: 12, samples: 200, test_samples: 40, ..small() };
    both(&*device, Settings { keep: Some(2), ..tiny.clone() });
    both(&*device, Settings { regime: Regime::Exact, eta: 300.0, zipf: Some(1.0), ..tiny.clone() });
    both(&*device, Settings { regime: Regime::Exact, width: Some(20), dim: 13, ..tiny.clone() });
    both(&*device, Settings { vocab: 900, dim: 8, samples: 20, ..tiny.clone() });
    // Enough logits for the first-order form of the softmax, and enough samples to sort them by label.
    let exact =
        Settings { regime: Regime::Exact, vocab: 1000, dim: 64, samples: 8500, eta: 1e-3, ..tiny.clone() };
    compare::<f32>(&*device, exact, false, 1e-4);
    compare::<f32>(&*device, Settings { dim: 8, samples: 33_000, ..tiny.clone() }, false, 1e-4);
    for kind in [Embedding::Sphere, Embedding::Rademacher] {
        let embedding = EmbeddingSettings::plain(kind).unwrap();
        let config = Settings { embedding, width: Some(5), ..tiny.clone() }.check().unwrap();
        solve::<f32>(&*device, &config, &Task::new(&config), None, None);
    }
}

#[test]
fn regimes_triggers_and_activations_agree() {
    let Some(device) = device() else { return };
    for regime in [Regime::Infinitesimal, Regime::Exact] {
        for trigger in [Trigger::Values, Trigger::Keys] {
            for eta in [1.0, 300.0] {
                both(&*device, Settings { regime, trigger, eta, ..small() });
            }
            for &activation in Activation::ALL {
                both(&*device, Settings { regime, trigger, activation, width: Some(70), ..small() });
            }
        }
    }
}

#[test]
fn task_variants_agree() {
    let Some(device) = device() else { return };
    for regime in [Regime::Infinitesimal, Regime::Exact] {
        for settings in [
            Settings { zipf: Some(1.1), ..small() },
            Settings { noise_vocab: Some(37), ..small() },
            Settings { noise_vocab: Some(300), zipf: Some(0.7), ..small() },
            Settings { noise_zipf: Some(1.4), zipf: Some(0.7), ..small() },
            Settings { labels: Labels::Mod(7), ..small() },
            Settings { keep: Some(3), ..small() },
            Settings { keep: Some(1), lead: 0.5, ..small() },
            Settings { length: 1, ..small() },
            Settings { length: 2, lead: 2.0, ..small() },
            Settings { length: 300, samples: 300, ..small() },
            Settings { gamma: Some(0.0), ..small() },
            Settings { gamma: Some(-3.0), eta2: Some(2.0), ..small() },
            Settings { dim: 7, ..small() },
            Settings { dim: 200, vocab: 33, ..small() },
            Settings { vocab: 2, samples: 10, test_samples: 3, ..small() },
            // Few samples and many tokens: sums from rows instead of tables, of more samples sorted by label.
            Settings { vocab: 3000, dim: 6, samples: 40_000, ..small() },
            Settings { vocab: 3000, dim: 13, samples: 40, ..small() },
            Settings {
                vocab: 3000,
                dim: 12,
                samples: 40,
                labels: Labels::Mod(2999),
                zipf: Some(1.0),
                ..small()
            },
            Settings { vocab: 5000, dim: 140, samples: 300, length: 130, ..small() },
        ] {
            both(&*device, Settings { regime, ..settings });
        }
    }
}

#[test]
fn samples_in_memory_agree() {
    let Some(device) = device() else { return };
    for width in [None, Some(33)] {
        compare::<f64>(&*device, Settings { precision: Precision::F64, width, ..small() }, true, 1e-10);
    }
    let rows = Settings { vocab: 3000, dim: 16, samples: 40, precision: Precision::F64, ..small() };
    compare::<f64>(&*device, rows, true, 1e-10);
}

#[test]
fn larger_sizes_agree() {
    let Some(device) = device() else { return };
    for regime in [Regime::Infinitesimal, Regime::Exact] {
        for eta in [1.0, 1000.0] {
            let settings =
                Settings { vocab: 700, dim: 96, length: 33, samples: 70_000, regime, eta, ..small() };
            both(&*device, settings.clone());
            both(&*device, Settings { width: Some(200), samples: 9000, ..settings });
        }
    }
}

fn bits<T: Real>(solution: &Solution<T>) -> Vec<u64> {
    let EarlyPhase { m1, w1, m2, .. } = &solution.phase;
    let matrices = [m1, w1, m2].into_iter().flatten().map(|x| x.to_f64().to_bits());
    matrices
        .chain(Measure::ALL.iter().map(|&measure| solution.evaluation[measure].mean().to_bits()))
        .collect()
}

/// Embeddings drawn on the device have the bits of the CPU's: a run on them has the same bits as a run on copies.
#[test]
fn drawn_embeddings_have_the_bits_of_the_cpu() {
    let Some(device) = device() else { return };
    for kind in [Embedding::Gaussian, Embedding::Sphere, Embedding::Rademacher] {
        for (vocab, dim) in [(300, 64), (999, 131)] {
            let embedding = EmbeddingSettings::plain(kind).unwrap();
            let settings = Settings { embedding, vocab, dim, width: Some(77), seed: 1 << 40, ..small() };
            let config = settings.check().unwrap();
            let (task, host) =
                (Task::new(&config), Embeddings::<f32>::draw(&config, &Backend::single()).unwrap());
            let (drawn, copied) = (
                solve::<f32>(&*device, &config, &task, None, None),
                solve(&*device, &config, &task, Some(&host), None),
            );
            assert!(bits(&drawn) == bits(&copied), "{kind} {vocab} {dim}");
            let config = Settings { precision: Precision::F64, ..(*config).clone() }.check().unwrap();
            let host = Embeddings::<f64>::draw(&config, &Backend::single()).unwrap();
            let (drawn, copied) = (
                solve::<f64>(&*device, &config, &task, None, None),
                solve(&*device, &config, &task, Some(&host), None),
            );
            assert!(bits(&drawn) == bits(&copied), "{kind} {vocab} {dim}, 64 bits");
        }
    }
}

/// The same run gives the same bits: alone, again, and beside others in other lanes.
#[test]
fn runs_are_reproducible() {
    let Some(device) = device() else { return };
    for settings in [
        small(),
        Settings { regime: Regime::Exact, eta: 500.0, ..small() },
        Settings { width: Some(90), ..small() },
        Settings { vocab: 5000, dim: 140, samples: 300, length: 130, ..small() },
        Settings { vocab: 700, dim: 96, samples: 70_000, regime: Regime::Exact, ..small() },
    ] {
        let config = settings.check().unwrap();
        let task = Task::new(&config);
        let run = || bits(&solve::<f32>(&*device, &config, &task, None, None));
        let alone = run();
        assert_eq!(alone, run());
        std::thread::scope(|scope| {
            let beside: Vec<_> = (0..8).map(|_| scope.spawn(run)).collect();
            beside.into_iter().for_each(|other| assert_eq!(other.join().unwrap(), alone));
        });
    }
}

/// Compares cells that share launches with the same cells alone, bit for bit.
fn small_batch<T: Real>(device: &dyn Device, settings: Settings) {
    let configs: Vec<Config> =
        (0..3).map(|seed| Settings { seed, ..settings.clone() }.check().unwrap()).collect();
    let tasks: Vec<Task> = configs.iter().map(Task::new).collect();
    assert!(device.batch(&configs[0]) > 3, "{settings:?}");
    let (cancel, observe) = (CancelToken::new(), |_: usize| {});
    let problem = |(config, task)| Problem {
        config,
        task,
        embeddings: None,
        stored: None,
        cancel: &cancel,
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

/// For compute-sanitizer, too.
#[test]
fn small_batches_have_the_bits_of_single_cells() {
    let Some(device) = device() else { return };
    let tiny = Settings { vocab: 70, dim: 12, samples: 300, test_samples: 60, ..small() };
    let exact = Settings { regime: Regime::Exact, eta: 300.0, ..tiny.clone() };
    for settings in [
        tiny.clone(),
        exact.clone(),
        Settings { dim: 70, ..exact.clone() },
        Settings { width: Some(90), zipf: Some(1.0), ..exact.clone() },
        Settings { width: Some(20), trigger: Trigger::Keys, labels: Labels::Mod(7), ..tiny.clone() },
        // Sums from rows, and equal attention.
        Settings { vocab: 900, dim: 8, samples: 20, keep: Some(2), ..tiny.clone() },
        Settings { gamma: Some(0.0), noise_vocab: Some(30), ..tiny.clone() },
    ] {
        small_batch::<f32>(&*device, settings.clone());
        small_batch::<f64>(&*device, Settings { precision: Precision::F64, ..settings });
    }
}

/// The two with 1,000 tokens are large enough for the first-order form of the softmax.
#[test]
fn larger_batches_have_the_bits_of_single_cells() {
    let Some(device) = device() else { return };
    for (vocab, dim, eta) in [(512, 64, 1.0), (512, 64, 1000.0), (1000, 72, 1e-3), (1000, 72, 0.3)] {
        let exact = Settings { regime: Regime::Exact, vocab, dim, eta, samples: 8192, ..small() };
        small_batch::<f32>(&*device, exact);
    }
    small_batch::<f32>(&*device, Settings { vocab: 720, dim: 130, samples: 9000, ..small() });
}

#[test]
fn cancelled_run_ends() {
    let Some(device) = device() else { return };
    let config = small().check().unwrap();
    let (task, cancel, observe) = (Task::new(&config), CancelToken::new(), |_: usize| {});
    cancel.cancel();
    let problems = [0, 1].map(|_| Problem {
        config: &config,
        task: &task,
        embeddings: None,
        stored: None,
        cancel: &cancel,
        observe: &observe,
    });
    let solver = <f32 as Real>::solver(&*device);
    let alone = solver.solve(&problems[0]).err().unwrap();
    let together = solver.measure(&problems).err().unwrap();
    assert_eq!([alone, together].map(|error| error.to_string()), ["cancelled by the caller"; 2]);
}
