//! The noise budget (theory section 4): what a logit and a token score are made of, named and measured in the
//! infinitesimal regime.

mod kernel;
mod logits;
mod scores;

use serde::{Deserialize, Serialize};

pub use logits::{logit_budget, split_logits};
pub use scores::{score_budget, split_scores};

/// One thing for each part of a logit or score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Parts<X> {
    /// Logits: what the right label gets from its own fact. Scores: what the trigger gets.
    pub signal: X,
    /// Uneven label counts, seen through what all keys share.
    pub mean_bias: X,
    /// Overlaps of the embeddings, with even counts.
    pub interference: X,
    /// Overlaps of the embeddings, times uneven counts; for scores, all else that finite data adds.
    pub gradient_noise: X,
    /// Logits: the right fact seen by wrong labels. Scores: the trigger seen by tokens that overlap with it.
    pub output_overlap: X,
    /// What a finite width adds to the kernel of the MLP.
    pub mlp_noise: X,
    /// Logits: trained attention minus attention placed on the informative position.
    pub attention_leak: X,
}

/// Mean squares of the parts. A part that cannot be told apart from another is `None`.
pub type Budget = Parts<Option<f64>>;

impl<X> Parts<X> {
    /// The parts with their names, in the order of the theory page.
    pub fn named(&self) -> [(&'static str, &X); 7] {
        [
            ("signal", &self.signal),
            ("mean_bias", &self.mean_bias),
            ("interference", &self.interference),
            ("gradient_noise", &self.gradient_noise),
            ("output_overlap", &self.output_overlap),
            ("mlp_noise", &self.mlp_noise),
            ("attention_leak", &self.attention_leak),
        ]
    }

    /// Something else for each part.
    pub fn map<Y>(&self, mut f: impl FnMut(&X) -> Y) -> Parts<Y> {
        Parts {
            signal: f(&self.signal),
            mean_bias: f(&self.mean_bias),
            interference: f(&self.interference),
            gradient_noise: f(&self.gradient_noise),
            output_overlap: f(&self.output_overlap),
            mlp_noise: f(&self.mlp_noise),
            attention_leak: f(&self.attention_leak),
        }
    }

    /// Combines the parts of two.
    pub fn zip<Y, Z>(&self, other: &Parts<Y>, mut f: impl FnMut(&X, &Y) -> Z) -> Parts<Z> {
        let mut others = other.named().into_iter().map(|(_, part)| part);
        // Both lists have the same order, so the n-th of one meets the n-th of the other.
        self.map(|part| f(part, others.next().expect("as many parts")))
    }
}
