//! Panels side by side in one picture.

use crate::bars::{self, Bars};
use crate::chart::{self, Chart};
use crate::frame::Margins;
use crate::png::{self, PngError};
use crate::svg::{Svg, Type};
use crate::text::{self, size};
use crate::theme::Theme;

/// A panel of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Panel {
    /// A chart in two axes.
    Chart(Box<Chart>),
    /// Bars.
    Bars(Bars),
}

impl From<Chart> for Panel {
    fn from(chart: Chart) -> Self {
        Self::Chart(Box::new(chart))
    }
}

impl From<Bars> for Panel {
    fn from(bars: Bars) -> Self {
        Self::Bars(bars)
    }
}

/// A figure: panels with frames of one size, in rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    title: String,
    note: String,
    panels: Vec<Panel>,
    columns: Option<usize>,
    size: (f64, f64),
}

/// Frames of a panel, in pixels.
const SIZE: (f64, f64) = (340.0, 240.0);
const SIDES: std::ops::RangeInclusive<f64> = 80.0..=4000.0;
const EDGE: f64 = 12.0;
const BETWEEN: f64 = 22.0;
const TITLE_LINE: f64 = 20.0;
const NOTE_LINE: f64 = 15.0;

impl Default for Figure {
    fn default() -> Self {
        Self::new()
    }
}

impl Figure {
    /// A figure without panels.
    pub fn new() -> Self {
        Self { title: String::new(), note: String::new(), panels: Vec::new(), columns: None, size: SIZE }
    }

    /// A title over all panels.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Small words below all panels: what points and lines are, what was not checked.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Adds a panel.
    pub fn panel(mut self, panel: impl Into<Panel>) -> Self {
        self.panels.push(panel.into());
        self
    }

    /// Panels in a row; up to three if not said.
    pub fn columns(mut self, columns: usize) -> Self {
        self.columns = Some(columns.max(1));
        self
    }

    /// Width and height of each panel's frame in pixels, without its labels: 340 by 240 if not said, 80 to 4,000.
    pub fn frames(mut self, width: f64, height: f64) -> Self {
        if SIDES.contains(&width) && SIDES.contains(&height) {
            self.size = (width, height);
        }
        self
    }

    /// The figure as SVG. The same data give the same text.
    pub fn svg(&self, theme: Theme) -> String {
        let palette = theme.palette();
        let drawings: Vec<Drawing> = self.panels.iter().map(|panel| Drawing::new(panel, self.size)).collect();
        let columns = self.columns.unwrap_or(3).min(drawings.len()).max(1);
        // Frames in a column share their left edge, frames in a row their top edge.
        let margins: Vec<Margins> = drawings.iter().map(Drawing::margins).collect();
        let most = |side: fn(&Margins) -> f64, here: &dyn Fn(usize) -> bool| {
            let those = margins.iter().enumerate().filter(|(i, _)| here(*i));
            those.map(|(_, margins)| side(margins)).fold(0.0, f64::max)
        };
        let mut x = EDGE;
        let mut lefts = Vec::new();
        for column in 0..columns.min(drawings.len()) {
            let here = |i: usize| i % columns == column;
            x += if column > 0 { BETWEEN } else { 0.0 } + most(|m| m.left, &here);
            lefts.push(x);
            x += self.size.0 + most(|m| m.right, &here);
        }
        let width = (x + EDGE).ceil().max(200.0);
        let room = width - 2.0 * EDGE;
        let title = text::lines(&self.title, size::FIGURE_TITLE, true, room);
        // A browser without our fonts takes one that may be wider by a tenth.
        let note = text::lines(&self.note, size::SMALL, false, 0.88 * room);
        let mut y = EDGE + TITLE_LINE * title.len() as f64 + if title.is_empty() { 0.0 } else { 6.0 };
        let mut tops = Vec::new();
        for row in 0..drawings.len().div_ceil(columns) {
            let here = |i: usize| i / columns == row;
            y += if row > 0 { BETWEEN } else { 0.0 } + most(|m| m.top, &here);
            tops.push(y);
            y += self.size.1 + most(|m| m.bottom, &here);
        }
        let below = y;
        y += NOTE_LINE * note.len() as f64 + if note.is_empty() { 0.0 } else { 6.0 };
        let mut svg = Svg::new(width, (y + EDGE).ceil(), palette, &self.spoken());
        for (i, line) in title.iter().enumerate() {
            let set = Type { bold: true, ..Type::new(size::FIGURE_TITLE, palette.ink) };
            svg.text((EDGE, EDGE + TITLE_LINE * (i as f64 + 0.75)), line, set);
        }
        for (i, drawing) in drawings.iter().enumerate() {
            svg.moved((lefts[i % columns], tops[i / columns]), |svg| match drawing {
                Drawing::Chart(drawing) => drawing.draw(svg, palette),
                Drawing::Bars(drawing) => drawing.draw(svg, palette),
            });
        }
        for (i, line) in note.iter().enumerate() {
            let at = below + 6.0 + NOTE_LINE * (i as f64 + 0.75);
            svg.text((EDGE, at), line, Type::new(size::SMALL, palette.axis));
        }
        svg.finish()
    }

    /// The figure as PNG, `scale` pixels for each of the SVG's: 2 for sharp screens.
    pub fn png(&self, theme: Theme, scale: f64) -> Result<Vec<u8>, PngError> {
        png::render(&self.svg(theme), scale)
    }

    /// What a screen reader says.
    fn spoken(&self) -> String {
        let titles = self.panels.iter().map(|panel| match panel {
            Panel::Chart(chart) => chart.title(),
            Panel::Bars(bars) => bars.title(),
        });
        let all: Vec<&str> =
            std::iter::once(self.title.as_str()).chain(titles).filter(|title| !title.is_empty()).collect();
        if all.is_empty() { "figure".into() } else { text::plain(&all.join("; ")) }
    }
}

enum Drawing<'a> {
    Chart(chart::Drawing<'a>),
    Bars(bars::Drawing<'a>),
}

impl<'a> Drawing<'a> {
    fn new(panel: &'a Panel, size: (f64, f64)) -> Self {
        match panel {
            Panel::Chart(chart) => Self::Chart(chart::Drawing::new(chart, size)),
            Panel::Bars(bars) => Self::Bars(bars::Drawing::new(bars, size)),
        }
    }

    fn margins(&self) -> Margins {
        match self {
            Self::Chart(drawing) => drawing.margins(),
            Self::Bars(drawing) => drawing.margins(),
        }
    }
}
