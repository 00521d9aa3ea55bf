//! The rules of the memory steps: against PyTorch (fixtures made by `fixtures/make_rules.py`), and Newton's against its definition.

use crate::common::{Setting, distance};
use serde::Deserialize;
use superpose_core::Measure;
use superpose_core::backend::{Backend, CancelToken, Cancelled};
use superpose_core::config::{EarlyRule, Precision, Regime, Settings, Trigger};
use superpose_core::early_phase::{Limit, early_phase, fact_frequency, polar, second_step};
use superpose_core::evaluate::{evaluate, recall_by_fact};
use superpose_core::model::{Attention, Response, Want, descent};

#[derive(Deserialize)]
struct Case {
    rows: usize,
    columns: usize,
    gradient: Vec<f64>,
    polar: Vec<f64>,
    sign: Vec<f64>,
    muon: Vec<f64>,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("fixtures/rules.json")).unwrap()
}

#[test]
fn polar_factor_agrees_with_the_singular_value_decomposition() {
    for case in cases() {
        for threads in [1, 3] {
            let backend = Backend::cpu(threads).unwrap();
            let found = polar(&case.gradient, case.rows, case.columns, f64::EPSILON, &backend).unwrap();
            for (x, y) in found.iter().zip(&case.polar) {
                assert!((x - y).abs() < 1e-10, "{} x {}: {x} for {y}", case.rows, case.columns);
            }
        }
    }
}

#[test]
fn sign_and_muon_steps_agree_with_pytorch() {
    for case in cases() {
        for (rule, expected) in [(EarlyRule::Sign, &case.sign), (EarlyRule::Muon, &case.muon)] {
            let none = || panic!("only Newton's step needs the Hessian");
            let sizes = [case.rows, case.columns];
            let step =
                rule.step(case.gradient.clone(), sizes, f64::EPSILON, none, &Backend::single()).unwrap();
            for (x, y) in step.iter().zip(expected) {
                assert!((x - y).abs() < 1e-10, "{rule}, {} x {}: {x} for {y}", case.rows, case.columns);
            }
        }
    }
}

/// Directions without a gradient, or with one that is rounding alone, get no step of their own.
#[test]
fn polar_factor_leaves_a_null_space_alone() {
    let (rows, columns) = (8, 12);
    // Rank 2, and an error of 1e-9 in a third direction.
    let entry = |place| match place {
        (0, 0) => 1.0,
        (1, 3) => 0.01,
        (2, 5) => 1e-9,
        _ => 0.0,
    };
    let matrix: Vec<f64> = (0..rows * columns).map(|k| entry((k / columns, k % columns))).collect();
    let found = polar(&matrix, rows, columns, f64::EPSILON, &Backend::single()).unwrap();
    for (k, x) in found.iter().enumerate() {
        match (k / columns, k % columns) {
            (0, 0) | (1, 3) => assert!((x - 1.0).abs() < 1e-12, "{x}"),
            (2, 5) => assert!((0.0..0.02).contains(x), "{x}"),
            _ => assert_eq!(*x, 0.0),
        }
    }
    assert_eq!(polar(&[0.0; 6], 2, 3, f64::EPSILON, &Backend::single()).unwrap(), [0.0; 6]);
}

#[test]
fn cancelled_iterations_return_the_error() {
    let cancel = CancelToken::new();
    let backend = Backend::single().with_cancel(cancel.clone());
    cancel.cancel();
    assert_eq!(polar(&[1.0; 6], 2, 3, f64::EPSILON, &backend), Err(Cancelled));
}

fn small(early_rule: EarlyRule, width: Option<usize>, trigger: Trigger) -> Settings {
    Settings {
        vocab: 30,
        dim: 12,
        length: 4,
        samples: 900,
        width,
        trigger,
        early_rule,
        zipf: Some(0.7),
        precision: Precision::F64,
        ..Settings::default()
    }
}

/// The gradient at a small multiple of Newton's step is smaller by that multiple: the definition of the step, by finite differences.
#[test]
fn newton_step_inverts_the_hessian_at_a_uniform_softmax() {
    let backend = Backend::single();
    for (width, trigger) in [(None, Trigger::Keys), (None, Trigger::Values), (Some(9), Trigger::Keys)] {
        let setting = Setting::<f64>::new(small(EarlyRule::Newton, width, trigger));
        let (model, samples) = (setting.model(), setting.train());
        let limit = Limit::new(&model, &samples, &backend).unwrap();
        let gradient = limit.value_step(&Attention::Uniform).unwrap().m;
        let step = limit.memory_step(EarlyRule::Newton, &Attention::Uniform).unwrap();
        let size = 1e-5 / distance(&step, &vec![0.0; step.len()]);
        let m: Vec<f64> = step.iter().map(|x| size * x).collect();
        let response = Response::new(&model, &m, setting.config.samples, &backend).unwrap();
        let still = vec![0.0; model.dim()];
        let want = Want { m: true, query: false, loss: false };
        let after = descent(&model, &response, &still, &samples, want, &backend).unwrap().m;
        let change: Vec<f64> = gradient.iter().zip(&after).map(|(a, b)| a - b).collect();
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let scale = norm(&gradient) / norm(&change);
        let change: Vec<f64> = change.iter().map(|x| scale * x).collect();
        assert!(distance(&change, &gradient) < 1e-3, "{width:?}: {}", distance(&change, &gradient));
    }
}

/// Every rule's first step has the norm of the gradient, times eta in the exact regime, which for small rates has the direction of
/// the limit in all three steps.
#[test]
fn steps_have_the_norm_of_the_gradient_in_both_regimes() {
    let backend = Backend::single();
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    for &rule in EarlyRule::ALL {
        for (width, trigger) in [(None, Trigger::Keys), (None, Trigger::Values), (Some(9), Trigger::Keys)] {
            let limit = Setting::<f64>::new(small(rule, width, trigger));
            let plain = Setting::<f64>::new(small(EarlyRule::Gradient, width, trigger)).run(&backend);
            let exact = Settings { regime: Regime::Exact, eta: 1e-4, ..small(rule, width, trigger) };
            let (limit, exact) = (limit.run(&backend), Setting::<f64>::new(exact).run(&backend));
            assert!((norm(&limit.m1) / norm(&plain.m1) - 1.0).abs() < 1e-12, "{rule}");
            assert_eq!(distance(&limit.m1, &plain.m1) < 1e-9, rule == EarlyRule::Gradient);
            let per_rate: Vec<f64> = exact.m1.iter().map(|x| x / 1e-4).collect();
            assert!(distance(&per_rate, &limit.m1) < 1e-12, "{rule}");
            assert!(distance(&exact.w1, &limit.w1) < 1e-4, "{rule}: {}", distance(&exact.w1, &limit.w1));
        }
    }
}

/// With fewer facts than dimensions the gradient has nothing but rounding errors in some directions, which must not become a step.
#[test]
fn steps_in_32_bits_have_no_directions_of_rounding_errors() {
    let backend = Backend::single();
    let sizes = [(EarlyRule::Muon, 40, 64), (EarlyRule::Muon, 128, 64)];
    let newton = [(30, 38), (30, 100), (40, 64), (128, 64)];
    for (early_rule, vocab, dim) in
        sizes.into_iter().chain(newton.map(|(vocab, dim)| (EarlyRule::Newton, vocab, dim)))
    {
        for regime in [Regime::Infinitesimal, Regime::Exact] {
            let settings =
                Settings { vocab, dim, samples: 8192, length: 8, eta: 300.0, ..Settings::default() };
            let settings = Settings { early_rule, regime, ..settings };
            let double = Settings { precision: Precision::F64, ..settings.clone() };
            let single = Setting::<f32>::new(settings).run(&backend);
            let double = Setting::<f64>::new(double).run(&backend);
            for (single, double) in [(single.m1, double.m1), (single.m2, double.m2)] {
                let single: Vec<f64> = single.into_iter().map(f64::from).collect();
                let apart = distance(&single, &double);
                assert!(apart < 0.02, "{early_rule}, V = {vocab}, d = {dim}, {regime}: {apart}");
            }
        }
    }
}

/// On text-like frequencies orthogonalised steps let attention find the trigger where gradient steps fail.
#[test]
fn muon_finds_the_trigger_among_zipf_tokens() {
    let measures = |early_rule| {
        let settings = Settings {
            vocab: 128,
            dim: 64,
            length: 8,
            samples: 4096,
            zipf: Some(1.0),
            trigger: Trigger::Keys,
            early_rule,
            ..Settings::default()
        };
        let setting = Setting::<f32>::new(settings);
        let (backend, model, samples) = (Backend::single(), setting.model(), setting.train());
        let phase = early_phase(&setting.config, &model, &samples, &backend).unwrap();
        let frequency = fact_frequency(&samples, setting.config.vocab, &backend).unwrap();
        let test = setting.test();
        evaluate(&setting.config, &model, &setting.task, &phase, &frequency, &test, &backend).unwrap()
    };
    let [plain, muon] = [EarlyRule::Gradient, EarlyRule::Muon].map(measures);
    for measure in [Measure::Accuracy, Measure::MemoryAccuracy, Measure::OneStepAccuracy, Measure::LockRate] {
        let [plain, muon] = [&plain, &muon].map(|found| found[measure].mean());
        assert!(muon > plain + 0.2, "{measure}: {muon} by Muon, {plain} by the gradient");
    }
}

/// Two rounds in the limit are the steps of one round taken by hand, and the exact regime tends to them when its memory step dominates.
#[test]
fn rounds_repeat_the_attention_and_the_memory_step() {
    let backend = Backend::single();
    for (width, accumulate) in [(None, false), (None, true), (Some(9), false), (Some(9), true)] {
        let base = Settings { rounds: 2, accumulate, ..small(EarlyRule::Muon, width, Trigger::Keys) };
        let setting = Setting::<f64>::new(base.clone());
        let (model, samples) = (setting.model(), setting.train());
        let first = Setting::<f64>::new(Settings { rounds: 1, ..base.clone() }).run(&backend);
        let limit = Limit::new(&model, &samples, &backend).unwrap();
        let start = if accumulate { first.attention(&model, &backend).unwrap() } else { Attention::Uniform };
        let u = limit.query_step(&first.m2, &start).unwrap();
        let e = &setting.embeddings;
        let mut second = second_step(&setting.config, &e.z_trig, &e.z_eos, setting.config.length, &u);
        if accumulate {
            second.w1.iter_mut().zip(&first.w1).for_each(|(w, first)| *w += first);
        }
        let attention = second.attention(&model, &backend).unwrap();
        let m2 = limit.memory_step(EarlyRule::Muon, &attention).unwrap();
        let found = setting.run(&backend);
        assert_eq!((&found.w1, &found.m2, &found.m1), (&second.w1, &m2, &first.m1));
        assert!(distance(&found.w1, &first.w1) > 1e-3);
        let exact = Settings { regime: Regime::Exact, eta: 1e-9, eta2: Some(1e-4), ..base };
        let exact = Setting::<f64>::new(exact).run(&backend);
        assert!(distance(&exact.w1, &found.w1) < 1e-3, "{width:?}: {}", distance(&exact.w1, &found.w1));
    }
}

/// A fact is recalled on its own sequences as often as on the test sequences that happen to ask for it.
#[test]
fn recall_by_fact_averages_to_recall() {
    let settings =
        Settings { zipf: None, test_samples: 20_000, ..small(EarlyRule::Gradient, None, Trigger::Keys) };
    let setting = Setting::<f64>::new(settings);
    let (backend, model, samples, test) =
        (Backend::single(), setting.model(), setting.train(), setting.test());
    let phase = setting.run(&backend);
    let by_fact = recall_by_fact(&model, &phase, setting.task.facts(), &test, 400, &backend).unwrap();
    let frequency = fact_frequency(&samples, setting.config.vocab, &backend).unwrap();
    let all = evaluate(&setting.config, &model, &setting.task, &phase, &frequency, &test, &backend).unwrap();
    let mean = by_fact.iter().sum::<f64>() / by_fact.len() as f64;
    assert!((mean - all[Measure::Accuracy].mean()).abs() < 0.02, "{mean}");
    assert!(by_fact.iter().any(|x| *x < mean - 0.1) && by_fact.iter().any(|x| *x > mean + 0.1));
}

/// Attention on few tokens leaves a second moment of low rank, which sums of 32-bit products would make indefinite.
#[test]
fn newton_steps_are_finite_where_attention_is_on_few_tokens() {
    for (vocab, dim, samples, zipf, trigger, seed) in [
        (128, 96, 4096, 2.0, Trigger::Keys, 0),
        (128, 96, 4096, 2.0, Trigger::Values, 0),
        (256, 128, 8192, 1.5, Trigger::Keys, 4_500_000_009),
    ] {
        let (zipf, early_rule) = (Some(zipf), EarlyRule::Newton);
        let settings = Settings {
            vocab,
            dim,
            length: 16,
            samples,
            zipf,
            trigger,
            early_rule,
            seed,
            ..Settings::default()
        };
        assert!(Setting::<f32>::new(settings).run(&Backend::single()).is_finite(), "V = {vocab}");
    }
}
