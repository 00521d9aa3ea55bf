//! Thresholds: the size at which mean accuracy over seeds crosses a target, with a 95% interval.
//!
//! [`Search`] chooses the runs and when to stop, [`Curve`] models accuracy near the crossing, [`Question`] maps sizes and seeds
//! to configurations and results to shares, and [`find`] combines them. The search runs nothing itself, so that the tests can
//! check its intervals on simulated curves with known crossings. `docs/thresholds.md` describes the statistical model.

mod curve;
mod question;
mod record;
mod search;

use serde::{Deserialize, Serialize};

use crate::interval::Interval;

pub use curve::{BEND, CHANGE, Curve, Observation};
pub use question::{Criterion, Predicted, Question, SearchError, Share, estimates, find, set, shares};
pub use record::{
    NotReached, Observed, SizeRange, ThresholdOptions, ThresholdRecord, ThresholdSearch, TrialResult,
};
pub use search::{Plan, Search, Step, Trial, slope_of};

/// A threshold with its 95% interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Estimate {
    /// The smallest whole number that reaches the target; where larger sizes hurt, the largest that reaches it.
    pub estimate: u64,
    /// Lower end.
    pub low: u64,
    /// Upper end.
    pub high: u64,
    /// The crossing as a real number, as used by fits.
    pub crossing: f64,
    /// Lower end of the crossing.
    pub crossing_low: f64,
    /// Upper end of the crossing.
    pub crossing_high: f64,
    /// Slope of the curve at the crossing, in standard deviations of a normal CDF per factor of e.
    pub slope: f64,
    /// Variance of one run over `p (1 - p)`.
    pub spread: f64,
}

/// Why there is no threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Below the target even at the best end of the range.
    Below,
    /// At or above the target even at the worst end of the range.
    Above,
    /// Too close to the target to decide, or no runs left.
    Undecided,
}

/// A target that is not crossed in the range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Unreached {
    /// Why.
    pub why: Why,
    /// The smallest size tried.
    pub low: u64,
    /// The largest size tried.
    pub high: u64,
    /// The best mean share measured at a size.
    pub best: f64,
    /// The worst mean share measured at a size.
    pub least: f64,
}

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// The threshold, with an interval as narrow as requested.
    Found(Estimate),
    /// The runs were used up before the interval was narrow enough.
    Imprecise {
        /// The whole number.
        estimate: u64,
        /// Lower end of the 95% interval; `None` if the runs do not determine it.
        low: Option<u64>,
        /// Upper end.
        high: Option<u64>,
        /// The crossing as a real number.
        crossing: f64,
        /// Lower end of the crossing.
        crossing_low: Option<f64>,
        /// Upper end of the crossing.
        crossing_high: Option<f64>,
        /// Slope of the curve at the crossing.
        slope: f64,
        /// Variance of one run over `p (1 - p)`.
        spread: f64,
    },
    /// The target is not crossed in the range.
    Unreached(Unreached),
}

impl Threshold {
    /// Returns the crossing with its 95% interval as real numbers; `None` if an end is missing.
    pub fn interval(&self) -> Option<Interval> {
        match *self {
            Threshold::Found(Estimate { crossing, crossing_low, crossing_high, .. }) => {
                Some(Interval { mean: crossing, low: crossing_low, high: crossing_high })
            }
            Threshold::Imprecise { crossing, crossing_low, crossing_high, .. } => {
                Some(Interval { mean: crossing, low: crossing_low?, high: crossing_high? })
            }
            Threshold::Unreached(_) => None,
        }
    }
}
