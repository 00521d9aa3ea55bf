//! The report as Markdown, with the figures in the folder beside it.

use std::fmt::Write;

use super::{ANSWER, Report, SET_UP, SYMBOLS, TITLE};
use crate::document::{Align, Grid};
use crate::markup::html;

impl Report<'_> {
    /// The report as Markdown. Figures are in `figures/`, complete tables in `tables/`.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "# {TITLE}\n\nA study with Superpose, scale {}, seed {}. Task and model: arXiv 2603.15923.\n\n**{}**\n\n## Set-up\n\n",
            self.scale,
            self.seed,
            html(ANSWER)
        );
        SET_UP.iter().for_each(|paragraph| text += &format!("{paragraph}\n\n"));
        text += "| symbol | meaning |\n|---|---|\n";
        SYMBOLS.iter().for_each(|(symbol, meaning)| text += &format!("| {symbol} | {meaning} |\n"));
        let _ = write!(
            text,
            "\n## Results\n\n{}\n\n| section | claim | measured | predicted | verdict |\n|---|---|---|---|---|\n",
            html(&self.summary())
        );
        for (number, _, claim) in self.claims() {
            let cells =
                [&claim.claim, &claim.measured, &claim.predicted, &claim.verdict].map(|cell| html(cell));
            let _ = writeln!(text, "| {number} | {} |", cells.join(" | "));
        }
        let mut figure = 0;
        for (i, section) in self.sections.iter().enumerate() {
            let _ = write!(text, "\n## {}. {}\n\n**{}**\n\n", i + 1, section.title, html(&section.headline));
            for picture in &section.pictures {
                figure += 1;
                let (name, caption) = (picture.name, html(&picture.caption));
                let _ = write!(
                    text,
                    "![{}](figures/{name}.svg)\n\n*Figure {figure}. {caption}*\n\n",
                    html(&picture.caption)
                );
            }
            let _ = write!(text, "{}\n\n", html(&section.sentences.join(" ")));
            for table in &section.tables {
                let (caption, grid) = (html(&table.caption), rows(&table.grid()));
                let _ = write!(text, "<details><summary>{caption}</summary>\n\n{grid}\n</details>\n\n");
            }
            let _ = write!(text, "```text\n{}\n```\n", self.command(section));
        }
        text += "\n## How this was made\n\n| | |\n|---|---|\n";
        self.facts.iter().for_each(|(name, value)| text += &format!("| {name} | {} |\n", html(value)));
        text
    }
}

/// A table in Markdown.
fn rows(grid: &Grid) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let escaped = |cells: &[String]| cells.iter().map(|cell| html(cell)).collect::<Vec<_>>();
    let rule = grid.columns.iter().map(|&align| if align == Align::Left { "---" } else { "---:" }.to_owned());
    let rows: String = grid.rows.iter().map(|row| line(escaped(row))).collect();
    line(escaped(&grid.header)) + &line(rule.collect()) + &rows
}
