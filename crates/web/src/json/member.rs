//! A value at its place, as serde reads it.

use serde::de::value::{SeqDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::wrong::one_of;
use super::{Json, Wrong, short};

/// A value and where it stands.
#[derive(Clone)]
pub struct Member<'a> {
    pub path: String,
    pub value: &'a Json,
}

impl Member<'_> {
    fn inner(&self, name: &str) -> String {
        // A name that is no word is shown as it was written.
        let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let name = if plain { short(name) } else { format!("{:?}", short(name)) };
        if self.path.is_empty() { name } else { format!("{}.{name}", self.path) }
    }

    /// What went wrong, said of this member unless it is said of one inside already.
    pub fn placed(&self, mut wrong: Wrong) -> Wrong {
        if wrong.place.is_some() {
            return wrong;
        }
        let place = match &wrong.of {
            Some(name) => self.inner(name),
            None if self.path.is_empty() => format!("the body = {}", self.value),
            None => format!("{} = {}", self.path, self.value),
        };
        wrong.place = Some(place);
        wrong
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

impl<'de> IntoDeserializer<'de, Wrong> for Member<'_> {
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
