//! Where a prediction is made: the sizes and choices that the formulas of the theory know.

use serde::{Deserialize, Serialize};
use superpose_core::Config;
use superpose_core::config::{Activation, Embedding, Settings, Trigger};

use crate::predict::Reason;
use crate::rows::Rows;

/// Exponents of Zipf's law: the token of rank r has a probability proportional to `r^-exponent`. By default tokens are uniform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Zipf {
    /// Of the facts.
    pub facts: f64,
    /// Of the other tokens of a sequence.
    pub noise: f64,
}

impl Zipf {
    /// Whether all tokens are equally likely.
    pub fn is_uniform(self) -> bool {
        self == Zipf::default()
    }
}

impl From<&Settings> for Zipf {
    fn from(settings: &Settings) -> Zipf {
        let facts = settings.zipf.unwrap_or(0.0);
        Zipf { facts, noise: settings.noise_zipf.unwrap_or(facts) }
    }
}

/// One point of parameter space. Sizes are real numbers: a planner moves through them continuously, and
/// products such as `N d^2` must not overflow.
///
/// The predictions are finite for a vocabulary of at least 2 and other sizes of at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Number of facts, `V`.
    pub vocab: f64,
    /// Embedding dimension, `d`.
    pub dim: f64,
    /// Sequence length, `L`.
    pub length: f64,
    /// Training samples, `N`.
    pub samples: f64,
    /// Width of the MLP, `m`; absent for the attention-only model.
    pub width: Option<f64>,
    /// Activation of the MLP, `phi`.
    pub activation: Activation,
    /// How embeddings are made. Rademacher vectors count as points of the sphere, rows of a file as Gaussian
    /// until their statistics are measured.
    pub embedding: Embedding,
    /// Where the trigger is added.
    pub trigger: Trigger,
    /// Tokens kept at test; absent: all.
    pub keep: Option<f64>,
    /// The trigger's score after step 2, in units of `ln(L + 1)`.
    pub lead: f64,
    /// Frequencies of tokens.
    #[serde(default)]
    pub zipf: Zipf,
    /// Measured statistics of the input embeddings; absent: those of random vectors.
    #[serde(default)]
    pub rows: Option<Rows>,
}

impl From<&Settings> for Point {
    fn from(settings: &Settings) -> Point {
        Point {
            vocab: settings.vocab as f64,
            dim: settings.dim as f64,
            length: settings.length as f64,
            samples: settings.samples as f64,
            width: settings.width.map(|width| width as f64),
            activation: settings.activation,
            embedding: settings.embedding.kind(),
            trigger: settings.trigger,
            keep: settings.keep.map(|keep| keep as f64),
            lead: settings.lead,
            zipf: Zipf::from(settings),
            rows: None,
        }
    }
}

impl From<&Config> for Point {
    fn from(config: &Config) -> Point {
        Point::from(&**config)
    }
}

/// Why there is no formula for a kind of embeddings; `None` when there is one.
pub(crate) fn without_formula(embedding: Embedding) -> Option<Reason> {
    match embedding {
        Embedding::Gaussian | Embedding::Sphere | Embedding::Orthonormal | Embedding::Rademacher => None,
        Embedding::LowRank | Embedding::Clustered | Embedding::PowerLaw => Some(Reason::Structure),
        Embedding::File => Some(Reason::FileEmbedding),
    }
}

impl Point {
    /// Mean square overlap of two embedding vectors: `1/d`, or 0 when they are orthonormal.
    pub fn overlap(&self) -> f64 {
        match self.embedding {
            Embedding::Orthonormal => 0.0,
            Embedding::Gaussian | Embedding::Sphere | Embedding::Rademacher => 1.0 / self.dim,
            // Kinds without a formula are refused above; measured statistics replace this for files.
            Embedding::LowRank | Embedding::Clustered | Embedding::PowerLaw | Embedding::File => {
                1.0 / self.dim
            }
        }
    }

    /// Mean square overlap of a token, relative to the mean token, with a random vector of length 1.
    pub(crate) fn overlap_with_trigger(&self) -> f64 {
        self.rows.map_or(1.0, |rows| rows.square * rows.traces[0]) * self.overlap()
    }

    /// Whether the squared length of an embedding vector varies, as chi-square over d, rather than being 1.
    pub fn lengths_vary(&self) -> bool {
        match self.embedding {
            Embedding::Gaussian | Embedding::File => true,
            Embedding::Sphere | Embedding::Orthonormal | Embedding::Rademacher => false,
            Embedding::LowRank | Embedding::Clustered | Embedding::PowerLaw => false,
        }
    }

    /// Whether embedding vectors are orthonormal.
    pub fn orthonormal(&self) -> bool {
        self.embedding == Embedding::Orthonormal
    }

    /// Whether the formulas for tokens by Zipf's law cover the model: attention-only, with overlapping embeddings.
    pub(crate) fn has_zipf_formulas(&self) -> bool {
        self.width.is_none() && !self.orthonormal() && self.rows.is_none()
    }

    /// Samples per fact, `N/V`.
    pub fn coverage(&self) -> f64 {
        self.samples / self.vocab
    }
}

#[cfg(test)]
pub(crate) fn gaussian(vocab: f64, dim: f64, length: f64, samples: f64) -> Point {
    let (activation, embedding, trigger) = (Activation::Relu, Embedding::Gaussian, Trigger::Keys);
    let (width, keep, lead, zipf, rows) = (None, None, 4.0, Zipf::default(), None);
    Point { vocab, dim, length, samples, width, activation, embedding, trigger, keep, lead, zipf, rows }
}
