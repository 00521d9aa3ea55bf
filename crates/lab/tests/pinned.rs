//! The pinned bits of outcomes. `cargo xtask test` runs this natively and, in a second build, without AVX-512.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use superpose_core::Measure;
use superpose_core::backend::{Backend, Numerics};
use superpose_core::config::{
    Activation, EarlyRule, EmbeddingSettings, Labels, Optimiser, Precision, Regime, Settings, Training,
    Trigger,
};
use superpose_lab::cell::{NUMERICS_REVISION, measure};

/// These bits may change only together with [`NUMERICS_REVISION`].
#[test]
fn outcomes_are_pinned() {
    if Numerics::this_cpu() != Numerics::CPU {
        return eprintln!("skipped: this CPU has no fused multiply-add");
    }
    assert_eq!(NUMERICS_REVISION, 5, "a new revision: pin its bits here");
    let base = Settings {
        vocab: 40,
        dim: 20,
        length: 6,
        samples: 900,
        test_samples: 300,
        seed: 11,
        ..Settings::default()
    };
    let exact = Settings { regime: Regime::Exact, eta: 300.0, ..base.clone() };
    let mlp =
        Settings { width: Some(50), activation: Activation::He2, trigger: Trigger::Keys, ..base.clone() };
    let double =
        Settings { precision: Precision::F64, zipf: Some(1.0), noise_vocab: Some(30), ..base.clone() };
    let classes =
        Settings { labels: Labels::Mod(7), embedding: EmbeddingSettings::Sphere, length: 40, ..base.clone() };
    let orthonormal = Settings { embedding: EmbeddingSettings::Orthonormal, dim: 42, ..base.clone() };
    let low_rank = Settings { embedding: EmbeddingSettings::LowRank { rank: 9 }, ..base.clone() };
    let clustered =
        Settings { embedding: EmbeddingSettings::Clustered { clusters: 8, spread: 0.7 }, ..base.clone() };
    let rademacher = Settings { embedding: EmbeddingSettings::Rademacher, ..base.clone() };
    let exact_mlp = Settings { width: Some(50), activation: Activation::Relu, ..exact.clone() };
    let training = Training {
        optimiser: Optimiser::AdamW,
        batch: Some(256),
        weight_decay: 0.01,
        warm_start: true,
        ..Training::new(12)
    };
    let adamw = Settings { training: Some(training.clone()), ..base.clone() };
    let training = Training { optimiser: Optimiser::Muon, momentum: Some(0.9), ..training };
    let muon = Settings { training: Some(training), ..base.clone() };
    let rule = |early_rule| Settings { early_rule, zipf: Some(1.0), trigger: Trigger::Keys, ..base.clone() };
    let rules = [rule(EarlyRule::Sign), rule(EarlyRule::Muon), rule(EarlyRule::Newton)];
    let [early_sign, early_muon, early_newton] = rules;
    // Singular values of 0, but for rounding errors.
    let few_facts = Settings { early_rule: EarlyRule::Muon, vocab: 12, dim: 24, ..base.clone() };
    // One row in the last panel of the products, inner sizes of 1 and 2, and single columns.
    let narrow = Settings { vocab: 65, dim: 2, width: Some(1), ..base.clone() };
    let long = Settings { vocab: 700, dim: 600, samples: 1000, ..base.clone() };
    let mut text = String::new();
    for (name, settings) in [
        ("base", base),
        ("exact", exact),
        ("mlp", mlp),
        ("double", double),
        ("classes", classes),
        ("orthonormal", orthonormal),
        ("low_rank", low_rank),
        ("clustered", clustered),
        ("rademacher", rademacher),
        ("exact_mlp", exact_mlp),
        ("adamw", adamw),
        ("muon", muon),
        ("early_sign", early_sign),
        ("early_muon", early_muon),
        ("early_newton", early_newton),
        ("early_muon_few_facts", few_facts),
        ("narrow", narrow),
        ("long", long),
    ] {
        let outcome = measure(&settings.check().unwrap(), true, &Backend::single()).unwrap();
        let noise = outcome.noise.unwrap();
        let measures = outcome.measures.iter().map(|(measure, estimate)| (measure.word(), estimate.mean));
        // The parts of the noise are those of gradient steps.
        let parts = [
            ("variance of margin", Some(outcome.measures[Measure::Margin].variance)),
            ("interference", noise.logits.interference),
            ("signal of scores", noise.scores.signal),
            ("trigger sign", Some(f64::from(outcome.trigger_sign))),
        ];
        let others = parts.into_iter().filter_map(|(name, value)| Some((name, value?)));
        for (quantity, value) in measures.chain(others) {
            assert!(!value.is_nan(), "{name}: {quantity} is not measured");
            text += &format!("{:016x} {name} {quantity}\n", value.to_bits());
        }
    }
    // The test command runs this test once more with narrow vectors; another crate's features must not widen them.
    assert_eq!(cfg!(feature = "avx512"), std::env::var_os("SUPERPOSE_NARROW").is_none());
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outcomes.txt");
    std::fs::write(&made, &text).unwrap();
    let differ = |(made, pinned): &(&str, &str)| made != pinned;
    let pinned = include_str!("fixtures/outcomes.txt");
    let differences: Vec<_> = text.lines().zip(pinned.lines()).filter(differ).collect();
    assert!(
        differences.is_empty() && text.len() == pinned.len(),
        "results changed: raise NUMERICS_REVISION and take the new bits from {}: {differences:?}",
        made.display()
    );
}
