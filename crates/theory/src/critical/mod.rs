//! Critical values: the number of samples, dimension, width, length or vocabulary at which an accuracy is reached, the
//! others fixed (theory section 5).
//!
//! More samples, dimensions or width help in the long run, so for them the critical value is the smallest from which on
//! the accuracy holds, up to the end of the range that is searched. Longer sequences and more facts hurt; there it is the
//! largest value that still reaches the accuracy. Accuracy is not monotone everywhere: a memory that is too small
//! does better with few facts stored than with all. A window that closes again before the end of the range does not count.
//!
//! The accuracy is three-step recall.

mod recall;
mod search;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use recall::Recall;

use crate::point::Point;
use crate::predict::{Dominant, Part, Quantity, predict_at};
use search::{Crossing, topmost_crossing};

/// A size that can be solved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Parameter {
    /// Training samples, `N`.
    Samples,
    /// Embedding dimension, `d`.
    Dim,
    /// Width of the MLP, `m`.
    Width,
    /// Sequence length, `L`.
    Length,
    /// Number of facts, `V`.
    Vocab,
}

impl Parameter {
    /// Every parameter.
    pub const ALL: [Parameter; 5] =
        [Parameter::Samples, Parameter::Dim, Parameter::Width, Parameter::Length, Parameter::Vocab];

    /// The parameter's name, as in configurations and records.
    pub fn word(self) -> &'static str {
        match self {
            Parameter::Samples => "samples",
            Parameter::Dim => "dim",
            Parameter::Width => "width",
            Parameter::Length => "length",
            Parameter::Vocab => "vocab",
        }
    }

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

    /// Whether more of it helps.
    pub fn helps(self) -> bool {
        !matches!(self, Parameter::Length | Parameter::Vocab)
    }

    /// The whole numbers that are searched: samples to 10^15, dimension to 10^6, width, length and vocabulary to 10^9.
    /// Orthonormal embeddings need `d >= V + 2`.
    pub fn range(self, point: &Point) -> (f64, f64) {
        match self {
            Parameter::Samples => (1.0, 1e15),
            Parameter::Dim if point.orthonormal() => (point.vocab + 2.0, (point.vocab + 2.0).max(1e6)),
            Parameter::Dim => (1.0, 1e6),
            Parameter::Width | Parameter::Length => (1.0, 1e9),
            Parameter::Vocab if point.orthonormal() => (2.0, (point.dim - 2.0).clamp(2.0, 1e9)),
            Parameter::Vocab => (2.0, 1e9),
        }
    }

    /// The parameter's value at a point; a width only where there is an MLP.
    pub fn of(self, point: &Point) -> Option<f64> {
        match self {
            Parameter::Samples => Some(point.samples),
            Parameter::Dim => Some(point.dim),
            Parameter::Width => point.width,
            Parameter::Length => Some(point.length),
            Parameter::Vocab => Some(point.vocab),
        }
    }

    /// The point with another value of the parameter.
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

    /// Whether the accuracy that is solved for depends on it.
    fn matters(self, point: &Point) -> Result<(), Absence> {
        match (self, point.width) {
            (Parameter::Width, None) => Err(Absence::NoMlp),
            _ => Ok(()),
        }
    }

    /// Factor between the points that are looked at first. Setting up a memory is slow, a new number of samples fast.
    fn stride(self) -> f64 {
        match self {
            Parameter::Samples | Parameter::Width | Parameter::Vocab => 8.0,
            Parameter::Dim | Parameter::Length => 4.0,
        }
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Why a parameter is not solved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    /// The attention-only model has no width.
    NoMlp,
}

/// What solving for a parameter gives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Critical {
    /// The critical value, a whole number.
    At(f64),
    /// Even the largest length or vocabulary of the range reaches the accuracy.
    Unlimited {
        /// That value.
        limit: f64,
    },
    /// The accuracy is not reached even at the best end of the range.
    Unreachable {
        /// The best end: the largest value of what helps, the smallest of what hurts.
        end: f64,
        /// The accuracy there.
        accuracy: f64,
        /// What forbids more there.
        dominant: Option<Dominant>,
    },
    /// The parameter does not matter or does not exist.
    Absent(Absence),
}

impl Critical {
    /// The critical value, if there is one.
    pub fn value(&self) -> Option<f64> {
        match *self {
            Critical::At(value) => Some(value),
            _ => None,
        }
    }

    /// Why there is no value, in words.
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
                    Some(Dominant { part: Part::Memory, term }) => format!("{term} in the memory forbids it"),
                    Some(Dominant { part: Part::Attention, term }) => {
                        format!("{term} in the attention forbids it")
                    }
                    None => "no noise term is to blame".into(),
                };
                Some(format!("unreachable: {why} (accuracy {accuracy:.3} at {word} = {end})"))
            }
            Critical::Absent(Absence::NoMlp) => Some("the attention-only model has no width".into()),
        }
    }
}

/// The accuracy that critical values are about.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Target {
    /// What reaches it: recall of the three-step algorithm.
    pub quantity: Quantity,
    /// The value to reach, above 0 and at most 1.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub accuracy: f64,
}

impl Target {
    /// Three-step recall of that accuracy.
    pub fn recall(accuracy: f64) -> Target {
        Target { quantity: Quantity::Accuracy, accuracy }
    }
}

/// Solves for a parameter, the others fixed: see the [module's text](self).
pub fn critical(point: &Point, parameter: Parameter, accuracy: f64) -> Critical {
    if let Err(absence) = parameter.matters(point) {
        return Critical::Absent(absence);
    }
    let range = parameter.range(point);
    let recall = Recall::new(point);
    let mut along = recall.along(parameter, accuracy);
    let f = |x: f64| {
        // A fact that no sample shows is a guess among V labels.
        let point = parameter.set(point, x);
        let seen = point.coverage() + 0.01;
        if point.vocab > 200.0 && seen < accuracy { seen } else { along(x) }
    };
    let helps = parameter.helps();
    match (topmost_crossing(range, parameter.stride(), accuracy, helps, f), helps) {
        (Crossing::Above { low }, true) => Critical::At(low + 1.0),
        (Crossing::Above { low }, false) => Critical::At(low),
        (Crossing::Nowhere, true) => Critical::At(range.0),
        (Crossing::Contrary, false) => Critical::Unlimited { limit: range.1 },
        (Crossing::Contrary, true) => unreachable(point, parameter, range.1),
        (Crossing::Nowhere, false) => unreachable(point, parameter, range.0),
    }
}

fn unreachable(point: &Point, parameter: Parameter, end: f64) -> Critical {
    let there = predict_at(&parameter.set(point, end));
    let accuracy = there.accuracy.unwrap_or(0.0);
    Critical::Unreachable { end, accuracy, dominant: there.dominant }
}

#[cfg(test)]
mod tests;
