//! Predictions of whole configurations, and which of them have none.

use superpose_core::config::{Activation, EmbeddingSettings as Rows, Training, Trigger};

use super::*;
use crate::critical::{Parameter, critical};
use crate::point::gaussian;

use Measure::{Accuracy, AttentionMass, LockRate, MemoryAccuracy, OneStepAccuracy};

fn at(settings: Settings) -> Prediction {
    predict(&settings.check().unwrap())
}

fn get(prediction: &Prediction, measure: Measure) -> f64 {
    prediction.measures[measure].unwrap()
}

#[test]
fn recall_is_at_most_lock_rate_times_memory() {
    let product = |p: &Prediction| get(p, LockRate) * get(p, MemoryAccuracy);
    let p = at(Settings::default());
    assert!((get(&p, Accuracy) - product(&p)).abs() < 1e-3, "all runs lock");
    assert!(p.gaps.is_empty() && p.measures[OneStepAccuracy].is_some());
    let (length, samples, trigger) = (300, 4000, Trigger::Keys);
    let p = at(Settings { length, samples, vocab: 200, trigger, ..Settings::default() });
    let (recall, lock) = (get(&p, Accuracy), get(&p, LockRate));
    assert!((0.2..0.9).contains(&lock) && recall < product(&p), "{recall} {lock}");
}

#[test]
fn silence_has_a_reason() {
    let settings = Settings::default;
    let file = Rows::File { file: "rows.safetensors".into(), tensor: "rows".into() };
    for (other, reason) in [
        (Settings { zipf: Some(1.0), width: Some(64), ..settings() }, Reason::Zipf),
        (Settings { noise_zipf: Some(1.0), width: Some(64), ..settings() }, Reason::Zipf),
        (Settings { noise_vocab: Some(9), ..settings() }, Reason::NoiseVocab),
        (Settings { labels: Labels::Mod(7), ..settings() }, Reason::LabelClasses),
        (Settings { regime: Regime::Exact, ..settings() }, Reason::ExactRegime),
        (Settings { embedding: file, ..settings() }, Reason::FileEmbedding),
        (Settings { training: Some(Training::new(10)), ..settings() }, Reason::Trained),
        (Settings { embedding: Rows::LowRank { rank: 9 }, ..settings() }, Reason::Structure),
        (Settings { output_embedding: Some("tied".into()), ..settings() }, Reason::OutputEmbedding),
        (Settings { import: Some("run.safetensors".into()), ..settings() }, Reason::Import),
    ] {
        let p = at(other);
        assert_eq!(p.measures[Accuracy], None);
        assert_eq!(p.gaps.len(), PREDICTED.len());
        assert!(p.gaps.iter().all(|gap| gap.reason == reason), "{reason}");
    }
    assert!(at(Settings { zipf: Some(0.0), ..settings() }).gaps.is_empty());
    assert!(at(Settings { zipf: Some(1.0), noise_zipf: Some(0.5), ..settings() }).gaps.is_empty());
    let p = at(Settings { zipf: Some(1.0), lead: 1.0, keep: Some(3), ..settings() });
    let reasons = [Reason::ZipfLead, Reason::ZipfKeep, Reason::Dropped];
    assert_eq!(p.gaps.iter().map(|gap| gap.reason).collect::<Vec<_>>(), reasons);
    let p = at(Settings { gamma: Some(1.0), ..settings() });
    let reason = Reason::Gamma;
    assert_eq!(p.gaps, [Accuracy, AttentionMass].map(|quantity| Gap { quantity, reason }));
    let others = [MemoryAccuracy, OneStepAccuracy, LockRate];
    assert_eq!(others.map(|m| get(&p, m)), others.map(|m| get(&at(settings()), m)));
    let p = at(Settings { lead: 0.5, keep: Some(3), ..settings() });
    let gap = |quantity, reason| Gap { quantity, reason };
    assert_eq!(p.gaps, [gap(Accuracy, Reason::SmallLeadKeep), gap(AttentionMass, Reason::Dropped)]);
    assert!(at(Settings { lead: 0.5, keep: Some(16), ..settings() }).gaps.is_empty());
    assert_eq!(at(Settings { gamma: Some(-1.0), ..settings() }).gaps.len(), 4);
}

/// Recall and attention mass at five leads, with standard errors of 24 seeds (V = 300, d = 128, L = 40, N = 3,000).
#[test]
fn small_leads_agree_with_simulation() {
    let (vocab, dim, length, samples, trigger) = (300, 128, 40, 3000, Trigger::Keys);
    for (lead, recall, error, mass, allowed) in [
        // Below a lead of 1 recall is predicted too high.
        (0.5, 0.447, 0.006, 0.1407, 0.14),
        (1.0, 0.852, 0.004, 0.4996, 0.04),
        (2.0, 0.907, 0.004, 0.9662, 0.01),
        (4.0, 0.908, 0.004, 0.9999, 0.01),
        (16.0, 0.908, 0.004, 1.0, 0.01),
    ] {
        let p = at(Settings { vocab, dim, length, samples, trigger, lead, ..Settings::default() });
        let (found, attention) = (get(&p, Accuracy), get(&p, AttentionMass));
        assert!((found - recall).abs() < allowed + error, "lead {lead}: recall {found}, simulated {recall}");
        assert!((attention - mass).abs() < 0.005, "lead {lead}: mass {attention}, simulated {mass}");
    }
}

#[test]
fn mlp_has_all_predictions() {
    let p = at(Settings { width: Some(1000), activation: Activation::He2, ..Settings::default() });
    assert!(p.gaps.is_empty() && get(&p, Accuracy) <= get(&p, MemoryAccuracy));
    assert!(p.noise.logits.unwrap().mlp_noise > 0.0 && p.noise.scores.unwrap().mlp_noise > 0.0);
}

#[test]
fn limiting_term_depends_on_the_sizes() {
    let keys = Settings { vocab: 1000, dim: 60, trigger: Trigger::Keys, ..Settings::default() };
    let plenty = Settings { samples: 10_000_000, ..keys.clone() };
    let values = Settings { samples: 10_000, trigger: Trigger::Values, ..keys.clone() };
    let few = Settings { vocab: 200, dim: 400, samples: 200, length: 4, ..keys.clone() };
    let long = Settings { vocab: 100, dim: 100, length: 1000, samples: 10_000, ..keys };
    for (settings, part, term) in [
        (plenty, Part::Memory, Term::Interference),
        (values, Part::Memory, Term::MeanBias),
        (few, Part::Memory, Term::Coverage),
        (long, Part::Attention, Term::MeanBias),
    ] {
        assert_eq!(at(settings).dominant, Some(Dominant { part, term }));
    }
}

#[test]
fn measured_statistics_give_the_same_as_derived_ones() {
    let settings = Settings { trigger: Trigger::Keys, samples: 100_000, ..Settings::default() };
    let point = Point::from(&settings.check().unwrap());
    let derived = predict_at(&point);
    let Summary { kappa, xi, xi_spread, s2, .. } = derived.kernel.unwrap();
    let (output_coherence, output_spread) = (1.0 / point.dim, (2.0 / point.dim).sqrt());
    let measured = Measured { kappa, xi, xi_spread, s2, output_coherence, output_spread };
    let p = predict_measured(&point, &measured);
    let difference = get(&p, MemoryAccuracy) - get(&derived, MemoryAccuracy);
    assert!(difference.abs() < 0.01, "{difference}");
    assert_eq!(p.gaps.len(), 5);
}

/// Very soft and very hard attention, few and many samples: every prediction is a share, and searches end.
#[test]
fn extreme_leads_give_shares() {
    for lead in [1e-6, 0.01, 0.05, 0.5, 1e6] {
        for (vocab, dim, length, samples) in [
            (512.0, 128.0, 16.0, 8192.0),
            (5.0, 3000.0, 2.0, 2.0),
            (1e9, 3000.0, 2e9, 2e9),
            (569.0, 19.0, 30.0, 1e3),
        ] {
            let point = Point { lead, ..gaussian(vocab, dim, length, samples) };
            for (measure, share) in predict_at(&point).measures.iter() {
                assert!(
                    share.is_none_or(|share| (0.0..=1.0).contains(&share)),
                    "{point:?} {measure}: {share:?}"
                );
            }
            for &parameter in Parameter::ALL {
                critical(&point, parameter, 0.01);
            }
        }
    }
}
