//! Reads the JSON of a request into its type, with errors that name the member, its value and what is allowed.
//!
//! A request is an object whose members are single values or objects of single values, each named once. That is checked before
//! serde reads the type, because derived code also accepts a list for an object and `{"keys": null}` for `"keys"`.

use std::fmt;

use axum::http::StatusCode;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment};

use crate::error::ApiError;

/// The request that a text holds.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, ApiError> {
    // Syntax first: whatever fails after this is about the meaning.
    serde_json::from_str::<IgnoredAny>(text).map_err(malformed)?;
    let mut source = serde_json::Deserializer::from_str(text);
    let unique = serde_path_to_error::deserialize::<_, Unique>(&mut source);
    let Unique(body) = unique.map_err(|error| match error.inner().is_data() {
        true => ApiError::invalid(format!("{}: {}", place(error.path()), error.inner())),
        false => malformed(error.into_inner()),
    })?;
    check_depth(&body).map_err(ApiError::invalid)?;
    serde_path_to_error::deserialize(&body).map_err(|error| ApiError::invalid(explain(&error, &body)))
}

fn malformed(error: serde_json::Error) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, error.to_string())
}

/// Refuses objects inside the objects of a body, and bodies that are no object.
fn check_depth(body: &Value) -> Result<(), String> {
    let members = body.as_object().ok_or_else(|| format!("the body = {}: must be an object", short(body)))?;
    for (outer, member) in members {
        for (inner, value) in member.as_object().into_iter().flatten() {
            if value.is_object() {
                return Err(format!("{outer}.{inner} = {}: must be a single value", short(value)));
            }
        }
    }
    Ok(())
}

/// What serde says of a request, as `config.dim = "many": must be a whole number from 0 on`.
fn explain(error: &serde_path_to_error::Error<serde_json::Error>, body: &Value) -> String {
    let said = error.inner().to_string();
    let place = place(error.path());
    if let Some(name) = said.strip_prefix("missing field ") {
        let outer = if error.path().iter().len() == 0 { String::new() } else { format!("{place}.") };
        return format!("{outer}{}: must be given", name.replace('`', ""));
    }
    let allowed = match said.rsplit_once(", expected ") {
        // A type's own error, as it is.
        None => said.clone(),
        Some((_, "usize" | "u64")) => "must be a whole number from 0 on".into(),
        Some((_, "f64")) => "must be a number".into(),
        Some((_, "a boolean")) => "must be true or false".into(),
        Some((_, "string or map")) => "must be a string".into(),
        Some((_, structure)) if structure.starts_with("struct ") => "must be an object".into(),
        Some((_, words)) => format!("must be {}", words.replace('`', "")),
    };
    match at(body, error.path()) {
        _ if said.starts_with("unknown field") => format!("{place}: there is no such member; it {allowed}"),
        // An error of the object's type names the member itself.
        Value::Object(_) => format!("{place}: {allowed}"),
        value => format!("{place} = {}: {allowed}", short(value)),
    }
}

fn place(path: &Path) -> String {
    if path.iter().len() == 0 { "the body".into() } else { shortened(&path.to_string()) }
}

fn at<'a>(body: &'a Value, path: &Path) -> &'a Value {
    path.iter().fold(body, |value, segment| match segment {
        Segment::Map { key } => value.get(key).unwrap_or(value),
        _ => value,
    })
}

/// A value as an error message shows it.
fn short(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{:?}", shortened(text)),
        Value::Object(_) => "{...}".into(),
        other => other.to_string(),
    }
}

fn shortened(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    match text.char_indices().nth(MAX_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// Whole numbers up to here are exact in a floating-point number.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// JSON without lists in which every name stands once. Whole numbers are integers, also those written as `1e3` or `5.0`.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Unique, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Unique)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a single value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, x: bool) -> Result<Value, E> {
        Ok(x.into())
    }

    fn visit_u64<E>(self, x: u64) -> Result<Value, E> {
        Ok(x.into())
    }

    fn visit_i64<E>(self, x: i64) -> Result<Value, E> {
        Ok(x.into())
    }

    fn visit_f64<E>(self, x: f64) -> Result<Value, E> {
        let whole = x.fract() == 0.0 && (0.0..=MAX_EXACT).contains(&x);
        Ok(if whole { (x as u64).into() } else { x.into() })
    }

    fn visit_str<E>(self, x: &str) -> Result<Value, E> {
        Ok(x.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let Unique(value) = members.next_value()?;
            if object.contains_key(&name) {
                return Err(Error::custom(format!("{} is given twice", shortened(&name))));
            }
            object.insert(name, value);
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use superpose_lab::phase::{Scale, Span};

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Request {
        x: Span,
        #[serde(default)]
        level: Option<f64>,
    }

    fn read(text: &str) -> Result<Request, String> {
        super::read(text).map_err(|error| error.error)
    }

    #[test]
    fn whole_numbers_may_be_written_as_floats() {
        let request =
            read(r#"{"x": {"size": "dim", "low": 1.0, "high": 1e3, "scale": "linear"}, "level": 1}"#);
        let request = request.unwrap();
        let Span { low, high, scale, .. } = request.x;
        assert_eq!((low, high, scale, request.level), (1, 1000, Scale::Linear, Some(1.0)));
        let null = read(r#"{"x": {"size": "dim", "low": 1, "high": 3}, "level": null}"#);
        assert_eq!(null.unwrap().level, None);
    }

    #[test]
    fn errors_name_the_member_its_value_and_what_is_allowed() {
        let x = |members: &str| format!(r#"{{"x": {{"size": "dim", {members}}}}}"#);
        for (text, words) in [
            ("[1]".into(), "the body: invalid type: sequence, expected an object"),
            ("7".into(), "the body = 7: must be an object"),
            ("{}".into(), "x: must be given"),
            (r#"{"": 1}"#.into(), ": there is no such member; it must be x or level"),
            (r#"{"x": ["dim", 1, 9]}"#.into(), "x: invalid type: sequence, expected an object"),
            (r#"{"x": 3}"#.into(), "x = 3: must be an object"),
            (x(r#""low": "a", "high": 9"#), r#"x.low = "a": must be a whole number from 0 on"#),
            (x(r#""low": -1, "high": 9"#), "x.low = -1: must be a whole number from 0 on"),
            (x(r#""low": 1.5, "high": 9"#), "x.low = 1.5: must be a whole number from 0 on"),
            (x(r#""low": 1e300, "high": 9"#), "x.low = 1e+300: must be a whole number from 0 on"),
            (x(r#""low": [1], "high": 9"#), "x.low: invalid type: sequence"),
            (x(r#""low": 1"#), "x.high: must be given"),
            (x(r#""low": 1, "low": 2, "high": 9"#), "x: low is given twice"),
            (x(r#""low": 1, "high": 9, "scale": "cube""#), r#"x.scale = "cube": must be log or linear"#),
            (x(r#""low": 1, "high": 9, "scale": 3"#), "x.scale = 3: must be a string"),
            (x(r#""low": 1, "high": 9, "scale": {"log": null}"#), "x.scale = {...}: must be a single value"),
            (x(r#""low": 1, "high": 9, "hue": 1"#), "x.hue: there is no such member; it must be one of size"),
            (
                r#"{"x": {"size": "hue", "low": 1, "high": 9}}"#.into(),
                r#"x.size = "hue": must be one of samples, dim, width, length, vocab, parameters"#,
            ),
            (
                r#"{"x": {"size": "dim", "low": 1, "high": 9}, "level": true}"#.into(),
                "level = true: must be a number",
            ),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        let long = format!(r#"{{"x": {{"size": "{}", "low": 1, "high": 9}}}}"#, "é".repeat(1000));
        assert!(read(&long).unwrap_err().len() < 300);
    }
}
