//! Critical values: the samples, dimension, width, length or vocabulary at which recall reaches an accuracy while the other
//! sizes are fixed (theory: planning).
//!
//! More samples, dimensions or width help eventually, so their critical value is the smallest value from which on the
//! accuracy is reached, up to the end of the searched range. Longer sequences and more facts hurt; their critical value is
//! the largest that still reaches the accuracy. Accuracy is not monotone everywhere: a memory that is too small recalls more
//! with few facts stored than with all of them. Values in such a window, which ends before the end of the range, are not
//! critical values.

mod recall;
mod search;

use serde::{Deserialize, Serialize};

pub use recall::Recall;

use superpose_core::Measure;

use crate::point::Point;
use crate::predict::{Dominant, predict_at};
use search::{Crossing, topmost_crossing};

superpose_core::words!(
    /// A size that can be solved for.
    Parameter {
        /// Training samples, `N`.
        Samples = "samples",
        /// Embedding dimension, `d`.
        Dim = "dim",
        /// Width of the MLP, `m`.
        Width = "width",
        /// Sequence length, `L`.
        Length = "length",
        /// Number of facts, `V`.
        Vocab = "vocab",
    }
);

impl Parameter {
    /// The parameter's symbol in formulas.
    pub fn symbol(self) -> &'static str {
        match self {
            Parameter::Samples => "N",
            Parameter::Dim => "d",
            Parameter::Width => "m",
            Parameter::Length => "L",
            Parameter::Vocab => "V",
        }
    }

    /// Whether a larger value increases accuracy.
    pub fn helps(self) -> bool {
        !matches!(self, Parameter::Length | Parameter::Vocab)
    }

    /// The range of whole numbers that is searched: samples to 10^15, dimension to 10^6, width, length and vocabulary to
    /// 10^9. Orthonormal embeddings need `d >= V + 2`.
    pub fn range(self, point: &Point) -> (f64, f64) {
        match self {
            Parameter::Samples => (1.0, 1e15),
            Parameter::Dim if point.orthonormal() => (point.vocab + 2.0, (point.vocab + 2.0).max(1e6)),
            Parameter::Dim => (1.0, 1e6),
            Parameter::Width | Parameter::Length => (1.0, 1e9),
            Parameter::Vocab if point.orthonormal() => (2.0, (point.dim - 2.0).clamp(2.0, 1e9)),
            Parameter::Vocab => (2.0, point.rows.map_or(1e9, |rows| rows.count)),
        }
    }

    /// The parameter's value at a point; None for the width of the attention-only model.
    pub fn of(self, point: &Point) -> Option<f64> {
        match self {
            Parameter::Samples => Some(point.samples),
            Parameter::Dim => Some(point.dim),
            Parameter::Width => point.width,
            Parameter::Length => Some(point.length),
            Parameter::Vocab => Some(point.vocab),
        }
    }

    /// The point with the parameter set to a value.
    pub fn set(self, point: &Point, value: f64) -> Point {
        let mut point = *point;
        match self {
            Parameter::Samples => point.samples = value,
            Parameter::Dim => point.dim = value,
            Parameter::Width => point.width = Some(value),
            Parameter::Length => point.length = value,
            Parameter::Vocab => point.vocab = value,
        }
        point
    }

    /// Factor between the values that the coarse search evaluates.
    fn stride(self) -> f64 {
        match self {
            Parameter::Samples | Parameter::Width | Parameter::Vocab => 8.0,
            Parameter::Dim | Parameter::Length => 4.0,
        }
    }
}

/// The result of solving for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Critical {
    /// The critical value, a whole number.
    At(f64),
    /// Even the largest length or vocabulary in the range reaches the accuracy.
    Unlimited {
        /// The largest value in the range.
        limit: f64,
    },
    /// The accuracy is not reached even at the best end of the range.
    Unreachable {
        /// The best end: the largest value of a parameter that helps, the smallest of one that hurts.
        end: f64,
        /// The accuracy there.
        accuracy: f64,
        /// The largest noise term there.
        dominant: Option<Dominant>,
    },
    /// The attention-only model has no width.
    Absent,
    /// Measured rows have a dimension, and no other.
    Fixed,
}

impl Critical {
    /// The critical value, if there is one.
    pub fn value(&self) -> Option<f64> {
        match *self {
            Critical::At(value) => Some(value),
            _ => None,
        }
    }

    /// Why there is no critical value, as a sentence.
    pub fn reason(&self, parameter: Parameter) -> Option<String> {
        let word = parameter.word();
        match *self {
            Critical::At(_) => None,
            Critical::Unlimited { limit } => {
                Some(format!("unlimited: every {word} up to {limit:.0e} reaches the accuracy"))
            }
            Critical::Unreachable { end, accuracy, dominant } => {
                let end = if parameter.helps() { format!("{end:.0e}") } else { format!("{end}") };
                let why = match dominant {
                    Some(Dominant { part, term }) => format!("{term} in the {part} forbids it"),
                    None => "no noise term limits it".into(),
                };
                Some(format!("unreachable: {why} (accuracy {accuracy:.3} at {word} = {end})"))
            }
            Critical::Absent => Some("the attention-only model has no width".into()),
            Critical::Fixed => Some("the columns of the embeddings are the dimension".into()),
        }
    }
}

/// The accuracy that critical values refer to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Target {
    /// The measure: recall of the three-step algorithm.
    pub quantity: Measure,
    /// The value to reach, above 0 and at most 1.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub accuracy: f64,
}

impl Target {
    /// Three-step recall with the given accuracy.
    pub fn recall(accuracy: f64) -> Target {
        Target { quantity: Measure::Accuracy, accuracy }
    }
}

/// Solves for a parameter while the others are fixed; the [module](self) defines a critical value.
pub fn critical(point: &Point, parameter: Parameter, accuracy: f64) -> Critical {
    if parameter == Parameter::Width && point.width.is_none() {
        return Critical::Absent;
    }
    if parameter == Parameter::Dim && point.rows.is_some() {
        return Critical::Fixed;
    }
    let range = parameter.range(point);
    let recall = Recall::new(point);
    let mut along = recall.along(parameter, accuracy);
    let f = |x: f64| {
        // Facts that occur in no sample are guessed, so the coverage bounds the accuracy.
        let point = parameter.set(point, x);
        let seen = point.coverage() + 0.01;
        if point.zipf.is_uniform() && point.vocab > 200.0 && seen < accuracy { seen } else { along(x) }
    };
    let helps = parameter.helps();
    match (topmost_crossing(range, parameter.stride(), accuracy, helps, f), helps) {
        (Crossing::Above(low), true) => Critical::At(low + 1.0),
        (Crossing::Above(low), false) => Critical::At(low),
        (Crossing::Nowhere, true) => Critical::At(range.0),
        (Crossing::Contrary, false) => Critical::Unlimited { limit: range.1 },
        (Crossing::Contrary, true) => unreachable(point, parameter, range.1),
        (Crossing::Nowhere, false) => unreachable(point, parameter, range.0),
    }
}

fn unreachable(point: &Point, parameter: Parameter, end: f64) -> Critical {
    let there = predict_at(&parameter.set(point, end));
    let accuracy = there.measures[Measure::Accuracy].unwrap_or(0.0);
    Critical::Unreachable { end, accuracy, dominant: there.dominant }
}

#[cfg(test)]
mod tests;
