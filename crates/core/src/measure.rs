//! The measured quantities (theory: setting), each defined once.
//!
//! [`Measure`] enumerates the quantities; [`Measures`] holds one value for each: a tally, an estimate, an interval or a
//! prediction. In JSON it is an object with the measures' names. Missing values are omitted on write and accepted on read,
//! so a file that was written before a measure was added stays readable.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::config::{Field, Kind};
use crate::words;

words! {
    /// A quantity that is measured on a trained model.
    Measure {
        /// Recall: fresh sequences, trained attention, the largest logit is the right label's.
        Accuracy = "accuracy",
        /// Recall among the first five: the right label's logit is among the five largest.
        Top5Accuracy = "top_5_accuracy",
        /// Recall with the attention placed on the informative position.
        MemoryAccuracy = "memory_accuracy",
        /// Accuracy of reading the first gradient alone.
        OneStepAccuracy = "one_step_accuracy",
        /// How often the largest attention weight is on the informative position.
        LockRate = "lock_rate",
        /// How often the informative position is among the kept tokens, those with the largest attention scores.
        KeptRate = "kept_rate",
        /// Attention weight on the informative position.
        AttentionMass = "attention_mass",
        /// Right label's logit minus the largest other.
        Margin = "margin",
    }
}

/// What a measure is a mean of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// A share between 0 and 1 of facts. Testing a fact twice says nothing about other facts.
    ShareOfFacts,
    /// A share between 0 and 1 of sequences.
    ShareOfSequences,
    /// Any number.
    Number,
}

impl Measure {
    /// The name for people.
    pub fn label(self) -> &'static str {
        self.described().0
    }

    /// A few words on how it is measured.
    pub fn note(self) -> &'static str {
        self.described().1
    }

    /// What it is a mean of.
    pub fn scale(self) -> Scale {
        self.described().2
    }

    /// Whether it lies between 0 and 1. Thresholds and phase diagrams are for these.
    pub fn is_share(self) -> bool {
        self.scale() != Scale::Number
    }

    fn described(self) -> (&'static str, &'static str, Scale) {
        use Scale::{Number, ShareOfFacts, ShareOfSequences};
        match self {
            Measure::Accuracy => ("recall accuracy", "fresh sequences, trained attention", ShareOfFacts),
            Measure::Top5Accuracy => ("top-5 accuracy", "right label among the five largest", ShareOfFacts),
            Measure::MemoryAccuracy => ("memory accuracy", "attention placed on the trigger", ShareOfFacts),
            Measure::OneStepAccuracy => ("one-step accuracy", "the first gradient alone", ShareOfFacts),
            Measure::LockRate => ("lock rate", "largest attention weight on the trigger", ShareOfSequences),
            Measure::KeptRate => ("kept rate", "trigger among the kept tokens", ShareOfSequences),
            Measure::AttentionMass => ("attention mass", "attention weight on the trigger", ShareOfSequences),
            Measure::Margin => ("margin", "right logit over the best wrong one", Number),
        }
    }
}

/// One value for each measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measures<T>([T; COUNT]);

const COUNT: usize = Measure::ALL.len();

impl<T> Measures<T> {
    /// A value for each measure.
    pub fn from_fn(mut value: impl FnMut(Measure) -> T) -> Measures<T> {
        Measures(std::array::from_fn(|i| value(Measure::ALL[i])))
    }

    /// Another value for each measure.
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> Measures<U> {
        Measures(self.0.map(f))
    }

    /// Each measure with its value.
    pub fn iter(&self) -> impl Iterator<Item = (Measure, &T)> {
        Measure::ALL.iter().copied().zip(&self.0)
    }
}

impl<T: Missing> Default for Measures<T> {
    fn default() -> Self {
        Measures::from_fn(|_| T::missing())
    }
}

impl<T> Index<Measure> for Measures<T> {
    type Output = T;
    fn index(&self, measure: Measure) -> &T {
        &self.0[measure as usize]
    }
}

impl<T> IndexMut<Measure> for Measures<T> {
    fn index_mut(&mut self, measure: Measure) -> &mut T {
        &mut self.0[measure as usize]
    }
}

/// A value that may be missing for a measure.
pub trait Missing: Sized {
    /// The missing value.
    fn missing() -> Self;

    /// Whether this is the missing value, which is not written to files.
    fn is_missing(&self) -> bool;

    /// Whether files may lack a value. False for values that are always written.
    const MAY_LACK: bool = true;
}

/// Predictions write a measure without a formula as null.
impl<T> Missing for Option<T> {
    const MAY_LACK: bool = false;
    fn missing() -> Self {
        None
    }
    fn is_missing(&self) -> bool {
        false
    }
}

impl Missing for f64 {
    fn missing() -> Self {
        f64::NAN
    }
    fn is_missing(&self) -> bool {
        self.is_nan()
    }
}

/// One value per repeat.
impl<T> Missing for Vec<T> {
    fn missing() -> Self {
        Vec::new()
    }
    fn is_missing(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Serialize + Missing> Serialize for Measures<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (measure, value) in self.iter().filter(|(_, value)| !value.is_missing()) {
            map.serialize_entry(measure.word(), value)?;
        }
        map.end()
    }
}

impl<'de, T: Deserialize<'de> + Missing> Deserialize<'de> for Measures<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Missing> Visitor<'de> for Reader<T> {
            type Value = Measures<T>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object with a member per measure")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut measures = Measures::default();
                while let Some(name) = map.next_key::<std::borrow::Cow<'_, str>>()? {
                    match Measure::WORDS.iter().position(|known| *known == name) {
                        Some(place) => measures.0[place] = map.next_value()?,
                        // A measure that a later version added.
                        None => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(measures)
            }
        }
        deserializer.deserialize_struct("Measures", Measure::WORDS, Reader(PhantomData))
    }
}

impl<T: JsonSchema + Missing> JsonSchema for Measures<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Measures_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        let Kind::Word(words) = Measure::KIND else { unreachable!("measures are words") };
        let property = |(word, meaning): &(&str, &str)| {
            let mut value = value.clone();
            value.insert("description".into(), meaning.trim().into());
            (word.to_string(), value.to_value())
        };
        let properties: serde_json::Map<_, _> = words.iter().map(property).collect();
        let required = if T::MAY_LACK { &[] } else { Measure::WORDS };
        schemars::json_schema!({ "type": "object", "properties": properties, "required": required })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_round_trip_and_tolerate_missing_and_unknown_names() {
        let measures = Measures::from_fn(|measure| measure as usize as f64);
        let text = serde_json::to_string(&measures).unwrap();
        assert!(text.starts_with(r#"{"accuracy":0.0,"top_5_accuracy":1.0"#), "{text}");
        assert_eq!(serde_json::from_str::<Measures<f64>>(&text).unwrap(), measures);
        let partial: Measures<f64> = serde_json::from_str(r#"{"lock_rate": 0.5, "later": [1]}"#).unwrap();
        assert_eq!(partial[Measure::LockRate], 0.5);
        assert!(partial[Measure::Accuracy].is_nan());
        assert_eq!(serde_json::to_string(&partial).unwrap(), r#"{"lock_rate":0.5}"#);
    }
}
