//! Layout and drawing of a chart: first the scales, then where everything is placed, then the strokes.

use super::cells::{self, Partition};
use super::look::Look;
use super::pixels::Scales;
use super::{Chart, Reference, Series, Shape};
use crate::figure::Drawing;
use crate::frame::{Frame, Margins};
use crate::legend::{Entry, Legend, Marker, Paint};
use crate::place::{OccupiedArea, Rect, around};
use crate::svg::{Spot, Stroke, Svg, Type};
use crate::text::size;
use crate::theme::Palette;
use crate::ticks::{Direction, ticks};

/// Distance of the data from the frame, so that a marker at the end of an axis is shown in full.
const INSET: f64 = 7.0;
const MARKER: f64 = 3.6;
const SMALL_MARKER: f64 = 1.4;
const RING: f64 = 7.0;
const CAP: f64 = 3.0;
const LINE: f64 = 1.8;

/// A label inside the frame, after placement.
struct Label {
    text: String,
    spot: Spot,
    strong: bool,
    /// A line from the marked point to the label, where the two are far apart.
    leader: Option<(Spot, Spot)>,
}

/// A chart after layout; the upper left corner of the frame is the origin.
pub(crate) struct ChartDrawing<'a> {
    chart: &'a Chart,
    frame: Frame,
    scales: Option<Scales>,
    looks: Vec<Look>,
    outlines: Vec<(Spot, Spot)>,
    labels: Vec<Label>,
    legend: Legend,
}

impl<'a> ChartDrawing<'a> {
    pub fn new(chart: &'a Chart, size: (f64, f64)) -> Self {
        let mut drawing = Self {
            chart,
            frame: Frame::new(size, &chart.title, &chart.x.label, &chart.y.label),
            scales: chart.scales(size),
            looks: chart.looks(),
            outlines: Vec::new(),
            labels: Vec::new(),
            legend: Legend::place(Vec::new(), size, 0.0, None),
        };
        let Some(scales) = drawing.scales else { return drawing };
        let full = chart.filled();
        drawing.frame.full = full;
        drawing.frame.across.ticks = ticks(&chart.x, &scales.x, Direction::Across);
        drawing.frame.up.ticks = ticks(&chart.y, &scales.y, Direction::Up);
        let mut occupied = drawing.occupied(&scales);
        drawing.place_labels(&mut occupied, &scales);
        if full && !chart.cells.is_empty() {
            drawing.place_regions(&occupied, &scales);
        }
        let more = if drawing.has_bar() { cells::bar_room(&chart.value, size.1) } else { 0.0 };
        drawing.legend = Legend::place(drawing.entries(), size, more, (!full).then_some(&occupied));
        drawing
    }

    fn has_bar(&self) -> bool {
        self.scales.is_some() && !self.chart.cells.is_empty()
    }

    /// Places of the rings, and their texts.
    fn rings(&self, scales: &Scales) -> impl Iterator<Item = (Spot, &'a str)> {
        let marks = self.chart.marks.iter();
        marks.filter_map(|((x, y), text)| Some((scales.spot(*x, *y)?, text.as_str())))
    }

    /// The ends of a reference line, if it is inside the frame.
    fn reference_line(&self, reference: &Reference, scales: &Scales) -> Option<(Spot, Spot)> {
        let scale = if reference.vertical { &scales.x } else { &scales.y };
        let at = scale.covers(reference.value).then(|| scale.within(reference.value))?;
        let (width, height) = self.frame.size;
        Some(if reference.vertical { ((at, 0.0), (at, height)) } else { ((0.0, at), (width, at)) })
    }

    /// The area that series and rings take, which labels should not cover.
    fn occupied(&self, scales: &Scales) -> OccupiedArea {
        let mut occupied = OccupiedArea::default();
        let (width, height) = self.frame.size;
        let frame = Rect { x: 0.0, y: 0.0, width, height };
        for series in &self.chart.series {
            match &series.shape {
                Shape::Points(points) => {
                    for point in points {
                        let Some(spot) = scales.spot(point.x, point.y) else { continue };
                        occupied.square(spot, MARKER + 1.0);
                        if let Some((from, to)) = scales.interval(point, spot) {
                            occupied.line(from, to);
                        }
                    }
                }
                Shape::Line(values) => {
                    for pair in scales.line(values).iter().flat_map(|piece| piece.windows(2)) {
                        if frame.contains(pair[0]) || frame.contains(pair[1]) {
                            occupied.line(pair[0], pair[1]);
                        }
                    }
                }
            }
        }
        self.rings(scales).for_each(|(spot, _)| occupied.square(spot, RING));
        occupied
    }

    /// Places the labels of reference lines and rings, and adds them to the occupied area.
    fn place_labels(&mut self, occupied: &mut OccupiedArea, scales: &Scales) {
        let (width, height) = self.frame.size;
        let mut labels = Vec::new();
        let mut put = |text: &str, of: Option<Spot>, places: Vec<Rect>, occupied: &mut OccupiedArea| {
            let best = occupied.best((width, height), places);
            if let (Some(rect), false) = (best, text.is_empty()) {
                occupied.rect(rect);
                let spot = (rect.x, rect.y + 0.85 * size::SMALL);
                let leader = of.and_then(|of| leader(of, rect));
                labels.push(Label { text: text.into(), spot, strong: of.is_some(), leader });
            }
        };
        for reference in &self.chart.references {
            let Some((from, to)) = self.reference_line(reference, scales) else { continue };
            occupied.line(from, to);
            let word = Rect::of_text(&reference.label);
            let places = if reference.vertical {
                let sides = [from.0 + 5.0, from.0 - 5.0 - word.width];
                let tops = [6.0, height - word.height - 6.0, height / 2.0, height / 4.0];
                tops.map(|y| sides.map(|x| Rect { x, y, ..word })).concat()
            } else {
                let sides = [from.1 - 5.0 - word.height, from.1 + 5.0];
                let lefts = [width - word.width - 6.0, 6.0, (width - word.width) / 2.0, width / 4.0];
                lefts.map(|x| sides.map(|y| Rect { x, y, ..word })).concat()
            };
            put(&reference.label, None, places, occupied);
        }
        for (spot, text) in self.rings(scales) {
            put(text, Some(spot), around(spot, RING + 5.0, text), occupied);
        }
        self.labels = labels;
    }

    /// Outlines of regions over cells, and the names of their categories.
    fn place_regions(&mut self, occupied: &OccupiedArea, scales: &Scales) {
        let partition = Partition::new(&self.chart.regions, scales);
        self.outlines = partition.outlines();
        for (category, name) in self.chart.categories.iter().enumerate() {
            if let Some(middle) = partition.room_for(category, name, self.frame.size, occupied) {
                let rect = Rect::of_text(name);
                let spot = (middle.0 - rect.width / 2.0, middle.1 + 0.36 * size::SMALL);
                self.labels.push(Label { text: name.clone(), spot, strong: true, leader: None });
            }
        }
    }

    fn entries(&self) -> Vec<Entry> {
        let chart = self.chart;
        let mut entries: Vec<Entry> = Vec::new();
        for (series, look) in chart.series.iter().zip(&self.looks).filter(|(s, _)| !s.name.is_empty()) {
            let i = entries.iter().position(|entry| entry.name == series.name).unwrap_or_else(|| {
                entries.push(Entry { rimmed: chart.filled(), ..Entry::new(&series.name, look.paint) });
                entries.len() - 1
            });
            match series.shape {
                Shape::Points(_) => entries[i].marker = Some(self.marker(series, look)),
                Shape::Line(_) => entries[i].line = Some(look.dashes),
            }
        }
        if chart.cells.is_empty() {
            for (category, name) in chart.categories.iter().enumerate() {
                if chart.regions.iter().any(|region| region.category == category) {
                    entries.push(Entry::patch(name, Paint::Category(category), cells::FILL));
                }
            }
        } else if chart.cells.iter().any(|cell| cell.value.is_none()) {
            entries.push(Entry::patch("no value", Paint::Missing, 1.0));
        }
        entries
    }

    /// Everything that is cut off at the frame: cells, regions, reference lines and lines.
    fn draw_inside(&self, svg: &mut Svg, palette: &Palette, scales: &Scales) {
        let chart = self.chart;
        if chart.filled() {
            let color = |value: Option<f64>| {
                value.map_or(palette.missing.to_owned(), |value| palette.sequential(value))
            };
            let rects = chart.cells.iter().map(|cell| (cell.x, cell.y, color(cell.value)));
            cells::draw_rects(svg, scales, rects);
        }
        if chart.filled() && chart.cells.is_empty() {
            cells::draw_regions(svg, palette, scales, &chart.regions);
        }
        // Without regions over cells there are no outlines.
        for stroke in [Stroke::new(palette.background, 2.2), Stroke::new(palette.axis, 0.9)] {
            self.outlines.iter().for_each(|&(from, to)| svg.line(from, to, stroke));
        }
        for (from, to) in chart.references.iter().filter_map(|line| self.reference_line(line, scales)) {
            svg.line(from, to, Stroke { color: palette.axis, width: 1.0, dashes: "4 3" });
        }
        for (series, look) in chart.series.iter().zip(&self.looks) {
            let Shape::Line(values) = &series.shape else { continue };
            for piece in scales.line(values) {
                if chart.filled() {
                    svg.path(&piece, Stroke::new(palette.background, LINE + 2.2));
                }
                let color = &look.paint.color(palette);
                svg.path(&piece, Stroke { color, width: LINE, dashes: look.dashes });
            }
        }
    }

    /// The marker of a series. Small markers are always circles, because other shapes would not be recognisable; they have a rim
    /// only over cells, which may be of any colour.
    fn marker(&self, series: &Series, look: &Look) -> Marker {
        let (kind, radius) = if series.small { (0, SMALL_MARKER) } else { (look.marker, MARKER) };
        Marker { kind, radius, rimmed: !series.small || self.chart.filled() }
    }

    fn draw_points(&self, svg: &mut Svg, palette: &Palette, scales: &Scales, series: &Series, look: &Look) {
        let Shape::Points(points) = &series.shape else { return };
        let color = look.paint.color(palette);
        let shown = || points.iter().filter_map(|point| Some((point, scales.spot(point.x, point.y)?)));
        let rim = self.chart.filled().then(|| Stroke::new(palette.background, 3.4));
        for stroke in rim.into_iter().chain([Stroke::new(&color, 1.2)]) {
            for (from, to) in shown().filter_map(|(point, spot)| scales.interval(point, spot)) {
                svg.interval(from, to, (CAP, 0.0), stroke);
            }
        }
        let marker = self.marker(series, look);
        let draw = |svg: &mut Svg| {
            shown().for_each(|(_, spot)| marker.draw(svg, spot, &color, palette.background));
        };
        if series.small { svg.group("points", draw) } else { draw(svg) }
    }
}

impl Drawing for ChartDrawing<'_> {
    fn margins(&self) -> Margins {
        let mut margins = self.frame.margins(&self.legend);
        if self.has_bar() {
            margins.right = margins.right.max(cells::bar_room(&self.chart.value, self.frame.size.1));
        }
        margins
    }

    fn draw(&self, svg: &mut Svg, palette: &Palette) {
        let Some(scales) = &self.scales else { return self.frame.draw_empty(svg, palette, &self.legend) };
        self.frame.draw_grid(svg, palette);
        let (width, height) = self.frame.size;
        svg.cut(width, height, |svg| self.draw_inside(svg, palette, scales));
        for (series, look) in self.chart.series.iter().zip(&self.looks) {
            self.draw_points(svg, palette, scales, series, look);
        }
        for (spot, _) in self.rings(scales) {
            svg.circle(spot, RING, "none", Some(Stroke::new(palette.ink, 1.6)));
        }
        self.frame.draw(svg, palette, &self.legend);
        if self.has_bar() {
            cells::draw_bar(svg, palette, &self.chart.value, width, height);
        }
        self.legend.draw(svg, palette);
        for label in &self.labels {
            if let Some((from, to)) = label.leader {
                svg.line(from, to, Stroke::new(palette.ink, 0.8));
            }
            let color = if label.strong { palette.ink } else { palette.axis };
            let set = Type { rim: Some(palette.background), ..Type::new(size::SMALL, color) };
            svg.text(label.spot, &label.text, set);
        }
    }
}

impl Chart {
    /// Whether cells or regions fill the frame.
    pub(super) fn filled(&self) -> bool {
        !self.cells.is_empty() || !self.regions.is_empty()
    }

    fn scales(&self, (width, height): (f64, f64)) -> Option<Scales> {
        let shows = |spot: &Spot| self.x.shows(spot.0) && self.y.shows(spot.1);
        let cells = self.cells.iter().map(|cell| (cell.x, cell.y));
        let rects = cells.chain(self.regions.iter().map(|region| (region.x, region.y)));
        let corners: Vec<Spot> = rects.flat_map(|(x, y)| [(x.0, y.0), (x.1, y.1)]).collect();
        let mut data = corners.clone();
        for series in &self.series {
            match &series.shape {
                Shape::Points(points) => {
                    for point in points.iter().filter(|point| shows(&(point.x, point.y))) {
                        let (low, high) = point.interval.unwrap_or((point.y, point.y));
                        data.extend([point.y, low, high].map(|y| (point.x, y)));
                    }
                }
                Shape::Line(spots) => data.extend(spots.iter().filter(|spot| shows(spot))),
            }
        }
        data.extend(self.marks.iter().map(|mark| mark.0));
        if !data.iter().any(shows) {
            return None;
        }
        let references = self.references.iter();
        data.extend(references.map(|r| if r.vertical { (r.value, f64::NAN) } else { (f64::NAN, r.value) }));
        // Cells and regions alone determine the range where there are some.
        let full = self.filled();
        let (spots, inset) = if full { (&corners, 0.0) } else { (&data, INSET) };
        Some(Scales {
            x: self.x.scale(spots.iter().map(|spot| spot.0), inset, width - inset, full)?,
            y: self.y.scale(spots.iter().map(|spot| spot.1), height - inset, inset, full)?,
        })
    }
}

/// A line from a ring to a label, where the label is not next to the ring.
fn leader(of: Spot, label: Rect) -> Option<(Spot, Spot)> {
    let Rect { x, y, width, height } = label;
    let to = (of.0.clamp(x, x + width), of.1.clamp(y + 1.0, y + height - 1.0));
    let (dx, dy) = (to.0 - of.0, to.1 - of.1);
    let length = dx.hypot(dy);
    let from = (of.0 + dx * RING / length, of.1 + dy * RING / length);
    (length > 2.5 * RING).then_some((from, to))
}
