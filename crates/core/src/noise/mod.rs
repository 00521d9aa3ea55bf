//! The noise budget (theory: setting): the named parts of a logit and of a token score, measured in the infinitesimal regime.

mod kernel;
mod logits;
mod scores;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use logits::{BUDGET_SEQUENCES, logit_budget, logit_parts, split_logits};
pub use scores::{score_budget, split_scores};

/// A value for each part of a logit or score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parts<X> {
    /// Logits: the contribution of the right fact to its own label. Scores: the score of the trigger.
    pub signal: X,
    /// Uneven label counts, times the mean overlap of keys.
    pub mean_bias: X,
    /// Overlaps of the embeddings, with even counts.
    pub interference: X,
    /// Overlaps of the embeddings, times uneven counts; for scores, all other noise of finite data.
    pub gradient_noise: X,
    /// Logits: the right fact's contribution to wrong labels. Scores: the overlap of tokens with the trigger.
    pub output_overlap: X,
    /// The deviation of the MLP's kernel from that of infinite width.
    pub mlp_noise: X,
    /// Logits: trained attention minus attention placed on the informative position.
    pub attention_leak: X,
}

/// Mean squares of the parts. A part that cannot be separated from another is `None`.
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

    /// Applies `f` to each part.
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

    /// Combines the parts of two values by `f`.
    pub fn zip<Y, Z>(&self, other: &Parts<Y>, mut f: impl FnMut(&X, &Y) -> Z) -> Parts<Z> {
        let mut others = other.named().into_iter().map(|(_, part)| part);
        // `map` and `named` visit the parts in the same order.
        self.map(|part| f(part, others.next().expect("as many parts")))
    }
}
