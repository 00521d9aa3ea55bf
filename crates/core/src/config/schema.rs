//! JSON schema of [`Settings`], for the description of the API.
//!
//! The ranges are those that [`Settings::check`] enforces.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Activation, Embedding, Labels, MOST, MOST_REPEATS, Precision, Regime, Settings, Trigger};

impl JsonSchema for Settings {
    fn schema_name() -> Cow<'static, str> {
        "Settings".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        settings_schema(generator)
    }
}

impl JsonSchema for Labels {
    fn schema_name() -> Cow<'static, str> {
        "Labels".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^(permutation|mod:[0-9]+)$" })
    }
}

fn settings_schema(generator: &mut SchemaGenerator) -> Schema {
    let count = |min: usize| json_schema!({ "type": "integer", "minimum": min, "maximum": MOST });
    let optional_count = || json_schema!({ "type": ["integer", "null"], "minimum": 1, "maximum": MOST });
    let optional_rate = || json_schema!({ "type": ["number", "null"], "minimum": -1e30, "maximum": 1e30 });
    let mut schema = json_schema!({
        "type": "object",
        "properties": {
            "vocab": count(2),
            "dim": count(1),
            "length": count(1),
            "samples": count(1),
            "width": optional_count(),
            "activation": generator.subschema_for::<Activation>(),
            "embedding": generator.subschema_for::<Embedding>(),
            "output_embedding": { "type": ["string", "null"] },
            "trigger": generator.subschema_for::<Trigger>(),
            "labels": generator.subschema_for::<Labels>(),
            "zipf": { "type": ["number", "null"], "minimum": 0.0, "maximum": 10.0 },
            "noise_vocab": optional_count(),
            "regime": generator.subschema_for::<Regime>(),
            "eta": { "type": "number", "minimum": 1e-20, "maximum": 1e20 },
            "gamma": optional_rate(),
            "eta2": optional_rate(),
            "lead": { "type": "number", "exclusiveMinimum": 0.0, "maximum": 1e6 },
            "precision": generator.subschema_for::<Precision>(),
            "test_samples": count(2),
            "repeats": { "type": "integer", "minimum": 1, "maximum": MOST_REPEATS },
            "seed": { "type": "integer", "minimum": 0 },
        },
        "additionalProperties": false,
    });
    if generator.contract().is_serialize() {
        let names = schema.get("properties").and_then(|properties| properties.as_object());
        let written = names.into_iter().flat_map(|names| names.keys());
        let required: Vec<String> = written.filter(|name| *name != "output_embedding").cloned().collect();
        schema.insert("required".into(), required.into());
    }
    schema
}
