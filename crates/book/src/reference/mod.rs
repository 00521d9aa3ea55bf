//! The reference: what can be typed, written in a file, found in the store, read from JSON and called from Python. All of it comes
//! from the code: the arguments that the program parses, the defaults it takes, and the comments on what it writes. `cargo xtask reference`
//! writes the pages; a test fails when the pages in `docs/` are not these.

mod commands;
mod keys;
mod python;
mod results;
mod source;
mod store;

pub use commands::commands;
pub use keys::keys;
pub use python::python;
pub use results::results;
pub use store::store;

/// Every page of the reference: its path in the project, and its text.
pub fn pages() -> anyhow::Result<Vec<(&'static str, String)>> {
    Ok(vec![
        ("docs/reference/commands.md", commands()),
        ("docs/reference/keys.md", keys()?),
        ("docs/reference/store.md", store()?),
        ("docs/reference/results.md", results()?),
        ("docs/reference/python.md", python()?),
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

/// Text as a cell of a table: one line, nothing that Markdown would take for its own.
fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // What stands in backticks is left alone, but for the bar, which would end the cell even there.
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

/// A help text without the default at its end, and that default: `Rate of step 1 (default 1)`.
fn said_default(help: &str) -> (&str, &str) {
    match help.strip_suffix(')').and_then(|help| help.rsplit_once(" (default")) {
        Some((meaning, default)) => (meaning, default.trim_start_matches([':', ' '])),
        None => (help, ""),
    }
}

/// Documentation without the brackets of links to code.
fn plain(text: &str) -> String {
    text.replace("[`", "`").replace("`]", "`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stay_cells() {
        assert_eq!(cell("a | b_c\n  `x|y_z` <d>"), "a \\| b\\_c `x\\|y_z` &lt;d>");
        assert_eq!(code("mean|all"), "`mean\\|all`");
        assert_eq!(said_default("Rate (of 1) (default 1)"), ("Rate (of 1)", "1"));
        assert_eq!(said_default("Rate (default: that of step 2)"), ("Rate", "that of step 2"));
        assert_eq!(said_default("Threads (default: all); no more"), ("Threads (default: all); no more", ""));
        let text = table(["a", ""], [["1".into(), String::new()]]);
        assert_eq!(text, "| a | |\n|---|---|\n| 1 | |\n");
    }
}
