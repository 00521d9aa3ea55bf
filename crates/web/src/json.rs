//! JSON as it was sent, and how a request is read from it.
//!
//! A text is first taken as it stands, then read as what is wanted. In between it is known where one is, so a refusal names
//! the member by its path, shows its value and says what is allowed: `config.dim = "many": must be a whole number from 0 on`.
//! What serde would let pass is refused: a list in place of an object.

use std::fmt;

use serde::de::value::{SeqDeserializer, StrDeserializer};
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, Expected, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};

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

/// A value and where it stands.
#[derive(Clone)]
struct Member<'a> {
    path: String,
    value: &'a Json,
}

impl Member<'_> {
    fn inner(&self, name: &str) -> String {
        if self.path.is_empty() { short(name) } else { format!("{}.{}", self.path, short(name)) }
    }

    /// What went wrong, said of this member unless it is said of one inside already.
    fn placed(&self, wrong: Wrong) -> Wrong {
        if wrong.place.is_some() {
            return wrong;
        }
        let place = match &wrong.of {
            Some(name) => self.inner(name),
            None if self.path.is_empty() => format!("the body = {}", self.value),
            None => format!("{} = {}", self.path, self.value),
        };
        Wrong { place: Some(place), ..wrong }
    }
}

/// The members of an object, one after another.
struct Members<'a> {
    object: &'a Member<'a>,
    rest: std::slice::Iter<'a, (String, Json)>,
    next: Option<Member<'a>>,
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Wrong> {
        let Some((name, value)) = self.rest.next() else { return Ok(None) };
        self.next = Some(Member { path: self.object.inner(name), value });
        seed.deserialize(StrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        let member = self.next.take().ok_or_else(|| Wrong::new("a value has no name".into()))?;
        // Here it is known which member a complaint is about, also one that comes after the value was read.
        seed.deserialize(member.clone()).map_err(|wrong| member.placed(wrong))
    }
}

impl<'de> de::IntoDeserializer<'de, Wrong> for Member<'_> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Member<'_> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value {
            Json::Null => visitor.visit_unit(),
            Json::Flag(x) => visitor.visit_bool(*x),
            Json::Whole(x) => visitor.visit_u64(*x),
            Json::Negative(x) => visitor.visit_i64(*x),
            Json::Real(x) => visitor.visit_f64(*x),
            Json::Text(x) => visitor.visit_str(x),
            Json::List(items) => {
                let items = items.iter().map(|value| Member { path: self.path.clone(), value });
                visitor.visit_seq(SeqDeserializer::new(items))
            }
            Json::Object(members) => {
                visitor.visit_map(Members { object: &self, rest: members.iter(), next: None })
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value {
            Json::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self.value {
            Json::Object(_) => self.deserialize_any(visitor),
            _ => Err(Wrong::new(format!("must be an object with members of {}", names.join(", ")))),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self.value {
            Json::Text(word) => visitor.visit_enum(StrDeserializer::new(word)),
            _ => Err(Wrong::new(one_of(words))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

/// Why JSON is not what is wanted.
#[derive(Debug)]
pub struct Wrong {
    /// The path, and the value where there is one.
    place: Option<String>,
    /// A member that the complaint is about, of the object at hand.
    of: Option<String>,
    allowed: String,
}

impl Wrong {
    fn new(allowed: String) -> Wrong {
        Wrong { place: None, of: None, allowed }
    }

    fn of(name: &str, allowed: String) -> Wrong {
        Wrong { of: Some(name.to_owned()), ..Wrong::new(allowed) }
    }
}

fn one_of(words: &[&str]) -> String {
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
