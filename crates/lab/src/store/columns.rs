//! The columns of the table of results: the names of the theory page, in one place for reading, writing and export.

use std::sync::LazyLock;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Row, Statement, ToSql};
use superpose_core::config::Settings;

use crate::cell::{Entry, Known, Measure, Outcome};

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// Text.
    Text(String),
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Integer(x) => ValueRef::Integer(*x),
            Value::Real(x) => ValueRef::Real(*x),
            Value::Text(x) => ValueRef::Text(x.as_bytes()),
        }))
    }
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers.
    Integer,
    /// Numbers.
    Real,
    /// Text.
    Text,
}

/// The configuration's columns.
pub const CONFIG: [(&str, Kind); 20] = [
    ("vocab", Kind::Integer),
    ("dim", Kind::Integer),
    ("length", Kind::Integer),
    ("samples", Kind::Integer),
    ("width", Kind::Integer),
    ("activation", Kind::Text),
    ("embedding", Kind::Text),
    ("output_embedding", Kind::Text),
    ("trigger", Kind::Text),
    ("labels", Kind::Text),
    ("zipf", Kind::Real),
    ("noise_vocab", Kind::Integer),
    ("regime", Kind::Text),
    ("eta", Kind::Real),
    ("gamma", Kind::Real),
    ("eta2", Kind::Real),
    ("lead", Kind::Real),
    ("precision", Kind::Text),
    ("test_samples", Kind::Integer),
    ("seed", Kind::Integer),
];

/// The columns of training, after all others: version 2 of the store brought them, and a row is read without them.
pub const TRAINING: [(&str, Kind); 18] = [
    ("rank", Kind::Integer),
    ("clusters", Kind::Integer),
    ("spread", Kind::Real),
    ("steps", Kind::Integer),
    ("optimiser", Kind::Text),
    ("rate", Kind::Real),
    ("schedule", Kind::Text),
    ("batch", Kind::Integer),
    ("momentum", Kind::Real),
    ("weight_decay", Kind::Real),
    ("every", Kind::Integer),
    ("early_stopping", Kind::Integer),
    ("warm_start", Kind::Integer),
    ("heads", Kind::Integer),
    ("positions", Kind::Text),
    ("factored", Kind::Integer),
    ("train_embeddings", Kind::Integer),
    ("train_first_layer", Kind::Integer),
];

/// The measures: each has a column with its mean, and two with `_variance` and `_items` after its name.
pub const MEASURES: [&str; 6] =
    ["accuracy", "memory_accuracy", "one_step_accuracy", "lock_rate", "attention_mass", "margin"];

/// Number of the first measure's column.
const FIRST_MEASURE: usize = 3 + CONFIG.len();
/// Number of the first column after the measures.
const AFTER_MEASURES: usize = FIRST_MEASURE + 3 * MEASURES.len();

/// All columns with what they hold, in the order of the table.
pub static COLUMNS: LazyLock<Vec<(String, Kind)>> = LazyLock::new(|| {
    let plain = |(name, kind): (&str, Kind)| (name.to_string(), kind);
    let measures = MEASURES.iter().flat_map(|name| {
        [
            (name.to_string(), Kind::Real),
            (format!("{name}_variance"), Kind::Real),
            (format!("{name}_items"), Kind::Integer),
        ]
    });
    [("key", Kind::Text), ("status", Kind::Text), ("reason", Kind::Text)]
        .into_iter()
        .chain(CONFIG)
        .map(plain)
        .chain(measures)
        .chain(
            [
                ("trigger_sign", Kind::Integer),
                ("noise", Kind::Text),
                ("seconds", Kind::Real),
                ("config", Kind::Text),
                ("numerics_revision", Kind::Integer),
                ("version", Kind::Text),
            ]
            .map(plain),
        )
        .chain(TRAINING.map(plain))
        .collect()
});

/// The columns' names, as SQL wants them.
fn list(columns: &[(String, Kind)]) -> String {
    columns.iter().map(|(name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// What a row is read from: the full configuration is one of these, and every version of the store has them.
fn read_list() -> String {
    list(&COLUMNS[..COLUMNS.len() - TRAINING.len()])
}

/// One row by its key.
pub(super) static SELECT: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM results WHERE key = ?1", read_list()));

/// All rows in the order of keys.
pub(super) static SELECT_ALL: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM results ORDER BY key", read_list()));

/// A new row, or a better one for the same key.
pub(super) static INSERT: LazyLock<String> = LazyLock::new(|| {
    let places: Vec<String> = (1..=COLUMNS.len()).map(|i| format!("?{i}")).collect();
    let updates: Vec<String> =
        COLUMNS[1..].iter().map(|(name, _)| format!("\"{name}\" = excluded.\"{name}\"")).collect();
    format!(
        "INSERT INTO results ({}) VALUES ({}) ON CONFLICT (key) DO UPDATE SET {}",
        list(&COLUMNS),
        places.join(", "),
        updates.join(", ")
    )
});

/// An entry's values, in the order of [`COLUMNS`].
pub fn values(entry: &Entry) -> Vec<Value> {
    let config = &entry.config;
    let whole = |x: usize| Value::Integer(x as i64);
    let text = |x: &str| Value::Text(x.into());
    let maybe = |x: Option<f64>| x.map_or(Value::Null, Value::Real);
    let mut values = Vec::with_capacity(COLUMNS.len());
    values.push(Value::Text(entry.key.to_string()));
    match &entry.result {
        Ok(_) => values.extend([text("done"), Value::Null]),
        Err(reason) => values.extend([text("failed"), text(reason)]),
    }
    values.extend([
        whole(config.vocab),
        whole(config.dim),
        whole(config.length),
        whole(config.samples),
        config.width.map_or(Value::Null, whole),
        text(config.activation.word()),
        text(config.embedding.word()),
        config.output_embedding.as_deref().map_or(Value::Null, text),
        text(config.trigger.word()),
        Value::Text(config.labels.to_string()),
        maybe(config.zipf),
        config.noise_vocab.map_or(Value::Null, whole),
        text(config.regime.word()),
        Value::Real(config.eta),
        maybe(config.gamma),
        maybe(config.eta2),
        Value::Real(config.lead),
        text(config.precision.word()),
        whole(config.test_samples),
        Value::Integer(config.seed as i64),
    ]);
    match &entry.result {
        Ok(outcome) => {
            for (_, measure) in outcome.named() {
                values.extend([
                    Value::Real(measure.mean),
                    Value::Real(measure.variance),
                    whole(measure.items),
                ]);
            }
            let noise = outcome.noise.as_ref().and_then(|noise| serde_json::to_string(noise).ok());
            values.extend([
                Value::Integer(outcome.trigger_sign.into()),
                noise.map_or(Value::Null, Value::Text),
                Value::Real(outcome.seconds),
            ]);
        }
        Err(_) => values.resize(AFTER_MEASURES + 3, Value::Null),
    }
    values.extend([
        Value::Text(crate::cell::config_json(config)),
        Value::Integer(entry.numerics_revision.into()),
        text(&entry.version),
    ]);
    let optional = |x: Option<usize>| x.map_or(Value::Null, whole);
    values.extend([optional(config.rank), optional(config.clusters), maybe(config.spread)]);
    if config.steps == 0 {
        values.resize(COLUMNS.len(), Value::Null);
        return values;
    }
    let flag = |x: bool| Value::Integer(x.into());
    values.extend([
        whole(config.steps),
        text(config.optimiser.word()),
        Value::Real(config.rate),
        text(config.schedule.word()),
        optional(config.batch),
        maybe(config.momentum),
        Value::Real(config.weight_decay),
        optional(config.every),
        optional(config.early_stopping),
        flag(config.warm_start),
        whole(config.heads),
        text(config.positions.word()),
        flag(config.factored),
        flag(config.train_embeddings),
        flag(config.train_first_layer),
    ]);
    values
}

pub(super) fn write(insert: &mut Statement<'_>, entry: &Entry) -> rusqlite::Result<()> {
    insert.execute(rusqlite::params_from_iter(values(entry))).map(|_| ())
}

/// What a row says of its cell. The error says what is wrong with the row.
pub(super) fn read_known(row: &Row<'_>) -> Result<Known, String> {
    let wrong = |error: rusqlite::Error| error.to_string();
    if row.get_ref(1).map_err(wrong)?.as_str().map_err(|error| error.to_string())? == "failed" {
        let reason: Option<String> = row.get(2).map_err(wrong)?;
        return Ok(Err(reason.unwrap_or_default()));
    }
    let measure = |place: usize| -> rusqlite::Result<Measure> {
        let first = FIRST_MEASURE + 3 * place;
        Ok(Measure { mean: row.get(first)?, variance: row.get(first + 1)?, items: row.get(first + 2)? })
    };
    let noise: Option<String> = row.get(AFTER_MEASURES + 1).map_err(wrong)?;
    let noise = noise.map(|text| serde_json::from_str(&text)).transpose();
    let outcome = || -> rusqlite::Result<Outcome> {
        Ok(Outcome {
            accuracy: measure(0)?,
            memory_accuracy: measure(1)?,
            one_step_accuracy: measure(2)?,
            lock_rate: measure(3)?,
            attention_mass: measure(4)?,
            margin: measure(5)?,
            trigger_sign: row.get(AFTER_MEASURES)?,
            noise: None,
            seconds: row.get(AFTER_MEASURES + 2)?,
        })
    };
    let outcome = outcome().map_err(wrong)?;
    Ok(Ok(Outcome { noise: noise.map_err(|error| format!("noise: {error}"))?, ..outcome }))
}

/// The entry of a row. The error says what is wrong with the row.
pub(super) fn read(row: &Row<'_>) -> Result<Entry, String> {
    let wrong = |error: rusqlite::Error| error.to_string();
    let text = |place: usize| row.get::<_, String>(place).map_err(wrong);
    let config: Settings =
        serde_json::from_str(&text(AFTER_MEASURES + 3)?).map_err(|error| format!("config: {error}"))?;
    Ok(Entry {
        key: text(0)?.parse().map_err(|error| format!("key: {error}"))?,
        config,
        result: read_known(row)?,
        numerics_revision: row.get(AFTER_MEASURES + 4).map_err(wrong)?,
        version: text(AFTER_MEASURES + 5)?,
    })
}
