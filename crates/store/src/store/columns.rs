//! The columns of the view `results`, of CSV and of Parquet, derived from the definitions of settings and measures.
//!
//! A cell is stored as JSON: its configuration without defaults, and its outcome. Nothing in the file changes when a setting
//! or a measure is added; only the view, which names the columns for SQL, is made anew.

use std::sync::LazyLock;

use serde_json::{Value as Json, json};
use superpose_core::Measure;
use superpose_core::config::{Field, Kind, Setting, Settings, Training, Value, Values};
use superpose_core::measure::Missing;
use superpose_core::train::TrajectoryPoint;

use crate::cell::Entry;

superpose_core::words! {
    /// What a column holds.
    ColumnType {
        /// Whole numbers; flags are 0 or 1.
        Integer = "integer",
        /// Numbers.
        Real = "real",
        /// Text.
        Text = "text",
    }
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: ColumnType,
    /// What it means.
    pub meaning: String,
    /// Its value in SQL, from the columns of the table `cells`.
    expression: String,
}

/// The settings of a cell, which is one repeat.
pub fn cell_settings() -> impl Iterator<Item = &'static Setting> {
    Settings::settings().iter().filter(|setting| setting.name != "repeats")
}

/// All columns, in the order of the view.
pub static COLUMNS: LazyLock<Vec<Column>> = LazyLock::new(|| {
    use ColumnType::{Integer, Real, Text};
    let status = "CASE WHEN outcome IS NULL THEN 'failed' ELSE 'done' END";
    let mut columns = vec![
        column("key", Text, "hash of configuration, seed, numerics revision and numerics", "key"),
        column("status", Text, "`done`, or `failed`", status),
        column("reason", Text, "why it failed", "reason"),
    ];
    columns.extend(cell_settings().map(|setting| {
        column(setting.name, column_type(setting.kind), setting.meaning(), setting_expression(setting))
    }));
    let extract = |place: &str| format!("json_extract(outcome, '$.{place}')");
    let Kind::Word(measures) = Measure::KIND else { return columns };
    for (name, meaning) in measures {
        let of = |field: &str| extract(&format!("{name}.{field}"));
        let variance = format!("variance of an item about the mean of `{name}`");
        let items = format!("items that `{name}` is the mean of");
        columns.extend([
            column(*name, Real, meaning.trim().trim_end_matches('.'), of("mean")),
            column(format!("{name}_variance"), Real, variance, of("variance")),
            column(format!("{name}_items"), Integer, items, of("items")),
        ]);
    }
    let sign = "sign of what step 2 gave the trigger";
    let revision = "of the engine that ran it; another one gives other results";
    columns.extend([
        column("trigger_sign", Integer, sign, extract("trigger_sign")),
        column("noise", Text, "noise budget as JSON, where asked for", extract("noise")),
        column("seconds", Real, "time of the run", extract("seconds")),
        column("config", Text, "the settings that differ from their defaults, as JSON", "config"),
        column("numerics_revision", Integer, revision, "numerics_revision"),
        column(
            "numerics",
            Text,
            "arithmetic that it ran with; other arithmetic differs in the last bits",
            "numerics",
        ),
        column("version", Text, "of the program that ran it", "version"),
    ]);
    columns
});

fn column(
    name: impl Into<String>,
    kind: ColumnType,
    meaning: impl Into<String>,
    expression: impl Into<String>,
) -> Column {
    Column { name: name.into(), kind, meaning: meaning.into(), expression: expression.into() }
}

pub(super) fn view() -> String {
    let columns: Vec<String> =
        COLUMNS.iter().map(|column| format!("{} AS \"{}\"", column.expression, column.name)).collect();
    format!("CREATE VIEW results AS SELECT id,\n    {}\nFROM cells", columns.join(",\n    "))
}

/// The statement that makes the view of trajectories.
pub(super) fn trajectory_view() -> String {
    let column = |name: &str| format!("json_extract(point, '$.{name}') AS {name}");
    let columns: Vec<String> = TrajectoryPoint::names().into_iter().map(column).collect();
    format!("CREATE VIEW trajectory AS SELECT key, step,\n    {}\nFROM points", columns.join(",\n    "))
}

fn column_type(kind: Kind) -> ColumnType {
    match kind {
        Kind::Flag | Kind::Count => ColumnType::Integer,
        Kind::Number => ColumnType::Real,
        Kind::Word(_) | Kind::Pattern { .. } | Kind::Text => ColumnType::Text,
    }
}

/// The value of a setting in SQL. Settings of training are `NULL` for cells without training.
fn setting_expression(setting: &Setting) -> String {
    let given = format!("json_extract(config, '$.{}')", setting.name);
    let default = match &setting.default {
        Value::Null => return given,
        Value::Flag(flag) => u8::from(*flag).to_string(),
        Value::Count(count) => count.to_string(),
        Value::Number(x) => format!("{x:?}"),
        Value::Text(text) => format!("'{text}'"),
    };
    match setting.name {
        "steps" => given,
        _ if Training::settings().contains(setting) => {
            let trained = "json_extract(config, '$.steps') IS NOT NULL";
            format!("CASE WHEN {trained} THEN coalesce({given}, {default}) END")
        }
        _ => format!("coalesce({given}, {default})"),
    }
}

/// An entry's values in the order of [`COLUMNS`].
pub fn values(entry: &Entry) -> Vec<Json> {
    let config = Values::of(&entry.config);
    let mut values = vec![json!(entry.key)];
    match &entry.result {
        Ok(_) => values.extend(["done".into(), Json::Null]),
        Err(reason) => values.extend(["failed".into(), reason.as_str().into()]),
    }
    values.extend(cell_settings().map(|setting| match config.get(setting.name) {
        None | Some(Value::Null) => Json::Null,
        Some(Value::Flag(flag)) => u8::from(*flag).into(),
        Some(value) => json!(value),
    }));
    match &entry.result {
        Ok(outcome) => {
            for (_, estimate) in outcome.measures.iter() {
                let numbers = [json!(estimate.mean), json!(estimate.variance), json!(estimate.items)];
                values.extend(numbers.map(|number| if estimate.is_missing() { Json::Null } else { number }));
            }
            let noise = outcome.noise.map(|noise| json!(noise).to_string());
            values.extend([json!(outcome.trigger_sign), json!(noise), json!(outcome.seconds)]);
        }
        Err(_) => values.resize(values.len() + 3 * Measure::ALL.len() + 3, Json::Null),
    }
    let config = json!(superpose_core::config::schema::Sparse(&entry.config)).to_string();
    let (revision, numerics) = (entry.numerics_revision.into(), entry.numerics.word().into());
    values.extend([config.into(), revision, numerics, entry.version.as_str().into()]);
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use superpose_core::backend::Numerics;
    use superpose_core::config::Training;

    #[test]
    fn every_column_has_a_value() {
        let settings = Settings { training: Some(Training::new(3)), ..Settings::default() };
        let config = settings.check().unwrap();
        let entry = Entry::new(&config, &Numerics::CPU, Err("no".into()));
        let values = values(&entry);
        assert_eq!(values.len(), COLUMNS.len());
        let of = |name: &str| &values[COLUMNS.iter().position(|column| column.name == name).unwrap()];
        assert_eq!((of("vocab"), of("steps"), of("rate")), (&json!(512), &json!(3), &json!(0.01)));
        assert_eq!((of("status"), of("version")), (&json!("failed"), &json!(env!("CARGO_PKG_VERSION"))));
        assert_eq!(of("config"), &json!(r#"{"steps":3}"#));
    }
}
