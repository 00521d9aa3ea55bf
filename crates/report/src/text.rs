//! Documents as terminal text.

use std::fmt::Write;

use superpose_lab::interval::Interval;

use crate::document::{Align, Block, Document, Grid};
use crate::numbers::{brackets, decimal};

/// Characters of the longest bar, and of the longest one beside an interval.
const BAR: f64 = 40.0;
const BAR_BESIDE: f64 = 24.0;

impl Document {
    /// The document as text, each line with its end.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for block in &self.blocks {
            match block {
                Block::Heading(words) => {
                    text += if text.is_empty() { "" } else { "\n" };
                    push(&mut text, words);
                }
                Block::Line(words) => push(&mut text, words),
                Block::Note(words) => push(&mut text, &format!("  {words}")),
                Block::Table(grid) => table(&mut text, grid),
                Block::Fields(widths, rows) => fields(&mut text, *widths, rows),
                Block::Bars(bars) => fields(&mut text, [16, 10], &drawn(bars)),
                Block::Figure(_, characters) => push(&mut text, characters),
                Block::Gap => text.push('\n'),
            }
        }
        text
    }
}

fn push(text: &mut String, line: &str) {
    let _ = writeln!(text, "{}", line.trim_end());
}

fn table(text: &mut String, grid: &Grid) {
    let header = Some(&grid.header).filter(|header| !header.is_empty());
    let rows: Vec<&Vec<String>> = header.into_iter().chain(&grid.rows).collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..grid.columns.len()).map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&grid.columns).zip(&widths).map(|((cell, align), width)| match align {
            Align::Left => format!("{cell:<width$}"),
            Align::Right => format!("{cell:>width$}"),
        });
        push(text, &format!("{:1$}{2}", "", grid.indent, cells.collect::<Vec<_>>().join("  ")));
    }
}

fn fields(text: &mut String, [name_width, value_width]: [usize; 2], rows: &[[String; 3]]) {
    for [name, value, note] in rows {
        let value = if value.is_empty() { String::new() } else { format!("{value:>value_width$}  ") };
        push(text, &format!("  {name:<name_width$}{value}{note}"));
    }
}

fn drawn(bars: &[(String, f64, Option<Interval>)]) -> Vec<[String; 3]> {
    let largest = bars.first().map_or(1.0, |bar| bar.1);
    let blocks = |width: f64, size: f64| "█".repeat((width * size / largest).round() as usize);
    let row = |(name, size, interval): &(String, f64, Option<Interval>)| {
        let remark = match interval {
            Some(interval) => format!("{:<20}{}", brackets(interval), blocks(BAR_BESIDE, *size)),
            None => blocks(BAR, *size),
        };
        [name.clone(), decimal(*size), remark]
    };
    bars.iter().map(row).collect()
}
