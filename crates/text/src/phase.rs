//! A phase diagram.

use std::fmt::Write;

use superpose_lab::phase::PhaseRecord;
use superpose_lab::words::{blame, grouped};
use superpose_theory::predict::Dominant;

/// A small map, the shares of what limits recall, and what it took.
pub fn phase(record: &PhaseRecord) -> String {
    const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];
    let diagram = &record.diagram;
    let (columns, rows) = (diagram.columns.len(), diagram.rows.len());
    let (x, y) = (&record.x, &record.y);
    let mut text = format!(
        "{} over {} {} and {} {}, boundary at {}\n\n",
        capital(record.measure.label()),
        x.size,
        x.size.symbol(),
        y.size,
        y.size.symbol(),
        record.accuracy
    );
    let _ = writeln!(text, "{:>12}", grouped(diagram.rows[rows - 1] as f64));
    for r in (0..rows).rev().step_by(2) {
        let line: String = (0..columns)
            .map(|c| SHADES[((diagram.cells[r * columns + c].value * 5.0) as usize).min(4)])
            .collect();
        let _ = writeln!(text, "{:>12} {line}", "");
    }
    let ends = [diagram.columns[0], diagram.columns[columns - 1]].map(|value| grouped(value as f64));
    let _ = writeln!(
        text,
        "{:>12} {} to {} {}",
        grouped(diagram.rows[0] as f64),
        ends[0],
        ends[1],
        x.size.symbol()
    );
    let _ = writeln!(text, "{:>12} · below 0.2  ░ 0.2  ▒ 0.4  ▓ 0.6  █ from 0.8\n", "");
    let shares = diagram.shares(record.accuracy);
    if !shares.is_empty() {
        let item = |(dominant, share): &(Dominant, f64)| {
            let (part, term) = blame(dominant);
            format!("{part}: {term} {:.0}%", 100.0 * share)
        };
        let list: Vec<String> = shares.iter().map(item).collect();
        let _ = writeln!(text, "Below the boundary the theory blames: {}.", list.join(", "));
    }
    if diagram.predicted_boundary.is_empty() {
        let _ = writeln!(text, "No predicted boundary here.");
    }
    let _ = writeln!(
        text,
        "{} of {} cells run, {} each, the rest filled in; {} runs in {:.1} s.",
        diagram.measured,
        diagram.cells.len(),
        if record.repeats == 1 { "1 seed".into() } else { format!("{} seeds", record.repeats) },
        record.runs,
        record.seconds
    );
    text
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
