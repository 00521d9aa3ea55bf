//! The page of the store's columns, from its schema.

use std::collections::BTreeSet;

use anyhow::{Context, bail, ensure};
use superpose_core::config::Settings;
use superpose_lab::store::COLUMNS;

use super::{cell, code, head, table};
use crate::root;

/// The page of columns.
pub fn store() -> anyhow::Result<String> {
    let mut text = head("Columns of the store");
    text += "\nThe table `results` of a store (`superpose sweep`, `threshold --store`, `phase --store`, `reproduce`) has one row per cell: one configuration, one seed. \
             CSV and Parquet from `superpose export` have the same columns, CSV without `config` (the others hold it).\n\n";
    let columns = columns(&schema()?);
    let names: BTreeSet<&str> =
        columns.iter().map(|(name, ..)| name.as_str()).filter(|name| *name != "id").collect();
    let written: BTreeSet<&str> = COLUMNS.iter().map(|(name, _)| name.as_str()).collect();
    ensure!(names == written, "the schema has {names:?}, the code writes {written:?}");
    let settings =
        serde_json::to_value(Settings { output_embedding: Some(String::new()), ..Settings::default() })?;
    let mut rows = Vec::new();
    for (name, kind, comment) in &columns {
        let meaning = match (comment.as_str(), name.strip_suffix("_variance"), name.strip_suffix("_items")) {
            ("", Some(measure), _) => format!("variance of an item about the mean of `{measure}`"),
            ("", _, Some(measure)) => format!("items that `{measure}` is the mean of"),
            ("", ..) if settings.get(name).is_some() => format!("the key `{name}`"),
            ("", ..) => match name.as_str() {
                "status" => "`done`, or `failed`".into(),
                "seconds" => "time of the run".into(),
                "numerics_revision" => "of the engine that ran it; another one gives other results".into(),
                _ => bail!("the column {name} has no comment in the schema"),
            },
            (comment, ..) => comment.to_string(),
        };
        rows.push([code(name), kind.to_lowercase(), cell(&meaning)]);
    }
    text += &table(["column", "type", "meaning"], rows);
    text += "\nThe mean of a measure, its variance and its number of items are what an interval needs. Numbers that are absent in the configuration \
             are `NULL`. [Keys and words](keys.md) says what the configuration's columns mean, and [results in Python, pandas and SQL](../how-to/results.md) \
             shows how to use them.\n";
    Ok(text)
}

/// All versions of the schema, concatenated.
fn schema() -> anyhow::Result<String> {
    let folder = root().join("crates/lab/src/store");
    let mut schema = String::new();
    for version in 1.. {
        let path = folder.join(format!("version_{version}.sql"));
        if !path.exists() {
            break;
        }
        schema += &std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    }
    Ok(schema)
}

/// Name, type and comment of each column of the table of results, including columns added by later versions.
fn columns(schema: &str) -> Vec<(String, String, String)> {
    let column = |line: &str| {
        let (declaration, comment) = line.split_once("--").unwrap_or((line, ""));
        let mut words = declaration.split_whitespace();
        let name = words.next()?.trim_matches('"');
        Some((name.into(), words.next()?.trim_end_matches([',', ';']).into(), comment.trim().into()))
    };
    let table = schema.split_once("CREATE TABLE results (").map_or("", |(_, table)| table);
    let first = table.lines().take_while(|line| !line.starts_with(')'));
    let added = schema.lines().filter_map(|line| line.trim().strip_prefix("ALTER TABLE results ADD COLUMN "));
    first.chain(added).filter_map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_and_comments_are_read() {
        let schema = "CREATE TABLE results (\n  id INTEGER, -- order\n\n  \"trigger\" TEXT\n) STRICT;\n\
                      ALTER TABLE results ADD COLUMN heads INTEGER; -- heads";
        let found = columns(schema);
        let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["id", "trigger", "heads"]);
        assert_eq!(found[2], ("heads".into(), "INTEGER".into(), "heads".into()));
    }
}
