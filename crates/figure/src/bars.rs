//! Bar charts: one group of bars per name, one bar per series.

use serde::Serialize;

use crate::figure::Drawing;
use crate::frame::{Frame, Margins};
use crate::legend::{Entry, Legend, Paint};
use crate::scale::{Axis, Scale};
use crate::svg::{Stroke, Svg};
use crate::theme::Palette;
use crate::ticks::{Direction, ticks};

/// One bar: a size, or `(size, low, high)` with an interval. A bar whose size is not finite is left out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bar {
    size: f64,
    interval: Option<(f64, f64)>,
}

impl From<f64> for Bar {
    fn from(size: f64) -> Self {
        Self { size, interval: None }
    }
}

impl From<(f64, f64, f64)> for Bar {
    fn from((size, low, high): (f64, f64, f64)) -> Self {
        Self { size, interval: Some((low, high)) }
    }
}

/// Horizontal bars, grouped by name from top to bottom.
///
/// ```
/// use superpose_figure::{Axis, Bars, Figure, Theme};
///
/// let bars = Bars::new("Noise budget", Axis::linear("noise over signal"), ["interference", "mean bias"])
///     .series("measured", [(0.27, 0.25, 0.29), (0.19, 0.17, 0.21)])
///     .series("predicted", [0.26, 0.20]);
/// assert!(Figure::new().panel(bars).svg(Theme::Dark).contains("mean bias"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bars {
    pub(crate) title: String,
    axis: Axis,
    names: Vec<String>,
    series: Vec<(String, Vec<Bar>)>,
    references: Vec<f64>,
}

impl Bars {
    /// Bars along an axis, with the names of the groups. A logarithmic axis has no zero: there bars start at the frame, and
    /// only their ends can be compared.
    pub fn new(
        title: impl Into<String>,
        axis: Axis,
        names: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        Self { title: title.into(), axis, names, series: Vec::new(), references: Vec::new() }
    }

    /// Adds one bar to each group, in the order of the names. Surplus bars are not shown.
    pub fn series(mut self, name: impl Into<String>, bars: impl IntoIterator<Item = impl Into<Bar>>) -> Self {
        self.series.push((name.into(), bars.into_iter().map(Into::into).collect()));
        self
    }

    /// Adds a reference line at a size.
    pub fn reference(mut self, size: f64) -> Self {
        self.references.push(size);
        self
    }

    /// Series, group and bar of every bar that the axis can show.
    fn shown(&self) -> impl Iterator<Item = (usize, usize, Bar)> {
        let series = self.series.iter().enumerate();
        series.flat_map(|(i, (_, bars))| {
            let bars = bars.iter().take(self.names.len()).enumerate();
            bars.filter(|(_, bar)| self.axis.shows(bar.size)).map(move |(group, bar)| (i, group, *bar))
        })
    }
}

/// Share of a group's height that is covered by bars.
const FULL: f64 = 0.72;
const CAP: f64 = 2.5;

pub(crate) struct BarsDrawing<'a> {
    bars: &'a Bars,
    frame: Frame,
    scale: Option<Scale>,
    legend: Legend,
}

impl<'a> BarsDrawing<'a> {
    pub fn new(bars: &'a Bars, size: (f64, f64)) -> Self {
        let mut frame = Frame::new(size, &bars.title, &bars.axis.label, "");
        let ends = bars.shown().flat_map(|(_, _, bar)| {
            let (low, high) = bar.interval.unwrap_or((bar.size, bar.size));
            [bar.size, low, high]
        });
        let zero = (!bars.axis.log).then_some(0.0);
        let others = bars.references.iter().copied().filter(|&size| bars.axis.shows(size)).chain(zero);
        let others = others.filter(|_| bars.shown().next().is_some());
        let scale = bars.axis.scale(ends.chain(others), 0.0, size.0 - 4.0, false);
        if let Some(scale) = &scale {
            frame.across.ticks = ticks(&bars.axis, scale, Direction::Across);
            let middle = |i: usize| size.1 * (i as f64 + 0.5) / bars.names.len() as f64;
            frame.up.ticks =
                bars.names.iter().enumerate().map(|(i, name)| (middle(i), name.clone())).collect();
            frame.up.marks = false;
        }
        let named =
            bars.series.iter().enumerate().filter(|(_, (name, _))| scale.is_some() && !name.is_empty());
        let entries = named.map(|(i, (name, _))| Entry::patch(name, Paint::Category(i), 1.0)).collect();
        Self { bars, frame, scale, legend: Legend::place(entries, size, 0.0, None) }
    }
}

impl Drawing for BarsDrawing<'_> {
    fn margins(&self) -> Margins {
        self.frame.margins(&self.legend)
    }

    fn draw(&self, svg: &mut Svg, palette: &Palette) {
        let Some(scale) = self.scale else { return self.frame.draw_empty(svg, palette, &self.legend) };
        self.frame.draw_grid(svg, palette);
        let group = self.frame.size.1 / self.bars.names.len() as f64;
        let height = (group * FULL / self.bars.series.len() as f64).min(22.0);
        let all = height * self.bars.series.len() as f64;
        let zero = if scale.log { 0.0 } else { scale.within(0.0) };
        for (i, place, bar) in self.bars.shown() {
            let end = scale.within(bar.size);
            let top = group * (place as f64 + 0.5) - all / 2.0 + height * i as f64;
            svg.rect((zero.min(end), top + 0.5), (end - zero).abs(), height - 1.0, palette.category(i), 1.0);
            if let Some(interval) = bar.interval {
                let (y, (low, high)) = (top + height / 2.0, scale.interval(interval, end));
                svg.interval((low, y), (high, y), (0.0, CAP), Stroke::new(palette.ink, 1.2));
            }
        }
        for &size in self.bars.references.iter().filter(|&&size| scale.covers(size)) {
            let at = scale.within(size);
            let stroke = Stroke { color: palette.axis, width: 1.0, dashes: "4 3" };
            svg.line((at, 0.0), (at, self.frame.size.1), stroke);
        }
        self.frame.draw(svg, palette, &self.legend);
        self.legend.draw(svg, palette);
    }
}
