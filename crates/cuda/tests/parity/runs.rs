//! Solutions of the early phase.

use superpose_core::Settings;
use superpose_core::config::{
    Activation, EarlyRule, Embedding, EmbeddingSettings, Labels, Precision, Regime, Trigger,
};
use superpose_core::task::Task;

use crate::{both, compare, device, difference, engine, matrices, small, small_batch, solve};

/// A softmax that comes close to the right labels at large rates.
fn confident() -> Settings {
    Settings {
        regime: Regime::Exact,
        trigger: Trigger::Keys,
        vocab: 4,
        noise_vocab: Some(64),
        dim: 64,
        length: 2,
        samples: 256,
        test_samples: 40,
        ..small()
    }
}

/// The reference is the CPU in 64 bits. At a rate of 2000 the smallest residuals are below all numbers of 32 bits, so that results need
/// only be finite.
#[test]
fn small_residuals_keep_their_digits() {
    let Some(device) = device() else { return };
    for (eta, seed, tolerance) in [(100.0, 1, Some(1e-5)), (1000.0, 1, Some(1e-5)), (2000.0, 3, None)] {
        let config = Settings { eta, seed, precision: Precision::F32, ..confident() }.check().unwrap();
        let phase = engine::<f64>(&config);
        let found = solve::<f32>(&*device, &config, &Task::new(&config), None, None).phase;
        assert!(found.is_finite() && found.gamma.is_finite(), "eta {eta}");
        let Some(tolerance) = tolerance else { continue };
        assert_eq!(found.trigger_sign, phase.trigger_sign, "eta {eta}");
        let apart = (found.gamma / phase.gamma - 1.0).abs();
        assert!(apart <= tolerance, "gamma differs by {apart:e}: eta {eta}");
        let found = matrices(found);
        for ((name, a), b) in
            ["m1", "w1", "m2"].into_iter().zip(&found).zip([&phase.m1, &phase.w1, &phase.m2])
        {
            let apart = difference(a, b);
            assert!(apart <= tolerance, "{name} differs by {apart:e}: eta {eta}");
        }
    }
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
    both(&*device, Settings { labels: Labels::Mod(7), dim: 32, ..exact.clone() });
    // Many tiles of labels.
    compare::<f32>(&*device, Settings { vocab: 3000, dim: 16, samples: 6000, ..exact }, false, 1e-4);
    // Rows too long for that kernel, with residuals below rounding; the kernel with a moderate softmax.
    let confident = confident();
    let long = Settings { precision: Precision::F64, dim: 128, eta: 1000.0, ..confident.clone() };
    compare::<f64>(&*device, long, false, 1e-10);
    both(&*device, Settings { eta: 30.0, ..confident });
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
            // With a lead of 12, samples join groups in 64 bits, too. With a lead of 2, only some do in 32 bits.
            for lead in [2.0, 12.0] {
                both(&*device, Settings { regime, trigger, lead, eta: 300.0, zipf: Some(0.8), ..small() });
            }
        }
    }
}

/// More groups than fit in a block of rows.
#[test]
fn groups_of_many_facts_agree() {
    let Some(device) = device() else { return };
    let facts = Settings { vocab: 60_000, labels: Labels::Mod(7), dim: 4, length: 2, ..small() };
    let exact = Settings { regime: Regime::Exact, eta: 30.0, lead: 30.0, samples: 130_000, ..facts };
    both(&*device, exact);
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
