//! Figures: panels in rows, with a title and a note.

use serde::Serialize;

use crate::bars::{Bars, BarsDrawing};
use crate::chart::{Chart, ChartDrawing};
use crate::frame::Margins;
use crate::png::{self, PngError};
use crate::svg::{Svg, Type};
use crate::text::{self, size};
use crate::theme::{Palette, Theme};

/// A panel of a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Panel {
    /// A chart with two axes.
    Chart(Box<Chart>),
    /// A bar chart.
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

/// A figure: panels with frames of equal size, in rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figure {
    title: String,
    note: String,
    panels: Vec<Panel>,
    columns: Option<usize>,
    size: Option<(f64, f64)>,
}

/// Default width and height of a panel's frame, in pixels.
const SIZE: (f64, f64) = (340.0, 240.0);
const SIDES: std::ops::RangeInclusive<f64> = 80.0..=4000.0;
const EDGE: f64 = 12.0;
const BETWEEN: f64 = 22.0;
const TITLE_LINE: f64 = 20.0;
const NOTE_LINE: f64 = 15.0;

impl Figure {
    /// A figure without panels.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the title above all panels.
    pub fn title(self, title: impl Into<String>) -> Self {
        Self { title: title.into(), ..self }
    }

    /// Sets the note in small print below all panels.
    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// Adds a panel.
    pub fn panel(mut self, panel: impl Into<Panel>) -> Self {
        self.panels.push(panel.into());
        self
    }

    /// Sets the number of panels in a row, by default at most three.
    pub fn columns(self, columns: usize) -> Self {
        Self { columns: Some(columns.max(1)), ..self }
    }

    /// Sets the width and height of each panel's frame in pixels, without labels: by default 340 by 240. Values outside
    /// 80..=4000 are ignored.
    pub fn frames(self, width: f64, height: f64) -> Self {
        let valid = SIDES.contains(&width) && SIDES.contains(&height);
        Self { size: valid.then_some((width, height)).or(self.size), ..self }
    }

    /// Each panel as a figure of its own, without the title and the note.
    pub fn apart(&self) -> Vec<Self> {
        let alone = |panel: &Panel| Self { panels: vec![panel.clone()], size: self.size, ..Self::default() };
        self.panels.iter().map(alone).collect()
    }

    /// The figure as SVG. Equal figures give equal text.
    pub fn svg(&self, theme: Theme) -> String {
        let palette = theme.palette();
        let frame = self.size.unwrap_or(SIZE);
        let drawings: Vec<_> = self.panels.iter().map(|panel| panel.drawing(frame)).collect();
        let columns = self.columns.unwrap_or(3).min(drawings.len()).max(1);
        let margins: Vec<Margins> = drawings.iter().map(|drawing| drawing.margins()).collect();
        let (column, row) = (|i: usize| i % columns, |i: usize| i / columns);
        let sides = margins.iter().enumerate().map(|(i, margins)| (column(i), margins.left, margins.right));
        let (lefts, x) = layout(EDGE, frame.0, columns.min(drawings.len()), sides);
        let width = (x + EDGE).ceil().max(200.0);
        let room = width - 2.0 * EDGE;
        let title = text::lines(&self.title, size::FIGURE_TITLE, true, room);
        // A browser without the measured fonts may use one that is wider by a tenth.
        let note = text::lines(&self.note, size::SMALL, false, 0.88 * room);
        let top = EDGE + TITLE_LINE * title.len() as f64 + if title.is_empty() { 0.0 } else { 6.0 };
        let sides = margins.iter().enumerate().map(|(i, margins)| (row(i), margins.top, margins.bottom));
        let (tops, below) = layout(top, frame.1, drawings.len().div_ceil(columns), sides);
        let y = below + (NOTE_LINE * note.len() as f64 + if note.is_empty() { 0.0 } else { 6.0 });
        let mut svg = Svg::new(width, (y + EDGE).ceil(), palette, &self.alternative_text());
        for (i, line) in title.iter().enumerate() {
            let set = Type { bold: true, ..Type::new(size::FIGURE_TITLE, palette.ink) };
            svg.text((EDGE, EDGE + TITLE_LINE * (i as f64 + 0.75)), line, set);
        }
        for (i, drawing) in drawings.iter().enumerate() {
            svg.moved((lefts[column(i)], tops[row(i)]), |svg| drawing.draw(svg, palette));
        }
        for (i, line) in note.iter().enumerate() {
            let at = below + 6.0 + NOTE_LINE * (i as f64 + 0.75);
            svg.text((EDGE, at), line, Type::new(size::SMALL, palette.axis));
        }
        svg.finish()
    }

    /// The figure as PNG with `scale` pixels per pixel of the SVG: 2 for high-resolution screens.
    ///
    /// # Errors
    /// When the scale is not positive or gives sides beyond 1 to 16,384 pixels.
    pub fn png(&self, theme: Theme, scale: f64) -> Result<Vec<u8>, PngError> {
        png::render(&self.svg(theme), scale)
    }

    /// The text for screen readers: all titles.
    fn alternative_text(&self) -> String {
        let titles = self.panels.iter().map(|panel| match panel {
            Panel::Chart(chart) => chart.title.as_str(),
            Panel::Bars(bars) => &bars.title,
        });
        let all: Vec<&str> =
            std::iter::once(self.title.as_str()).chain(titles).filter(|title| !title.is_empty()).collect();
        if all.is_empty() { "figure".into() } else { text::plain(&all.join("; ")) }
    }
}

/// A panel after layout.
pub(crate) trait Drawing {
    /// The room that the panel needs around its frame.
    fn margins(&self) -> Margins;

    /// Draws the panel with the upper left corner of its frame at the origin.
    fn draw(&self, svg: &mut Svg, palette: &Palette);
}

impl Panel {
    fn drawing(&self, size: (f64, f64)) -> Box<dyn Drawing + '_> {
        match self {
            Panel::Chart(chart) => Box::new(ChartDrawing::new(chart, size)),
            Panel::Bars(bars) => Box::new(BarsDrawing::new(bars, size)),
        }
    }
}

/// Positions of `count` lines of frames and the position after the last. Each panel is given by its line and its margins
/// before and after the frame; frames in a line are aligned, so the largest margin counts.
fn layout(
    start: f64,
    size: f64,
    count: usize,
    panels: impl Iterator<Item = (usize, f64, f64)>,
) -> (Vec<f64>, f64) {
    let mut margins = vec![(0.0f64, 0.0f64); count];
    for (line, before, after) in panels {
        margins[line] = (margins[line].0.max(before), margins[line].1.max(after));
    }
    let mut end = start;
    let place = |(line, (before, after))| {
        let place = end + (if line > 0 { BETWEEN } else { 0.0 } + before);
        end = place + (size + after);
        place
    };
    (margins.into_iter().enumerate().map(place).collect(), end)
}
