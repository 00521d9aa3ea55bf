//! The module `superpose.results`: a class for each record and the objects in it, with the types of their fields, and the words that
//! options of experiments take.

use std::collections::BTreeMap;

use anyhow::ensure;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use superpose_associative::MemorySettings;
use superpose_core::config::{Group, Setting, Training};
use superpose_lab::inspect::Inspection;
use superpose_lab::phase::{PhaseOptions, PhaseRecord};
use superpose_lab::plan::{PlanOptions, PlanRecord};
use superpose_lab::predict::PredictionRecord;
use superpose_lab::run::RunRecord;
use superpose_lab::store::{COLUMNS, Column, ColumnType, cell_settings};
use superpose_lab::threshold::{ThresholdOptions, ThresholdRecord};
use superpose_lab::train::TrainingRecord;
use superpose_report::{EXPERIMENTS, SchemaOf};

const HEAD: &str = r#"# Written from the code by `cargo xtask reference`. Change the records, not this file.
"""The fields of results, for type checkers: a class for each kind of result, for the objects in it, and for the words that options take.

Fields are those of ``--json``. A field that a result lacks raises an ``AttributeError``; ``get`` returns ``None``. Objects inside a
result are :class:`superpose.Fields` with these fields.
"""

from __future__ import annotations

from typing import Dict, List, Literal, Optional, Type, Union

from ._result import Fields, Named, Result

"#;

/// Python's reserved words that are names of settings; such a field is read by `config["import"]`.
const RESERVED: [&str; 1] = ["import"];

/// Records of commands other than [`EXPERIMENTS`].
const COMMANDS: [(&str, SchemaOf); 7] = [
    ("run", RunRecord::json_schema),
    ("predict", PredictionRecord::json_schema),
    ("train", TrainingRecord::json_schema),
    ("threshold", ThresholdRecord::json_schema),
    ("phase", PhaseRecord::json_schema),
    ("plan", PlanRecord::json_schema),
    ("inspect", Inspection::json_schema),
];

/// The fields of a sweep, whose record is the Python package's own.
const SWEEP: &str = "    cells: List[SweepCell]\n    done: int\n    failed: int\n    not_run: int\n    store: Optional[str]\n    seconds: float\n    version: str\n";

/// The source of the module.
///
/// # Errors
/// Fails if two objects of the same name have other fields.
pub fn records() -> anyhow::Result<String> {
    let experiments = EXPERIMENTS.iter().map(|experiment| {
        (experiment.name, experiment.records.iter().map(|(_, schema)| *schema).collect::<Vec<_>>())
    });
    let commands = COMMANDS.into_iter().map(|(name, schema)| (name, vec![schema]));
    let (mut classes, mut results, mut kinds) = (Classes::default(), String::new(), String::new());
    for (name, schemas) in commands.chain(experiments) {
        let class = format!("{}Result", camel(name));
        let mut fields = String::new();
        for schema in schemas {
            let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
            let record = schema(&mut generator).to_value();
            classes.definitions = Value::Object(generator.take_definitions(true));
            for line in classes.fields(&camel(name), &record)?.lines() {
                if !fields.lines().any(|known| known == line) {
                    fields += &format!("{line}\n");
                }
            }
        }
        results += &class_text(&class, "Result", &format!("The result of ``superpose {name}``."), &fields);
        kinds += &format!("    \"{name}\": {class},\n");
    }
    results += &class_text("SweepCell", "Fields", "A cell of a sweep.", &cell_fields());
    results += &class_text("SweepResult", "Result", "The result of ``superpose sweep``.", SWEEP);
    kinds += "    \"sweep\": SweepResult,\n";
    let choices: String = choices().iter().map(|(name, words)| format!("{name} = {words}\n")).collect();
    Ok(format!(
        "{HEAD}{choices}{}{results}\n\n#: The class of each kind of result.\nKINDS: Dict[str, Type[Result]] = {{\n{kinds}}}\n",
        classes.text
    ))
}

/// The fields of a cell: the columns of the store. Only those that every cell has are never `None`.
fn cell_fields() -> String {
    let always = |name: &str| {
        let setting = cell_settings().find(|setting| setting.name == name);
        let recorded = ["key", "status", "numerics_revision", "numerics", "version"].contains(&name);
        recorded
            || setting.is_some_and(|setting| !setting.optional && !Training::settings().contains(setting))
    };
    let line = |column: &Column| {
        let kind = match column.kind {
            _ if column.name == "noise" => "Noise",
            ColumnType::Integer => "int",
            ColumnType::Real => "float",
            ColumnType::Text => "str",
        };
        let name = &column.name;
        if always(name) { format!("    {name}: {kind}\n") } else { format!("    {name}: Optional[{kind}]\n") }
    };
    let shown = |column: &&Column| column.name != "config" && !RESERVED.contains(&&column.name[..]);
    COLUMNS.iter().filter(shown).map(line).collect()
}

/// The words that options of experiments take, by the name of the type.
fn choices() -> Vec<(String, String)> {
    let groups: [(&str, Vec<Setting>, &[&str]); 4] = [
        ("Threshold", ThresholdOptions::definitions(), &["find", "criterion", "measure"]),
        ("Phase", PhaseOptions::definitions(), &["measure"]),
        ("Plan", PlanOptions::definitions(), &["trigger", "activation"]),
        ("Memory", MemorySettings::definitions(), &["rule", "embedding", "optimiser", "convention"]),
    ];
    let named = |(group, settings, names): (&str, Vec<Setting>, &[&str])| {
        let found: Vec<(String, String)> = names
            .iter()
            .filter_map(|name| settings.iter().find(|setting| setting.name == *name))
            .map(|setting| (format!("{group}{}", camel(setting.name)), union(setting)))
            .collect();
        assert_eq!(found.len(), names.len(), "{group}");
        found
    };
    groups.into_iter().flat_map(named).collect()
}

/// The words of a setting as a union, because stubtest takes an alias of a literal with several words for a mistake.
fn union(setting: &Setting) -> String {
    let words: Vec<String> = setting.words().map(|(word, _)| format!("Literal[\"{word}\"]")).collect();
    format!("Union[{}]", words.join(", "))
}

/// The classes of objects inside records, each written once.
#[derive(Default)]
struct Classes {
    definitions: Value,
    text: String,
    written: BTreeMap<String, String>,
}

impl Classes {
    /// Lines with the annotations of the fields of an object.
    fn fields(&mut self, class: &str, object: &Value) -> anyhow::Result<String> {
        let mut lines = String::new();
        let variants = object["oneOf"].as_array().into_iter().flatten();
        for part in std::iter::once(object).chain(variants) {
            for (name, field) in part["properties"].as_object().into_iter().flatten() {
                if !RESERVED.contains(&&name[..]) {
                    let kind = self.kind(&format!("{class}{}", camel(name)), field)?;
                    lines += &format!("    {name}: {kind}\n");
                }
            }
        }
        Ok(lines)
    }

    /// The type of a field; `class` is the name that an object without one gets.
    fn kind(&mut self, class: &str, schema: &Value) -> anyhow::Result<String> {
        if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
            return self.kind(&camel(name), &self.definitions[name].clone());
        }
        if let Some([some, _null]) = schema["anyOf"].as_array().map(Vec::as_slice) {
            return Ok(format!("Optional[{}]", self.kind(class, some)?));
        }
        let (kind, nullable) = match &schema["type"] {
            Value::Array(kinds) => (kinds[0].as_str(), true),
            kind => (kind.as_str(), false),
        };
        let objects =
            schema["oneOf"].as_array().is_some_and(|all| all.iter().any(|one| one["properties"].is_object()));
        let text = match kind {
            _ if schema["properties"].is_object() || objects => {
                let fields = self.fields(class, schema)?;
                self.write(class, &fields)?;
                class.to_string()
            }
            Some("number") => "float".into(),
            Some("integer") => "int".into(),
            Some("boolean") => "bool".into(),
            Some("array") if schema["items"].is_object() => {
                format!("List[{}]", self.kind(class, &schema["items"])?)
            }
            Some("array") => "List[float]".into(),
            Some("object") if schema["additionalProperties"].is_object() => {
                format!("Named[{}]", self.kind(class, &schema["additionalProperties"])?)
            }
            Some("object") => "Fields".into(),
            _ => "str".into(),
        };
        Ok(if nullable { format!("Optional[{text}]") } else { text })
    }

    fn write(&mut self, class: &str, fields: &str) -> anyhow::Result<()> {
        match self.written.get(class) {
            Some(known) => ensure!(known == fields, "two objects are named {class}: {known} and {fields}"),
            None => {
                self.text += &class_text(class, "Fields", "", fields);
                self.written.insert(class.into(), fields.into());
            }
        }
        Ok(())
    }
}

fn class_text(name: &str, base: &str, documentation: &str, fields: &str) -> String {
    let documentation = match documentation {
        "" => String::new(),
        text => format!("    \"\"\"{text}\"\"\"\n\n"),
    };
    format!("\n\nclass {name}({base}):\n{documentation}    __slots__ = ()\n{fields}")
}

/// `by_seed` as `BySeed`.
fn camel(name: &str) -> String {
    let capital = |word: &str| match word.chars().next() {
        Some(first) => first.to_uppercase().collect::<String>() + &word[first.len_utf8()..],
        None => String::new(),
    };
    name.split(|c: char| !c.is_alphanumeric()).map(capital).collect()
}
