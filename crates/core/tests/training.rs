//! Training runs learn, continue from a saved state with the same bits, and do not depend on the number of threads.

use crate::common::Setting;
use superpose_core::backend::{Backend, Real};
use superpose_core::config::{EmbeddingSettings, Optimiser, Positions, Regime, Schedule, Training};
use superpose_core::train::{
    Counters, End, Event, Network, State, Tensor, Trainer, TrajectoryPoint, warm_start,
};
use superpose_core::{Measure, Settings};

fn settings() -> Settings {
    Settings { vocab: 48, dim: 24, length: 6, samples: 1200, test_samples: 500, ..Settings::default() }
}

fn trained(training: Training) -> Settings {
    Settings { training: Some(training), ..settings() }
}

struct Run<T> {
    points: Vec<TrajectoryPoint>,
    state: State<T>,
    end: End,
}

/// Runs a configuration from a state, or from the start, until `until` says stop.
fn run<T: Real>(
    settings: &Settings,
    from: Option<State<T>>,
    threads: usize,
    until: impl Fn(&Counters) -> bool,
) -> Run<T> {
    let setting = Setting::<T>::new(settings.clone());
    let backend = Backend::cpu(threads).unwrap();
    let phase = setting.run(&backend);
    let (config, samples, test) = (&setting.config, setting.train(), setting.test());
    let training = config.training.as_ref().unwrap();
    let mut state = from.unwrap_or_else(|| {
        let mut network = Network::new(config, training, setting.embeddings.clone(), &backend).unwrap();
        if training.warm_start {
            warm_start(config, &mut network, &phase, &samples, &backend).unwrap();
        }
        State::new(network)
    });
    let early: Vec<f64> = phase.w1.iter().map(|x| x.to_f64()).collect();
    let trainer = Trainer {
        config,
        training,
        task: &setting.task,
        samples: &samples,
        test: &test,
        early: &early,
        own_loss: false,
    };
    let mut points = Vec::new();
    let end = trainer
        .run(&mut state, &backend, &mut |event| match event {
            Event::Recorded(point, _) => {
                points.push(*point);
                true
            }
            Event::Stepped(counters) => !until(counters),
            Event::Interrupted(_) => false,
            Event::Proposed(_) => true,
            Event::Scored(_) => unreachable!("the loss is the cross-entropy"),
        })
        .unwrap();
    Run { points, state, end }
}

fn whole<T: Real>(settings: &Settings) -> Run<T> {
    run(settings, None, 1, |_| false)
}

fn bits<T: Real>(run: &Run<T>) -> Vec<u64> {
    let network = &run.state.network;
    let tensors = network.trained().iter().flat_map(|&tensor| network.tensor(tensor));
    tensors.map(|x| x.to_f64().to_bits()).collect()
}

#[test]
fn every_optimiser_learns_what_three_steps_do_not() {
    for (optimiser, rate) in
        [(Optimiser::Sgd, 30.0), (Optimiser::Adam, 0.02), (Optimiser::AdamW, 0.02), (Optimiser::Muon, 0.3)]
    {
        let momentum = (optimiser == Optimiser::Sgd).then_some(0.9);
        let run = whole::<f32>(&trained(Training { optimiser, rate, momentum, ..Training::new(300) }));
        let (first, last) = (run.points[0], run.points[run.points.len() - 1]);
        assert_eq!((run.end, first.step, last.step), (End::Finished, 0, 300));
        assert!((first.loss - 48_f64.ln()).abs() < 1e-5, "{optimiser}: uniform at the start");
        assert!(
            last.measures[Measure::Accuracy] > 0.95 && last.measures[Measure::LockRate] > 0.95,
            "{optimiser}: {last:?}"
        );
        assert!(last.loss < 0.3 && last.early_cosine > 0.1, "{optimiser}: {last:?}");
    }
}

#[test]
fn wider_models_learn() {
    let base = Training { rate: 0.02, schedule: Schedule::Cosine, ..Training::new(200) };
    let first_layer = trained(Training { train_first_layer: true, ..base.clone() });
    let embedded = |embedding| Settings { embedding, ..trained(base.clone()) };
    for (name, settings) in [
        ("heads", trained(Training { heads: 2, ..base.clone() })),
        ("factored", trained(Training { factored: true, ..base.clone() })),
        ("sinusoidal", trained(Training { positions: Positions::Sinusoidal, ..base.clone() })),
        ("learned", trained(Training { positions: Positions::Learned, ..base.clone() })),
        ("rotary", trained(Training { positions: Positions::Rotary, ..base.clone() })),
        ("embeddings", trained(Training { train_embeddings: true, ..base.clone() })),
        ("first layer", Settings { width: Some(40), ..first_layer }),
        ("low rank", embedded(EmbeddingSettings::LowRank { rank: 22 })),
        ("clustered", embedded(EmbeddingSettings::Clustered { clusters: 12, spread: 0.5 })),
    ] {
        let last = *whole::<f32>(&settings).points.last().unwrap();
        // Structure leaves fewer directions for the facts.
        let enough = if settings.embedding == EmbeddingSettings::Gaussian { 0.8 } else { 0.5 };
        assert!(
            last.measures[Measure::Accuracy] > enough && last.measures[Measure::LockRate] > 0.9,
            "{name}: {last:?}"
        );
    }
}

#[test]
fn run_continues_from_its_state() {
    let base = Training { every: Some(5), batch: Some(500), ..Training::new(14) };
    for training in [
        Training { optimiser: Optimiser::Sgd, momentum: Some(0.9), rate: 3.0, ..base.clone() },
        Training { schedule: Schedule::Cosine, train_embeddings: true, heads: 2, ..base.clone() },
        Training { optimiser: Optimiser::Muon, factored: true, warm_start: true, ..base.clone() },
    ] {
        let settings = trained(training);
        let straight = whole::<f32>(&settings);
        for at in [1, 5, 7] {
            let first = run::<f32>(&settings, None, 2, |counters| counters.step == at);
            assert_eq!(first.end, End::Interrupted);
            let second = run::<f32>(&settings, Some(first.state), 1, |_| false);
            let points = [first.points, second.points.clone()].concat();
            assert_eq!(points, straight.points, "stopped after {at}");
            assert!(bits(&second) == bits(&straight), "stopped after {at}");
        }
    }
}

#[test]
fn run_does_not_depend_on_the_threads() {
    let settings = trained(Training {
        every: Some(2),
        heads: 2,
        positions: Positions::Learned,
        train_embeddings: true,
        warm_start: true,
        ..Training::new(6)
    });
    let (one, many) = (whole::<f32>(&settings), run::<f32>(&settings, None, 3, |_| false));
    assert!(bits(&one) == bits(&many));
    assert_eq!(one.points, many.points);
}

#[test]
fn warm_start_begins_at_the_end_of_the_early_phase() {
    for regime in [Regime::Infinitesimal, Regime::Exact] {
        for factored in [false, true] {
            let training = Training { warm_start: true, factored, ..Training::new(1) };
            let settings = Settings { regime, ..trained(training) };
            let start = whole::<f64>(&settings).points[0];
            let setting = Setting::<f64>::new(settings);
            let phase = setting.run(&Backend::single());
            let frequency = superpose_core::early_phase::fact_frequency(
                &setting.train(),
                setting.config.vocab,
                &Backend::single(),
            )
            .unwrap();
            let read = superpose_core::evaluate::evaluate(
                &setting.config,
                &setting.model(),
                &setting.task,
                &phase,
                &frequency,
                &setting.test(),
                &Backend::single(),
            )
            .unwrap();
            assert_eq!(
                start.measures[Measure::Accuracy],
                read[Measure::Accuracy].mean(),
                "{regime} {factored}"
            );
            assert_eq!(
                start.measures[Measure::LockRate],
                read[Measure::LockRate].mean(),
                "{regime} {factored}"
            );
            assert!((start.early_cosine - 1.0).abs() < 1e-12);
            if regime == Regime::Infinitesimal {
                assert!(start.loss < 48_f64.ln(), "the best size is better than none: {}", start.loss);
            }
        }
    }
}

#[test]
fn early_stopping_ends_a_run_that_no_longer_improves() {
    let training = Training { every: Some(10), rate: 0.05, early_stopping: Some(3), ..Training::new(2000) };
    let stopped = whole::<f32>(&Settings { samples: 60, ..trained(training) });
    assert_eq!(stopped.end, End::Stopped);
    let (best, last) = (stopped.points[stopped.points.len() - 4], stopped.points[stopped.points.len() - 1]);
    assert!(last.step < 2000 && best.test_loss < last.test_loss);
    assert!(stopped.points.iter().all(|point| point.test_loss >= best.test_loss));
}

#[test]
fn too_large_rate_is_an_error() {
    let training =
        Training { optimiser: Optimiser::Sgd, rate: 1e20, train_embeddings: true, ..Training::new(50) };
    let setting = Setting::<f32>::new(trained(training.clone()));
    let backend = Backend::single();
    let mut state =
        State::new(Network::new(&setting.config, &training, setting.embeddings.clone(), &backend).unwrap());
    let (samples, test) = (setting.train(), setting.test());
    let early = vec![0.0; 24];
    let trainer = Trainer {
        config: &setting.config,
        training: &training,
        task: &setting.task,
        samples: &samples,
        test: &test,
        early: &early,
        own_loss: false,
    };
    let error = trainer.run(&mut state, &backend, &mut |_| true).unwrap_err();
    assert!(error.to_string().contains("rate = 1e20"), "{error}");
    assert!(state.network.tensor(Tensor::M).len() == 24 * 24);
}

/// What an observer puts in the place of the optimiser's step is what the network becomes, and a loss from outside gives the
/// gradients of that loss; pure steps on all samples are those of the loop.
#[test]
fn steps_from_outside_equal_those_of_the_loop() {
    let training = Training { optimiser: Optimiser::Sgd, rate: 0.5, ..Training::new(6) };
    let settings = trained(training.clone());
    let plain = run::<f64>(&settings, None, 1, |_| false);
    let setting = Setting::<f64>::new(settings);
    let backend = Backend::single();
    let (samples, test) = (setting.train(), setting.test());
    let early = vec![0.0; 24];
    let start = || {
        State::new(Network::new(&setting.config, &training, setting.embeddings.clone(), &backend).unwrap())
    };

    let mut state = start();
    let trainer = Trainer {
        config: &setting.config,
        training: &training,
        task: &setting.task,
        samples: &samples,
        test: &test,
        early: &early,
        own_loss: true,
    };
    let labels = setting.embeddings.z_out.len() / 24;
    let observe = &mut |event: Event<'_, f64>| {
        match event {
            Event::Scored(scored) => {
                let count = scored.labels.len() as f64;
                for (row, &label) in scored.logits.chunks(labels).zip(scored.labels) {
                    let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let sum: f64 = row.iter().map(|x| (x - max).exp()).sum();
                    let right = |i: usize| f64::from(u8::from(i == label as usize));
                    let share =
                        row.iter().enumerate().map(|(i, x)| ((x - max).exp() / sum - right(i)) / count);
                    scored.derivatives.extend(share);
                }
                *scored.loss = 0.0;
            }
            Event::Proposed(proposal) => {
                let network = &proposal.state.network;
                for (i, (&tensor, gradient)) in
                    network.trained().iter().zip(&proposal.gradient.tensors).enumerate()
                {
                    let entries = network.tensor(tensor).iter().zip(gradient);
                    proposal.replaced[i] = Some(entries.map(|(x, g)| x - proposal.rate * g).collect());
                }
            }
            _ => {}
        }
        true
    };
    assert_eq!(trainer.run(&mut state, &backend, observe).unwrap(), End::Finished);

    let mut pure = start();
    for _ in 0..6 {
        pure.step(&training, &samples, &backend).unwrap();
    }
    for tensor in [Tensor::M, Tensor::W] {
        let size = plain.state.network.norm(tensor);
        for other in [&state, &pure] {
            let pairs = plain.state.network.tensor(tensor).iter().zip(other.network.tensor(tensor));
            let error = pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
            assert!(error < 1e-12 * size, "{tensor}: {error:e}");
        }
    }
    assert_eq!(pure.counters.step, 6);
}
