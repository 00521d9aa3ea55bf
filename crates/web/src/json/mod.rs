//! JSON as it was sent, and how a request is read from it.
//!
//! A text is first taken as it stands, then read as what is wanted. In between it is known where one is, so a refusal names
//! the member by its path, shows its value and says what is allowed: `config.dim = "many": must be a whole number from 0 on`.
//! What serde would let pass is refused: a list in place of an object.

mod member;
mod wrong;

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};

use member::Member;
pub use wrong::Wrong;

/// A value.
pub enum Json {
    Null,
    Flag(bool),
    /// Also one that was written as `1e3` or `5.0`.
    Whole(u64),
    Negative(i64),
    Real(f64),
    Text(String),
    List(Vec<Json>),
    /// In the order of the text; a name may stand there twice.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads it as what is wanted.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Wrong> {
        let body = Member { path: String::new(), value: self };
        T::deserialize(body.clone()).map_err(|wrong| body.placed(wrong))
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Flag(x) => write!(f, "{x}"),
            Json::Whole(x) => write!(f, "{x}"),
            Json::Negative(x) => write!(f, "{x}"),
            Json::Real(x) => write!(f, "{x:?}"),
            Json::Text(x) => write!(f, "{:?}", short(x)),
            Json::List(_) => f.write_str("[...]"),
            Json::Object(_) => f.write_str("{...}"),
        }
    }
}

/// As much of a text as a sentence bears.
fn short(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// Whole numbers up to here are exact in a floating-point number.
const EXACT: f64 = 9_007_199_254_740_992.0;

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, x: bool) -> Result<Json, E> {
        Ok(Json::Flag(x))
    }

    fn visit_u64<E>(self, x: u64) -> Result<Json, E> {
        Ok(Json::Whole(x))
    }

    fn visit_i64<E>(self, x: i64) -> Result<Json, E> {
        Ok(Json::Negative(x))
    }

    fn visit_f64<E>(self, x: f64) -> Result<Json, E> {
        let whole = x.fract() == 0.0 && (0.0..=EXACT).contains(&x);
        Ok(if whole { Json::Whole(x as u64) } else { Json::Real(x) })
    }

    fn visit_str<E>(self, x: &str) -> Result<Json, E> {
        Ok(Json::Text(x.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object = Vec::new();
        while let Some(member) = members.next_entry()? {
            object.push(member);
        }
        Ok(Json::Object(object))
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use superpose_lab::phase::{Scale, Span};

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Asked {
        x: Span,
        #[serde(default)]
        level: Option<f64>,
    }

    fn read(text: &str) -> Result<Asked, String> {
        serde_json::from_str::<Json>(text).unwrap().read().map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn what_is_right_is_read() {
        let asked = read(r#"{"x": {"size": "dim", "low": 1.0, "high": 1e3, "scale": "linear"}, "level": 1}"#)
            .unwrap();
        assert_eq!(
            (asked.x.low, asked.x.high, asked.x.scale, asked.level),
            (1, 1000, Scale::Linear, Some(1.0))
        );
        assert_eq!(
            read(r#"{"x": {"size": "dim", "low": 1, "high": 3}, "level": null}"#).unwrap().level,
            None
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_path() {
        let sizes = "must be one of samples, dim, width, length, vocab, parameters";
        for (text, words) in [
            ("[1]", "the body = [...]: must be an object with members of x, level"),
            ("7", "the body = 7: must be an object with members of x, level"),
            ("{}", "x: must be given"),
            (r#"{"": 1}"#, r#""": there is no such member; it must be one of x, level"#),
            (
                r#"{"x": ["dim", 1, 9]}"#,
                "x = [...]: must be an object with members of size, low, high, scale",
            ),
            (
                r#"{"x": {"size": "dim", "low": "a", "high": 9}}"#,
                r#"x.low = "a": must be a whole number from 0 on"#,
            ),
            (
                r#"{"x": {"size": "dim", "low": -1, "high": 9}}"#,
                "x.low = -1: must be a whole number from 0 on",
            ),
            (
                r#"{"x": {"size": "dim", "low": 1.5, "high": 9}}"#,
                "x.low = 1.5: must be a whole number from 0 on",
            ),
            (
                r#"{"x": {"size": "dim", "low": 1e300, "high": 9}}"#,
                "x.low = 1e300: must be a whole number from 0 on",
            ),
            (
                r#"{"x": {"size": "dim", "low": [1], "high": 9}}"#,
                "x.low = [...]: must be a whole number from 0 on",
            ),
            (r#"{"x": {"size": "dim", "low": 1}}"#, "x.high: must be given"),
            (r#"{"x": {"size": "dim", "low": 1, "low": 2, "high": 9}}"#, "x.low: is given twice"),
            (r#"{"x": {"size": "hue", "low": 1, "high": 9}}"#, &format!(r#"x.size = "hue": {sizes}"#)),
            (r#"{"x": {"size": 3, "low": 1, "high": 9}}"#, "x.size = 3: must be a string"),
            (
                r#"{"x": {"size": "dim", "low": 1, "high": 9, "scale": "cube"}}"#,
                r#"x.scale = "cube": must be one of log, linear"#,
            ),
            (
                r#"{"x": {"size": "dim", "low": 1, "high": 9, "scale": {"log": null}}}"#,
                "x.scale = {...}: must be one of log, linear",
            ),
            (
                r#"{"x": {"size": "dim", "low": 1, "high": 9}, "level": true}"#,
                "level = true: must be a number",
            ),
            (
                r#"{"x": {"size": "dim", "low": 1, "high": 9, "hue": 1}}"#,
                "x.hue: there is no such member; it must be one of size, low, high, scale",
            ),
        ] {
            assert_eq!(read(text).unwrap_err(), words, "{text}");
        }
        let long = format!(r#"{{"x": {{"size": "{}", "low": 1, "high": 9}}}}"#, "é".repeat(1000));
        assert!(read(&long).unwrap_err().len() < 300);
    }
}
