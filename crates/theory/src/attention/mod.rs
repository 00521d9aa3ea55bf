//! Attention: the scores that step 2 learns (theory: attention).
//!
//! The score at `ell` is the score of its token plus that of the trigger; the score at any other position is that of its
//! token alone. The right position has the largest weight if the trigger's score exceeds the differences of token scores.
//! All scores are in units of `1/(L^2 V)`, in which the trigger's score is about 1.

mod gradient;
mod kept;
mod lock;
mod orthonormal;
mod overlapping;

use serde::{Deserialize, Serialize};

pub(crate) use gradient::Gradient;
pub(crate) use kept::kept_rate_of;
pub use kept::{kept_rate, tokens_to_keep};
pub use lock::lock_rate;
pub(crate) use lock::{Largest, Run, others, runs};
pub(crate) use overlapping::moments;

use crate::noise::ScoreNoise;
use crate::point::Point;

/// The scores of step 2: means and standard deviations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Mean score of the trigger, T.
    pub trigger: f64,
    /// The part of it that comes from pairs of samples with the same label.
    pub from_pairs: f64,
    /// Mean number of such pairs. If it is small, T depends on chance.
    pub pairs: f64,
    /// Spread of the trigger's score from run to run, without the part from the number of pairs.
    pub trigger_spread: f64,
    /// Spread of token scores by mean bias.
    pub mean_bias: f64,
    /// Relative variance of the mean bias from run to run.
    pub bias_variance: f64,
    /// Spread of token scores by gradient noise.
    pub gradient_noise: f64,
    /// Spread of token scores by the random first layer of an MLP.
    pub mlp_noise: f64,
    /// Spread of token scores by overlap with the trigger.
    pub output_overlap: f64,
}

impl Scores {
    /// The scores at a point.
    pub fn of(point: &Point) -> Scores {
        Scores::with(point, &Gradient::of(point))
    }

    pub(crate) fn with(point: &Point, gradient: &Gradient) -> Scores {
        let scores = if point.orthonormal() { orthonormal::scores } else { overlapping::scores };
        scores(point, gradient)
    }

    /// The squared signal and variances.
    pub fn noise(&self) -> ScoreNoise {
        ScoreNoise {
            signal: self.trigger.powi(2),
            mean_bias: self.mean_bias.powi(2),
            gradient_noise: self.gradient_noise.powi(2),
            mlp_noise: self.mlp_noise.powi(2),
            output_overlap: self.output_overlap.powi(2),
        }
    }
}

/// Root of the sum of squares.
fn in_squares(terms: &[f64]) -> f64 {
    terms.iter().map(|x| x * x).sum::<f64>().sqrt()
}
