//! The words of a schema: texts, numbers, choices, lists and objects. Objects have no other members than those named, so that a
//! new one is not forgotten here.

use serde::Serialize;
use serde_json::{Map, Value, json};
use superpose_core::config::{Activation, Precision, Regime, Trigger};
use superpose_theory::critical::Parameter;

use crate::body::EMBEDDING_KINDS;

/// A schema by its name.
pub fn named(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

pub fn text() -> Value {
    json!({ "type": "string" })
}

pub fn whole(least: u64) -> Value {
    json!({ "type": "integer", "minimum": least })
}

pub fn from_to(least: impl Serialize, most: impl Serialize) -> Value {
    json!({ "type": "integer", "minimum": least, "maximum": most })
}

pub fn words(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

pub fn flag() -> Value {
    json!({ "type": "boolean" })
}

/// A number, or null where it does not exist or is not finite.
pub fn number() -> Value {
    json!({ "type": ["number", "null"] })
}

pub fn between(low: f64, high: f64) -> Value {
    json!({ "type": "number", "minimum": low, "maximum": high })
}

pub fn share() -> Value {
    json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 })
}

pub fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

pub fn pair(items: Value) -> Value {
    json!({ "type": "array", "items": items, "minItems": 2, "maxItems": 2 })
}

pub fn maybe(schema: Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

/// An object of these members. A name that ends in `?` may be left out.
pub fn object<const COUNT: usize>(members: [(&str, Value); COUNT]) -> Value {
    let required: Vec<&str> =
        members.iter().map(|member| member.0).filter(|name| !name.ends_with('?')).collect();
    let properties: Map<String, Value> =
        members.iter().map(|(name, schema)| (name.trim_end_matches('?').into(), schema.clone())).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// One object with the members of several.
pub fn joined(parts: &[Value]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for part in parts {
        properties.extend(part["properties"].as_object().cloned().unwrap_or_default());
        required.extend(part["required"].as_array().cloned().unwrap_or_default());
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The same members, all of which may be left out.
pub fn optional(object: Value) -> Value {
    json!({ "type": "object", "properties": object["properties"], "additionalProperties": false })
}

pub fn activation() -> Value {
    words(&Activation::ALL.iter().map(|choice| choice.word()).collect::<Vec<_>>())
}

pub fn embedding() -> Value {
    words(&EMBEDDING_KINDS.iter().map(|choice| choice.word()).collect::<Vec<_>>())
}

pub fn trigger() -> Value {
    words(&Trigger::ALL.iter().map(|choice| choice.word()).collect::<Vec<_>>())
}

pub fn regime() -> Value {
    words(&Regime::ALL.iter().map(|choice| choice.word()).collect::<Vec<_>>())
}

pub fn precision() -> Value {
    words(&Precision::ALL.iter().map(|choice| choice.word()).collect::<Vec<_>>())
}

pub fn parameter() -> Value {
    words(&Parameter::ALL.iter().map(|parameter| parameter.word()).collect::<Vec<_>>())
}

pub fn size() -> Value {
    let parameters = Parameter::ALL.iter().map(|parameter| parameter.word());
    words(&parameters.chain(["parameters"]).collect::<Vec<_>>())
}

pub fn by_parameter(schema: Value) -> Value {
    object(["samples", "dim", "width", "length", "vocab"].map(|name| (name, maybe(schema.clone()))))
}
