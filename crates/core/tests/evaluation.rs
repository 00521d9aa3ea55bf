//! Arrays of a trained model, a closer look at it and decoders of its first gradient agree with the evaluation.

use crate::common::Setting;
use superpose_core::backend::Backend;
use superpose_core::config::{Settings, Trigger};
use superpose_core::early_phase::{Limit, fact_frequency};
use superpose_core::evaluate::decode::{Whitener, argmax_accuracy, expected_gradient, plain_scores};
use superpose_core::evaluate::{Evaluation, evaluate, look};
use superpose_core::model::{Attention, attention_weights, logits};
use superpose_core::numeric::dot;
use superpose_core::random::Stream;
use superpose_core::task::{Block, Drawn, Samples, Stored};
use superpose_core::{Measure, backend::Real};

fn measured<T: Real>(setting: &Setting<T>, backend: &Backend) -> Evaluation {
    let Setting { config, task, .. } = setting;
    let frequency = fact_frequency(&setting.train(), config.vocab, backend).unwrap();
    let phase = setting.run(backend);
    evaluate(config, &setting.model(), task, &phase, &frequency, &setting.test(), backend).unwrap()
}

/// Accuracy and attention mass computed from the arrays equal those of the evaluation, with and without an MLP.
#[test]
fn arrays_agree_with_the_evaluation() {
    for width in [None, Some(48)] {
        let sizes = Settings { vocab: 40, dim: 24, length: 5, samples: 900, ..Settings::default() };
        let setting = Setting::<f32>::new(Settings { width, test_samples: 1000, ..sizes });
        let (config, model) = (&setting.config, setting.model());
        let backend = Backend::cpu(2).unwrap();
        let expected = measured(&setting, &backend);
        let phase = setting.run(&backend);
        let test = Stored::copy(&setting.test(), &backend).unwrap();

        let attention = phase.attention(&model, &backend).unwrap();
        let weights = attention_weights(&model, &attention, &test, &backend).unwrap();
        let mass: f64 =
            (0..1000).map(|n| f64::from(weights[n * config.length + test.position()[n] as usize])).sum();
        assert!((mass / 1000.0 - expected[Measure::AttentionMass].mean()).abs() < 1e-6);

        let logits = logits(&model, &phase.m2, &attention, &test, &backend).unwrap();
        let right = |n: usize| {
            let row = &logits[n * config.vocab..][..config.vocab];
            let own = row[test.labels()[n] as usize];
            row.iter().filter(|&&x| x >= own).count() == 1
        };
        let accuracy = (0..1000).filter(|&n| right(n)).count() as f64 / 1000.0;
        // Well above chance, which is 1/40, so that the comparison is meaningful.
        assert!(accuracy > 0.08 && accuracy < 1.0, "{accuracy}");
        assert!((accuracy - expected[Measure::Accuracy].mean()).abs() < 1e-9, "{accuracy}");
    }
}

/// The margins are those whose mean is reported, and the weights those that lock.
#[test]
fn what_is_seen_is_what_is_measured() {
    let settings = Settings { vocab: 80, dim: 60, samples: 4000, test_samples: 700, ..Settings::default() };
    let (setting, backend) = (Setting::<f64>::new(settings), Backend::single());
    let measured = measured(&setting, &backend);
    let seen = look(&setting.model(), &setting.run(&backend), None, &setting.test(), &backend).unwrap();
    assert_eq!(seen.margins.len(), 700);
    let mean = seen.margins.iter().sum::<f64>() / 700.0;
    assert!((mean - measured[Measure::Margin].mean()).abs() < 1e-9 * mean.abs().max(1e-3), "{mean}");
    let right = seen.margins.iter().filter(|&&margin| margin > 0.0).count() as f64 / 700.0;
    assert!((right - measured[Measure::Accuracy].mean()).abs() < 1e-9);
    let example = seen.example.unwrap();
    assert_eq!(example.tokens.len(), setting.config.length);
    assert!((example.weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    assert!(example.weights[example.position] > 0.9, "{:?}", example.weights);
    assert_eq!(setting.task.facts()[example.tokens[example.position] as usize] as usize, example.label);
    assert_eq!(example.answer == example.label, seen.margins[0] > 0.0);
}

/// The first gradient of the first `count` training samples.
fn first_gradient(setting: &Setting<f64>, count: usize) -> Vec<f64> {
    let (backend, model) = (Backend::single(), setting.model());
    let drawn = Drawn::new(&setting.task, 0, Stream::Train, count);
    Limit::new(&model, &drawn, &backend).unwrap().value_step(&Attention::Uniform).unwrap().m
}

/// Accuracies of the plain scores and of the linear estimate, from the first gradient of `count` samples.
fn accuracies(setting: &Setting<f64>, whitener: &Whitener, count: usize) -> (f64, f64) {
    let (backend, facts) = (Backend::single(), setting.task.facts());
    let m1 = first_gradient(setting, count);
    let plain = plain_scores(&setting.model(), &m1, &backend).unwrap();
    let white = whitener.scores(&m1, count as f64, &backend).unwrap();
    (argmax_accuracy(&plain, facts), argmax_accuracy(&white, facts))
}

/// The gradient of many samples is close to the expected one, with and without an MLP, and the linear estimate is more
/// accurate than the plain scores.
#[test]
fn gradients_tend_to_their_expectation() {
    let backend = Backend::single();
    for (width, trigger) in
        [(None, Trigger::Values), (Some(120), Trigger::Keys), (Some(120), Trigger::Values)]
    {
        let sizes = Settings { vocab: 60, dim: 30, length: 6, samples: 60_000, ..Settings::default() };
        let setting = Setting::<f64>::new(Settings { width, trigger, ..sizes });
        let (model, task) = (setting.model(), &setting.task);
        let expected = expected_gradient(&model, task.facts(), 6, &backend).unwrap();
        let m1 = first_gradient(&setting, 60_000);
        // The rest is noise of uneven counts and other tokens, which falls with the square root of the samples.
        let norm = |a: &[f64]| dot(a, a).sqrt();
        let rest: Vec<f64> = m1.iter().zip(&expected).map(|(a, b)| a - b).collect();
        let cosine = dot(&m1, &expected) / norm(&m1) / norm(&expected);
        assert!(cosine > 0.9 && norm(&rest) < 0.5 * norm(&expected), "{width:?} {trigger}: {cosine}");
        let whitener = Whitener::new(&model, task, 1, &backend).unwrap();
        let (plain, white) = accuracies(&setting, &whitener, 3000);
        assert!(white > plain, "{width:?} {trigger}: {plain} {white}");
        let limit = whitener.scores(&expected, f64::INFINITY, &backend).unwrap();
        assert!(argmax_accuracy(&limit, task.facts()) > 0.95);
    }
}

/// With many dimensions the linear estimate is more accurate than the plain scores, since it undoes the overlaps.
#[test]
fn whitening_beats_plain_scores() {
    for trigger in [Trigger::Keys, Trigger::Values] {
        let settings =
            Settings { vocab: 100, dim: 80, length: 5, samples: 600, trigger, ..Settings::default() };
        let setting = Setting::<f64>::new(settings);
        let whitener = Whitener::new(&setting.model(), &setting.task, 0, &Backend::single()).unwrap();
        let (plain, white) = accuracies(&setting, &whitener, 600);
        assert!(white > plain + 0.03 && plain > 0.1, "{trigger}: {plain} {white}");
    }
}

/// The informative position is kept if fewer than `keep` others have a larger score, and dropped positions have no effect.
#[test]
fn context_budget_keeps_the_largest_scores() {
    use superpose_core::Measure::{Accuracy, AttentionMass, KeptRate, LockRate, OneStepAccuracy};
    let backend = Backend::single();
    let sizes =
        Settings { vocab: 30, dim: 20, length: 40, samples: 400, test_samples: 300, ..Settings::default() };
    for (keep, trigger) in [(1, Trigger::Keys), (3, Trigger::Values), (40, Trigger::Keys)] {
        let setting = Setting::<f64>::new(Settings { trigger, ..sizes.clone() });
        let (model, test) = (setting.model(), setting.test());
        let phase = setting.run(&backend);
        let [all, pruned] = [None, Some(keep)].map(|keep| {
            measured(&Setting::<f64>::new(Settings { keep, ..(*setting.config).clone() }), &backend)
        });
        let attention = phase.attention(&model, &backend).unwrap();
        let weights = attention_weights(&model, &attention, &test, &backend).unwrap();
        let mut block = Block::default();
        test.fill(&(0..300).collect::<Vec<u32>>(), &mut block);
        let rows = weights.chunks_exact(40).zip(&block.position);
        let rank =
            |(row, &position): (&[f64], &u32)| row.iter().filter(|&&w| w > row[position as usize]).count();
        let kept = rows.filter(|&row| rank(row) < keep).count() as f64 / 300.0;
        assert_eq!(pruned[KeptRate].mean(), kept, "keep = {keep}");
        assert_eq!(all[KeptRate].mean(), 1.0);
        for measure in [LockRate, OneStepAccuracy] {
            assert_eq!(pruned[measure], all[measure], "{measure}");
        }
        match keep {
            // All attention is on the largest score.
            1 => assert!([KeptRate, AttentionMass].iter().all(|&m| pruned[m].mean() == all[LockRate].mean())),
            40 => assert_eq!(pruned, all),
            _ => assert!(pruned[AttentionMass].mean() > all[AttentionMass].mean() && kept < 1.0),
        }
        assert!(pruned[Accuracy].mean() <= kept + 0.05, "keep = {keep}");
    }
}
