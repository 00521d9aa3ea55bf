//! What limits recall: one rule for predicted and for measured numbers (theory: setting).
//!
//! A prediction and a run of the same model must name the same cause, so both call [`limit`] with their own numbers.

use crate::noise::{Term, largest};
use crate::predict::Part;

/// Returns the part of the model that limits recall, and the largest noise term there; no term where all are zero.
///
/// The attention limits recall where its lock rate is below the memory accuracy, and the memory does elsewhere. The term of the
/// memory is coverage where facts without a sample make up half of its errors or more.
///
/// * `attention`: lock rate and variances of the terms of the token scores; absent where they are not known.
/// * `unseen`: expected share of facts that no sample shows; absent where it is not known.
/// * `logits`: variances of the terms of the logits, with the attention placed on the trigger.
pub fn limit(
    memory_accuracy: f64,
    attention: Option<(f64, &[(Term, f64)])>,
    unseen: Option<f64>,
    logits: &[(Term, f64)],
) -> (Part, Option<Term>) {
    match attention {
        // Where both rates are almost 1, rounding must not decide.
        Some((lock_rate, scores)) if lock_rate < memory_accuracy - 1e-9 => (Part::Attention, largest(scores)),
        _ => {
            let unseen = unseen.filter(|_| memory_accuracy < 1.0 - 1e-6);
            let coverage = unseen.is_some_and(|unseen| unseen >= 0.5 * (1.0 - memory_accuracy));
            (Part::Memory, if coverage { Some(Term::Coverage) } else { largest(logits) })
        }
    }
}
