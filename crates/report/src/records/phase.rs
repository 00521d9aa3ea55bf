//! A phase diagram: a map, the shares of the causes below the boundary, and the number of runs.

use superpose_lab::csv;
use superpose_lab::phase::PhaseRecord;
use superpose_lab::words::{blame, capital};
use superpose_theory::predict::Dominant;

use crate::document::{Block, Document};
use crate::figures::diagram;
use crate::numbers::grouped;

/// The map, the causes that the theory gives for the cells below the boundary, and the number of cells run.
pub fn phase(record: &PhaseRecord) -> Document {
    let map = &record.diagram;
    let (x, y) = (record.x.size, record.y.size);
    let measure = record.measure.label();
    let mut page = Document::new(format!(
        "{} over {x} {} and {y} {}, boundary at {}",
        capital(measure),
        x.symbol(),
        y.symbol(),
        record.accuracy
    ));
    page.gap();
    let figure = diagram("", &record.x, &record.y, measure, map);
    page.blocks.push(Block::Figure { characters: characters(record), figure: Box::new(figure) });
    page.gap();
    let cause = |(dominant, share): &(Dominant, f64)| {
        let (part, term) = blame(dominant);
        format!("{part}: {term} {:.0}%", 100.0 * share)
    };
    let causes: Vec<String> = map.shares(record.accuracy).iter().map(cause).collect();
    if !causes.is_empty() {
        page.line(format!("Below the boundary the theory blames: {}.", causes.join(", ")));
    }
    if map.predicted_boundary.is_empty() {
        page.line("No predicted boundary here.");
    }
    page.line(format!(
        "{} of {} cells run, {} each, the rest filled in; {} runs in {:.1} s.",
        map.measured,
        map.cells.len(),
        if record.repeats == 1 { "1 seed".into() } else { format!("{} seeds", record.repeats) },
        record.runs,
        record.seconds
    ));
    page
}

/// The map in shades, a character for each column and for two rows.
fn characters(record: &PhaseRecord) -> String {
    const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];
    let map = &record.diagram;
    let (columns, rows) = (map.columns.len(), map.rows.len());
    let mut text = format!("{:>12}\n", grouped(map.rows[rows - 1] as f64));
    for row in map.cells.chunks(columns).rev().step_by(2) {
        let shades: String = row.iter().map(|cell| SHADES[((cell.value * 5.0) as usize).min(4)]).collect();
        text += &format!("{:>12} {shades}\n", "");
    }
    let [bottom, first, last] =
        [map.rows[0], map.columns[0], map.columns[columns - 1]].map(|value| grouped(value as f64));
    let symbol = record.x.size.symbol();
    text += &format!("{bottom:>12} {first} to {last} {symbol}\n");
    text + &format!("{:>12} · below 0.2  ░ 0.2  ▒ 0.4  ▓ 0.6  █ from 0.8", "")
}

/// Every cell as a line of CSV.
pub fn phase_csv(record: &PhaseRecord) -> String {
    let mut text = String::new();
    let names = [record.x.size.to_string(), record.y.size.to_string(), record.measure.to_string()];
    let others = ["measured", "predicted", "part", "term"].map(String::from);
    csv::line(&mut text, names.into_iter().chain(others));
    for cell in &record.diagram.cells {
        let (part, term) =
            cell.dominant.map_or(("", ""), |dominant| (blame(&dominant).0, dominant.term.word()));
        csv::line(
            &mut text,
            [
                cell.x.to_string(),
                cell.y.to_string(),
                format!("{:.6}", cell.value),
                u8::from(cell.measured).to_string(),
                cell.predicted.map_or(String::new(), |predicted| format!("{predicted:.6}")),
                part.into(),
                term.into(),
            ],
        );
    }
    text
}
