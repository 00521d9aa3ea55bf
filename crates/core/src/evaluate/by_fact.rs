//! Recall of every fact on its own, for curves over facts ordered by frequency.

use crate::backend::{Backend, Real, Result, top};
use crate::early_phase::EarlyPhase;
use crate::model::Model;
use crate::task::{Block, Samples};

use super::answers;

/// Test sequences in which every fact in turn is the informative one, `each` times; noise tokens and positions are those of `test`.
struct Asked<'a> {
    test: &'a dyn Samples,
    labels: &'a [u32],
    each: usize,
}

impl Samples for Asked<'_> {
    fn count(&self) -> usize {
        self.labels.len() * self.each
    }

    fn length(&self) -> usize {
        self.test.length()
    }

    fn fill(&self, ids: &[u32], block: &mut Block) {
        self.test.fill(ids, block);
        for (b, &id) in ids.iter().enumerate() {
            let (token, label) = self.fact(id);
            let at = b * self.length() + block.position[b] as usize;
            block.tokens[at] = token;
            block.labels[b] = label;
        }
    }

    fn fact(&self, id: u32) -> (u32, u32) {
        let token = id / self.each as u32;
        (token, self.labels[token as usize])
    }
}

/// The share of right answers to each fact, over `each` sequences. `labels` are those of the facts, and `test` has at least `each`
/// samples for each of them.
///
/// # Errors
/// When the backend's token was cancelled.
pub fn recall_by_fact<T: Real>(
    model: &Model<'_, T>,
    phase: &EarlyPhase<T>,
    labels: &[u32],
    test: &dyn Samples,
    each: usize,
    backend: &Backend,
) -> Result<Vec<f64>> {
    let asked = Asked { test, labels, each };
    let credits = answers(model, phase, None, &asked, backend, |part: &mut Vec<f64>, answer| {
        part.push(top(answer.logits, answer.label).credit);
    })?;
    Ok(credits.concat().chunks_exact(each).map(|credits| credits.iter().sum::<f64>() / each as f64).collect())
}
