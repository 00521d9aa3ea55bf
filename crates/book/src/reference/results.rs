//! The page of what `--json` prints, from the JSON schemas of the records.

use anyhow::{Context, ensure};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use superpose_associative::MemorySettings;
use superpose_cli::{Devices, Measurement, StatusReport};
use superpose_core::config::Settings;
use superpose_core::noise::Budget;
use superpose_lab::cell::Entry;
use superpose_lab::inspect::Inspection;
use superpose_lab::interval::{Interval, SampleMean};
use superpose_lab::phase::PhaseRecord;
use superpose_lab::plan::PlanRecord;
use superpose_lab::predict::PredictionRecord;
use superpose_lab::run::RunRecord;
use superpose_lab::threshold::ThresholdRecord;
use superpose_lab::train::TrainingRecord;
use superpose_report::{EXPERIMENTS, SchemaOf};

use super::{cell, code, head, plain, table};

/// Commands other than [`EXPERIMENTS`], what they print, and its schema.
const RECORDS: [(&str, &str, SchemaOf); 11] = [
    ("superpose run --json", "one object", RunRecord::json_schema),
    ("superpose predict --json", "one object", PredictionRecord::json_schema),
    ("superpose train --json", "one object", TrainingRecord::json_schema),
    ("superpose threshold --json", "one object", ThresholdRecord::json_schema),
    ("superpose phase --json", "one object", PhaseRecord::json_schema),
    ("superpose plan --json", "one object", PlanRecord::json_schema),
    ("superpose inspect --json", "one object", Inspection::json_schema),
    ("superpose status --json", "one object", StatusReport::json_schema),
    ("superpose bench --json", "a list of objects", Measurement::json_schema),
    ("superpose devices --json", "one object", Devices::json_schema),
    ("superpose export --format jsonl", "one object a line, for every cell", Entry::json_schema),
];

/// The word for an object that the head of the page explains, by the name of its schema.
fn explained(name: &str) -> Option<&'static str> {
    let words = [
        (Settings::schema_name(), "configuration"),
        (MemorySettings::schema_name(), "the flags of `superpose memory`"),
        (Interval::schema_name(), "interval"),
        (SampleMean::schema_name(), "measure"),
        (Budget::schema_name(), "budget"),
    ];
    words.into_iter().find(|(known, _)| known == name).map(|(_, word)| word)
}

/// The page of results.
pub fn results() -> anyhow::Result<String> {
    let mut text = head("Results as JSON");
    text += "\nNames are those of the command line and of the [store](store.md). A dot leads into an object, `[]` into a list. Numbers that are not \
             finite are `null`. An *interval* is `{\"mean\", \"low\", \"high\"}`, with 95%; a *measure* is `{\"mean\", \"variance\", \"items\"}`, of one seed's test items; a \
             *configuration* has the [keys](keys.md) of a configuration file, all of them, and makes the result again. A *budget* has the parts of a logit or of a token score, as mean \
             squares; a part that cannot be told from another is `null` ([how to read it](../how-to/noise.md)):\n\n";
    let parts = Page::of(Budget::json_schema).rows()?;
    text +=
        &table(["part of a budget", "meaning"], parts.into_iter().map(|[part, _, meaning]| [part, meaning]));
    let experiments = EXPERIMENTS.iter().flat_map(|experiment| {
        let record = |(flags, schema): &(&str, SchemaOf)| {
            (format!("superpose {}{flags} --json", experiment.name), "one object", *schema)
        };
        experiment.records.iter().map(record)
    });
    let others = RECORDS.into_iter().map(|(command, form, schema)| (command.to_string(), form, schema));
    for (command, form, schema) in others.chain(experiments) {
        text += &format!("\n## {command}\n\nPrints {form}.\n\n");
        text +=
            &table(["field", "holds", "meaning"], Page::of(schema).rows().with_context(|| command.clone())?);
    }
    Ok(text)
}

/// The schema of a record and the definitions that it refers to.
struct Page {
    record: Value,
    definitions: Map<String, Value>,
}

/// What a field holds: in words, and the objects inside it with what leads to them.
type Held<'a> = (String, Vec<(String, &'a Value)>);

impl Page {
    fn of(schema: SchemaOf) -> Page {
        let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        Page { record: schema(&mut generator).to_value(), definitions: generator.take_definitions(true) }
    }

    /// Rows of the table of fields.
    fn rows(&self) -> anyhow::Result<Vec<[String; 3]>> {
        let mut rows = Vec::new();
        self.expand(&self.record, "", &mut rows)?;
        Ok(rows)
    }

    /// Adds the fields of an object, whose names start with `prefix`.
    fn expand(&self, object: &Value, prefix: &str, rows: &mut Vec<[String; 3]>) -> anyhow::Result<()> {
        for (name, field) in object["properties"].as_object().into_iter().flatten() {
            let path = format!("{prefix}{name}");
            let (mut holds, inner) = self.held(field);
            let required =
                object["required"].as_array().is_some_and(|names| names.contains(&name.as_str().into()));
            if !required {
                holds = format!("{}, or absent", holds.trim_end_matches(", or null"));
            }
            // A variant has its description beside its only field.
            let meaning =
                field["description"].as_str().or(object["description"].as_str()).unwrap_or_default();
            ensure!(!meaning.is_empty(), "{path} has no description: write a comment at its field");
            rows.push([code(&path), holds, cell(&plain(meaning))]);
            for (suffix, object) in inner {
                self.expand(object, &format!("{path}{suffix}."), rows)?;
            }
        }
        Ok(())
    }

    fn held<'a>(&'a self, schema: &'a Value) -> Held<'a> {
        if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
            let definition = &self.definitions[name];
            let word = explained(name).filter(|_| definition["properties"].is_object());
            return word.map_or_else(|| self.held(definition), |word| (word.into(), Vec::new()));
        }
        let single = |words: &str| (words.to_owned(), Vec::new());
        if let Some([some, _null]) = schema["anyOf"].as_array().map(Vec::as_slice) {
            let (words, inner) = self.held(some);
            return (format!("{words}, or null"), inner);
        }
        if let Some(variants) =
            schema["oneOf"].as_array().filter(|variants| variants[0]["properties"].is_object())
        {
            let names = variants.iter().flat_map(|variant| variant["properties"].as_object()?.keys().next());
            let names: Vec<String> = names.map(|name| code(name)).collect();
            return (names.join(" or "), variants.iter().map(|variant| (String::new(), variant)).collect());
        }
        let (kind, nullable) = match &schema["type"] {
            Value::Array(kinds) => (kinds[0].as_str(), ", or null"),
            kind => (kind.as_str(), ""),
        };
        let (words, inner) = match kind {
            Some("number") => single("number"),
            Some("integer") => single("whole number"),
            Some("boolean") => single("true or false"),
            Some("string") if schema["enum"].is_null() && schema["const"].is_null() => single("text"),
            Some("array") if schema["items"].is_object() => {
                let (words, inner) = self.held(&schema["items"]);
                let list = if words.starts_with("list: ") {
                    words.replacen("list", "lists of lists", 1)
                } else {
                    format!("list: {words}")
                };
                (list, inner.into_iter().map(|(suffix, object)| (format!("[]{suffix}"), object)).collect())
            }
            Some("array") => single("pair of numbers"),
            Some("object") if schema["properties"].is_object() => {
                ("object".into(), vec![(String::new(), schema)])
            }
            Some("object") => {
                let (words, inner) = self.held(&schema["additionalProperties"]);
                let inner = inner.into_iter().map(|(suffix, object)| (format!(".NAME{suffix}"), object));
                (format!("by name: {words}"), inner.collect())
            }
            _ => single("word"),
        };
        (words + nullable, inner)
    }
}
