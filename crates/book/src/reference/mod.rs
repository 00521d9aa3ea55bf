//! The reference pages: commands, configuration keys, columns of the store, results as JSON, and the Python package.
//!
//! They are generated from the code: the arguments of the command line, the defaults, the JSON schemas of settings and records, and
//! docstrings. `cargo xtask reference` writes them, and a test fails when the pages in `docs/` differ.

mod commands;
mod keys;
mod python;
mod records;
mod results;
mod store;
mod stub;

use commands::commands;
use keys::keys;
use python::python;
use records::records;
pub use results::results;
use store::store;
use stub::stub;

/// The path in the project and the text of every page.
pub fn pages() -> anyhow::Result<Vec<(&'static str, String)>> {
    Ok(vec![
        ("docs/reference/commands.md", commands()),
        ("docs/reference/keys.md", keys()),
        ("docs/reference/store.md", store()),
        ("docs/reference/results.md", results()?),
        ("docs/reference/python.md", python()?),
        ("python/superpose/_settings.pyi", stub()),
        ("python/superpose/_keys.py", stub::keys()),
        ("python/superpose/results.py", records()?),
    ])
}

/// The first lines of a page.
fn head(title: &str) -> String {
    format!(
        "<!-- Written from the code by `cargo xtask reference`. Change the code, not this page. -->\n\n# {title}\n"
    )
}

/// A table with a header.
fn table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let cell = |cell: &String| if cell.is_empty() { "| ".into() } else { format!("| {cell} ") };
    let line = |cells: &[String]| cells.iter().map(cell).collect::<String>() + "|\n";
    let mut text = line(&header.map(String::from)) + &"|---".repeat(N) + "|\n";
    for row in rows {
        text += &line(&row);
    }
    text
}

/// Text as a cell of a table: on one line, with Markdown's special characters escaped.
fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Code is left as it is, except for the bar, which ends a cell even in code.
    let mut parts: Vec<String> = line.split('`').map(|part| part.replace('|', "\\|")).collect();
    for part in parts.iter_mut().step_by(2) {
        *part = part.replace('<', "&lt;").replace('*', "\\*").replace('_', "\\_");
    }
    parts.join("`")
}

/// Text as code in a cell.
fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{}`", text.replace('|', "\\|")) }
}

/// Splits a help text such as `Rate of step 1 (default 1)` into meaning and default.
fn said_default(help: &str) -> (&str, &str) {
    match help.strip_suffix(')').and_then(|help| help.rsplit_once(" (default")) {
        Some((meaning, default)) if !default.is_empty() => (meaning, default.trim_start_matches([':', ' '])),
        _ => (help, ""),
    }
}

/// Documentation without rustdoc's links.
fn plain(text: &str) -> String {
    text.replace("[`", "`").replace("`]", "`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_tables_are_escaped() {
        assert_eq!(cell("a | b_c\n  `x|y_z` <d>"), "a \\| b\\_c `x\\|y_z` &lt;d>");
        assert_eq!(code("mean|all"), "`mean\\|all`");
        assert_eq!(said_default("Rate (of 1) (default 1)"), ("Rate (of 1)", "1"));
        assert_eq!(said_default("Rate (default: that of step 2)"), ("Rate", "that of step 2"));
        assert_eq!(said_default("Regime: exact, limit (default)"), ("Regime: exact, limit (default)", ""));
        assert_eq!(said_default("Threads (default: all); no more"), ("Threads (default: all); no more", ""));
        let text = table(["a", ""], [["1".into(), String::new()]]);
        assert_eq!(text, "| a | |\n|---|---|\n| 1 | |\n");
    }
}
