//! Why JSON is not what is wanted: serde's complaints in plain words.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

/// Why JSON is not what is wanted.
#[derive(Debug)]
pub struct Wrong {
    /// The path, and the value where there is one.
    pub place: Option<String>,
    /// A member that the complaint is about, of the object at hand.
    pub of: Option<String>,
    allowed: String,
}

impl Wrong {
    pub fn new(allowed: String) -> Wrong {
        Wrong { place: None, of: None, allowed }
    }

    fn of(name: &str, allowed: String) -> Wrong {
        Wrong { of: Some(name.to_owned()), ..Wrong::new(allowed) }
    }
}

pub fn one_of(words: &[&str]) -> String {
    format!("must be one of {}", words.join(", "))
}

/// What serde calls it, in words.
fn allowed(expected: &dyn Expected) -> String {
    let expected = expected.to_string();
    let words = match expected.as_str() {
        "usize" | "u64" => "a whole number from 0 on",
        "f64" => "a number",
        "a boolean" => "true or false",
        other => other,
    };
    format!("must be {words}")
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.allowed),
            None => f.write_str(&self.allowed),
        }
    }
}

impl std::error::Error for Wrong {}

impl de::Error for Wrong {
    fn custom<T: fmt::Display>(what: T) -> Wrong {
        Wrong::new(what.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Wrong {
        Wrong::new(allowed(expected))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Wrong {
        Wrong::new(allowed(expected))
    }

    fn unknown_variant(_: &str, words: &'static [&'static str]) -> Wrong {
        Wrong::new(one_of(words))
    }

    fn unknown_field(name: &str, names: &'static [&'static str]) -> Wrong {
        Wrong::of(name, format!("there is no such member; it {}", one_of(names)))
    }

    fn missing_field(name: &'static str) -> Wrong {
        Wrong::of(name, "must be given".into())
    }

    fn duplicate_field(name: &'static str) -> Wrong {
        Wrong::of(name, "is given twice".into())
    }
}
