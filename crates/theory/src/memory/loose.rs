//! Facts that attention finds more or less often (theory: recall).
//!
//! In a run, step 2 gives every token one score and the trigger another. A fact whose token has a large score receives more
//! attention than others, in training and at test. [`Loose`] says how much attention the facts of a run receive, what else is stored
//! and how often attention at test is enough for the right answer; `softmax.rs` computes it.

use crate::kernel::Query;

/// How attention treats the facts of a run. Nothing here depends on the dimension. By default attention never finds a fact.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loose {
    /// The lock rate.
    pub lock: f64,
    /// The mean attention on the informative position.
    pub mass: f64,
    /// Variance of the mass from run to run, which is not noise within a run.
    pub run_variance: f64,
    /// Squared length of the mean of what other tokens add to a head output, in units of their attention: the part from shared tokens,
    /// and the root of the part, in units of `1/d`, from the direction that scores are products with.
    pub shared: f64,
    pub score_shift: f64,
    /// In units of `1/d`, the covariance of what is stored of a fact with that times its token's overlap with the trigger.
    pub overlap_covariance: f64,
    /// At test, attention on other tokens and its energy, in units of those of the informative token.
    pub other_attention: f64,
    pub other_energy: f64,
    /// Samples of other facts that are stored with a fact's token, in units of N/V.
    pub mislabelled: f64,
    /// The share of tokens that are present in a sequence.
    pub present: f64,
    /// Facts by the attention that they receive.
    pub facts: Vec<Fact>,
}

/// Facts that receive about the same attention.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fact {
    /// The mean attention on the informative position.
    pub rate: f64,
    /// The attention that a sample stores if it stores any: 1 when attention is on one position, otherwise less.
    pub sample_weight: f64,
    /// Energy per sample of the other tokens that are stored with the label.
    pub others: f64,
    /// How often attention at test is enough to outweigh every other token.
    pub test: f64,
    /// Attention on their token in a sequence of another fact, in units of that on the informative token; 0 unless attention is spread
    /// over many tokens.
    pub context: f64,
    /// Mean overlap of their tokens with the trigger, in units of `1/d`.
    pub trigger_overlap: f64,
    /// Their share among all facts.
    pub weight: f64,
}

impl Loose {
    /// All attention is on the informative position.
    pub fn tight() -> Loose {
        let fact = Fact { rate: 1.0, sample_weight: 1.0, test: 1.0, weight: 1.0, ..Fact::default() };
        Loose { lock: 1.0, mass: 1.0, facts: vec![fact], ..Loose::default() }
    }

    /// Whether all attention is on the informative position.
    pub fn is_tight(&self) -> bool {
        self.mass >= 1.0
    }

    /// Whether attention is spread over many tokens.
    pub fn is_soft(&self) -> bool {
        self.facts.iter().any(|fact| fact.context > 0.0)
    }

    /// What is stored of facts with `all` samples each.
    pub fn stored(&self, all: f64) -> Stored {
        let mean =
            |f: &dyn Fn(&Fact) -> f64| self.facts.iter().map(|fact| fact.weight * f(fact)).sum::<f64>();
        let unit = self.mass * self.mass;
        let (rates, weights) =
            (mean(&|fact| fact.rate * fact.rate), mean(&|fact| fact.rate * fact.sample_weight));
        let facts = (rates - unit - self.run_variance).max(0.0);
        Stored {
            variance: (facts + weights / all) / unit,
            others: mean(&|fact| fact.others) / (all * unit),
            others_variance: (facts + (1.0 - 2.0 * self.mass + weights) / all) / unit,
            covariance: ((self.mass - weights) / all - facts) / unit,
        }
    }
}

/// Statistics over facts of what is stored of them, in units of the mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    /// Variance of the part with the fact's own token.
    pub variance: f64,
    /// Energy of the part with other tokens.
    pub others: f64,
    /// Variance of the attention on other tokens.
    others_variance: f64,
    /// Its covariance with the part with the own token.
    covariance: f64,
}

impl Stored {
    /// Variance of a label's coefficient for a query: that of counts times kappa, that of overlaps with the query, and that of other
    /// tokens in the head outputs.
    pub fn noise(&self, query: &Query, loose: &Loose, overlap: f64, vocab: f64) -> [f64; 3] {
        let Query { kappa, s2, .. } = *query;
        let shift = loose.score_shift * overlap.sqrt();
        let common = (loose.shared + shift * (shift + 2.0 / vocab.sqrt())).min(1.0);
        let mean = loose.other_attention * common;
        let square = 1.0 + self.variance + self.others;
        [
            kappa * (kappa * self.variance + 2.0 * overlap * loose.overlap_covariance),
            s2 * square,
            loose.other_energy * overlap * square
                + (overlap * common + mean * mean) * self.others_variance
                + 2.0 * kappa * mean * self.covariance,
        ]
    }
}
