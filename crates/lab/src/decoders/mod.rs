//! Compares decoders of the first gradient and the three-step algorithm with the lower bounds (`docs/theory/bound.md`).
//!
//! The critical number of samples is where the mean accuracy over seeds crosses the requested accuracy. Numbers of samples lie on
//! a grid of four per octave; bisection finds the two neighbours around the crossing, which is interpolated in log N. With
//! unlimited data the gradient equals its expectation; if the accuracy then is too low by more than [`LIMIT_MARGIN`], the search
//! is skipped. The half width of the 95% interval (delta method) is that of Student's interval of the mean accuracy at the
//! crossing, at least the binomial error, divided by the slope between the neighbours.
//!
//! The assignment solver is from `pathfinding`. On 1000 x 1000 scores it takes 0.04 to 0.14 s and `lapjv` 0.01 to 0.12 s, with
//! the same result; `pathfinding` has a stable release and states its minimum Rust version. Scores are rounded to 40 bits, as it
//! takes integers.

mod options;
mod seed;

pub use options::BoundOptions;
pub use seed::{Decoder, FirstStep};

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use pathfinding::prelude::{Matrix, kuhn_munkres};
use serde::{Deserialize, Serialize};
use superpose_core::Measure;
use superpose_core::backend::{Backend, Numerics};
use superpose_core::config::{Config, Settings};
use superpose_theory::Point;
use superpose_theory::bound::Bounds;

use crate::interval::student;
use crate::memory::{backend_for, check_device, run_bytes};
use crate::run::{Inputs, RunError, evaluation};
use seed::{Seed, first_step_config};

/// Names of the decoders, in the order of `Seed::decode`.
pub const DECODERS: [&str; 4] = ["argmax", "assignment", "mmse", "mmse_assignment"];

/// The name of a decoder of the caller.
pub const OWN: &str = "own";

/// Whether a decoder is linear scores followed by argmax. The others use that labels are a permutation.
pub fn is_linear(decoder: &str) -> bool {
    matches!(decoder, "argmax" | "mmse")
}

const MAX_TOKENS: f64 = (1u64 << 26) as f64;

/// If the accuracy with unlimited data is too low by more than this, it is not reached with fewer samples either. The margin is
/// needed because accuracy is not exactly monotone in samples.
pub const LIMIT_MARGIN: f64 = 0.05;

const METHOD: &str = "95%, delta method: Student's interval of the mean accuracy over seeds at the crossing, over the slope in log samples";

/// A critical number of samples with its 95% interval; `None` if the accuracy was not reached with the samples tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Critical {
    /// Samples at which the mean accuracy is the requested one.
    pub estimate: Option<f64>,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The largest of the bounds that hold for this decoder with the true noise; `None` if no number of samples is enough.
    pub bound: Option<f64>,
    /// The estimate over that bound.
    pub ratio: Option<f64>,
    /// Accuracy with unlimited data.
    pub limit: Option<f64>,
}

impl Critical {
    fn new(estimate: f64, low: f64, high: f64) -> Critical {
        Critical { estimate: Some(estimate), low: Some(low), high: Some(high), ..Critical::default() }
    }
}

/// Critical numbers of samples of the decoders beside the bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BoundRecord {
    /// Lower bounds on the number of samples, by who needs them.
    pub bounds: Bounds,
    /// Critical numbers of samples by decoder.
    pub decoders: BTreeMap<String, Critical>,
    /// Whether embeddings were given; bounds that are for random vectors are then absent.
    #[serde(default)]
    pub given_embeddings: bool,
    /// The three-step algorithm, which uses more than the first gradient.
    pub three_step: Critical,
    /// The accuracy.
    pub accuracy: f64,
    /// Number of seeds, from `config.seed`.
    pub seeds: usize,
    /// A description of the intervals.
    pub interval: String,
    /// The largest number of samples that may be tried.
    pub max_samples: f64,
    /// The configuration; its number of samples is not used.
    pub config: Settings,
    /// The arithmetic that made it.
    #[serde(default)]
    pub numerics: Numerics,
    /// The version of superpose.
    pub version: String,
}

/// Returns an estimate of the peak memory of [`bound`] in bytes, slightly too high: what is kept for every seed, and the work on as
/// many seeds as there are threads. Scores and steps are not there at the same time, but allocators keep some freed memory.
pub fn bytes(config: &Config, seeds: usize, threads: usize) -> f64 {
    let (v, d, p) = (config.vocab as f64, config.dim as f64, config.inputs() as f64);
    let width = config.width.map_or(0.0, |width| width as f64);
    let real = size_of::<f64>() as f64;
    // Embeddings of tokens and labels, the same in the matrices of the linear estimate, and with an MLP two moments of features.
    let kept = real * (v * (3.0 * d + p) + width * (d + 2.0 * p));
    // Scores and their whole numbers; features and their products; sums of the second moment of features.
    let decode = real * (2.0 * v * v + 2.0 * v * (d + p) + 20.0 * width * p);
    let step = first_step_config(config, (MAX_TOKENS / config.length as f64) as usize);
    let step = step.map_or(0.0, |config| run_bytes(&config, 1, false, false));
    seeds as f64 * kept + seeds.min(threads) as f64 * (decode + step)
}

/// Finds the critical number of samples of every decoder, and of one of the caller. Tokens are always uniform and labels a permutation.
/// `progress` receives the decoder and every number of samples tried.
///
/// With embeddings of the caller only the bounds that hold for all embeddings are given.
///
/// # Errors
/// Fails if a run of the three-step algorithm fails or the decoder of the caller does.
pub fn bound(
    config: &Config,
    inputs: &Inputs,
    options: &BoundOptions,
    own: Option<&Decoder<'_>>,
    backend: &Backend,
    progress: &mut dyn FnMut(&str, f64),
) -> Result<BoundRecord, RunError> {
    let BoundOptions { accuracy, seeds } = *options;
    let bounds = Bounds::new(&Point::from(config), accuracy);
    let given = inputs.has_embeddings();
    let bounds = if given { bounds.for_any_embeddings() } else { bounds };
    let most = (4.0 * libm::log2(MAX_TOKENS / config.length as f64)).floor() as i32;
    let first = ((4.0 * libm::log2(bounds.coverage.max(4.0))).floor() as i32).clamp(8, most);
    // As many seeds at a time as fit on the device.
    let at = |index| -> Result<Backend, RunError> {
        let Some(device) = backend.device() else { return Ok(backend.clone()) };
        let config = first_step_config(config, samples_at(index))?;
        check_device(&config, false, backend)?;
        Ok(backend_for(device.needs(&config, false), backend)?)
    };
    at(first)?;
    let seed = |r| Seed::new(config.repeat(r), inputs, &backend.alone());
    let all: Vec<Seed> = (0..seeds).map(seed).collect::<Result<_, _>>()?;
    let search = Search { accuracy, first, most, items: (config.vocab * seeds) as f64 };
    let beside = |critical: Critical, bound: Option<f64>| Critical {
        bound,
        ratio: critical.estimate.zip(bound).map(|(n, bound)| n / bound).filter(|ratio| ratio.is_finite()),
        ..critical
    };

    progress("unlimited data", f64::INFINITY);
    let limits = backend.try_map(seeds, |r| all[r].limits(&backend.alone()))?;
    let limit = |i: usize| limits.iter().map(|limits| limits[i]).sum::<f64>() / seeds as f64;
    let mut seen: BTreeMap<i32, Vec<[f64; 4]>> = BTreeMap::new();
    let mut decoders = BTreeMap::new();
    for (i, name) in DECODERS.iter().enumerate() {
        let critical = search.if_reachable(limit(i), |index| {
            progress(name, samples_at(index) as f64);
            let single = backend.alone();
            let found = match seen.entry(index) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    place.insert(at(index)?.try_map(seeds, |r| all[r].decode(samples_at(index), &single))?)
                }
            };
            Ok::<_, RunError>(found.iter().map(|accuracies| accuracies[i]).collect())
        })?;
        let bound =
            if is_linear(name) && !given { bounds.largest_for_linear() } else { Some(bounds.coverage) };
        decoders.insert((*name).to_string(), beside(critical, bound));
    }
    if let Some(own) = own {
        let read = |samples| -> Result<Vec<f64>, RunError> {
            all.iter().map(|seed| seed.own(samples, own, backend)).collect()
        };
        let limit = read(None)?.iter().sum::<f64>() / seeds as f64;
        let critical = search.if_reachable(limit, |index| {
            progress(OWN, samples_at(index) as f64);
            read(Some(samples_at(index)))
        })?;
        decoders.insert(OWN.into(), beside(critical, Some(bounds.coverage)));
    }
    let three_step = search.if_reachable(limit(DECODERS.len()), |index| {
        progress("three-step", samples_at(index) as f64);
        at(index)?.try_map(seeds, |r| {
            let settings = Settings { samples: samples_at(index), ..(*config.repeat(r)).clone() };
            let found = evaluation(&settings.check()?, inputs, &backend.alone())?;
            Ok::<_, RunError>(found[Measure::Accuracy].mean())
        })
    })?;
    Ok(BoundRecord {
        bounds,
        decoders,
        given_embeddings: given,
        three_step: beside(three_step, Some(bounds.coverage)),
        accuracy,
        seeds,
        interval: METHOD.into(),
        max_samples: samples_at(most) as f64,
        config: (**config).clone(),
        numerics: backend.numerics(),
        version: env!("CARGO_PKG_VERSION").into(),
    })
}

fn samples_at(index: i32) -> usize {
    libm::exp2(f64::from(index) / 4.0).round() as usize
}

/// Returns the share of tokens that get their right label in the one-to-one assignment with the largest sum of scores.
pub fn assignment_accuracy(scores: &[f64], facts: &[u32]) -> f64 {
    let largest = scores.iter().fold(f64::MIN_POSITIVE, |largest, x| largest.max(x.abs()));
    let whole = scores.iter().map(|x| (x / largest * (1u64 << 40) as f64) as i64).collect();
    let Ok(weights) = Matrix::from_vec(facts.len(), scores.len() / facts.len(), whole) else { return 0.0 };
    let (_, labels) = kuhn_munkres(&weights);
    let right = labels.iter().zip(facts).filter(|&(&label, &fact)| label == fact as usize).count();
    right as f64 / facts.len() as f64
}

struct Search {
    accuracy: f64,
    first: i32,
    most: i32,
    /// Number of facts read at one number of samples, over all seeds.
    items: f64,
}

impl Search {
    fn if_reachable<E>(&self, limit: f64, at: impl FnMut(i32) -> Result<Vec<f64>, E>) -> Result<Critical, E> {
        let found = match limit + LIMIT_MARGIN < self.accuracy {
            true => Critical::default(),
            false => self.run(at)?,
        };
        Ok(Critical { limit: Some(limit), ..found })
    }

    /// Runs the search. `at` returns the accuracies of all seeds at a point of the grid.
    fn run<E>(&self, mut at: impl FnMut(i32) -> Result<Vec<f64>, E>) -> Result<Critical, E> {
        /// Two octaves, a factor of four.
        const STEP: i32 = 8;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (mut low, mut below) = (self.first, at(self.first)?);
        let (mut high, mut above) = (low, below.clone());
        while mean(&above) < self.accuracy {
            if high >= self.most {
                return Ok(Critical::default());
            }
            (low, below) = (high, above);
            high = (high + STEP).min(self.most);
            above = at(high)?;
        }
        while mean(&below) >= self.accuracy {
            if low <= 0 {
                return Ok(Critical::new(1.0, 0.0, 1.0));
            }
            (high, above) = (low, below);
            low = (low - STEP).max(0);
            below = at(low)?;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let found = at(middle)?;
            if mean(&found) < self.accuracy {
                (low, below) = (middle, found)
            } else {
                (high, above) = (middle, found)
            }
        }
        let (left, right) = (libm::log(samples_at(low) as f64), libm::log(samples_at(high) as f64));
        let rise = mean(&above) - mean(&below);
        let share = (self.accuracy - mean(&below)) / rise;
        let slope = rise / (right - left);
        let middle = left + share * (right - left);
        let there: Vec<f64> = below.iter().zip(&above).map(|(b, a)| b + share * (a - b)).collect();
        let half = half_width(&there, self.accuracy, self.items) / slope;
        Ok(Critical::new(libm::exp(middle), libm::exp(middle - half), libm::exp(middle + half)))
    }
}

fn half_width(values: &[f64], accuracy: f64, items: f64) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let binomial = 1.96 * (accuracy * (1.0 - accuracy) / items).sqrt();
    let Some(quantile) = student(count - 1.0) else { return binomial };
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (quantile * (variance / count).sqrt()).max(binomial)
}

#[cfg(test)]
mod tests {
    use superpose_core::evaluate::decode::argmax_accuracy;

    use super::*;

    #[test]
    fn assignment_uses_every_label_once() {
        // Argmax would give label 0 to both of the first tokens.
        let scores = [0.9, 0.8, 0.0, 1.0, 0.1, 0.0, 0.2, 0.3, 0.4];
        assert_eq!(assignment_accuracy(&scores, &[1, 0, 2]), 1.0);
        assert_eq!(argmax_accuracy(&scores, &[1, 0, 2]), 2.0 / 3.0);
        assert_eq!(assignment_accuracy(&[0.0; 4], &[0, 1]) * 2.0 % 1.0, 0.0);
    }

    #[test]
    fn crossing_is_found() {
        let search = Search { accuracy: 0.5, first: 8, most: 80, items: 1e9 };
        let curve = |index: i32, shift: f64| {
            let x = (samples_at(index) as f64).ln() - 1000_f64.ln() - shift;
            1.0 / (1.0 + (-x).exp())
        };
        let at = |index| Ok::<_, ()>(vec![curve(index, -0.1), curve(index, 0.0), curve(index, 0.1)]);
        let found = search.run(at).unwrap();
        assert!((found.estimate.unwrap() / 1000.0 - 1.0).abs() < 0.01, "{found:?}");
        // Shifts of standard deviation 0.1 over sqrt(3), times Student's 4.303.
        let half = (found.high.unwrap() / found.estimate.unwrap()).ln();
        assert!((half - 0.248).abs() < 0.02, "{half}");
        let never = search.run(|_| Ok::<_, ()>(vec![0.1, 0.2])).unwrap();
        assert_eq!(never, Critical::default());
        let hopeless = search.if_reachable(0.4, |_| Err(())).unwrap();
        assert_eq!((hopeless.estimate, hopeless.limit), (None, Some(0.4)));
        let later = Search { first: 70, ..search }.run(at).unwrap();
        assert!((later.estimate.unwrap() / found.estimate.unwrap() - 1.0).abs() < 1e-9);
    }
}
