//! Margins of all test sequences of a trained model, and the attention on one of them.

use crate::backend::{Backend, Real, Result, top};
use crate::early_phase::EarlyPhase;
use crate::model::Model;
use crate::task::Samples;

use super::answers;

/// What is seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    /// Right label's logit minus the largest other, sequence by sequence.
    pub margins: Vec<f64>,
    /// The first sequence.
    pub example: Option<Example>,
}

/// One sequence and what the model makes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// Its tokens.
    pub tokens: Vec<u32>,
    /// The informative position, where the trigger is.
    pub position: usize,
    /// The right label.
    pub label: usize,
    /// The label with the largest logit.
    pub answer: usize,
    /// Attention weights over positions.
    pub weights: Vec<f64>,
}

/// Asks the trained model every test sequence, with attention on the `keep` positions of largest score.
pub fn look<T: Real>(
    model: &Model<'_, T>,
    phase: &EarlyPhase<T>,
    keep: Option<usize>,
    test: &dyn Samples,
    backend: &Backend,
) -> Result<Look> {
    let parts = answers(model, phase, keep, test, backend, |part: &mut Look, answer| {
        part.margins.push(top(answer.logits, answer.label).margin);
        part.example.get_or_insert_with(|| {
            let logit = |label: &usize| answer.logits[*label].to_f64();
            let largest = (0..answer.logits.len()).max_by(|a, b| logit(a).total_cmp(&logit(b)));
            Example {
                tokens: answer.tokens.to_vec(),
                position: answer.position,
                label: answer.label,
                answer: largest.unwrap_or(answer.label),
                weights: answer.weights.iter().map(|weight| weight.to_f64()).collect(),
            }
        });
    })?;
    let mut all = Look::default();
    for part in parts {
        all.margins.extend(part.margins);
        all.example = all.example.or(part.example);
    }
    Ok(all)
}
