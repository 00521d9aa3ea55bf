//! Recall of the three-step algorithm (theory: recall).
//!
//! A run that finds the trigger in a share of sequences has also trained on that share. Recall is therefore the average
//! over runs of the lock rate times the memory accuracy at that lock rate.

use crate::memory::{Loose, Memory};
use crate::point::Point;
use crate::quadrature::Rule;

/// Lock rates at which the memory accuracy is computed; between them it is interpolated linearly.
pub(crate) const RATES: [f64; 7] = [0.0, 0.05, 0.15, 0.3, 0.55, 0.8, 1.0];

/// Smaller weights are neglected, which changes recall by less than 1e-7.
const NEGLIGIBLE: f64 = 1e-8;

/// The weight in recall of the memory accuracy at each of the [`RATES`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Weights(pub [f64; RATES.len()]);

impl Weights {
    /// Distributes every lock rate of a distribution over the two nearest of the [`RATES`].
    pub fn of(law: &Rule) -> Weights {
        let mut weights = [0.0; RATES.len()];
        for &(rate, weight) in &law.points {
            let right = RATES[1..].iter().position(|&r| rate <= r).unwrap_or(RATES.len() - 2) + 1;
            let share = (rate - RATES[right - 1]) / (RATES[right] - RATES[right - 1]);
            weights[right - 1] += weight * rate * (1.0 - share);
            weights[right] += weight * rate * share;
        }
        // Where every run locks, no interpolation is needed.
        let lock_rate = weights.iter().sum();
        if lock_rate > 1.0 - 1e-4 {
            weights = [0.0; RATES.len()];
            weights[RATES.len() - 1] = lock_rate;
        }
        Weights(weights)
    }

    /// The mean lock rate, which is the sum of the weights.
    pub fn lock_rate(&self) -> f64 {
        self.0.iter().sum::<f64>().clamp(0.0, 1.0)
    }

    /// Recall, at least `chance`, given the memory accuracy at each of the [`RATES`], which is computed only where the
    /// weight is not negligible.
    pub fn recall(&self, chance: f64, mut memory: impl FnMut(usize) -> f64) -> f64 {
        let used = self.0.iter().enumerate().filter(|(_, weight)| **weight > NEGLIGIBLE);
        used.map(|(i, weight)| weight * memory(i)).sum::<f64>().clamp(chance, 1.0)
    }
}

/// Log odds of a share, clamped to between `floor` and 1 minus it.
pub(crate) fn log_odds(share: f64, floor: f64) -> f64 {
    let share = share.clamp(floor, 1.0 - floor);
    (share / (1.0 - share)).ln()
}

/// Recall of a memory at a point.
pub(crate) fn recall(memory: &Memory, weights: &Weights, point: &Point) -> f64 {
    let accuracy = |i: usize| memory.accuracy_when(point.samples, &Loose::new(RATES[i], point));
    weights.recall(memory.chance(), accuracy)
}
