//! Rows of the table `cells`: reading and writing entries.

use rusqlite::{Row, Statement, params};
use serde::Serialize;
use superpose_core::config::schema::Sparse;

use crate::cell::{Entry, Known};

/// One row by its key.
pub const SELECT: &str =
    "SELECT key, config, outcome, reason, numerics_revision, numerics, version FROM cells WHERE key = ?1";

/// All rows in the order of keys.
pub const SELECT_ALL: &str =
    "SELECT key, config, outcome, reason, numerics_revision, numerics, version FROM cells ORDER BY key";

/// A new row, or a better one for the same key.
pub const INSERT: &str = "INSERT INTO cells (key, config, outcome, reason, numerics_revision, numerics, version) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (key) DO UPDATE SET config = excluded.config, \
     outcome = excluded.outcome, reason = excluded.reason, numerics_revision = excluded.numerics_revision, \
     numerics = excluded.numerics, version = excluded.version";

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a cell is plain values")
}

pub fn write(insert: &mut Statement<'_>, entry: &Entry) -> rusqlite::Result<()> {
    let config = json(&Sparse(&entry.config));
    let (outcome, reason) = match &entry.result {
        Ok(outcome) => (Some(json(outcome)), None),
        Err(reason) => (None, Some(reason)),
    };
    let key = entry.key.to_string();
    let (revision, numerics) = (entry.numerics_revision, entry.numerics.word());
    insert.execute(params![key, config, outcome, reason, revision, numerics, entry.version]).map(|_| ())
}

/// The result in a row. The error says what is wrong with the row.
pub fn read_known(row: &Row<'_>) -> Result<Known, String> {
    let wrong = |error: rusqlite::Error| error.to_string();
    let outcome: Option<&str> = row.get_ref(2).map_err(wrong)?.as_str_or_null().map_err(|e| e.to_string())?;
    match outcome {
        Some(text) => serde_json::from_str(text).map(Ok).map_err(|error| format!("outcome: {error}")),
        None => Ok(Err(row.get::<_, Option<String>>(3).map_err(wrong)?.unwrap_or_default())),
    }
}

/// The same. A text equal to that of `entry` is not parsed, which saves most of the time of merging known cells again.
pub fn read_like(row: &Row<'_>, entry: &Entry) -> Result<Known, String> {
    match &entry.result {
        Ok(own) if row.get_ref(2).is_ok_and(|text| text.as_str() == Ok(&json(own))) => Ok(Ok(*own)),
        _ => read_known(row),
    }
}

/// The entry of a row. The error says what is wrong with the row.
pub fn read(row: &Row<'_>) -> Result<Entry, String> {
    let wrong = |error: rusqlite::Error| error.to_string();
    let text = |place: usize| row.get::<_, String>(place).map_err(wrong);
    Ok(Entry {
        key: text(0)?.parse().map_err(|error| format!("key: {error}"))?,
        format: Entry::FORMAT,
        config: serde_json::from_str(&text(1)?).map_err(|error| format!("config: {error}"))?,
        result: read_known(row)?,
        numerics_revision: row.get(4).map_err(wrong)?,
        numerics: text(5)?.try_into()?,
        version: text(6)?,
    })
}
