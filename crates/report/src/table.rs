//! Tables of a study: typed values, written as CSV with every digit and shown with few.

use schemars::JsonSchema;
use serde::Serialize;
use superpose_lab::csv;
use superpose_lab::interval::Interval;

use crate::document::{Align, Grid};
use crate::numbers::{count, interval, significant};

/// A value in a table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Value {
    /// Words.
    Text(String),
    /// A whole number.
    Count(usize),
    /// A number.
    Number(f64),
    /// A number with its 95% interval.
    Interval(Interval),
    /// No value.
    Absent,
}

macro_rules! values {
    ($($type:ty => $variant:ident,)*) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Value {
                Value::$variant(value.into())
            }
        })*
    };
}

values! { &str => Text, String => Text, usize => Count, f64 => Number, Interval => Interval, }

impl<X: Into<Value>> From<Option<X>> for Value {
    fn from(value: Option<X>) -> Value {
        value.map_or(Value::Absent, Into::into)
    }
}

/// The name of a column, and the value that an item has there.
type Column<X> = (&'static str, fn(&X) -> Value);

/// A table with the name of its file.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Table {
    /// The file's name, without its ending.
    pub name: &'static str,
    /// What it holds.
    pub caption: String,
    /// Column names.
    pub columns: Vec<&'static str>,
    /// Rows, one value for each column.
    pub rows: Vec<Vec<Value>>,
    /// Rows of the whole table, also where only the first are kept.
    pub total: usize,
}

impl Table {
    /// A table with a row for each item and a column for each name with the value of an item.
    pub(crate) fn new<X>(
        name: &'static str,
        caption: impl Into<String>,
        items: impl IntoIterator<Item = X>,
        columns: &[Column<X>],
    ) -> Table {
        let rows = items.into_iter().map(|item| columns.iter().map(|(_, value)| value(&item)).collect());
        let (rows, columns): (Vec<_>, _) = (rows.collect(), columns.iter().map(|(name, _)| *name).collect());
        Table { name, caption: caption.into(), columns, total: rows.len(), rows }
    }

    /// The table as CSV; an interval takes three columns.
    pub fn csv(&self) -> String {
        let width = |column: usize| {
            let wide = self.rows.iter().any(|row| matches!(row[column], Value::Interval(_)));
            if wide { 3 } else { 1 }
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = String::new();
        let names = self.columns.iter().zip(&widths).flat_map(|(column, width)| {
            let name = column.replace(' ', "_");
            ["", "_low", "_high"].map(|end| format!("{name}{end}")).into_iter().take(*width)
        });
        csv::line(&mut text, names);
        for row in &self.rows {
            let fields = row.iter().zip(&widths).flat_map(|(value, width)| {
                let one = |value: String| [value, String::new(), String::new()];
                let fields = match value {
                    Value::Text(words) => one(words.clone()),
                    Value::Count(count) => one(count.to_string()),
                    Value::Number(number) => one(number.to_string()),
                    Value::Interval(Interval { mean, low, high }) => [mean, low, high].map(f64::to_string),
                    Value::Absent => one(String::new()),
                };
                fields.into_iter().take(*width)
            });
            csv::line(&mut text, fields);
        }
        text
    }

    /// The table as strings, columns of words aligned to the left.
    pub(crate) fn grid(&self) -> Grid {
        let align = |column: usize| {
            let words = self.rows.iter().any(|row| matches!(row[column], Value::Text(_)));
            if words { Align::Left } else { Align::Right }
        };
        let columns: Vec<Align> = (0..self.columns.len()).map(align).collect();
        let mut grid = Grid::new(&columns, &self.columns);
        for row in &self.rows {
            grid.row(row.iter().map(|value| match value {
                Value::Text(words) => words.clone(),
                Value::Count(x) => count(*x),
                Value::Number(x) => significant(*x),
                Value::Interval(x) => interval(x),
                Value::Absent => "-".into(),
            }));
        }
        grid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_take_three_columns() {
        let interval = Interval { mean: 2.0, low: 1.0, high: 3.5 };
        let items = [("a, b", Some(interval)), ("c", None)];
        let table = Table::new("t", "c", items, &[("name", |x| x.0.into()), ("critical N", |x| x.1.into())]);
        assert_eq!(table.csv(), "name,critical_N,critical_N_low,critical_N_high\n\"a, b\",2,1,3.5\nc,,,\n");
        assert_eq!(table.grid().rows, [["a, b", "2.00 (1.00 to 3.50)"], ["c", "-"]]);
    }
}
