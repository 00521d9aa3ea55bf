//! The parts of the noise budget add up to the whole (theory: setting).

use crate::common::{Setting, distance};
use superpose_core::backend::Backend;
use superpose_core::config::{Activation, EmbeddingSettings, Labels, Settings, Trigger};
use superpose_core::early_phase::fact_frequency;
use superpose_core::model::{Attention, Readout, Workspace};
use superpose_core::noise::{score_budget, split_logits, split_scores};
use superpose_core::task::{Block, Samples};

fn cases() -> Vec<Settings> {
    let base = Settings { vocab: 60, dim: 20, length: 7, samples: 900, ..Settings::default() };
    vec![
        base.clone(),
        Settings { trigger: Trigger::Keys, ..base.clone() },
        Settings { width: Some(50), activation: Activation::Relu, ..base.clone() },
        Settings { width: Some(30), activation: Activation::He2, trigger: Trigger::Keys, ..base.clone() },
        Settings { zipf: Some(1.0), ..base.clone() },
        Settings { labels: Labels::Mod(7), noise_vocab: Some(33), ..base.clone() },
        Settings { embedding: EmbeddingSettings::Orthonormal, dim: 62, ..base },
    ]
}

#[test]
fn logit_parts_add_up() {
    let backend = Backend::single();
    for settings in cases() {
        let setting = Setting::<f64>::new(settings);
        let (model, phase) = (setting.model(), setting.run(&backend));
        let frequency = fact_frequency(&setting.train(), setting.config.vocab, &backend).unwrap();
        let mut block = Block::default();
        setting.test().fill(&(0..20).collect::<Vec<u32>>(), &mut block);
        let parts = split_logits(&model, &setting.task, &phase, &frequency, &block).unwrap();

        // The logits with placed attention, by the definition: sum_w f_w A(j, w) K(w, v).
        let mut keys = Workspace::default();
        keys.place(&model, 0..setting.config.vocab);
        keys.activate(&model);
        let keys = keys.features(&model);
        let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (dim, labels, p) = (model.dim(), model.labels(), model.inputs());
        let out = |j: usize| &setting.embeddings.z_out[j * dim..][..dim];
        let mean: Vec<f64> =
            (0..dim).map(|c| (0..labels).map(|j| out(j)[c]).sum::<f64>() / labels as f64).collect();
        let mut placed = Vec::new();
        for b in 0..block.len() {
            let v = block.informative(b);
            for j in 0..labels {
                let term = |w: usize| {
                    let fact = setting.task.facts()[w] as usize;
                    let kernel = inner(&keys.data()[w * p..][..p], &keys.data()[v * p..][..p]);
                    frequency[w] * (inner(out(j), out(fact)) - inner(out(j), &mean)) * kernel
                };
                placed.push((0..setting.config.vocab).map(term).sum::<f64>());
            }
        }
        let sum: Vec<f64> =
            (0..placed.len()).map(|at| parts.named()[..6].iter().map(|(_, part)| part[at]).sum()).collect();
        assert!(distance(&sum, &placed) < 1e-12, "placed {:?}", setting.config);

        // With the leak, the parts add up to the logits of the trained model.
        let mut work = Workspace::default();
        work.attend(&model, &phase.attention(&model, &backend).unwrap(), &block);
        work.activate(&model);
        let mut logits = Vec::new();
        let readout = Readout::new(&model, &phase.m2, 1, &backend).unwrap();
        readout.logits(work.features(&model), &mut Vec::new(), &mut logits);
        let whole: Vec<f64> = sum.iter().zip(&parts.attention_leak).map(|(a, b)| a + b).collect();
        assert!(distance(&whole, &logits) < 1e-12);
    }
}

#[test]
fn score_parts_add_up() {
    let backend = Backend::single();
    for settings in cases() {
        let setting = Setting::<f64>::new(settings);
        let (model, phase) = (setting.model(), setting.run(&backend));
        let parts = split_scores(&model, &setting.task, &phase, &setting.train(), &backend).unwrap();
        let Attention::Scores { tokens, trigger } = phase.attention(&model, &backend).unwrap() else {
            panic!("nothing learned");
        };
        let noise: Vec<&Vec<f64>> = parts.named()[1..].iter().filter_map(|(_, part)| part.as_ref()).collect();
        let sum: Vec<f64> = (0..tokens.len()).map(|v| noise.iter().map(|part| part[v]).sum()).collect();
        assert!(distance(&sum, &tokens) < 1e-12);
        assert!((parts.signal.unwrap()[0] - trigger).abs() < 1e-12 * trigger.abs());
    }
}

/// With more data the direction of step 2 tends to its expectation: the variance of the noise relative to the signal falls as 1/N.
/// This checks the expected direction itself.
#[test]
fn score_noise_vanishes_with_data() {
    let backend = Backend::cpu(2).unwrap();
    for settings in cases().into_iter().filter(|settings| settings.width.is_none()) {
        let noise = |samples: usize| {
            let setting = Setting::<f64>::new(Settings { samples, ..settings.clone() });
            let phase = setting.run(&backend);
            let parts =
                split_scores(&setting.model(), &setting.task, &phase, &setting.train(), &backend).unwrap();
            let budget = score_budget(&parts);
            (budget.gradient_noise.unwrap() + budget.mean_bias.unwrap()) / budget.signal.unwrap()
        };
        let ratio = noise(20_000) / noise(2_000_000);
        assert!(ratio > 30.0, "{ratio} {settings:?}");
    }
}
