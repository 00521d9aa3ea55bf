//! Equal bits: drawn embeddings, the same run again, cells that share launches. Cancelled runs.

use superpose_core::backend::{Backend, CancelToken, Problem, Real, Solution};
use superpose_core::config::{Embedding, EmbeddingSettings, Labels, Precision, Regime, Trigger};
use superpose_core::early_phase::EarlyPhase;
use superpose_core::embedding::Embeddings;
use superpose_core::task::Task;
use superpose_core::{Measure, Settings};

use crate::{device, small, small_batch, solve};

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
        // Samples join groups in 64 bits, too.
        Settings { lead: 12.0, ..exact.clone() },
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
