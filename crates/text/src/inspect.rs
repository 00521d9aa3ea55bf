//! A real embedding matrix.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};
use superpose_lab::inspect::{Geometry, Inspection};

/// How the rows overlap, and how many facts they could hold.
pub fn inspect(found: &Inspection) -> String {
    let mut text = format!("Tensor {}: {} rows, d = {}\n\n", plain(&found.tensor), found.rows, found.dim);
    let dim = found.dim as f64;
    let mut table = table(["", "raw", "centred", "Gaussian"]);
    let gaussian = Geometry {
        mean_square_cosine: 1.0 / dim,
        effective_dimension: dim,
        mean_cosine: 0.0,
        norm_mean: 1.0,
        norm_cv: (0.5 / dim).sqrt(),
    };
    let columns = [found.raw.geometry, found.centred.geometry, gaussian];
    rows(&mut table, &columns);
    let facts = [found.raw.facts, found.centred.facts, found.gaussian_facts];
    let label = format!("  predicted facts at accuracy {}", found.accuracy);
    table.add_row([label].into_iter().chain(facts.map(|facts| facts.to_string())));
    let alike = [found.raw.facts_by_means, found.centred.facts_by_means].map(|facts| facts.to_string());
    table.add_row(["  the same if all rows were alike".to_string()].into_iter().chain(alike));
    lines(&mut text, &table);
    let outputs = match &found.output {
        None => "Gaussian output embeddings".to_string(),
        Some(output) => {
            let _ = writeln!(text, "\nOutput tensor {}: {} rows\n", plain(&output.tensor), output.rows);
            let mut table = self::table(["", "raw", "centred", ""]);
            rows(&mut table, &[output.raw, output.centred]);
            lines(&mut text, &table);
            let name = plain(&output.tensor);
            format!("output embeddings from {name} (what all of them share has no effect)")
        }
    };
    let share = |facts: u64| match found.gaussian_facts {
        0 => String::new(),
        gaussian => format!(" ({:.0}%)", 100.0 * facts as f64 / gaussian as f64),
    };
    let _ = writeln!(
        text,
        "\nOf the {} facts of Gaussian vectors of the same dimension, these hold {}{} as they are and {}{} once their mean is taken off.",
        found.gaussian_facts,
        found.raw.facts,
        share(found.raw.facts),
        found.centred.facts,
        share(found.centred.facts),
    );
    if found.raw.facts.max(found.centred.facts) > found.rows as u64 {
        let _ = writeln!(
            text,
            "That is more than the {} rows there are: read it as what so many rows that lie like these would hold.",
            found.rows
        );
    }
    let _ = writeln!(
        text,
        "Predicted for attention on the trigger, trigger in the keys, {} samples per fact, {outputs}.",
        found.samples_per_fact
    );
    text
}

/// A name from a file, with control characters escaped: a terminal would obey them.
fn plain(name: &str) -> String {
    name.chars()
        .flat_map(|c| match c.is_control() {
            true => c.escape_default().collect::<Vec<char>>(),
            false => vec![c],
        })
        .collect()
}

fn table(header: [&str; 4]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    (1..4).for_each(|column| {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    });
    table
}

fn rows(table: &mut Table, columns: &[Geometry]) {
    let row = |name: &str, value: &dyn Fn(&Geometry) -> String| {
        let cells: Vec<String> = [format!("  {name}")].into_iter().chain(columns.iter().map(value)).collect();
        cells
    };
    for row in [
        row("mean square cosine", &|g| number(g.mean_square_cosine, 6)),
        row("effective dimension", &|g| number(g.effective_dimension, 1)),
        row("mean cosine", &|g| number(g.mean_cosine, 4)),
        row("mean length", &|g| number(g.norm_mean, 4)),
        row("spread of lengths", &|g| number(g.norm_cv, 4)),
    ] {
        table.add_row(row);
    }
}

fn lines(text: &mut String, table: &Table) {
    table.lines().for_each(|line| {
        let _ = writeln!(text, "{}", line.trim_end());
    });
}

/// The given decimals where they say enough, powers of ten elsewhere; a dash for what has no value.
fn number(x: f64, decimals: usize) -> String {
    match x {
        _ if !x.is_finite() => "-".into(),
        0.0 => "0".into(),
        _ if x.abs() >= 1e7 || x.abs() < 0.1_f64.powi(decimals as i32) => format!("{x:.2e}"),
        _ => format!("{x:.decimals$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_command_a_terminal() {
        assert_eq!(plain("a\u{1b}[31mb\nc"), "a\\u{1b}[31mb\\nc");
        assert_eq!(plain("wörter.weight"), "wörter.weight");
    }
}
