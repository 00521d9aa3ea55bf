//! The frame around a panel: axes with their ticks, labels and title, and the room they need.

use crate::legend::{Legend, ROW};
use crate::svg::{Anchor, Stroke, Svg, Type};
use crate::text::{self, size};
use crate::theme::Palette;

/// Room around a frame, in pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Margins {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

/// One axis in its place: pixels along it, and the label there; without a label a small tick.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Edge {
    pub ticks: Vec<(f64, String)>,
    pub label: Vec<String>,
    /// Whether ticks have marks and grid lines; names of bars have none.
    pub marks: bool,
}

/// A frame with its axes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    pub width: f64,
    pub height: f64,
    pub title: Vec<String>,
    pub across: Edge,
    pub up: Edge,
    /// Closed on four sides, without a grid: for what fills it.
    pub full: bool,
}

const TICK: f64 = 4.0;
const MINOR: f64 = 2.5;
const LINE: f64 = 15.0;
const TITLE_LINE: f64 = 17.0;

impl Frame {
    pub fn new((width, height): (f64, f64), title: &str, across: &str, up: &str) -> Self {
        let edge = |label: &str, room: f64| Edge {
            label: text::lines(label, size::LABEL, false, room),
            marks: true,
            ..Edge::default()
        };
        Self {
            width,
            height,
            title: text::lines(title, size::TITLE, true, width),
            across: edge(across, width),
            up: edge(up, height),
            full: false,
        }
    }

    pub fn size(&self) -> (f64, f64) {
        (self.width, self.height)
    }

    /// Width of the widest label on the vertical axis.
    fn up_width(&self) -> f64 {
        self.up.ticks.iter().map(|(_, label)| text::width(label, size::SMALL, false)).fold(0.0, f64::max)
    }

    /// The room that title, axes and a legend need.
    pub fn margins(&self, legend: &Legend) -> Margins {
        let label =
            |edge: &Edge| if edge.label.is_empty() { 0.0 } else { LINE * edge.label.len() as f64 + 5.0 };
        let beyond = self.across.ticks.iter().map(|(pixel, label)| {
            let half = text::width(label, size::SMALL, false) / 2.0;
            (half - pixel, pixel + half - self.width)
        });
        let (first, last) = beyond.fold((0.0f64, 0.0f64), |(a, b), (c, d)| (a.max(c), b.max(d)));
        let words = self.title.iter().map(|line| text::width(line, size::TITLE, true));
        let widest = words.fold(legend.width, f64::max) - self.width;
        let ticks = if self.across.ticks.is_empty() { 0.0 } else { TICK + 4.0 + size::SMALL };
        let rows = ROW * legend.rows as f64;
        Margins {
            left: (TICK + 5.0 + self.up_width() + label(&self.up)).max(first),
            right: last.max(widest).max(6.0),
            top: 8.0 + rows + TITLE_LINE * self.title.len() as f64,
            bottom: ticks + label(&self.across) + 4.0,
        }
    }

    /// Grid lines, below the data.
    pub fn draw_grid(&self, svg: &mut Svg, palette: &Palette) {
        if self.full {
            return;
        }
        let stroke = Stroke::new(palette.grid, 1.0);
        let labelled = |edge: &Edge| {
            let some = if edge.marks { edge.ticks.clone() } else { Vec::new() };
            some.into_iter().filter(|(_, label)| !label.is_empty()).map(|(pixel, _)| pixel)
        };
        labelled(&self.across).for_each(|x| svg.line((x, 0.0), (x, self.height), stroke));
        labelled(&self.up).for_each(|y| svg.line((0.0, y), (self.width, y), stroke));
    }

    /// Axes, labels and title, above the data.
    pub fn draw(&self, svg: &mut Svg, palette: &Palette, legend: &Legend) {
        let (width, height) = (self.width, self.height);
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
        let below = if self.across.ticks.is_empty() { 0.0 } else { TICK + 4.0 + size::SMALL };
        for (i, line) in self.across.label.iter().enumerate() {
            svg.text((width / 2.0, height + below + LINE * (i as f64 + 1.0)), line, label);
        }
        let left = TICK + 5.0 + self.up_width();
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

    /// Says that there is nothing to show.
    pub fn draw_empty(&self, svg: &mut Svg, palette: &Palette) {
        let set = Type::new(size::LABEL, palette.axis).anchor(Anchor::Middle);
        svg.text((self.width / 2.0, self.height / 2.0), "no data", set);
    }
}
