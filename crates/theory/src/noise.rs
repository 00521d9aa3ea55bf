//! Sizes of the noise terms, by the names of theory section 4, and which of them is largest.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::kernel::Summary;

/// A noise term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Term {
    /// Uneven counts of facts, seen through what all keys have in common.
    MeanBias,
    /// Overlap of keys, however many samples there are.
    Interference,
    /// Uneven counts of facts, seen through the overlap of keys.
    GradientNoise,
    /// The signal seen through overlaps: the right fact by wrong labels, the trigger by tokens.
    OutputOverlap,
    /// The MLP's random first layer is only so wide.
    MlpNoise,
    /// Facts that no sample shows.
    Coverage,
}

impl Term {
    /// Every term.
    pub const ALL: [Term; 6] = [
        Term::MeanBias,
        Term::Interference,
        Term::GradientNoise,
        Term::OutputOverlap,
        Term::MlpNoise,
        Term::Coverage,
    ];

    /// The term's name, as in records and tables.
    pub fn word(self) -> &'static str {
        match self {
            Term::MeanBias => "mean_bias",
            Term::Interference => "interference",
            Term::GradientNoise => "gradient_noise",
            Term::OutputOverlap => "output_overlap",
            Term::MlpNoise => "mlp_noise",
            Term::Coverage => "coverage",
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// What the logits of step 3 are made of, attention on `ell`: a squared signal and variances, for a fact seen
/// as often as the average one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogitNoise {
    /// Square of the right label's logit.
    pub signal: f64,
    /// `(1/d + 1/V) kappa^2 / N`
    pub mean_bias: f64,
    /// `(1/d + 1/V) s2 / V`, without MLP noise
    pub interference: f64,
    /// `(1/d + 1/V) s2 / N`, without MLP noise
    pub gradient_noise: f64,
    /// `signal / d`
    pub output_overlap: f64,
    /// `(1/d + 1/V) s2 (1/V + 1/N)` for the part of s2 that is MLP noise
    pub mlp_noise: f64,
}

impl LogitNoise {
    /// Of `vocab` facts and a kernel, with the mean square overlap of output embeddings in place of `1/d`.
    pub(crate) fn of(kernel: &Summary, vocab: f64, overlap: f64, samples: f64) -> LogitNoise {
        let wrong = overlap + 1.0 / vocab;
        let averaged = (kernel.s2 - kernel.mlp_noise).max(0.0);
        let signal = (kernel.xi / vocab).powi(2);
        LogitNoise {
            signal,
            mean_bias: wrong * kernel.kappa.powi(2) / samples,
            interference: wrong * averaged / vocab,
            gradient_noise: wrong * averaged / samples,
            output_overlap: signal * overlap,
            mlp_noise: wrong * kernel.mlp_noise * (1.0 / vocab + 1.0 / samples),
        }
    }

    /// The terms by name.
    pub fn terms(&self) -> [(Term, f64); 5] {
        [
            (Term::MeanBias, self.mean_bias),
            (Term::Interference, self.interference),
            (Term::GradientNoise, self.gradient_noise),
            (Term::OutputOverlap, self.output_overlap),
            (Term::MlpNoise, self.mlp_noise),
        ]
    }

    /// Variance of a wrong label's logit.
    pub fn total(&self) -> f64 {
        self.terms().iter().map(|term| term.1).sum()
    }

    /// The largest term; none when all are zero.
    pub fn dominant(&self) -> Option<Term> {
        largest(&self.terms())
    }
}

/// What the token scores of step 2 are made of: a squared signal and variances, in units of `1/(L^2 V)`
/// squared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoreNoise {
    /// Square of the trigger's score.
    pub signal: f64,
    /// Uneven counts of facts, seen through what all sequences have in common.
    pub mean_bias: f64,
    /// Uneven counts of tokens, seen through overlaps of embeddings.
    pub gradient_noise: f64,
    /// The random first layer of an MLP.
    pub mlp_noise: f64,
    /// The trigger seen by tokens that overlap with it.
    pub output_overlap: f64,
}

impl ScoreNoise {
    /// The terms by name.
    pub fn terms(&self) -> [(Term, f64); 4] {
        [
            (Term::MeanBias, self.mean_bias),
            (Term::GradientNoise, self.gradient_noise),
            (Term::MlpNoise, self.mlp_noise),
            (Term::OutputOverlap, self.output_overlap),
        ]
    }

    /// Variance of a token's score.
    pub fn total(&self) -> f64 {
        self.terms().iter().map(|term| term.1).sum()
    }

    /// The largest term; none when all are zero.
    pub fn dominant(&self) -> Option<Term> {
        largest(&self.terms())
    }
}

fn largest(terms: &[(Term, f64)]) -> Option<Term> {
    terms.iter().filter(|term| term.1 > 0.0).max_by(|a, b| a.1.total_cmp(&b.1)).map(|term| term.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_term_is_named() {
        let noise = ScoreNoise {
            signal: 9.0,
            output_overlap: 0.1,
            mean_bias: 0.3,
            mlp_noise: 0.0,
            gradient_noise: 0.2,
        };
        assert_eq!(noise.dominant(), Some(Term::MeanBias));
        assert!((noise.total() - 0.6).abs() < 1e-15);
        let none = ScoreNoise {
            signal: 1.0,
            output_overlap: 0.0,
            mean_bias: 0.0,
            mlp_noise: 0.0,
            gradient_noise: 0.0,
        };
        assert_eq!(none.dominant(), None);
    }

    #[test]
    fn words_are_those_of_serde() {
        for term in Term::ALL {
            let debug = format!("{term:?}").to_lowercase();
            assert_eq!(debug, term.word().replace('_', ""));
        }
    }
}
