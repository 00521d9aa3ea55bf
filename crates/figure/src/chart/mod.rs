//! Charts with two axes: points, lines, heat maps, regions, reference lines and marked points.

mod cells;
mod draw;
mod look;
mod pixels;

pub(crate) use draw::ChartDrawing;

use serde::Serialize;

use crate::legend::Paint;
use crate::scale::Axis;
use crate::svg::Spot;

/// A measured point: `(x, y)`, or `(x, y, low, high)` with an interval in y. An end of the interval that is not finite, or that
/// the axis cannot show, extends to the edge of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    x: f64,
    y: f64,
    interval: Option<(f64, f64)>,
}

impl From<(f64, f64)> for Point {
    fn from((x, y): (f64, f64)) -> Self {
        Self { x, y, interval: None }
    }
}

impl From<(f64, f64, f64, f64)> for Point {
    fn from((x, y, low, high): (f64, f64, f64, f64)) -> Self {
        Self { x, y, interval: Some((low, high)) }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
enum Shape {
    Points(Vec<Point>),
    Line(Vec<(f64, f64)>),
}

/// Dash patterns: solid, dashed, dotted.
const DASHES: [&str; 3] = ["", "6 4", "1.8 3"];

/// A data series.
///
/// Series of one name share colour, marker and legend entry. A series without a name has the colour of the series before
/// it and no legend entry. Measured points and the line predicted for them are therefore two series of one name, or the
/// second has none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    name: String,
    shape: Shape,
    color: Option<Paint>,
    dashes: Option<&'static str>,
    small: bool,
}

impl Series {
    fn new(name: impl Into<String>, shape: Shape) -> Self {
        Self { name: name.into(), shape, color: None, dashes: None, small: false }
    }

    /// Points, for measured values.
    pub fn points(name: impl Into<String>, points: impl IntoIterator<Item = impl Into<Point>>) -> Self {
        Self::new(name, Shape::Points(points.into_iter().map(Into::into).collect()))
    }

    /// A line, for predicted values. A point that the axes cannot show leaves a gap.
    pub fn line(name: impl Into<String>, spots: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::new(name, Shape::Line(spots.into_iter().collect()))
    }

    /// Sets the colour by its number, from 0.
    pub fn color(self, index: usize) -> Self {
        Self { color: Some(Paint::Category(index)), ..self }
    }

    /// Sets the colour to one of `count` steps of one quantity, as [`Chart::ordered`] does for series with names.
    pub fn step(self, index: usize, count: usize) -> Self {
        Self { color: Some(Paint::Step(index, count)), ..self }
    }

    /// Sets the colour to grey, for series that are shown for comparison.
    pub fn muted(self) -> Self {
        Self { color: Some(Paint::Muted), ..self }
    }

    /// Makes the line dashed.
    pub fn dashed(self) -> Self {
        Self { dashes: Some(DASHES[1]), ..self }
    }

    /// Makes the line dotted.
    pub fn dotted(self) -> Self {
        Self { dashes: Some(DASHES[2]), ..self }
    }

    /// Makes the points small, for large numbers of points. In the SVG they are a group of the class `points`.
    pub fn small(self) -> Self {
        Self { small: true, ..self }
    }
}

/// A cell of a heat map.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    x: (f64, f64),
    y: (f64, f64),
    value: Option<f64>,
}

impl Cell {
    /// A cell with the given edges in x and y. The value is shown on a scale from 0 to 1; it may be absent.
    pub fn new(x: (f64, f64), y: (f64, f64), value: impl Into<Option<f64>>) -> Self {
        Self { x, y, value: value.into().filter(|value| !value.is_nan()) }
    }
}

/// A rectangle that belongs to a category.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Region {
    x: (f64, f64),
    y: (f64, f64),
    category: usize,
}

impl Region {
    /// A region with the given edges in x and y, and the number of its category.
    pub fn new(x: (f64, f64), y: (f64, f64), category: usize) -> Self {
        Self { x, y, category }
    }

    /// Its ends in x and in y.
    pub fn ends(&self) -> ((f64, f64), (f64, f64)) {
        (self.x, self.y)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Reference {
    vertical: bool,
    value: f64,
    label: String,
}

/// A chart with two axes.
///
/// ```
/// use superpose_figure::{Axis, Chart, Figure, Theme};
///
/// let measured = [(64.0, 0.11, 0.08, 0.15), (256.0, 0.52, 0.47, 0.57), (1024.0, 0.97, 0.95, 0.98)];
/// let predicted = (0..50).map(|i| 50.0 * 1.07f64.powi(i)).map(|n| (n, n / (n + 256.0)));
/// let chart = Chart::new("Recall", Axis::log("samples N"), Axis::linear("accuracy").range(0.0, 1.0))
///     .points("measured", measured)
///     .line("predicted", predicted)
///     .horizontal(0.5, "one half");
/// let svg = Figure::new().panel(chart).svg(Theme::Light);
/// assert!(svg.starts_with("<svg"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Chart {
    pub(crate) title: String,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
    ordered: bool,
    value: String,
    cells: Vec<Cell>,
    categories: Vec<String>,
    regions: Vec<Region>,
    references: Vec<Reference>,
    /// Points with a ring, and the text beside each.
    marks: Vec<(Spot, String)>,
}

impl Chart {
    /// A chart without data.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, ..Self::default() }
    }

    /// Adds a series.
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Adds points: [`Series::points`].
    pub fn points(self, name: impl Into<String>, points: impl IntoIterator<Item = impl Into<Point>>) -> Self {
        self.with(Series::points(name, points))
    }

    /// Adds a line: [`Series::line`].
    pub fn line(self, name: impl Into<String>, spots: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.with(Series::line(name, spots))
    }

    /// Declares that the series are steps of one quantity, such as d = 64, 128, 256: their colours are steps of one scale.
    pub fn ordered(self) -> Self {
        Self { ordered: true, ..self }
    }

    /// Adds the cells of a heat map, with a colour bar from 0 to 1 labelled `value`. Series over cells are drawn in ink and
    /// differ by dashes and markers.
    pub fn cells(mut self, value: impl Into<String>, cells: impl IntoIterator<Item = Cell>) -> Self {
        self.value = value.into();
        self.cells.extend(cells);
        self
    }

    /// Adds regions by category. Over cells they are outlines with the names of the categories inside, where there is room;
    /// otherwise they are filled and the names are in the legend.
    pub fn regions(
        mut self,
        categories: impl IntoIterator<Item = impl Into<String>>,
        regions: impl IntoIterator<Item = Region>,
    ) -> Self {
        self.categories = categories.into_iter().map(Into::into).collect();
        self.regions.extend(regions);
        self
    }

    /// Adds a vertical reference line at x with a label.
    pub fn vertical(mut self, x: f64, label: impl Into<String>) -> Self {
        self.references.push(Reference { vertical: true, value: x, label: label.into() });
        self
    }

    /// Adds a horizontal reference line at y with a label.
    pub fn horizontal(mut self, y: f64, label: impl Into<String>) -> Self {
        self.references.push(Reference { vertical: false, value: y, label: label.into() });
        self
    }

    /// Marks a point with a ring and adds a text beside it, where it covers the least.
    pub fn mark(mut self, x: f64, y: f64, text: impl Into<String>) -> Self {
        self.marks.push(((x, y), text.into()));
        self
    }
}
