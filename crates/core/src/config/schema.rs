//! Settings as JSON: one object with a member per setting, and the schema of that object.

use std::collections::BTreeMap;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value as Json, json};

use super::definition::{Group, Setting};
use super::value::{Kind, Value};
use super::{Settings, Values, find};

/// Writes every setting that applies.
pub fn serialize<S: Serializer>(settings: &impl Group, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    let mut failed = None;
    settings.visit(&mut |name, value| failed = failed.take().or(map.serialize_entry(name, &value).err()));
    failed.map_or(Ok(()), Err)?;
    map.end()
}

/// Reads the settings of an object. Those that are missing have their defaults, so that an object written before a
/// setting was added stays readable.
pub fn deserialize<'de, G: Group, D: Deserializer<'de>>(
    settings: &[Setting],
    deserializer: D,
) -> Result<G, D::Error> {
    let mut values = Values::default();
    for (name, value) in BTreeMap::<String, Value>::deserialize(deserializer)? {
        let setting = find(settings, &name).map_err(Error::custom)?;
        values.set(setting, value).map_err(Error::custom)?;
    }
    match settings.iter().find(|setting| setting.required && !values.gives(setting.name)) {
        Some(missing) => Err(Error::missing_field(missing.name)),
        None => G::read(&values).map_err(Error::custom),
    }
}

/// Settings without those at their defaults: what the key of a cell is made of. A setting that is added later leaves the
/// keys of all earlier cells as they are.
pub struct Sparse<'a>(pub &'a Settings);

impl serde::Serialize for Sparse<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut definitions = Settings::settings().iter();
        let mut failed = None;
        self.0.visit(&mut |name, value| {
            // Values come in the order of their definitions.
            let setting = definitions.find(|setting| setting.name == name);
            if setting.is_none_or(|setting| setting.default != value) {
                failed = failed.take().or(map.serialize_entry(name, &value).err());
            }
        });
        failed.map_or(Ok(()), Err)?;
        map.end()
    }
}

/// The schema of an object with these settings. What is written always has the settings that `default` has.
pub fn json_schema(settings: &[Setting], default: &impl Group, generator: &SchemaGenerator) -> Schema {
    let properties: Map<String, Json> =
        settings.iter().map(|setting| (setting.name.into(), property(setting))).collect();
    let mut schema =
        json_schema!({ "type": "object", "properties": properties, "additionalProperties": false });
    let names: Vec<&str> = match generator.contract().is_serialize() {
        true => Values::of(default).names().collect(),
        false => settings.iter().filter(|setting| setting.required).map(|setting| setting.name).collect(),
    };
    if !names.is_empty() {
        schema.insert("required".into(), json!(names));
    }
    schema
}

fn property(setting: &Setting) -> Json {
    let name = match setting.kind {
        Kind::Flag => "boolean",
        Kind::Count => "integer",
        Kind::Number => "number",
        Kind::Word(_) | Kind::Pattern { .. } | Kind::Text => "string",
    };
    let mut property = json!({ "description": setting.meaning(), "type": name });
    if setting.optional {
        property["type"] = json!([name, "null"]);
    }
    if setting.default != Value::Null && !setting.required {
        property["default"] = json!(setting.default);
    }
    match setting.kind {
        Kind::Word(_) => property["enum"] = setting.words().map(|(word, _)| Json::from(word)).collect(),
        Kind::Pattern { pattern, .. } => property["pattern"] = pattern.into(),
        Kind::Flag | Kind::Count | Kind::Number | Kind::Text => {}
    }
    if let Some(range) = setting.range {
        let number = |x: f64| if setting.kind == Kind::Count { json!(x as u64) } else { json!(x) };
        let min = if range.open_min { "exclusiveMinimum" } else { "minimum" };
        let max = if range.open_max { "exclusiveMaximum" } else { "maximum" };
        property[min] = number(range.min);
        property[max] = number(range.max);
    }
    property
}
