//! From data to pixels: points, intervals, lines, bands and rectangles of a chart.

use super::Point;
use crate::place::Rect;
use crate::scale::Scale;
use crate::svg::Spot;

/// The scales of both axes of a chart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scales {
    pub x: Scale,
    pub y: Scale,
}

impl Scales {
    /// The pixel of a point, if the point is inside the frame.
    pub fn spot(&self, x: f64, y: f64) -> Option<Spot> {
        (self.x.covers(x) && self.y.covers(y)).then(|| Some((self.x.pixel(x)?, self.y.pixel(y)?))).flatten()
    }

    /// The intervals of a point at `spot` in pixels, cut off at the ends of the axes.
    pub fn intervals(&self, point: &Point, spot: Spot) -> Vec<(Spot, Spot)> {
        let vertical = point.vertical.map(|ends| {
            let (low, high) = self.y.interval(ends, spot.1);
            ((spot.0, low), (spot.0, high))
        });
        let horizontal = point.horizontal.map(|ends| {
            let (low, high) = self.x.interval(ends, spot.0);
            ((low, spot.1), (high, spot.1))
        });
        vertical.into_iter().chain(horizontal).collect()
    }

    /// A line in pixels, split where a point cannot be shown.
    pub fn line(&self, values: &[(f64, f64)]) -> Vec<Vec<Spot>> {
        pieces(values.iter().map(|&(x, y)| Some((self.x.pixel(x)?, self.y.pixel(y)?))))
    }

    /// The low and high edge of a band in pixels, split where the band cannot be shown.
    pub fn band(&self, values: &[(f64, f64, f64)]) -> Vec<Vec<(Spot, Spot)>> {
        pieces(values.iter().map(|&(x, low, high)| {
            let x = self.x.pixel(x).filter(|_| !low.is_nan() && !high.is_nan())?;
            Some(((x, self.y.within(low)), (x, self.y.within(high))))
        }))
    }

    /// The part of a rectangle that is inside the frame.
    pub fn rect(&self, x: (f64, f64), y: (f64, f64)) -> Option<Rect> {
        for (scale, ends) in [(&self.x, x), (&self.y, y)] {
            scale.pixel(ends.0)?;
            scale.pixel(ends.1)?;
        }
        let (x0, x1) = (self.x.within(x.0), self.x.within(x.1));
        let (y0, y1) = (self.y.within(y.0), self.y.within(y.1));
        let rect = Rect { x: x0.min(x1), y: y0.min(y1), width: (x1 - x0).abs(), height: (y1 - y0).abs() };
        (rect.width > 0.0 && rect.height > 0.0).then_some(rect)
    }
}

/// Runs of at least two items without a gap.
fn pieces<T>(items: impl Iterator<Item = Option<T>>) -> Vec<Vec<T>> {
    let mut pieces = vec![Vec::new()];
    for item in items {
        match (item, pieces.last_mut()) {
            (Some(item), Some(piece)) => piece.push(item),
            _ => pieces.push(Vec::new()),
        }
    }
    pieces.retain(|piece| piece.len() > 1);
    pieces
}
