//! The device beside the CPU: the same data, embeddings and numbers. Without a GPU these tests pass without checking anything,
//! unless `SUPERPOSE_DEVICE` asks for one.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use superpose_associative::{MemorySettings, Rule, recall};
use superpose_core::backend::{Backend, CancelToken, Device, Problem, Real, Solution};
use superpose_core::config::{
    Activation, Config, EarlyRule, Embedding, EmbeddingSettings, Labels, Optimiser, Positions, Precision,
    Regime, Schedule, Training, Trigger,
};
use superpose_core::early_phase::{EarlyPhase, early_phase, fact_frequency};
use superpose_core::embedding::Embeddings;
use superpose_core::evaluate::evaluate;
use superpose_core::measure::Missing;
use superpose_core::model::Model;
use superpose_core::random::Stream;
use superpose_core::task::{Drawn, Samples, Stored, Task};
use superpose_core::train::{End, Event, Moments, Network, State, TrainError, Trainer, TrajectoryPoint};
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
    // One kernel computes the softmax: more than one tile of labels and of samples, and fewer labels than tokens.
    let exact =
        Settings { regime: Regime::Exact, vocab: 37, dim: 60, samples: 333, eta: 300.0, ..tiny.clone() };
    both(&*device, exact.clone());
    both(&*device, Settings { labels: Labels::Mod(7), dim: 32, ..exact });
    // A softmax so close to the right labels that its residuals are below rounding.
    let sure = Settings {
        regime: Regime::Exact,
        trigger: Trigger::Keys,
        vocab: 4,
        noise_vocab: Some(64),
        dim: 128,
        length: 2,
        samples: 256,
        ..tiny.clone()
    };
    compare::<f64>(
        &*device,
        Settings { precision: Precision::F64, eta: 1000.0, ..sure.clone() },
        false,
        1e-10,
    );
    both(&*device, Settings { dim: 64, eta: 30.0, ..sure });
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
            // Attention that is nearly all on the informative position in 64 bits, too, and of some of the samples.
            for lead in [2.0, 12.0] {
                both(&*device, Settings { regime, trigger, lead, eta: 300.0, zipf: Some(0.8), ..small() });
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
fn rules_and_rounds_agree() {
    let Some(device) = device() else { return };
    let tiny = Settings { vocab: 40, dim: 16, samples: 600, test_samples: 100, ..small() };
    for regime in [Regime::Infinitesimal, Regime::Exact] {
        for width in [None, Some(20)] {
            let settings = Settings { regime, width, zipf: Some(0.8), ..tiny.clone() };
            for early_rule in [EarlyRule::Sign, EarlyRule::Muon, EarlyRule::Newton] {
                let settings = Settings { early_rule, ..settings.clone() };
                compare::<f64>(
                    &*device,
                    Settings { precision: Precision::F64, ..settings.clone() },
                    false,
                    // Small eigenvalues, which are inverted, enlarge the rounding errors.
                    if early_rule == EarlyRule::Newton { 1e-8 } else { 1e-10 },
                );
                small_batch::<f64>(&*device, Settings { precision: Precision::F64, ..settings });
            }
            let muon = Settings { early_rule: EarlyRule::Muon, ..settings.clone() };
            compare::<f32>(&*device, muon.clone(), false, 1e-3);
            // Of 12 facts in 24 dimensions half of the singular values are rounding errors, which differ in 32 bits.
            compare::<f32>(&*device, Settings { vocab: 12, dim: 24, zipf: None, ..muon }, false, 0.05);
            let rounds = Settings { rounds: 3, zipf: None, ..settings };
            both(&*device, rounds.clone());
            small_batch::<f32>(&*device, rounds.clone());
            let muon = Settings { early_rule: EarlyRule::Muon, precision: Precision::F64, ..rounds };
            compare::<f64>(&*device, muon, false, 1e-10);
        }
    }
}

/// Rows that a device does not draw itself.
#[test]
fn structured_embeddings_agree() {
    let Some(device) = device() else { return };
    for embedding in [
        EmbeddingSettings::Orthonormal,
        EmbeddingSettings::Sphere,
        EmbeddingSettings::Rademacher,
        EmbeddingSettings::LowRank { rank: 9 },
        EmbeddingSettings::Clustered { clusters: 8, spread: 0.7 },
        EmbeddingSettings::PowerLaw { decay: 1.0 },
    ] {
        let dim = if embedding == EmbeddingSettings::Orthonormal { 64 } else { 24 };
        both(&*device, Settings { embedding, dim, ..small() });
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
            // A size at which one kernel computes the softmax.
            both(&*device, Settings { vocab: 512, dim: 64, samples: 8192, ..settings.clone() });
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

/// The answers to the test samples are then the largest buffer.
#[test]
fn small_cells_with_many_test_samples_share_launches() {
    let Some(device) = device() else { return };
    let settings = Settings { vocab: 4, dim: 4, length: 2, samples: 300, ..small() };
    small_batch::<f32>(&*device, Settings { test_samples: 120_000, ..settings });
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
    let host = Backend::single().with_cancel(cancel);
    let problems = [0, 1].map(|_| Problem {
        config: &config,
        task: &task,
        embeddings: None,
        stored: None,
        host: &host,
        observe: &observe,
    });
    let solver = <f32 as Real>::solver(&*device);
    let alone = solver.solve(&problems[0]).err().unwrap();
    let together = solver.measure(&problems).err().unwrap();
    assert_eq!([alone, together].map(|error| error.to_string()), ["cancelled by the caller"; 2]);
}

/// A run on the CPU, or on a device if there is one, that ends after `until` steps: its state and trajectory.
fn trained<T: Real>(
    device: Option<&dyn Device>,
    config: &Config,
    from: Option<State<T>>,
    stored: bool,
    until: usize,
    cancel: &CancelToken,
) -> Result<(State<T>, Vec<TrajectoryPoint>, End), TrainError> {
    let backend = Backend::cpu(2).unwrap().with_cancel(cancel.clone());
    let embeddings = Embeddings::<T>::draw(config, &Backend::single()).unwrap();
    let (task, training) = (Task::new(config), config.training.as_ref().unwrap());
    let drawn = Drawn::new(&task, config.seed, Stream::Train, config.samples);
    let copy = stored.then(|| Stored::copy(&drawn, &Backend::single()).unwrap());
    let samples: &dyn Samples = copy.as_ref().map_or(&drawn, |copy| copy);
    let test = Drawn::new(&task, config.seed, Stream::Test, config.test_samples);
    let start = || State::new(Network::new(config, training, embeddings, &Backend::single()).unwrap());
    let mut state = from.unwrap_or_else(start);
    let early: Vec<f64> = (0..config.dim).map(|i| (i as f64).sin()).collect();
    let trainer =
        Trainer { config, training, task: &task, samples, test: &test, early: &early, own_loss: false };
    let mut points = Vec::new();
    let observe = &mut |event: Event<'_, T>| match event {
        Event::Recorded(point, _) => {
            points.push(*point);
            true
        }
        Event::Stepped(counters) => counters.step < until,
        _ => true,
    };
    let ignore = |_: usize| {};
    let (stored, observe_samples) = (copy.as_ref(), &ignore);
    let problem =
        Problem { config, task: &task, embeddings: None, stored, host: &backend, observe: observe_samples };
    let end = match device {
        Some(device) => {
            let mut learner = T::solver(device).learner(&problem, &mut state).unwrap();
            let end = trainer.run_with(&mut *learner, observe)?;
            learner.state().unwrap();
            end
        }
        None => trainer.run(&mut state, &backend, observe)?,
    };
    Ok((state, points, end))
}

/// The difference of two arrays, relative to the second. In 32 bits that of their norms: Adam divides by the size of the gradient,
/// so that single entries whose gradient is nearly zero show rounding errors enlarged.
fn step_difference<T: Real>(a: &[T], b: &[T], precision: Precision) -> f64 {
    if precision == Precision::F64 {
        return difference(a, b);
    }
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
    let apart = norm(&mut a.iter().zip(b).map(|(a, b)| a.to_f64() - b.to_f64()));
    let apart = apart / norm(&mut b.iter().map(|x| x.to_f64())).max(f64::MIN_POSITIVE);
    if apart.is_nan() { f64::INFINITY } else { apart }
}

fn compare_training<T: Real>(device: &dyn Device, settings: &Settings, stored: bool, tolerance: f64) {
    let config = settings.clone().check().unwrap();
    let run = |device| trained::<T>(device, &config, None, stored, usize::MAX, &CancelToken::new()).unwrap();
    let ((ours, our_points, _), (theirs, their_points, _)) = (run(Some(device)), run(None));
    let what = format!("{:?}", *config);
    assert_eq!(ours.counters.step, theirs.counters.step, "{what}");
    for (i, &tensor) in theirs.network.trained().iter().enumerate() {
        let [a, b] = [&ours, &theirs].map(|state| state.network.tensor(tensor));
        let apart = step_difference(a, b, config.precision);
        assert!(apart <= tolerance, "{tensor} differs by {apart:e}: {what}");
        let moments = |state: &State<T>| {
            let Moments { steps, first, second } = state.moments[i].clone();
            (steps, [first, second])
        };
        let ((our_steps, ours), (steps, theirs)) = (moments(&ours), moments(&theirs));
        assert_eq!(our_steps, steps, "{what}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours.len(), theirs.len(), "{tensor}: {what}");
            let apart = step_difference(ours, theirs, config.precision);
            assert!(apart <= tolerance, "a moment of {tensor} differs by {apart:e}: {what}");
        }
    }
    assert_eq!(our_points.len(), their_points.len(), "{what}");
    for (ours, theirs) in our_points.iter().zip(&their_points) {
        for ((name, a), b) in TrajectoryPoint::names().iter().zip(ours.numbers()).zip(theirs.numbers()) {
            // A rounding error changes a count when two logits are nearly equal.
            let allowed = if config.precision == Precision::F32 { 0.01 } else { 1e-9 };
            assert!((a - b).abs() <= allowed * b.abs().max(1.0), "{name}: {a} and {b}: {what}");
        }
    }
}

fn both_trainings(device: &dyn Device, settings: Settings, training: Training) {
    let settings = Settings { training: Some(training), ..settings };
    let of = |precision| Settings { precision, ..settings.clone() };
    compare_training::<f64>(device, &of(Precision::F64), false, 1e-10);
    compare_training::<f32>(device, &of(Precision::F32), false, 1e-4);
}

fn steps(optimiser: Optimiser) -> Training {
    let rate = match optimiser {
        Optimiser::Sgd => 2.0,
        Optimiser::Muon => 0.2,
        Optimiser::Adam | Optimiser::AdamW => 0.02,
    };
    Training { optimiser, rate, every: Some(2), ..Training::new(5) }
}

fn briefly() -> Settings {
    Settings { vocab: 40, dim: 12, length: 9, samples: 200, test_samples: 40, ..Settings::default() }
}

/// The shortest test that launches every kernel of training, for compute-sanitizer.
#[test]
fn small_trainings_agree() {
    let Some(device) = device() else { return };
    for optimiser in [Optimiser::Sgd, Optimiser::AdamW, Optimiser::Muon] {
        let sgd = optimiser == Optimiser::Sgd;
        let settings = Settings { samples: 60, test_samples: 12, width: Some(17), ..briefly() };
        let settings = Settings { keep: sgd.then_some(3), ..settings };
        let everything = Training {
            steps: 2,
            train_embeddings: true,
            train_first_layer: true,
            heads: 2,
            momentum: sgd.then_some(0.5),
            gradient_clip: Some(0.01),
            batch: Some(40),
            ..steps(optimiser)
        };
        let rotary = Training { positions: Positions::Rotary, factored: true, ..everything.clone() };
        both_trainings(&*device, settings.clone(), Training { positions: Positions::Learned, ..everything });
        both_trainings(&*device, settings, rotary);
    }
}

#[test]
fn training_variants_agree() {
    let Some(device) = device() else { return };
    let device = &*device;
    for &optimiser in Optimiser::ALL {
        for trigger in [Trigger::Values, Trigger::Keys] {
            let settings = Settings { trigger, ..briefly() };
            both_trainings(device, settings.clone(), steps(optimiser));
            let embeddings = Training { train_embeddings: true, weight_decay: 0.01, ..steps(optimiser) };
            both_trainings(device, settings.clone(), embeddings);
            let batches = Training { batch: Some(70), schedule: Schedule::Cosine, ..steps(optimiser) };
            both_trainings(device, settings, Training { gradient_clip: Some(0.03), ..batches });
        }
    }
    for &positions in Positions::ALL {
        for factored in [false, true] {
            for (heads, trigger) in [(1, Trigger::Values), (3, Trigger::Values), (2, Trigger::Keys)] {
                let training = Training { positions, factored, heads, ..steps(Optimiser::Sgd) };
                let settings = Settings { trigger, dim: 13, ..briefly() };
                both_trainings(device, settings, Training { train_embeddings: heads > 1, ..training });
            }
        }
    }
}

#[test]
fn training_of_other_models_agrees() {
    let Some(device) = device() else { return };
    let device = &*device;
    for &activation in Activation::ALL {
        let settings = Settings { activation, width: Some(30), ..briefly() };
        for (train_first_layer, heads) in [(false, 1), (true, 2)] {
            let training = Training { train_first_layer, heads, ..steps(Optimiser::Sgd) };
            both_trainings(device, settings.clone(), training);
        }
    }
    for settings in [
        Settings { zipf: Some(1.1), ..briefly() },
        Settings { noise_vocab: Some(37), ..briefly() },
        Settings { labels: Labels::Mod(7), ..briefly() },
        Settings { keep: Some(2), ..briefly() },
        Settings { length: 1, ..briefly() },
        Settings { length: 300, samples: 70, ..briefly() },
        Settings { dim: 200, vocab: 33, ..briefly() },
    ] {
        both_trainings(device, settings, Training { heads: 2, ..steps(Optimiser::AdamW) });
    }
    let stored = Settings { training: Some(steps(Optimiser::AdamW)), precision: Precision::F64, ..briefly() };
    compare_training::<f64>(device, &stored, true, 1e-10);
}

#[test]
fn larger_sizes_train_alike() {
    let Some(device) = device() else { return };
    let settings = Settings { vocab: 700, dim: 96, length: 33, samples: 70_000, ..small() };
    both_trainings(&*device, settings.clone(), steps(Optimiser::Sgd));
    let training = Training { train_embeddings: true, heads: 2, ..steps(Optimiser::AdamW) };
    both_trainings(&*device, Settings { samples: 9000, ..settings }, training);
}

/// The same training gives the same bits, also when it stops and continues from its state.
#[test]
fn interrupted_training_has_the_bits_of_a_whole_one() {
    let Some(device) = device() else { return };
    for optimiser in [Optimiser::Sgd, Optimiser::AdamW, Optimiser::Muon] {
        let training =
            Training { train_embeddings: true, batch: Some(90), momentum: None, ..steps(optimiser) };
        let config = Settings { training: Some(training), ..briefly() }.check().unwrap();
        let run = |from, until| {
            trained::<f32>(Some(&*device), &config, from, false, until, &CancelToken::new()).unwrap()
        };
        let bits = |state: &State<f32>| {
            let network = &state.network;
            let all = network.trained().iter().flat_map(|&tensor| network.tensor(tensor));
            all.map(|x| x.to_bits()).collect::<Vec<_>>()
        };
        let (whole, ..) = run(None, usize::MAX);
        let (part, _, end) = run(None, 2);
        assert_eq!((part.counters.step, end), (2, End::Interrupted));
        assert_ne!(bits(&part), bits(&whole));
        let (rest, _, end) = run(Some(part), usize::MAX);
        assert_eq!(end, End::Finished);
        assert_eq!((bits(&rest), &rest.moments), (bits(&whole), &whole.moments), "{optimiser}");
    }
}

#[test]
fn training_ends_when_cancelled_or_not_finite() {
    let Some(device) = device() else { return };
    let config = Settings { training: Some(steps(Optimiser::Sgd)), ..briefly() }.check().unwrap();
    let cancel = CancelToken::new();
    cancel.cancel();
    let run = |config: &Config, cancel: &CancelToken| {
        trained::<f32>(Some(&*device), config, None, false, usize::MAX, cancel).err().unwrap()
    };
    assert!(matches!(run(&config, &cancel), TrainError::Cancelled(_)));
    let training = Training { rate: 1e20, train_embeddings: true, ..steps(Optimiser::Sgd) };
    let config = Settings { training: Some(training), ..briefly() }.check().unwrap();
    let error = run(&config, &CancelToken::new());
    assert!(error.to_string().contains("rate = 1e20"), "{error}");
}

/// Associative memories, trained for few steps: every optimiser, with and without a first layer, all facts or mini-batches.
#[test]
fn small_memories_agree() {
    let Some(device) = device() else { return };
    let settings = MemorySettings {
        facts: 300,
        dim: 24,
        rule: Rule::Trained,
        steps: Some(5),
        accuracy: 1.0,
        ..MemorySettings::default()
    };
    for &optimiser in Optimiser::ALL {
        for (width, batch, labels) in [
            (None, None, Labels::Permutation),
            (Some(40), None, Labels::Mod(7)),
            (Some(13), Some(70), Labels::Mod(50)),
        ] {
            let zipf = batch.map(|_| 0.8);
            let config = MemorySettings { optimiser, width, batch, labels, zipf, ..settings.clone() };
            let config = config.check().unwrap();
            let here = recall(&config, &Backend::single()).unwrap();
            let there = Backend::single().with_device(Some(Arc::clone(&device)));
            let run = || recall(&config, &there).unwrap();
            let found = run();
            assert_eq!(
                (found.steps, found.accuracy.items()),
                (here.steps, here.accuracy.items()),
                "{config:?}"
            );
            // A rounding error changes a count when two logits are nearly equal.
            let apart = (found.accuracy.mean() - here.accuracy.mean()).abs();
            assert!(
                apart <= 0.01,
                "accuracy {} and {}: {config:?}",
                found.accuracy.mean(),
                here.accuracy.mean()
            );
            let (ours, theirs) = (found.margin.mean(), here.margin.mean());
            let scale = here.margin.variance().sqrt();
            assert!((ours - theirs).abs() <= 1e-4 * scale, "margin {ours} and {theirs}: {config:?}");
            assert_eq!(run().margin.mean().to_bits(), ours.to_bits(), "the same bits twice");
        }
    }
    let list = MemorySettings { top: Some(0.01), ..settings }.check().unwrap();
    let there = Backend::single().with_device(Some(device));
    let error = recall(&list, &there).unwrap_err().to_string();
    assert!(
        error.starts_with("a memory with a list of answers (top) cannot run on a CUDA device"),
        "{error}"
    );
}
