//! The page of the store: the columns of its view.

use superpose_lab::store::COLUMNS;

use super::{cell, code, head, table};

pub fn store() -> String {
    let mut text = head("Columns of the store");
    text += "\nThe view `results` of a store (`superpose sweep`, `threshold --store`, `phase --store`, `reproduce`) has one row per cell: one configuration, one seed. \
             CSV and Parquet from `superpose export` have the same columns, CSV without `config` (the others hold it).\n\n";
    let rows =
        COLUMNS.iter().map(|column| [code(&column.name), column.kind.word().into(), cell(&column.meaning)]);
    text += &table(["column", "type", "meaning"], rows);
    text += "\nThe mean of a measure, its variance and its number of items are what an interval needs. Settings that are absent in the configuration \
             are `NULL`; so are those of training for a cell without training, and measures that were added after the cell was run. [Keys and words](keys.md) has the values that settings take, \
             and [results in Python, pandas and SQL](../how-to/results.md) shows how to use the columns.\n\n\
             The table `cells` behind the view holds the configuration (`config`, settings that differ from their defaults) and the result (`outcome`) as JSON. \
             The view `trajectory` has a row for each record of `superpose train`: the `key` of the cell, the `step`, and a column for each number of the record.\n";
    text
}
