//! Sizes of the noise terms (theory: setting), and the largest of them.

use serde::{Deserialize, Serialize};

use crate::kernel::Summary;

superpose_core::words!(
    /// A noise term.
    Term {
        /// Uneven counts of facts, multiplied by the component that all keys have in common.
        MeanBias = "mean_bias",
        /// Overlap of keys, which remains however many samples there are.
        Interference = "interference",
        /// Uneven counts of facts, multiplied by the overlap of keys.
        GradientNoise = "gradient_noise",
        /// Overlap with the signal: of wrong labels with the right fact, of tokens with the trigger.
        OutputOverlap = "output_overlap",
        /// Noise of the MLP's random first layer, which has a finite width.
        MlpNoise = "mlp_noise",
        /// Facts that occur in no sample.
        Coverage = "coverage",
    }
);

/// Squared signal and variances of the logits of step 3 with attention on `ell`, for a fact with the average count.
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
    /// The terms for `vocab` facts and a kernel; `overlap` is the mean square overlap of output embeddings, `1/d`.
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
}

/// Squared signal and variances of the token scores of step 2, in units of `1/(L^2 V)` squared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoreNoise {
    /// Square of the trigger's score.
    pub signal: f64,
    /// Uneven counts of facts, multiplied by the component that all sequences have in common.
    pub mean_bias: f64,
    /// Uneven counts of tokens, multiplied by overlaps of embeddings.
    pub gradient_noise: f64,
    /// The random first layer of an MLP.
    pub mlp_noise: f64,
    /// Overlap of tokens with the trigger.
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
}

/// The largest term; none when all are zero.
pub(crate) fn largest(terms: &[(Term, f64)]) -> Option<Term> {
    terms.iter().filter(|term| term.1 > 0.0).max_by(|a, b| a.1.total_cmp(&b.1)).map(|term| term.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_term_is_found() {
        let [mean_bias, gradient_noise, mlp_noise, output_overlap] = [0.0; 4];
        let none = ScoreNoise { signal: 9.0, mean_bias, gradient_noise, mlp_noise, output_overlap };
        let noise = ScoreNoise { output_overlap: 0.1, mean_bias: 0.3, gradient_noise: 0.2, ..none };
        assert_eq!(largest(&noise.terms()), Some(Term::MeanBias));
        assert_eq!(largest(&none.terms()), None);
    }
}
