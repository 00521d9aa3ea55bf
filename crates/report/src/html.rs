//! HTML: documents for notebooks, and the report of a study as one file that opens offline.
//!
//! Alignment and bars are inline styles, because a notebook has no style sheet of ours.

use std::fmt::Write;

use superpose_figure::{Figure, Theme};

use crate::document::{Align, Block, Document, Grid, Left, Right};
use crate::numbers::decimal;
use crate::study::Section;

/// What a page says about how it was made: names and values.
pub type Facts = Vec<(String, String)>;

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --faint: #666; --rule: #ddd; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --paper: #16181c; --faint: #9aa0a6; --rule: #3a3d42; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 76rem; margin: 0 auto; padding: 1rem 1.5rem 4rem; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; border-top: 1px solid var(--rule); padding-top: 1.5rem; }
p, li { max-width: 60rem; } figure { margin: 1.5rem 0; overflow-x: auto; } figcaption, caption { color: var(--faint); font-size: .9rem; text-align: left; padding: .3rem 0; }
svg { max-width: 100%; height: auto; } .dark { display: none; }
@media (prefers-color-scheme: dark) { .dark { display: block; } .light { display: none; } }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; } th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th { text-align: left; } details { margin: 1rem 0; } summary { cursor: pointer; color: var(--faint); }
";

/// Rows above which a table of the page is folded.
const MAX_UNFOLDED_ROWS: usize = 30;

/// Pixels of the longest bar.
const BAR: f64 = 240.0;

/// Replaces the characters that HTML gives a meaning.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl Document {
    /// The document as a piece of HTML, for a notebook.
    pub fn html(&self) -> String {
        let mut html = String::new();
        for block in &self.blocks {
            html += &match block {
                Block::Heading(words) => format!("<h4>{}</h4>\n", escape(words)),
                Block::Line(words) | Block::Note(words) => format!("<p>{}</p>\n", escape(words)),
                Block::Table(grid) => table(grid, ""),
                Block::Fields(_, rows) => {
                    let mut grid = Grid::new(&[Left, Right, Left], &[]);
                    grid.rows = rows.iter().map(|row| row.to_vec()).collect();
                    table(&grid, "")
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

fn table(grid: &Grid, caption: &str) -> String {
    let mut html = String::from("<table>");
    if !caption.is_empty() {
        let _ = write!(html, "<caption>{}</caption>", escape(caption));
    }
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

fn bars(parts: &[(String, f64)]) -> String {
    let largest = parts.first().map_or(1.0, |part| part.1);
    let mut html = String::from("<table><tbody>\n");
    for (name, size) in parts {
        let style = "display:inline-block;height:0.7em;background:currentColor";
        let bar = format!("<span style=\"{style};width:{:.0}px\"></span>", BAR * size / largest);
        let (name, size) = (cell(Left, &escape(name)), cell(Right, &decimal(*size)));
        let _ = writeln!(html, "<tr>{name}{size}{}</tr>", cell(Left, &bar));
    }
    html + "</tbody></table>\n"
}

fn picture(figure: &Figure, caption: &str) -> String {
    let [light, dark] = [Theme::Light, Theme::Dark].map(|theme| figure.svg(theme));
    let drawn = format!("<div class=\"light\">{light}</div><div class=\"dark\">{dark}</div>");
    format!("<figure>{drawn}<figcaption>{}</figcaption></figure>\n", escape(caption))
}

/// The report of a study as one HTML file.
pub fn page(title: &str, sections: &[Section], facts: &Facts) -> String {
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title><style>{STYLE}</style></head><body>\n<h1>{0}</h1>\n",
        escape(title)
    );
    text += "<p>How many facts a one-layer transformer with random, overlapping embeddings learns to recall, measured and predicted. Every threshold is the number of samples at which mean accuracy over seeds crosses 0.5. Intervals cover 95%. \"Agrees\" means that the interval of the measured over the predicted value holds 1, or that of a fitted exponent the closed form's.</p>\n<ul>\n";
    for section in sections {
        let _ = writeln!(text, "<li>{}</li>", escape(&section.headline));
    }
    text += "</ul>\n";
    for (i, section) in sections.iter().enumerate() {
        let _ = writeln!(text, "<h2>{}. {}</h2>", i + 1, escape(section.title));
        for sentence in &section.sentences {
            let _ = writeln!(text, "<p>{}</p>", escape(sentence));
        }
        for shown in &section.pictures {
            text += &picture(&shown.figure, &shown.caption);
        }
        for shown in &section.tables {
            let html = format!("<figure>{}</figure>\n", table(&shown.grid(), &shown.caption));
            text += &match shown.rows.len() > MAX_UNFOLDED_ROWS {
                true => format!("<details><summary>{}</summary>{html}</details>\n", escape(&shown.caption)),
                false => html,
            };
        }
    }
    text += "<h2>How this was made</h2>\n<table><tbody>\n";
    for (name, value) in facts {
        let _ = writeln!(text, "<tr><th>{}</th><td>{}</td></tr>", escape(name), escape(value));
    }
    text + "</tbody></table>\n</body></html>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_nothing_is_fetched() {
        let section = Section {
            title: "a < b",
            sentences: vec!["x & y".into()],
            headline: "<script>".into(),
            ..Section::default()
        };
        let html = page("t", &[section], &vec![("seed".into(), "0".into())]);
        assert!(html.contains("a &lt; b") && html.contains("x &amp; y") && html.contains("&lt;script&gt;"));
        assert!(!html.contains("<script") && !html.contains("src=") && !html.contains("href="));
    }

    #[test]
    fn blocks_say_the_same_as_text_and_as_html() {
        let mut page = Document::new("a < b");
        page.note("a note");
        let mut grid = Grid::new(&[Left, Right], &["", "x"]);
        grid.row(["one", "1.00"]);
        grid.row(["three", "-3.00"]);
        page.table(grid);
        page.gap();
        page.blocks.push(Block::Bars(vec![("long".into(), 0.5), ("short".into(), 0.25)]));
        let rows = [["seen", "12", "[10, 14]"], ["guessed", "", "nothing"]];
        page.blocks.push(Block::Fields([9, 4], rows.map(|row| row.map(String::from)).to_vec()));
        let (long, short) = ("█".repeat(40), "█".repeat(20));
        let bars = format!("  long                0.5000  {long}\n  short               0.2500  {short}\n");
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
            "<td style=\"text-align:left\">[10, 14]</td>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }
}
