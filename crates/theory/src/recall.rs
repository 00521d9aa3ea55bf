//! Recall of the three-step algorithm (theory section 5.2): a run that finds the trigger in a share of sequences has also
//! trained on that share, so recall is the average over runs of the lock rate times the memory at that lock rate.

use crate::attention::LockLaw;
use crate::memory::Memory;

/// Lock rates where the memory is computed; between them it is interpolated.
const RATES: [f64; 7] = [0.0, 0.05, 0.15, 0.3, 0.55, 0.8, 1.0];

/// Recall accuracy, never below that of guesswork, after `samples` samples, with lock rates by the given law. The memory at partial lock rates is asked
/// only where runs have such rates.
pub(crate) fn recall(memory: &Memory, law: &LockLaw, samples: f64) -> f64 {
    let lock_rate = law.mean(|rate| rate);
    // Where every run locks there is nothing to interpolate.
    if lock_rate > 1.0 - 1e-4 {
        return (lock_rate * memory.accuracy(samples)).clamp(memory.chance(), 1.0);
    }
    let mut stored = [None; RATES.len()];
    let mut at = |i: usize| *stored[i].get_or_insert_with(|| memory.accuracy_at_lock(samples, RATES[i]));
    let recall = law.mean(|rate| {
        let right = RATES[1..].iter().position(|&r| rate <= r).unwrap_or(RATES.len() - 2) + 1;
        let share = (rate - RATES[right - 1]) / (RATES[right] - RATES[right - 1]);
        rate * (at(right - 1) + share * (at(right) - at(right - 1)))
    });
    recall.clamp(memory.chance(), 1.0)
}
