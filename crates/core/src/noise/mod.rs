//! The noise budget (theory section 4): what a logit and a token score are made of, named and measured in the
//! infinitesimal regime.

mod kernel;
mod logits;
mod scores;

use serde::{Deserialize, Serialize};

pub use kernel::Hermite;
pub use logits::{LogitParts, logit_budget, split_logits};
pub use scores::{ScoreParts, score_budget, split_scores};

/// The parts of a budget as variances, the signal as its mean square. A part that the model does not have is 0;
/// one that cannot be told apart from another is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// Logits: what the right label gets from its own fact. Scores: what the trigger gets.
    pub signal: Option<f64>,
    /// Uneven label counts, seen through what all keys share.
    pub mean_bias: Option<f64>,
    /// Overlaps of the embeddings, with even counts.
    pub interference: Option<f64>,
    /// Overlaps of the embeddings, times uneven counts; for scores, all that finite data adds.
    pub gradient_noise: Option<f64>,
    /// Logits: the right fact seen by wrong labels. Scores: the trigger seen by tokens that overlap with it.
    pub output_overlap: Option<f64>,
    /// What a finite width adds to the kernel of the MLP.
    pub mlp_noise: Option<f64>,
    /// Logits: trained attention minus attention placed on the informative position.
    pub attention_leak: Option<f64>,
}

impl Budget {
    /// Names and values, in the order of the theory page.
    pub fn parts(&self) -> [(&'static str, Option<f64>); 7] {
        [
            ("signal", self.signal),
            ("mean_bias", self.mean_bias),
            ("interference", self.interference),
            ("gradient_noise", self.gradient_noise),
            ("output_overlap", self.output_overlap),
            ("mlp_noise", self.mlp_noise),
            ("attention_leak", self.attention_leak),
        ]
    }
}
