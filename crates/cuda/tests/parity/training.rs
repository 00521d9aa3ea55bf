//! Training, and associative memories.

use std::sync::Arc;

use superpose_associative::{MemorySettings, Rule, recall};
use superpose_core::Settings;
use superpose_core::backend::{Backend, CancelToken, Device, Problem, Real};
use superpose_core::config::{
    Activation, Config, Labels, Optimiser, Positions, Precision, Schedule, Training, Trigger,
};
use superpose_core::embedding::Embeddings;
use superpose_core::random::Stream;
use superpose_core::task::{Drawn, Samples, Stored, Task};
use superpose_core::train::{End, Event, Moments, Network, State, TrainError, Trainer, TrajectoryPoint};

use crate::{device, difference, small};

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
