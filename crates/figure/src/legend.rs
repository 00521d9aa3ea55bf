//! The legend: inside the frame where a corner is free, above the frame otherwise. It never covers data.

use serde::Serialize;

use crate::place::{OccupiedArea, Rect};
use crate::svg::{Spot, Stroke, Svg, Type};
use crate::text::{self, size};
use crate::theme::Palette;

/// One line of a legend: a name, and the sample drawn before it.
pub(crate) struct Entry {
    pub name: String,
    pub paint: Paint,
    pub marker: Option<Marker>,
    /// Dashes of the line.
    pub line: Option<&'static str>,
    /// Opacity of a patch.
    pub patch: Option<f64>,
    /// Whether the line has a rim in the background colour.
    pub rimmed: bool,
}

/// A marker, which looks the same in the legend and in the chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Marker {
    /// Number of the shape, modulo the number of shapes.
    pub kind: usize,
    pub radius: f64,
    /// Whether it has a rim in the background colour.
    pub rimmed: bool,
}

/// A colour that is independent of the theme.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) enum Paint {
    Category(usize),
    Step(usize, usize),
    Ink,
    Muted,
    Missing,
}

impl Paint {
    pub fn color(self, palette: &Palette) -> String {
        match self {
            Paint::Category(index) => palette.category(index).into(),
            Paint::Step(index, count) => palette.step(index, count),
            Paint::Ink => palette.ink.into(),
            Paint::Muted => palette.axis.into(),
            Paint::Missing => palette.missing.into(),
        }
    }
}

pub(crate) struct Legend {
    entries: Vec<Entry>,
    /// Left end and vertical middle of each entry.
    spots: Vec<Spot>,
    inside: Option<Rect>,
    /// Rows above the frame.
    pub rows: usize,
    /// Width of the widest row above the frame.
    pub width: f64,
}

const SAMPLE: f64 = 22.0;
const GAP: f64 = 6.0;
const BETWEEN: f64 = 16.0;
pub(crate) const ROW: f64 = 17.0;

impl Legend {
    /// Places entries in a frame of that size, where they do not cover the occupied area; None stands for a frame that is
    /// occupied everywhere. Rows above the frame may extend beyond its right edge by `more`.
    pub fn place(entries: Vec<Entry>, frame: (f64, f64), more: f64, occupied: Option<&OccupiedArea>) -> Self {
        let widths: Vec<f64> = entries.iter().map(Entry::width).collect();
        let inside = occupied.and_then(|occupied| free_corner(&widths, frame, occupied));
        let mut legend = Self { entries, spots: Vec::new(), inside, rows: 0, width: 0.0 };
        if let Some(rect) = inside {
            let spot = |i: usize| (rect.x + 6.0, rect.y + 4.0 + ROW * (i as f64 + 0.5));
            legend.spots = (0..widths.len()).map(spot).collect();
            return legend;
        }
        let (mut x, mut row) = (0.0, 0);
        for width in widths {
            if x > 0.0 && x + width > frame.0 + more {
                (x, row) = (0.0, row + 1);
            }
            legend.spots.push((x, row as f64));
            legend.width = legend.width.max(x + width);
            legend.rows = row + 1;
            x += width + BETWEEN;
        }
        let rows = legend.rows as f64;
        for spot in &mut legend.spots {
            spot.1 = -8.0 - ROW * (rows - spot.1 - 0.5);
        }
        legend
    }

    pub fn draw(&self, svg: &mut Svg, palette: &Palette) {
        if let Some(rect) = self.inside {
            svg.rect((rect.x, rect.y), rect.width, rect.height, palette.background, 0.85);
        }
        for (entry, &spot) in self.entries.iter().zip(&self.spots) {
            entry.draw(svg, palette, spot);
        }
    }
}

/// A corner of the frame, or the middle of an edge, where a column of entries covers nothing.
fn free_corner(widths: &[f64], frame: (f64, f64), occupied: &OccupiedArea) -> Option<Rect> {
    const EDGE: f64 = 6.0;
    let width = widths.iter().copied().fold(0.0, f64::max) + 12.0;
    let height = ROW * widths.len() as f64 + 8.0;
    if widths.is_empty() || width > 0.62 * frame.0 || height > 0.6 * frame.1 {
        return None;
    }
    let (right, bottom) = (frame.0 - width - EDGE, frame.1 - height - EDGE);
    let (across, down) = ((frame.0 - width) / 2.0, (frame.1 - height) / 2.0);
    let corners = [EDGE, bottom].into_iter().flat_map(|y| [(right, y), (EDGE, y)]);
    let places = corners.chain([(across, EDGE), (across, bottom), (right, down), (EDGE, down)]);
    places.map(|(x, y)| Rect { x, y, width, height }).find(|&rect| occupied.under(rect) == 0)
}

impl Entry {
    /// An entry without a sample.
    pub fn new(name: &str, paint: Paint) -> Self {
        Self { name: name.into(), paint, marker: None, line: None, patch: None, rimmed: false }
    }

    /// An entry whose sample is a patch of the given opacity.
    pub fn patch(name: &str, paint: Paint, opacity: f64) -> Self {
        Self { patch: Some(opacity), ..Self::new(name, paint) }
    }

    fn width(&self) -> f64 {
        SAMPLE + GAP + text::width(&self.name, size::SMALL, false)
    }

    fn draw(&self, svg: &mut Svg, palette: &Palette, (x, y): Spot) {
        let color = self.paint.color(palette);
        if let Some(opacity) = self.patch {
            svg.rect((x, y - 5.0), SAMPLE, 10.0, &color, opacity);
        }
        if let Some(dashes) = self.line {
            let ends = [(x, y), (x + SAMPLE, y)];
            if self.rimmed {
                svg.path(&ends, Stroke::new(palette.background, 4.0));
            }
            svg.path(&ends, Stroke { color: &color, width: 1.8, dashes });
        }
        if let Some(marker) = self.marker {
            marker.draw(svg, (x + SAMPLE / 2.0, y), &color, palette.background);
        }
        let set = Type::new(size::SMALL, palette.ink);
        svg.text((x + SAMPLE + GAP, y + 0.36 * size::SMALL), &self.name, set);
    }
}

impl Marker {
    /// Draws the marker: circle, square, triangle, diamond or inverted triangle.
    pub fn draw(self, svg: &mut Svg, (x, y): Spot, color: &str, rim: &str) {
        let radius = self.radius;
        let stroke = self.rimmed.then(|| Stroke::new(rim, 0.8));
        // Shapes of equal area look equally large.
        let corner = |angle: f64, reach: f64| {
            let angle = angle.to_radians();
            (x + reach * radius * angle.cos(), y + reach * radius * angle.sin())
        };
        match self.kind % 5 {
            0 => svg.circle((x, y), radius, color, stroke),
            1 => svg.shape(&[45.0, 135.0, 225.0, 315.0].map(|a| corner(a, 1.27)), color, stroke),
            2 => svg.shape(&[-90.0, 30.0, 150.0].map(|a| corner(a, 1.45)), color, stroke),
            3 => svg.shape(&[0.0, 90.0, 180.0, 270.0].map(|a| corner(a, 1.35)), color, stroke),
            _ => svg.shape(&[90.0, 210.0, 330.0].map(|a| corner(a, 1.45)), color, stroke),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(count: usize) -> Vec<Entry> {
        (0..count).map(|i| Entry::patch(&format!("series number {i}"), Paint::Category(i), 1.0)).collect()
    }

    #[test]
    fn legend_is_inside_only_if_a_corner_is_free() {
        let frame = (300.0, 200.0);
        let mut occupied = OccupiedArea::default();
        occupied.line((0.0, 0.0), (300.0, 60.0));
        let legend = Legend::place(entries(2), frame, 0.0, Some(&occupied));
        let rect = legend.inside.unwrap();
        assert!(rect.inside(frame) && occupied.under(rect) == 0);
        occupied.rect(Rect { x: 0.0, y: 0.0, width: 300.0, height: 200.0 });
        for occupied in [None, Some(&occupied)] {
            let legend = Legend::place(entries(5), frame, 0.0, occupied);
            assert!(legend.inside.is_none() && legend.rows > 1 && legend.width <= 300.0);
            assert!(legend.spots.iter().all(|spot| spot.1 < 0.0));
        }
    }

    #[test]
    fn empty_legend_takes_no_room() {
        let legend = Legend::place(Vec::new(), (300.0, 200.0), 0.0, Some(&OccupiedArea::default()));
        assert_eq!((legend.rows, legend.inside), (0, None));
    }
}
