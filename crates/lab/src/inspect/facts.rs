//! The number of facts that vectors hold: the largest at which recall reaches an accuracy.

use std::convert::Infallible;

use superpose_core::config::{Settings, Trigger};
use superpose_theory::{Measured, Memory, Point};

use super::SAMPLES_PER_FACT;

const MAX_FACTS: f64 = 1e12;

/// Returns the number of facts that vectors with these mean statistics hold at an accuracy.
pub fn facts_by_means(kernel: &Measured, accuracy: f64) -> u64 {
    if !(kernel.xi > 0.0 && kernel.s2.is_finite() && kernel.output_coherence.is_finite()) {
        return 0;
    }
    let at = |vocab| Ok::<_, Infallible>(Memory::measured(vocab, kernel).accuracy(SAMPLES_PER_FACT * vocab));
    let Ok(facts) = largest(accuracy, at);
    facts
}

/// Returns the number of facts that Gaussian vectors of a dimension hold at an accuracy.
pub fn gaussian_facts(dim: usize, accuracy: f64) -> u64 {
    let Ok(facts) = largest(accuracy, |vocab| Ok::<_, Infallible>(gaussian_accuracy(dim, vocab)));
    facts
}

pub(super) fn gaussian_accuracy(dim: usize, vocab: f64) -> f64 {
    let samples = SAMPLES_PER_FACT * vocab;
    let settings = Settings { dim, length: 1, trigger: Trigger::Keys, ..Settings::default() };
    Memory::new(&Point { vocab, samples, ..Point::from(&settings) }).accuracy(samples)
}

/// Returns the largest number of facts, at least two, at which the accuracy is reached; 0 if there is none. Accuracy falls with facts.
pub(super) fn largest<E>(accuracy: f64, mut at: impl FnMut(f64) -> Result<f64, E>) -> Result<u64, E> {
    let mut reached = |vocab: u64| Ok(at(vocab as f64)? >= accuracy);
    if !reached(2)? {
        return Ok(0);
    }
    let (mut low, mut high) = (2, 4);
    while reached(high)? {
        if high as f64 >= MAX_FACTS {
            return Ok(high);
        }
        (low, high) = (high, 2 * high);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if reached(middle)? { low = middle } else { high = middle }
    }
    Ok(low)
}
