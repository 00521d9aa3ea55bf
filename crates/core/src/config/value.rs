//! The dynamic type [`Value`] of a setting, and the trait [`Field`] of its Rust type.
//!
//! Every view of a configuration (command line, files, Python, sweeps, store, JSON) reads and writes settings as a [`Value`].
//! [`Field`] converts between a Rust type and [`Value`].

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The value of one setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not set.
    Null,
    /// True or false.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// A word or a name.
    Text(Cow<'static, str>),
}

/// What a setting takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// True or false.
    Flag,
    /// A whole number.
    Count,
    /// A number.
    Number,
    /// One of these words, each with its meaning.
    Word(&'static [(&'static str, &'static str)]),
    /// Text that a regular expression describes.
    Pattern {
        /// The expression, for JSON schemas.
        pattern: &'static str,
        /// The same for an error message.
        allowed: &'static str,
    },
    /// Any text: the name of a file or of a tensor.
    Text,
}

/// Largest whole number that a floating-point literal such as `1e6` may stand for.
pub(super) const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

impl Kind {
    /// The value in the form that this kind takes, or what is allowed. Whole numbers may be written as `1e6`.
    pub fn convert(self, value: Value) -> Result<Value, String> {
        match (self, value) {
            (_, Value::Null) => Ok(Value::Null),
            (Kind::Flag, value @ Value::Flag(_)) | (Kind::Count, value @ Value::Count(_)) => Ok(value),
            (Kind::Count, Value::Number(x)) if x.fract() == 0.0 && (0.0..=MAX_EXACT).contains(&x) => {
                Ok(Value::Count(x as u64))
            }
            (Kind::Number, Value::Count(count)) => Ok(Value::Number(count as f64)),
            // Negative zero becomes zero, so that equal settings have equal keys.
            (Kind::Number, Value::Number(x)) if x.is_finite() => Ok(Value::Number(x + 0.0)),
            (Kind::Word(words), Value::Text(text)) => {
                let found = words.iter().find(|(word, _)| *word == text);
                found.map(|(word, _)| Value::Text(Cow::Borrowed(word))).ok_or_else(|| self.allowed())
            }
            (Kind::Text | Kind::Pattern { .. }, value @ Value::Text(_)) => Ok(value),
            _ => Err(self.allowed()),
        }
    }

    /// The value that a text on the command line stands for, or what is allowed.
    pub fn parse(self, text: &str) -> Result<Value, String> {
        self.convert(self.literal(text)?)
    }

    /// The literal in a text, which [`Kind::convert`] has not checked yet.
    pub(super) fn literal(self, text: &str) -> Result<Value, String> {
        let plain = || text.replace('_', "");
        let number = || plain().parse().map(Value::Number).map_err(|_| self.allowed());
        Ok(match self {
            Kind::Flag => Value::Flag(text.parse().map_err(|_| self.allowed())?),
            Kind::Count => plain().parse().map(Value::Count).or_else(|_| number())?,
            Kind::Number => number()?,
            Kind::Word(_) | Kind::Pattern { .. } | Kind::Text => Value::Text(text.to_string().into()),
        })
    }

    /// The values that this kind takes, for an error message.
    pub fn allowed(self) -> String {
        match self {
            Kind::Flag => "must be true or false".into(),
            Kind::Count => "must be a whole number such as 4096, 65_536 or 1e6".into(),
            Kind::Number => "must be a number".into(),
            Kind::Text => "must be a string".into(),
            Kind::Pattern { allowed, .. } => allowed.into(),
            Kind::Word([(word, _)]) => format!("must be {word}"),
            Kind::Word(words) => {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                format!("must be one of {}", words.join(", "))
            }
        }
    }
}

impl Value {
    /// The value as a number; `None` for flags, texts and absent values.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Count(count) => Some(*count as f64),
            Value::Number(x) => Some(*x),
            Value::Null | Value::Flag(_) | Value::Text(_) => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.pad("(none)"),
            Value::Flag(flag) => flag.fmt(f),
            Value::Count(count) => count.fmt(f),
            // Numbers with hundreds of digits are written with an exponent.
            Value::Number(x) if *x == 0.0 || (1e-5..1e16).contains(&x.abs()) || !x.is_finite() => x.fmt(f),
            Value::Number(x) => fmt::LowerExp::fmt(x, f),
            Value::Text(text) => f.pad(text),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_none(),
            Value::Flag(flag) => serializer.serialize_bool(*flag),
            Value::Count(count) => serializer.serialize_u64(*count),
            Value::Number(x) => serializer.serialize_f64(*x),
            Value::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Value;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, a word, true or false")
            }
            fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
                Ok(Value::Flag(flag))
            }
            fn visit_u64<E>(self, count: u64) -> Result<Value, E> {
                Ok(Value::Count(count))
            }
            fn visit_i64<E>(self, whole: i64) -> Result<Value, E> {
                Ok(u64::try_from(whole).map_or(Value::Number(whole as f64), Value::Count))
            }
            fn visit_f64<E>(self, x: f64) -> Result<Value, E> {
                Ok(Value::Number(x))
            }
            fn visit_str<E>(self, text: &str) -> Result<Value, E> {
                Ok(Value::Text(text.to_string().into()))
            }
            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// A type of a setting's field.
pub trait Field: Sized {
    /// What the setting takes.
    const KIND: Kind;
    /// Whether the setting may be absent.
    const OPTIONAL: bool = false;

    /// The field's value.
    fn to_value(&self) -> Value;

    /// The field with a value that [`Kind::convert`] has accepted, or what is allowed.
    fn from_value(value: Value) -> Result<Self, String>;
}

/// Implements [`Field`] for a type that one variant of [`Value`] holds.
macro_rules! field {
    ($($type:ty = $kind:ident, $into:expr, $from:expr;)+) => {$(
        impl Field for $type {
            const KIND: Kind = Kind::$kind;
            fn to_value(&self) -> Value {
                Value::$kind($into(self))
            }
            fn from_value(value: Value) -> Result<Self, String> {
                if let Value::$kind(value) = value { $from(value) } else { Err(Self::KIND.allowed()) }
            }
        }
    )+};
}

field! {
    bool = Flag, Clone::clone, Ok;
    u64 = Count, Clone::clone, Ok;
    usize = Count, |&count| count as u64, |count| Self::try_from(count).map_err(|_| "too large for this machine".into());
    f64 = Number, Clone::clone, Ok;
    String = Text, |text: &String| text.clone().into(), |text: Cow<'_, str>| Ok(text.into_owned());
}

/// Implements [`Field`] for a type whose values are written as text that [`FromStr`](std::str::FromStr) reads.
#[macro_export]
macro_rules! text_field {
    ($type:ty, $pattern:expr, $allowed:expr) => {
        impl $crate::config::Field for $type {
            const KIND: $crate::config::Kind =
                $crate::config::Kind::Pattern { pattern: $pattern, allowed: $allowed };
            fn to_value(&self) -> $crate::config::Value {
                $crate::config::Value::Text(self.to_string().into())
            }
            fn from_value(value: $crate::config::Value) -> Result<Self, String> {
                let $crate::config::Value::Text(text) = value else { return Err(Self::KIND.allowed()) };
                text.parse()
            }
        }
    };
}

impl<F: Field> Field for Option<F> {
    const KIND: Kind = F::KIND;
    const OPTIONAL: bool = true;
    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Null, F::to_value)
    }
    fn from_value(value: Value) -> Result<Self, String> {
        if value == Value::Null { Ok(None) } else { F::from_value(value).map(Some) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_may_be_written_with_exponents() {
        for (text, count) in [("4096", 4096), ("65_536", 65_536), ("1e6", 1_000_000)] {
            assert_eq!(Kind::Count.parse(text), Ok(Value::Count(count)));
        }
        for text in ["-1", "0.5", "1e300", "many", "", "nan"] {
            assert_eq!(Kind::Count.parse(text), Err(Kind::Count.allowed()), "{text}");
        }
        assert_eq!(Kind::Count.parse("18446744073709551615"), Ok(Value::Count(u64::MAX)));
    }

    #[test]
    fn numbers_are_finite() {
        assert_eq!(Kind::Number.parse("1e-3"), Ok(Value::Number(0.001)));
        for text in ["nan", "inf", "-inf", "1e999"] {
            assert!(Kind::Number.parse(text).is_err(), "{text}");
        }
    }
}
