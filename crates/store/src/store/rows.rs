//! Rows of the table `cells`: reading and writing entries.

use rusqlite::{Row, Statement, params};
use serde::Serialize;
use superpose_core::config::schema::Sparse;

use crate::cell::{Entry, Known, fingerprint};

/// One row by its key.
pub const SELECT: &str = "SELECT key, config, outcome, reason, numerics_revision, numerics, version, checksum \
     FROM cells WHERE key = ?1";

/// All rows in the order of keys.
pub const SELECT_ALL: &str = "SELECT key, config, outcome, reason, numerics_revision, numerics, version, checksum \
     FROM cells ORDER BY key";

/// A new row, or a better one for the same key.
pub const INSERT: &str = "INSERT INTO cells \
     (key, config, outcome, reason, numerics_revision, numerics, version, checksum) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (key) DO UPDATE SET config = excluded.config, \
     outcome = excluded.outcome, reason = excluded.reason, numerics_revision = excluded.numerics_revision, \
     numerics = excluded.numerics, version = excluded.version, checksum = excluded.checksum";

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a cell is plain values")
}

pub fn write(insert: &mut Statement<'_>, entry: &Entry) -> rusqlite::Result<()> {
    let config = json(&Sparse(&entry.config));
    let (outcome, reason) = match &entry.result {
        Ok(outcome) => (Some(json(outcome)), None),
        Err(reason) => (None, Some(reason)),
    };
    let (key, revision) = (entry.key.to_string(), entry.numerics_revision);
    let (numerics, version) = (entry.numerics.word(), &entry.version);
    let (outcome, reason) = (outcome.as_deref(), reason.map(String::as_str));
    let text = revision.to_string();
    // Of the stored texts and not of what they mean, so that it stays the same when measures are added.
    let checksum = fingerprint([
        &*key,
        &config,
        outcome.unwrap_or_default(),
        reason.unwrap_or_default(),
        &text,
        numerics,
        version,
    ]);
    insert.execute(params![key, config, outcome, reason, revision, numerics, version, checksum]).map(|_| ())
}

/// The result in a row that is like one that was just read and checked: a text equal to that of `entry` is not parsed, which saves
/// most of the time of merging known cells again.
pub fn read_like(row: &Row<'_>, entry: &Entry) -> Result<Known, String> {
    match &entry.result {
        Ok(own) if row.get_ref(2).is_ok_and(|text| text.as_str() == Ok(&json(own))) => Ok(Ok(*own)),
        _ => Ok(read(row)?.result),
    }
}

/// The entry of a row. The error says what is wrong with the row.
pub fn read(row: &Row<'_>) -> Result<Entry, String> {
    let wrong = |error: rusqlite::Error| error.to_string();
    let text =
        |place: usize| row.get_ref(place).map_err(wrong)?.as_str_or_null().map_err(|error| error.to_string());
    let present = |place: usize| Ok::<_, String>(text(place)?.unwrap_or_default());
    let revision: u32 = row.get(4).map_err(wrong)?;
    let (key, config) = (present(0)?, present(1)?);
    let (reason, numerics, version) = (present(3)?, present(5)?, present(6)?);
    let outcome = text(2)?;
    let damaged = |what: &str| format!("the row of cell {key}: {what}");
    let texts = [key, config, outcome.unwrap_or_default(), reason, &revision.to_string(), numerics, version];
    if fingerprint(texts) != present(7)? {
        return Err(damaged("its checksum does not fit"));
    }
    let entry = Entry {
        key: key.parse().map_err(damaged)?,
        format: Entry::FORMAT,
        config: serde_json::from_str(config).map_err(|error| damaged(&format!("config: {error}")))?,
        result: match outcome {
            Some(text) => {
                Ok(serde_json::from_str(text).map_err(|error| damaged(&format!("outcome: {error}")))?)
            }
            None => Err(reason.into()),
        },
        numerics_revision: revision,
        numerics: numerics.to_string().try_into().map_err(damaged)?,
        version: version.into(),
    };
    entry.check().map_err(damaged)?;
    Ok(entry)
}
