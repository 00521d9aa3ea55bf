//! Properties of every valid configuration.

use crate::common::{Setting, distance};
use proptest::prelude::*;
use superpose_core::Measure;
use superpose_core::backend::Backend;
use superpose_core::config::{Activation, Embedding, Labels, Regime, Settings, Trigger};
use superpose_core::early_phase::fact_frequency;
use superpose_core::evaluate::evaluate;

fn settings() -> impl Strategy<Value = Settings> {
    let sizes = (2usize..40, 1usize..24, 1usize..12, 1usize..200);
    let model = (
        prop::option::of(1usize..20),
        prop::sample::select(Activation::ALL),
        prop::sample::select(&[Trigger::Values, Trigger::Keys][..]),
        prop::sample::select(&[Embedding::Gaussian, Embedding::Sphere, Embedding::Rademacher][..]),
    );
    let task = (prop::option::of(0.0..3.0_f64), prop::option::of(1usize..9), any::<bool>(), 0u64..1000);
    (sizes, model, task).prop_map(|((vocab, dim, length, samples), model, task)| {
        let (width, activation, trigger, embedding) = model;
        let (zipf, noise_vocab, classes, seed) = task;
        Settings {
            vocab,
            dim,
            length,
            samples,
            width,
            activation,
            trigger,
            embedding: superpose_core::config::EmbeddingSettings::plain(embedding).unwrap(),
            zipf,
            noise_vocab,
            labels: if classes && vocab > 2 {
                Labels::Mod(2 + seed as usize % (vocab - 1))
            } else {
                Labels::Permutation
            },
            seed,
            test_samples: 50,
            ..Settings::default()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Runs never panic, and everything they report is finite and in its range.
    #[test]
    fn every_valid_configuration_runs(settings in settings(), exact in any::<bool>()) {
        let regime = if exact { Regime::Exact } else { Regime::Infinitesimal };
        let setting = Setting::<f64>::new(Settings { regime, ..settings });
        let backend = Backend::single();
        let (model, phase) = (setting.model(), setting.run(&backend));
        prop_assert!(phase.is_finite());
        let frequency = fact_frequency(&setting.train(), setting.config.vocab, &backend).unwrap();
        prop_assert!((frequency.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let e = evaluate(&setting.config, &model, &setting.task, &phase, &frequency, &setting.test(), &backend).unwrap();
        for (_, share) in e.iter().filter(|(measure, _)| measure.is_share()) {
            prop_assert!((0.0..=1.0 + 1e-12).contains(&share.mean()));
        }
        prop_assert!(e[Measure::Margin].mean().is_finite());
    }

    /// Step 1 does not depend on the regime beyond the rate, and single precision follows double.
    #[test]
    fn precisions_and_regimes_agree(settings in settings()) {
        let backend = Backend::single();
        let double = Setting::<f64>::new(settings.clone()).run(&backend);
        let single = Setting::<f32>::new(settings.clone()).run(&backend);
        let wide: Vec<f64> = single.m1.iter().map(|&x| f64::from(x)).collect();
        let size = double.m1.iter().fold(0.0, |size: f64, x| size.max(x.abs()));
        // A sum that cancels has no meaningful relative error; the scale of its terms is 1.
        prop_assert!(size < 1e-3 || distance(&wide, &double.m1) < 1e-3);
        let exact = Setting::<f64>::new(Settings { regime: Regime::Exact, eta: 2.0, ..settings }).run(&backend);
        let halved: Vec<f64> = exact.m1.iter().map(|x| x / 2.0).collect();
        prop_assert!(size < 1e-12 || distance(&halved, &double.m1) < 1e-12);
    }
}
