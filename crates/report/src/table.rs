//! Tables: the same rows as HTML and as CSV.

use std::fmt::Write;

use superpose_lab::interval::Interval;

use crate::words;

/// A value in a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Words.
    Text(String),
    /// A whole number.
    Count(usize),
    /// A number.
    Number(f64),
    /// A number with its 95% interval.
    Interval(Interval),
    /// Nothing.
    Absent,
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<usize> for Value {
    fn from(count: usize) -> Value {
        Value::Count(count)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Number(number)
    }
}

impl<X: Into<Value>> From<Option<X>> for Value {
    fn from(value: Option<X>) -> Value {
        value.map_or(Value::Absent, Into::into)
    }
}

impl From<Interval> for Value {
    fn from(interval: Interval) -> Value {
        Value::Interval(interval)
    }
}

/// A table with the name of its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The file's name, without its ending.
    pub name: &'static str,
    /// What it holds.
    pub caption: String,
    /// Column names.
    pub columns: Vec<&'static str>,
    /// Rows, one value for each column.
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// As CSV: an interval takes three columns.
    pub fn csv(&self) -> String {
        let wide: Vec<bool> = (0..self.columns.len())
            .map(|i| self.rows.iter().any(|row| matches!(row[i], Value::Interval(_))))
            .collect();
        let mut text = String::new();
        let mut header = Vec::new();
        for (column, &wide) in self.columns.iter().zip(&wide) {
            let name = column.replace(' ', "_");
            header.push(name.clone());
            if wide {
                header.extend([format!("{name}_low"), format!("{name}_high")]);
            }
        }
        text += &header.join(",");
        text.push('\n');
        for row in &self.rows {
            let mut fields = Vec::new();
            for (value, &wide) in row.iter().zip(&wide) {
                match value {
                    Value::Text(words) => fields.push(quoted(words)),
                    Value::Count(count) => fields.push(count.to_string()),
                    Value::Number(number) => fields.push(number.to_string()),
                    Value::Interval(Interval { mean, low, high }) => {
                        fields.extend([mean.to_string(), low.to_string(), high.to_string()]);
                    }
                    Value::Absent => fields.push(String::new()),
                }
                if wide && !matches!(value, Value::Interval(_)) {
                    fields.extend([String::new(), String::new()]);
                }
            }
            let _ = writeln!(text, "{}", fields.join(","));
        }
        text
    }

    /// As an HTML table.
    pub(crate) fn html(&self, escape: impl Fn(&str) -> String) -> String {
        let mut text =
            format!("<figure class=\"table\"><table><caption>{}</caption><thead><tr>", escape(&self.caption));
        for column in &self.columns {
            let _ = write!(text, "<th>{}</th>", escape(column));
        }
        text += "</tr></thead><tbody>\n";
        for row in &self.rows {
            text += "<tr>";
            for value in row {
                let (class, words) = match value {
                    Value::Text(words) => ("words", words.clone()),
                    Value::Count(count) => ("number", words::count(*count)),
                    Value::Number(number) => ("number", words::number(*number)),
                    Value::Interval(interval) => ("number", words::interval(interval)),
                    Value::Absent => ("number", "-".into()),
                };
                let _ = write!(text, "<td class=\"{class}\">{}</td>", escape(&words));
            }
            text += "</tr>\n";
        }
        text + "</tbody></table></figure>\n"
    }
}

/// A CSV field, quoted where it must be.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_take_three_columns() {
        let table = Table {
            name: "t",
            caption: "c".into(),
            columns: vec!["name", "critical N"],
            rows: vec![
                vec!["a, b".into(), Interval { mean: 2.0, low: 1.0, high: 3.5 }.into()],
                vec!["c".into(), Value::Absent],
            ],
        };
        assert_eq!(table.csv(), "name,critical_N,critical_N_low,critical_N_high\n\"a, b\",2,1,3.5\nc,,,\n");
        let html = table.html(|text| text.replace('<', "&lt;"));
        assert!(html.contains("<td class=\"number\">2.00 (1.00 to 3.50)</td>"), "{html}");
    }
}
