//! From data to pixels: points, intervals, lines and rectangles of a chart.

use super::Point;
use crate::place::Rect;
use crate::scale::Scale;
use crate::svg::Spot;

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

    /// The interval of a point at `spot` in pixels, cut off at the ends of the axis.
    pub fn interval(&self, point: &Point, (x, y): Spot) -> Option<(Spot, Spot)> {
        let (low, high) = self.y.interval(point.interval?, y);
        Some(((x, low), (x, high)))
    }

    /// A line in pixels, split where a point cannot be shown into pieces of at least two points.
    pub fn line(&self, values: &[(f64, f64)]) -> Vec<Vec<Spot>> {
        let spots: Vec<Option<Spot>> =
            values.iter().map(|&(x, y)| Some((self.x.pixel(x)?, self.y.pixel(y)?))).collect();
        let pieces = spots.split(Option::is_none).filter(|piece| piece.len() > 1);
        pieces.map(|piece| piece.iter().copied().flatten().collect()).collect()
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
