//! Simulation and theory agree (theory: validation) on random configurations, from few samples to many.

use superpose_core::Measure;
use superpose_core::backend::Backend;
use superpose_core::config::{Settings, Trigger};
use superpose_core::random::{Stream, Words, unit};
use superpose_lab::run::{Inputs, evaluation, recall_by_fact};
use superpose_theory::predict;

const COMPARED: [Measure; 4] =
    [Measure::Accuracy, Measure::MemoryAccuracy, Measure::LockRate, Measure::OneStepAccuracy];

const CONFIGURATIONS: usize = 24;
const SEEDS: usize = 4;

#[test]
fn simulated_accuracies_agree_with_the_theory() {
    let backend = Backend::cpu(2).unwrap();
    let cells = backend.map(CONFIGURATIONS, |index| {
        let mut words = [0; 8];
        Words::new(56, Stream::Train, index as u64).fill(0, &mut words);
        let log = |i: usize, low: f64, high: f64| {
            (low.ln() + (high / low).ln() * unit(words[2 * i], words[2 * i + 1])).exp().round() as usize
        };
        let settings = Settings {
            vocab: log(0, 100.0, 800.0),
            dim: log(1, 16.0, 256.0),
            length: log(2, 2.0, 128.0),
            trigger: if words[6] % 2 == 0 { Trigger::Values } else { Trigger::Keys },
            test_samples: 1024,
            ..Settings::default()
        };
        (3..9)
            .map(|power| {
                let config = Settings { samples: 4usize.pow(power), ..settings.clone() }.check().unwrap();
                let mut means = [0.0; 4];
                for seed in 0..SEEDS {
                    // Different seeds for every configuration, so that their errors are independent.
                    let config = config.repeat(1000 * (index + 1) + seed);
                    let e = evaluation(&config, &Inputs::default(), &Backend::single()).unwrap();
                    for (mean, measure) in means.iter_mut().zip(COMPARED) {
                        *mean += e[measure].mean() / SEEDS as f64;
                    }
                }
                let p = predict(&config);
                let predicted = COMPARED.map(|measure| p.measures[measure]);
                std::array::from_fn::<f64, 4, _>(|i| predicted[i].unwrap() - means[i])
            })
            .collect::<Vec<_>>()
    });
    let cells: Vec<[f64; 4]> = cells.unwrap().into_iter().flatten().collect();
    // The errors in the table of the theory page, with the noise of the seeds.
    for (i, (quantity, allowed)) in
        [("accuracy", 0.027), ("memory accuracy", 0.026), ("lock rate", 0.060), ("one-step accuracy", 0.033)]
            .into_iter()
            .enumerate()
    {
        let rms = (cells.iter().map(|cell| cell[i].powi(2)).sum::<f64>() / cells.len() as f64).sqrt();
        println!("{quantity}: rms {rms:.4} over {} cells", cells.len());
        assert!(rms <= allowed, "{quantity}: rms {rms:.4}, allowed {allowed}");
    }
}

/// Under Zipf's law the predicted share of facts is that of trained models, and so is the share of uses.
#[test]
fn recall_by_fact_and_by_use_agree_with_the_theory() {
    let settings = Settings {
        vocab: 200,
        dim: 96,
        length: 6,
        samples: 6000,
        trigger: Trigger::Keys,
        ..Settings::default()
    };
    let config = Settings { zipf: Some(0.7), ..settings }.check().unwrap();
    let (seeds, each) = (6, 20);
    let mut facts = vec![0.0; config.vocab];
    for seed in 0..seeds {
        let recall = recall_by_fact(&config.repeat(seed), each, &Backend::single()).unwrap();
        facts.iter_mut().zip(recall).for_each(|(mean, recall)| *mean += recall / seeds as f64);
    }
    let weights: Vec<f64> = (1..=config.vocab).map(|rank| (rank as f64).powf(-0.7)).collect();
    let uses = facts.iter().zip(&weights).map(|(recall, weight)| recall * weight);
    let (by_fact, by_use) =
        (facts.iter().sum::<f64>() / config.vocab as f64, uses.sum::<f64>() / weights.iter().sum::<f64>());
    let prediction = predict(&config);
    let [fact, used] =
        [prediction.by_fact.unwrap().accuracy.unwrap(), prediction.measures[Measure::Accuracy].unwrap()];
    assert!(used - fact > 0.05 && by_use - by_fact > 0.05, "{fact} {used}, measured {by_fact} {by_use}");
    assert!(
        (fact - by_fact).abs() < 0.04 && (used - by_use).abs() < 0.04,
        "{fact} {used}, measured {by_fact} {by_use}"
    );
}
