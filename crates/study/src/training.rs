//! Part 7. Training to the end against the three-step early phase, over dimension and data.
//!
//! The early phase stores facts by a Hebbian rule, whose capacity the theory gives (memory). The best matrix stores up to
//! `V log V = d^2 / 2` (arXiv 2605.10795). Both dimensions are reported beside the measurements.

use serde::{Deserialize, Serialize};
use superpose_core::config::{self, Config, Schedule, Trigger};
use superpose_core::{Measure, Settings};
use superpose_theory::predict;

use super::{Part, Study, StudyError};
use superpose_lab::cell::Outcome;
use superpose_store::interval::{Interval, share};

/// The accuracy at which both capacities are compared.
pub const CAPACITY_LEVEL: f64 = 0.99;

/// Accuracies over dimension and data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Training {
    /// Facts.
    pub vocab: usize,
    /// Sequence length.
    pub length: usize,
    /// Training steps.
    pub steps: usize,
    /// Seeds at every point.
    pub seeds: usize,
    /// The dimension at which the Hebbian rule recalls [`CAPACITY_LEVEL`] of the facts, with the attention placed and unlimited data.
    pub hebbian_dim: Option<usize>,
    /// The dimension at which the best matrix can hold all facts: `sqrt(2 V log V)`.
    pub optimal_dim: f64,
    /// The measured points.
    pub points: Vec<TrainingPoint>,
}

/// One dimension and one number of samples.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct TrainingPoint {
    /// Embedding dimension.
    pub dim: usize,
    /// Training samples.
    pub samples: usize,
    /// Accuracy at the end of training.
    pub trained: Interval,
    /// Accuracy of the three steps on the same data.
    pub three_steps: Interval,
}

pub fn run(study: &mut Study<'_, '_>) -> Result<Training, StudyError> {
    let scale = study.scale;
    let (vocab, length, steps, seeds) = scale.pick((64, 8, 200, 4), (128, 16, 500, 4), (512, 32, 1000, 4));
    let dims = scale.pick([8, 16, 24, 32, 64, 128], [16, 24, 32, 48, 96, 192], [32, 48, 64, 96, 256, 512]);
    let data = scale.pick([256, 1024, 4096], [1024, 4096, 16_384], [4096, 16_384, 65_536]);
    let mut cells: Vec<Config> = Vec::new();
    let mut places = Vec::new();
    for samples in data {
        for dim in dims {
            let three = study.settings(Part::Training, places.len(), [vocab, dim, length]);
            let three = Settings { samples, trigger: Trigger::Values, ..three };
            let training =
                config::Training { rate: 0.03, schedule: Schedule::Cosine, ..config::Training::new(steps) };
            let trained = Settings { training: Some(training), ..three.clone() };
            for settings in [trained, three] {
                let config = settings.check()?;
                cells.extend((0..seeds).map(|seed| config.repeat(seed)));
            }
            places.push((dim, samples));
        }
    }
    (study.say)(&format!("{steps} steps of training against three, V = {vocab}, L = {length}"));
    let outcomes = study.outcomes(&cells)?;
    let accuracy = |outcomes: &[Outcome]| {
        let accuracies = outcomes.iter().map(|outcome| outcome.measures[Measure::Accuracy]);
        share(&accuracies.collect::<Vec<_>>(), vocab)
    };
    let shares: Vec<Interval> = outcomes.chunks(seeds).map(accuracy).collect();
    let point = |(&(dim, samples), pair): (&(usize, usize), &[Interval])| {
        let (trained, three_steps) = (pair[0], pair[1]);
        TrainingPoint { dim, samples, trained, three_steps }
    };
    let points = places.iter().zip(shares.chunks(2)).map(point).collect();
    let (facts, hebbian_dim) = (vocab as f64, hebbian_dim(vocab, length)?);
    let optimal_dim = (2.0 * facts * libm::log(facts)).sqrt();
    Ok(Training { vocab, length, steps, seeds, hebbian_dim, optimal_dim, points })
}

/// Returns the smallest dimension at which the closed form predicts [`CAPACITY_LEVEL`] with unlimited data.
fn hebbian_dim(vocab: usize, length: usize) -> Result<Option<usize>, StudyError> {
    const DATA: usize = 1 << 30;
    let mut dim = 2;
    while dim < 64 * vocab {
        let config = Settings { vocab, dim, length, samples: DATA, ..Settings::default() }.check()?;
        let accuracy = predict(&config).measures[Measure::MemoryAccuracy];
        if accuracy.is_some_and(|accuracy| accuracy >= CAPACITY_LEVEL) {
            return Ok(Some(dim));
        }
        dim += 1 + dim / 32;
    }
    Ok(None)
}
