//! HTML: documents for notebooks, and tables.
//!
//! Alignment and bars are inline styles, because a notebook has no style sheet of ours.

use std::fmt::Write;

use superpose_figure::Theme;
use superpose_lab::interval::Interval;

use crate::document::{Align, Block, Document, Grid, Left, Right};
use crate::markup::escape;
use crate::numbers::{brackets, decimal};

/// Pixels of the longest bar.
const BAR: f64 = 240.0;

impl Document {
    /// The document as a piece of HTML, for a notebook.
    pub fn html(&self) -> String {
        let mut html = String::new();
        for block in &self.blocks {
            html += &match block {
                Block::Heading(words) => format!("<h4>{}</h4>\n", escape(words)),
                Block::Line(words) | Block::Note(words) => format!("<p>{}</p>\n", escape(words)),
                Block::Table(grid) => table(grid),
                Block::Fields(_, rows) => {
                    let mut grid = Grid::new(&[Left, Right, Left], &[]);
                    grid.rows = rows.iter().map(|row| row.to_vec()).collect();
                    table(&grid)
                }
                Block::Bars(parts) => bars(parts),
                Block::Figure(figure, _) => figure.svg(Theme::Light),
                Block::Gap => String::new(),
            };
        }
        html
    }
}

fn cell(align: Align, html: &str) -> String {
    let side = if align == Left { "left" } else { "right" };
    format!("<td style=\"text-align:{side}\">{html}</td>")
}

pub(crate) fn table(grid: &Grid) -> String {
    let mut html = String::from("<table>");
    if !grid.header.is_empty() {
        let names: String = grid.header.iter().map(|name| format!("<th>{}</th>", escape(name))).collect();
        let _ = write!(html, "<thead><tr>{names}</tr></thead>");
    }
    html += "<tbody>\n";
    for row in &grid.rows {
        let cells: String =
            row.iter().zip(&grid.columns).map(|(words, &align)| cell(align, &escape(words))).collect();
        let _ = writeln!(html, "<tr>{cells}</tr>");
    }
    html + "</tbody></table>\n"
}

fn bars(parts: &[(String, f64, Option<Interval>)]) -> String {
    let largest = parts.first().map_or(1.0, |part| part.1);
    let mut html = String::from("<table><tbody>\n");
    for (name, size, interval) in parts {
        let style = "display:inline-block;height:0.7em;background:currentColor";
        let bar = format!("<span style=\"{style};width:{:.0}px\"></span>", BAR * size / largest);
        let (name, size) = (cell(Left, &escape(name)), cell(Right, &decimal(*size)));
        let interval = interval.as_ref().map_or(String::new(), |interval| cell(Left, &brackets(interval)));
        let _ = writeln!(html, "<tr>{name}{size}{interval}{}</tr>", cell(Left, &bar));
    }
    html + "</tbody></table>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_say_the_same_as_text_and_as_html() {
        let mut page = Document::new("a < b");
        page.note("a note");
        let mut grid = Grid::new(&[Left, Right], &["", "x"]);
        grid.row(["one", "1.00"]);
        grid.row(["three", "-3.00"]);
        page.table(grid);
        page.gap();
        page.blocks.push(Block::Bars(vec![("long".into(), 0.5, None), ("short".into(), 0.25, None)]));
        let interval = Interval { mean: 0.5, low: 0.4, high: 0.6 };
        page.blocks.push(Block::Bars(vec![("measured".into(), 0.5, Some(interval))]));
        let rows = [["seen", "12", "[10, 14]"], ["guessed", "", "nothing"]];
        page.blocks.push(Block::Fields([9, 4], rows.map(|row| row.map(String::from)).to_vec()));
        let (long, short) = ("█".repeat(40), "█".repeat(20));
        let bars = format!("  long                0.5000  {long}\n  short               0.2500  {short}\n");
        let bars = bars + "  measured            0.5000  [0.4000, 0.6000]    " + &"█".repeat(24) + "\n";
        let text =
            "a < b\n  a note\n              x\n   one     1.00\n   three  -3.00\n\n".to_owned() + &bars;
        assert_eq!(page.text(), text + "  seen       12  [10, 14]\n  guessed  nothing\n");
        let html = page.html();
        for part in [
            "<h4>a &lt; b</h4>",
            "<p>a note</p>",
            "<th>x</th>",
            "<td style=\"text-align:right\">-3.00</td>",
            "width:240px",
            "width:120px",
            "<td style=\"text-align:left\">[0.4000, 0.6000]</td>",
            "<td style=\"text-align:left\">[10, 14]</td>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }
}
