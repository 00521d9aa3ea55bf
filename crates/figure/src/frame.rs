//! The frame of a panel: axes with ticks and labels, the title, and the margins that they need.

use crate::legend::{Legend, ROW};
use crate::svg::{Anchor, Stroke, Svg, Type};
use crate::text::{self, size};
use crate::theme::Palette;

/// Margins around a frame, in pixels.
pub(crate) struct Margins {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

/// One axis after layout. A tick is a pixel along the axis and a label; a tick without a label is drawn small.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Edge {
    pub ticks: Vec<(f64, String)>,
    pub label: Vec<String>,
    /// Whether ticks have marks and grid lines. The names of bars have none.
    pub marks: bool,
}

pub(crate) struct Frame {
    /// Width and height.
    pub size: (f64, f64),
    pub title: Vec<String>,
    pub across: Edge,
    pub up: Edge,
    /// Whether data fill the frame: then it is closed on all sides and has no grid.
    pub full: bool,
}

const TICK: f64 = 4.0;
const MINOR: f64 = 2.5;
const LINE: f64 = 15.0;
const TITLE_LINE: f64 = 17.0;

impl Frame {
    pub fn new(size: (f64, f64), title: &str, across: &str, up: &str) -> Self {
        let edge = |label: &str, room: f64| Edge {
            label: text::lines(label, size::LABEL, false, room),
            marks: true,
            ..Edge::default()
        };
        Self {
            size,
            title: text::lines(title, size::TITLE, true, size.0),
            across: edge(across, size.0),
            up: edge(up, size.1),
            full: false,
        }
    }

    /// Height of the ticks and tick labels below the horizontal axis.
    fn ticks_height(&self) -> f64 {
        if self.across.ticks.is_empty() { 0.0 } else { TICK + 4.0 + size::SMALL }
    }

    /// The margins that title, axes and legend need.
    pub fn margins(&self, legend: &Legend) -> Margins {
        let label =
            |edge: &Edge| if edge.label.is_empty() { 0.0 } else { LINE * edge.label.len() as f64 + 5.0 };
        let (mut first, mut last) = (0.0f64, 0.0f64);
        for (pixel, label) in &self.across.ticks {
            let half = text::width(label, size::SMALL, false) / 2.0;
            (first, last) = (first.max(half - pixel), last.max(pixel + half - self.size.0));
        }
        let title = self.title.iter().map(|line| text::width(line, size::TITLE, true));
        let widest = title.fold(legend.width, f64::max) - self.size.0;
        let rows = ROW * legend.rows as f64;
        Margins {
            left: (TICK + 5.0 + text::widest(&self.up.ticks) + label(&self.up)).max(first),
            right: last.max(widest).max(6.0),
            top: 8.0 + rows + TITLE_LINE * self.title.len() as f64,
            bottom: self.ticks_height() + label(&self.across) + 4.0,
        }
    }

    /// Grid lines, below the data.
    pub fn draw_grid(&self, svg: &mut Svg, palette: &Palette) {
        if self.full {
            return;
        }
        let stroke = Stroke::new(palette.grid, 1.0);
        fn labelled(edge: &Edge) -> impl Iterator<Item = f64> {
            edge.ticks.iter().filter(|(_, label)| edge.marks && !label.is_empty()).map(|(pixel, _)| *pixel)
        }
        labelled(&self.across).for_each(|x| svg.line((x, 0.0), (x, self.size.1), stroke));
        labelled(&self.up).for_each(|y| svg.line((0.0, y), (self.size.0, y), stroke));
    }

    /// Axes, labels and title, above the data.
    pub fn draw(&self, svg: &mut Svg, palette: &Palette, legend: &Legend) {
        let (width, height) = self.size;
        let stroke = Stroke::new(palette.axis, 1.0);
        svg.path(&[(0.0, 0.0), (0.0, height), (width, height)], stroke);
        if self.full {
            svg.path(&[(0.0, 0.0), (width, 0.0), (width, height)], stroke);
        }
        let small = Type::new(size::SMALL, palette.axis);
        for (x, label) in &self.across.ticks {
            let length = if label.is_empty() { MINOR } else { TICK };
            svg.line((*x, height), (*x, height + length), stroke);
            if !label.is_empty() {
                let y = height + TICK + 3.0 + size::SMALL;
                svg.text((*x, y), label, small.anchor(Anchor::Middle));
            }
        }
        for (y, label) in &self.up.ticks {
            if self.up.marks {
                let length = if label.is_empty() { MINOR } else { TICK };
                svg.line((-length, *y), (0.0, *y), stroke);
            }
            if !label.is_empty() {
                let color = if self.up.marks { palette.axis } else { palette.ink };
                let set = Type::new(size::SMALL, color).anchor(Anchor::End);
                svg.text((-TICK - 4.0, y + 0.36 * size::SMALL), label, set);
            }
        }
        let label = Type::new(size::LABEL, palette.ink).anchor(Anchor::Middle);
        let below = self.ticks_height();
        for (i, line) in self.across.label.iter().enumerate() {
            svg.text((width / 2.0, height + below + LINE * (i as f64 + 1.0)), line, label);
        }
        let left = TICK + 5.0 + text::widest(&self.up.ticks);
        for (i, line) in self.up.label.iter().rev().enumerate() {
            let x = -left - 5.0 - LINE * i as f64;
            svg.text((x, height / 2.0), line, Type { upwards: true, ..label });
        }
        let title = Type { bold: true, ..Type::new(size::TITLE, palette.ink) };
        let above = 12.0 + ROW * legend.rows as f64;
        for (i, line) in self.title.iter().rev().enumerate() {
            svg.text((0.0, -above - TITLE_LINE * i as f64), line, title);
        }
    }

    /// Draws a frame without data.
    pub fn draw_empty(&self, svg: &mut Svg, palette: &Palette, legend: &Legend) {
        self.draw(svg, palette, legend);
        let set = Type::new(size::LABEL, palette.axis).anchor(Anchor::Middle);
        svg.text((self.size.0 / 2.0, self.size.1 / 2.0), "no data", set);
    }
}
