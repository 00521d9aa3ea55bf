//! Settings whose values are words, spelled as on the command line.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::value::{Field, Value};
use crate::{text_field, words};

words! {
    /// How a trained model encodes positions.
    Positions {
        /// Not at all.
        None = "none",
        /// Sines and cosines of the position, of length 1, added to the token's embedding.
        Sinusoidal = "sinusoidal",
        /// A vector per position, Gaussian at first and trained, added to the token's embedding.
        Learned = "learned",
        /// Keys and query turned by an angle that grows with the position.
        Rotary = "rotary",
    }
}

words! {
    /// Where the trigger is added (theory: setting): always to the keys, and perhaps to the values.
    Trigger {
        /// Values are `x_i`, trigger included (`t = 1`).
        Values = "values",
        /// Values are `z_in[tok_i]`, the trigger is in the keys only (`t = 0`).
        Keys = "keys",
    }
}

impl Trigger {
    /// The `t` of the formulas: 1 with the trigger in the values, else 0.
    pub fn t(self) -> f64 {
        f64::from(self == Trigger::Values)
    }
}

words! {
    /// How the gradient of a memory step of the early phase becomes the step (theory: optimiser). All steps have the norm of the gradient.
    EarlyRule {
        /// The gradient itself.
        Gradient = "gradient",
        /// The sign of each entry, which is Adam's first step.
        Sign = "sign",
        /// The polar factor of the gradient, all singular values 1, which is Muon's step.
        Muon = "muon",
        /// The gradient times the inverse Hessian of a uniform softmax on either side.
        Newton = "newton",
    }
}

words! {
    /// How the early phase is computed (theory: setting).
    Regime {
        /// Any learning rates, the true softmax at every step.
        Exact = "exact",
        /// The limit of a small first rate, everything measured per unit of rate.
        Infinitesimal = "infinitesimal",
    }
}

words! {
    /// The floating-point type of the large arrays.
    Precision {
        /// 32-bit arrays; sums over blocks of samples in 64 bits.
        F32 = "f32",
        /// 64-bit throughout.
        F64 = "f64",
    }
}

/// How a token's label is made (theory: setting).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Labels {
    /// One random permutation of the vocabulary: each token is a fact of its own.
    Permutation,
    /// `token mod M`: M classes.
    Mod(usize),
}

impl Labels {
    /// Number of labels of this many tokens.
    pub fn count(self, tokens: usize) -> usize {
        match self {
            Labels::Permutation => tokens,
            Labels::Mod(classes) => classes,
        }
    }

    const PATTERN: &str = "^(permutation|mod:[0-9]{1,10})$";
    const ALLOWED: &str = "must be permutation or mod:M with M a whole number";
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Labels::Permutation => f.pad("permutation"),
            Labels::Mod(classes) => f.pad(&format!("mod:{classes}")),
        }
    }
}

impl FromStr for Labels {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let classes = text.strip_prefix("mod:").and_then(|m| m.parse().ok());
        match (text, classes) {
            ("permutation", _) => Ok(Labels::Permutation),
            (_, Some(classes)) => Ok(Labels::Mod(classes)),
            _ => Err(Labels::ALLOWED.into()),
        }
    }
}

text_field!(Labels, Labels::PATTERN, Labels::ALLOWED);

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Labels, D::Error> {
        Labels::from_value(Value::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl schemars::JsonSchema for Labels {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Labels".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": Labels::PATTERN })
    }
}
