//! Drawing a chart: scales first, then what is where, then the strokes.

use super::cells::{self, Partition};
use super::look::Look;
use super::pixels::{areas, intervals, runs, spot};
use super::{Chart, Point, Reference, Series, Shape};
use crate::frame::{Edge, Frame, Margins};
use crate::legend::{Entry, Legend, Marker, Paint, Sample};
use crate::place::{Crowd, Rect, around};
use crate::scale::{Axis, Scale};
use crate::svg::{Spot, Stroke, Svg, Type};
use crate::text::size;
use crate::theme::Palette;
use crate::ticks::{Way, ticks};

/// Data keep this distance from the frame, so that a point at 0 or 1 stands free.
const INSET: f64 = 7.0;
const MARKER: f64 = 3.6;
const SMALL_MARKER: f64 = 1.4;
const RING: f64 = 7.0;
const CAP: f64 = 3.0;
const LINE: f64 = 1.8;
const BAND: f64 = 0.18;

/// Words in their place.
struct Words {
    text: String,
    spot: Spot,
    strong: bool,
    /// A line to what they speak of, where that is not next to them.
    leader: Option<(Spot, Spot)>,
}

/// A chart with everything in its place, the frame's upper left corner at the origin.
pub(crate) struct Drawing<'a> {
    chart: &'a Chart,
    frame: Frame,
    scales: Option<(Scale, Scale)>,
    looks: Vec<Look>,
    outlines: Vec<(Spot, Spot)>,
    words: Vec<Words>,
    legend: Legend,
}

impl<'a> Drawing<'a> {
    pub fn new(chart: &'a Chart, size: (f64, f64)) -> Self {
        let mut frame = Frame::new(size, &chart.title, &chart.x.label, &chart.y.label);
        let full = chart.filled();
        let scales = chart.scales(size);
        let nothing = Legend::place(Vec::new(), size, 0.0, None);
        let looks = chart.looks();
        let (outlines, words) = (Vec::new(), Vec::new());
        let mut drawing =
            Self { chart, frame: frame.clone(), scales, looks, outlines, words, legend: nothing };
        let Some((x, y)) = scales else { return drawing };
        frame.full = full;
        frame.across = edge(frame.across, &chart.x, &x, Way::Across);
        frame.up = edge(frame.up, &chart.y, &y, Way::Up);
        drawing.frame = frame;
        let mut crowd = drawing.crowd(&x, &y);
        drawing.place_words(&mut crowd, &x, &y);
        if full {
            drawing.place_regions(&crowd, &x, &y);
        }
        let more = if drawing.has_bar() { cells::bar_room(&chart.value, size.1) } else { 0.0 };
        drawing.legend = Legend::place(drawing.entries(), size, more, (!full).then_some(&crowd));
        drawing
    }

    pub fn margins(&self) -> Margins {
        let mut margins = self.frame.margins(&self.legend);
        if self.has_bar() {
            margins.right = margins.right.max(cells::bar_room(&self.chart.value, self.frame.height));
        }
        margins
    }

    fn has_bar(&self) -> bool {
        self.scales.is_some() && !self.chart.cells.is_empty()
    }

    /// What is drawn by series and marks, which words should not cover.
    fn crowd(&self, x: &Scale, y: &Scale) -> Crowd {
        let mut crowd = Crowd::default();
        let inside = |spot: Spot| {
            (0.0..=self.frame.width).contains(&spot.0) && (0.0..=self.frame.height).contains(&spot.1)
        };
        for series in &self.chart.series {
            match &series.shape {
                Shape::Points(points) => {
                    for point in points {
                        let Some(spot) = spot((point.x, point.y), x, y) else { continue };
                        let radius = MARKER + 1.0;
                        crowd.rect(Rect {
                            x: spot.0 - radius,
                            y: spot.1 - radius,
                            width: 2.0 * radius,
                            height: 2.0 * radius,
                        });
                        for (from, to) in intervals(point, spot, x, y) {
                            crowd.line(from, to);
                        }
                    }
                }
                Shape::Line(values) => {
                    for run in runs(values, x, y) {
                        for pair in run.windows(2) {
                            if inside(pair[0]) || inside(pair[1]) {
                                crowd.line(pair[0], pair[1]);
                            }
                        }
                    }
                }
                Shape::Band(values) => {
                    for area in areas(values, x, y) {
                        for ((low, high), next) in area.iter().zip(area.iter().skip(1)) {
                            crowd.line(*low, next.0);
                            crowd.line(*high, next.1);
                            crowd.line(*low, *high);
                        }
                    }
                }
            }
        }
        for note in self.chart.notes.iter().filter(|note| note.marked) {
            if let Some(spot) = spot((note.x, note.y), x, y) {
                crowd.rect(Rect {
                    x: spot.0 - RING,
                    y: spot.1 - RING,
                    width: 2.0 * RING,
                    height: 2.0 * RING,
                });
            }
        }
        crowd
    }

    /// Places the words of notes and reference lines, and adds them to the crowd.
    fn place_words(&mut self, crowd: &mut Crowd, x: &Scale, y: &Scale) {
        let (width, height) = self.frame.size();
        let mut put = |text: &str, of: Option<Spot>, places: Vec<Rect>, crowd: &mut Crowd| {
            let best = crowd.best((width, height), places);
            if let (Some(rect), false) = (best, text.is_empty()) {
                crowd.rect(rect);
                let spot = (rect.x, rect.y + 0.85 * size::SMALL);
                let leader = of.and_then(|of| leader(of, rect));
                self.words.push(Words { text: text.into(), spot, strong: of.is_some(), leader });
            }
        };
        for reference in &self.chart.references {
            let (label, places) = match reference {
                Reference::Vertical(value, label) if x.covers(*value) => {
                    let at = x.within(*value);
                    crowd.line((at, 0.0), (at, height));
                    let word = Rect::of_text((0.0, 0.0), label, size::SMALL);
                    let tops = [6.0, height - word.height - 6.0, height / 2.0, height / 4.0];
                    let sides = [at + 5.0, at - 5.0 - word.width];
                    let place = |y: f64| sides.map(|x| Rect { x, y, ..word });
                    (label, tops.map(place).concat())
                }
                Reference::Horizontal(value, label) if y.covers(*value) => {
                    let at = y.within(*value);
                    crowd.line((0.0, at), (width, at));
                    let word = Rect::of_text((0.0, 0.0), label, size::SMALL);
                    let lefts = [width - word.width - 6.0, 6.0, (width - word.width) / 2.0, width / 4.0];
                    let sides = [at - 5.0 - word.height, at + 5.0];
                    let place = |x: f64| sides.map(|y| Rect { x, y, ..word });
                    (label, lefts.map(place).concat())
                }
                _ => continue,
            };
            put(label, None, places, crowd);
        }
        for note in &self.chart.notes {
            if let Some(spot) = spot((note.x, note.y), x, y) {
                let distance = if note.marked { RING + 5.0 } else { 6.0 };
                let places = around(spot, distance, &note.text, size::SMALL);
                put(&note.text, note.marked.then_some(spot), places, crowd);
            }
        }
    }

    /// Outlines of regions over cells, and their names.
    fn place_regions(&mut self, crowd: &Crowd, x: &Scale, y: &Scale) {
        if self.chart.cells.is_empty() {
            return;
        }
        let partition = Partition::new(&self.chart.regions, (x, y));
        self.outlines = partition.outlines();
        for (category, name) in self.chart.categories.iter().enumerate() {
            if let Some(middle) = partition.room_for(category, name, self.frame.size(), crowd) {
                let rect = Rect::of_text((0.0, 0.0), name, size::SMALL);
                let spot = (middle.0 - rect.width / 2.0, middle.1 + 0.36 * size::SMALL);
                self.words.push(Words { text: name.clone(), spot, strong: true, leader: None });
            }
        }
    }

    fn entries(&self) -> Vec<Entry> {
        let chart = self.chart;
        let rimmed = chart.filled();
        let mut entries: Vec<Entry> = Vec::new();
        for (series, look) in chart.series.iter().zip(&self.looks) {
            if series.name.is_empty() {
                continue;
            }
            let i = entries.iter().position(|entry| entry.name == series.name).unwrap_or_else(|| {
                let sample = Sample { rimmed, ..Sample::default() };
                entries.push(Entry { name: series.name.clone(), paint: look.paint, sample });
                entries.len() - 1
            });
            let sample = &mut entries[i].sample;
            match series.shape {
                Shape::Points(_) => sample.marker = Some(marker(series, look)),
                Shape::Line(_) => sample.line = Some(look.dashes),
                Shape::Band(_) => sample.patch = Some(BAND),
            }
        }
        let patch = |name: &str, paint: Paint, opacity: f64| Entry {
            name: name.into(),
            paint,
            sample: Sample { patch: Some(opacity), ..Sample::default() },
        };
        if chart.cells.is_empty() {
            for (category, name) in chart.categories.iter().enumerate() {
                if chart.regions.iter().any(|region| region.category == category) {
                    entries.push(patch(name, Paint::Category(category), cells::FILL));
                }
            }
        } else if chart.cells.iter().any(|cell| cell.value.is_none()) {
            entries.push(patch("no value", Paint::Missing, 1.0));
        }
        entries
    }

    pub fn draw(&self, svg: &mut Svg, palette: &Palette) {
        let Some((x, y)) = self.scales else {
            self.frame.draw(svg, palette, &self.legend);
            self.frame.draw_empty(svg, palette);
            return;
        };
        self.frame.draw_grid(svg, palette);
        let (width, height) = self.frame.size();
        let chart = self.chart;
        let rim = chart.filled().then_some(palette.background);
        svg.cut(width, height, |svg| {
            if chart.filled() {
                cells::draw_cells(svg, palette, &chart.cells, (&x, &y));
                match chart.cells.is_empty() {
                    true => cells::draw_regions(svg, palette, chart, (&x, &y)),
                    false => draw_outlines(svg, palette, &self.outlines),
                }
            }
            let series = || chart.series.iter().zip(&self.looks);
            for (series, look) in series() {
                if let Shape::Band(values) = &series.shape {
                    draw_band(svg, values, &look.paint.color(palette), &x, &y);
                }
            }
            for reference in &chart.references {
                let stroke = Stroke { color: palette.axis, width: 1.0, dashes: "4 3" };
                match reference {
                    Reference::Vertical(value, _) if x.covers(*value) => {
                        svg.line((x.within(*value), 0.0), (x.within(*value), height), stroke);
                    }
                    Reference::Horizontal(value, _) if y.covers(*value) => {
                        svg.line((0.0, y.within(*value)), (width, y.within(*value)), stroke);
                    }
                    _ => {}
                }
            }
            for (series, look) in series() {
                if let Shape::Line(values) = &series.shape {
                    draw_line(svg, values, look, palette, rim, &x, &y);
                }
            }
        });
        for (series, look) in chart.series.iter().zip(&self.looks) {
            if let Shape::Points(points) = &series.shape {
                draw_points(svg, points, (series, look), palette, rim, (&x, &y));
            }
        }
        for note in chart.notes.iter().filter(|note| note.marked) {
            if let Some(spot) = spot((note.x, note.y), &x, &y) {
                svg.circle(spot, RING, "none", Some(Stroke::new(palette.ink, 1.6)));
            }
        }
        self.frame.draw(svg, palette, &self.legend);
        if self.has_bar() {
            cells::draw_bar(svg, palette, &chart.value, width, height);
        }
        self.legend.draw(svg, palette);
        for words in &self.words {
            if let Some((from, to)) = words.leader {
                svg.line(from, to, Stroke::new(palette.ink, 0.8));
            }
            let color = if words.strong { palette.ink } else { palette.axis };
            let set = Type { rim: Some(palette.background), ..Type::new(size::SMALL, color) };
            svg.text(words.spot, &words.text, set);
        }
    }
}

impl Chart {
    /// Whether cells or regions fill the frame.
    pub(super) fn filled(&self) -> bool {
        !self.cells.is_empty() || !self.regions.is_empty()
    }

    fn scales(&self, (width, height): (f64, f64)) -> Option<(Scale, Scale)> {
        let mut data: Vec<Spot> = Vec::new();
        for series in &self.series {
            match &series.shape {
                Shape::Points(points) => {
                    for point in points.iter().filter(|p| self.x.shows(p.x) && self.y.shows(p.y)) {
                        let (low, high) = point.vertical.unwrap_or((point.y, point.y));
                        let (left, right) = point.horizontal.unwrap_or((point.x, point.x));
                        data.extend([(point.x, point.y), (left, low), (right, high)]);
                    }
                }
                Shape::Line(spots) => {
                    data.extend(spots.iter().filter(|spot| self.x.shows(spot.0) && self.y.shows(spot.1)));
                }
                Shape::Band(spots) => {
                    for &(x, low, high) in spots.iter().filter(|spot| self.x.shows(spot.0)) {
                        data.extend([(x, low), (x, high)]);
                    }
                }
            }
        }
        data.extend(self.cells.iter().flat_map(|cell| [(cell.x.0, cell.y.0), (cell.x.1, cell.y.1)]));
        data.extend(self.regions.iter().flat_map(|r| [(r.x.0, r.y.0), (r.x.1, r.y.1)]));
        let marked = self.notes.iter().filter(|note| note.marked);
        data.extend(marked.map(|note| (note.x, note.y)));
        if !data.iter().any(|spot| self.x.shows(spot.0) && self.y.shows(spot.1)) {
            return None;
        }
        for reference in &self.references {
            data.push(match reference {
                Reference::Vertical(x, _) => (*x, f64::NAN),
                Reference::Horizontal(y, _) => (f64::NAN, *y),
            });
        }
        let full = self.filled();
        let inset = if full { 0.0 } else { INSET };
        // Over cells and regions, these alone say what is shown.
        let edges = |values: Vec<f64>| values.into_iter();
        let xs = if full { self.filled_edges(|x, _| x) } else { data.iter().map(|spot| spot.0).collect() };
        let ys = if full { self.filled_edges(|_, y| y) } else { data.iter().map(|spot| spot.1).collect() };
        let x = self.x.scale(edges(xs), inset, width - inset, full)?;
        let y = self.y.scale(edges(ys), height - inset, inset, full)?;
        Some((x, y))
    }

    fn filled_edges(&self, pick: impl Fn((f64, f64), (f64, f64)) -> (f64, f64)) -> Vec<f64> {
        let cells = self.cells.iter().map(|cell| pick(cell.x, cell.y));
        let regions = self.regions.iter().map(|region| pick(region.x, region.y));
        cells.chain(regions).flat_map(|(low, high)| [low, high]).collect()
    }
}

/// A line from a ring to words that are not next to it.
fn leader(of: Spot, words: Rect) -> Option<(Spot, Spot)> {
    let to =
        (of.0.clamp(words.x, words.x + words.width), of.1.clamp(words.y + 1.0, words.y + words.height - 1.0));
    let (dx, dy) = (to.0 - of.0, to.1 - of.1);
    let length = dx.hypot(dy);
    let from = (of.0 + dx * RING / length, of.1 + dy * RING / length);
    (length > 2.5 * RING).then_some((from, to))
}

fn edge(mut edge: Edge, axis: &Axis, scale: &Scale, way: Way) -> Edge {
    let ticks = ticks(axis, scale, way).into_iter();
    edge.ticks = ticks.filter_map(|tick| Some((scale.pixel(tick.value)?, tick.label))).collect();
    edge
}

fn draw_band(svg: &mut Svg, values: &[(f64, f64, f64)], color: &str, x: &Scale, y: &Scale) {
    for area in areas(values, x, y) {
        let lows = area.iter().map(|(low, _)| *low);
        let highs = area.iter().rev().map(|(_, high)| *high);
        svg.shape(&lows.chain(highs).collect::<Vec<_>>(), color, BAND, None);
    }
}

fn draw_line(
    svg: &mut Svg,
    values: &[(f64, f64)],
    look: &Look,
    palette: &Palette,
    rim: Option<&str>,
    x: &Scale,
    y: &Scale,
) {
    let color = look.paint.color(palette);
    for run in runs(values, x, y) {
        if let Some(rim) = rim {
            svg.path(&run, Stroke::new(rim, LINE + 2.2));
        }
        svg.path(&run, Stroke { color: &color, width: LINE, dashes: look.dashes });
    }
}

fn draw_outlines(svg: &mut Svg, palette: &Palette, outlines: &[(Spot, Spot)]) {
    for &(from, to) in outlines {
        svg.line(from, to, Stroke::new(palette.background, 2.2));
    }
    for &(from, to) in outlines {
        svg.line(from, to, Stroke::new(palette.axis, 0.9));
    }
}

fn draw_points(
    svg: &mut Svg,
    points: &[Point],
    (series, look): (&Series, &Look),
    palette: &Palette,
    rim: Option<&str>,
    (x, y): (&Scale, &Scale),
) {
    let color = look.paint.color(palette);
    let shown = || points.iter().filter_map(|point| Some((point, spot((point.x, point.y), x, y)?)));
    let rim = rim.map(|rim| Stroke::new(rim, 3.4));
    for stroke in rim.into_iter().chain([Stroke::new(&color, 1.2)]) {
        for (from, to) in shown().flat_map(|(point, spot)| intervals(point, spot, x, y)) {
            svg.line(from, to, stroke);
            let (dx, dy) = if from.0 == to.0 { (CAP, 0.0) } else { (0.0, CAP) };
            for end in [from, to] {
                svg.line((end.0 - dx, end.1 - dy), (end.0 + dx, end.1 + dy), stroke);
            }
        }
    }
    for (_, spot) in shown() {
        marker(series, look).draw(svg, spot, &color, palette.background);
    }
}

/// The marker of a series. Small ones are all round: other shapes would not show.
fn marker(series: &Series, look: &Look) -> Marker {
    match series.small {
        true => Marker { kind: 0, radius: SMALL_MARKER },
        false => Marker { kind: look.marker, radius: MARKER },
    }
}
