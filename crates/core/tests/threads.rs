//! Same seed, same bits, whatever the number of threads.

use crate::common::Setting;
use superpose_core::backend::{Backend, Real};
use superpose_core::config::{Activation, EarlyRule, EmbeddingSettings, Labels, Regime, Settings, Trigger};
use superpose_core::early_phase::fact_frequency;
use superpose_core::embedding::Embeddings;
use superpose_core::evaluate::evaluate;
use superpose_core::noise::{logit_budget, score_budget, split_scores};

/// Every bit that a run produces.
fn bits<T: Real>(settings: &Settings, threads: usize) -> Vec<u64> {
    let backend = Backend::cpu(threads).unwrap();
    let mut setting = Setting::<T>::new(settings.clone());
    setting.embeddings = Embeddings::draw(&setting.config, &backend).unwrap();
    let (model, phase) = (setting.model(), setting.run(&backend));
    let frequency = fact_frequency(&setting.train(), setting.config.vocab, &backend).unwrap();
    let test = setting.test();
    let e = evaluate(&setting.config, &model, &setting.task, &phase, &frequency, &test, &backend).unwrap();
    let mut numbers: Vec<f64> =
        phase.m1.iter().chain(&phase.w1).chain(&phase.m2).map(|x| x.to_f64()).collect();
    numbers.extend(e.iter().map(|(_, tally)| tally.mean()));
    if setting.config.regime == Regime::Infinitesimal {
        let budgets = [
            logit_budget(&model, &setting.task, &phase, &frequency, &test, &backend).unwrap(),
            score_budget(&split_scores(&model, &setting.task, &phase, &setting.train(), &backend).unwrap()),
        ];
        numbers.extend(budgets.iter().flat_map(|b| b.named().map(|(_, part)| *part)).flatten());
    }
    numbers.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn output_does_not_depend_on_the_threads() {
    let base = Settings { vocab: 300, dim: 40, length: 12, samples: 5000, ..Settings::default() };
    let cases = [
        base.clone(),
        Settings { regime: Regime::Exact, ..base.clone() },
        Settings { regime: Regime::Exact, eta: 300.0, ..base.clone() },
        Settings { width: Some(96), activation: Activation::He2, trigger: Trigger::Keys, ..base.clone() },
        Settings { width: Some(96), regime: Regime::Exact, ..base.clone() },
        Settings { labels: Labels::Mod(3), zipf: Some(1.0), ..base.clone() },
        Settings {
            embedding: EmbeddingSettings::Orthonormal,
            vocab: 100,
            dim: 102,
            samples: 200,
            ..base.clone()
        },
        Settings { length: 1, samples: 7, ..base.clone() },
        Settings { early_rule: EarlyRule::Sign, ..base.clone() },
        Settings { early_rule: EarlyRule::Muon, zipf: Some(1.0), ..base.clone() },
        Settings { early_rule: EarlyRule::Muon, width: Some(96), regime: Regime::Exact, ..base.clone() },
        Settings { early_rule: EarlyRule::Newton, width: Some(96), ..base.clone() },
        Settings { early_rule: EarlyRule::Newton, regime: Regime::Exact, eta: 300.0, ..base.clone() },
        Settings { rounds: 3, ..base.clone() },
        Settings { rounds: 2, accumulate: true, regime: Regime::Exact, ..base },
    ];
    for settings in cases {
        let one = bits::<f32>(&settings, 1);
        for threads in [2, 3, 5] {
            assert!(one == bits::<f32>(&settings, threads), "f32, {threads} threads: {settings:?}");
        }
        let one = bits::<f64>(&settings, 1);
        assert!(one == bits::<f64>(&settings, 5), "f64, 5 threads: {settings:?}");
    }
}
