//! Axes and scales, which map values to pixels.

use serde::Serialize;

/// An axis: its label, whether it is logarithmic, its range and its ticks.
///
/// Without a range the axis covers the data with a small margin, and starts at zero if the data are close to zero. A label
/// is the quantity in words, its symbol, and a unit in brackets if there is one: `"samples N"`, `"time (s)"`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Axis {
    pub(crate) label: String,
    pub(crate) log: bool,
    range: Option<(f64, f64)>,
    pub(crate) marked: Vec<f64>,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// A logarithmic axis. Values that are not positive are not shown.
    pub fn log(label: impl Into<String>) -> Self {
        Self { log: true, ..Self::linear(label) }
    }

    /// Sets the range of the axis. An invalid range (not finite, empty, or not positive on a logarithmic axis) is ignored.
    pub fn range(mut self, low: f64, high: f64) -> Self {
        let valid = low.is_finite() && high.is_finite() && low < high && (!self.log || low > 0.0);
        self.range = valid.then_some((low, high)).or(self.range);
        self
    }

    /// Labels these values, such as powers of two, instead of round ones. Where there is too little room, some labels are
    /// left out.
    pub fn ticks(mut self, values: impl IntoIterator<Item = f64>) -> Self {
        self.marked = values.into_iter().filter(|&value| self.shows(value)).collect();
        self.marked.sort_by(f64::total_cmp);
        self.marked.dedup();
        self
    }

    /// Whether an axis of this kind can show a value.
    pub(crate) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (!self.log || value > 0.0)
    }

    /// The scale for the data, from pixel `start` at the low end to `end` at the high end. `tight` leaves no margin around
    /// the data. None without data: an empty frame says less than "no data".
    pub(crate) fn scale(
        &self,
        data: impl Iterator<Item = f64>,
        start: f64,
        end: f64,
        tight: bool,
    ) -> Option<Scale> {
        let (low, high) = data
            .filter(|&value| self.shows(value))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = match self.range {
            _ if low > high => return None,
            Some(range) => range,
            None if tight && low < high => (low, high),
            None => self.with_margin(low, high),
        };
        let scale = Scale { log: self.log, low, high, start, end };
        (scale.inner(low) < scale.inner(high)).then_some(scale)
    }

    /// The range of the data with a small margin.
    fn with_margin(&self, low: f64, high: f64) -> (f64, f64) {
        const ROOM: f64 = 0.04;
        if self.log {
            // Data that differ by less than this factor are nearly equal: an axis around them would magnify rounding.
            const MIN_FACTOR: f64 = 2.0;
            let widen = (MIN_FACTOR * low / high).max(1.0).sqrt();
            let (low, high) = (low / widen, high * widen);
            let (low, high) = (low.ln(), high.ln());
            let room = (high - low) * ROOM;
            return ((low - room).exp().max(f64::MIN_POSITIVE), (high + room).exp().min(f64::MAX / 2.0));
        }
        let (mut low, mut high) = (low.max(-f64::MAX / 8.0), high.min(f64::MAX / 8.0));
        if low == high {
            let room = if low == 0.0 { 1.0 } else { low.abs() / 2.0 };
            (low, high) = (low - room, high + room);
        }
        // An axis of data close to zero starts at zero, so that lengths can be compared.
        let near = |end: f64, other: f64| end.abs() < 0.3 * other.abs();
        let room = (high - low) * ROOM;
        let from = if low >= 0.0 && near(low, high) { 0.0 } else { low - room };
        let to = if high <= 0.0 && near(high, low) { 0.0 } else { high + room };
        (from, to)
    }
}

/// Maps values to pixels along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    pub log: bool,
    pub low: f64,
    pub high: f64,
    start: f64,
    end: f64,
}

impl Scale {
    fn inner(&self, value: f64) -> f64 {
        if self.log { value.ln() } else { value }
    }

    /// The pixel of a value, possibly outside the frame; None for values that the axis cannot show.
    pub fn pixel(&self, value: f64) -> Option<f64> {
        let (low, high) = (self.inner(self.low), self.inner(self.high));
        let share = (self.inner(value) - low) / (high - low);
        let pixel = self.start + share * (self.end - self.start);
        // It is not finite either if the value is not, or if its logarithm is not.
        pixel.is_finite().then(|| pixel.clamp(-1e4, 1e4))
    }

    /// The pixel of a value, clamped to the ends of the axis.
    pub fn within(&self, value: f64) -> f64 {
        let (first, last) = (self.start.min(self.end), self.start.max(self.end));
        let outside = if value.is_nan() || value <= self.low { self.start } else { self.end };
        self.pixel(value).unwrap_or(outside).clamp(first, last)
    }

    /// The pixels of an interval around a value at pixel `middle`, clamped to the ends of the axis.
    pub fn interval(&self, (low, high): (f64, f64), middle: f64) -> (f64, f64) {
        (self.within(low), if high.is_nan() { middle } else { self.within(high) })
    }

    /// Whether a value is within the range of the axis, up to rounding.
    pub fn covers(&self, value: f64) -> bool {
        let (low, high) = (self.inner(self.low), self.inner(self.high));
        let slack = 1e-9 * (high - low);
        value.is_finite() && (low - slack..=high + slack).contains(&self.inner(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(axis: &Axis, data: &[f64]) -> Option<Scale> {
        axis.scale(data.iter().copied(), 0.0, 100.0, false)
    }

    #[test]
    fn values_that_cannot_be_shown_are_ignored() {
        let log = scale(&Axis::log("N"), &[f64::NAN, -1.0, 0.0, 10.0, 1000.0, f64::INFINITY]).unwrap();
        assert!(log.low > 8.0 && log.low < 10.0 && log.high > 1000.0 && log.high < 1250.0, "{log:?}");
        assert_eq!(log.pixel(0.0), None);
        assert_eq!((log.within(-3.0), log.within(1e9)), (0.0, 100.0));
        assert!((log.pixel(100.0).unwrap() - 50.0).abs() < 1e-9);
        assert_eq!(scale(&Axis::log("N"), &[-1.0]), None);
        assert_eq!(scale(&Axis::linear("x"), &[f64::NAN]), None);
    }

    #[test]
    fn linear_axes_start_at_zero_near_zero() {
        let near = scale(&Axis::linear("x"), &[1.0, 10.0]).unwrap();
        assert_eq!(near.low, 0.0);
        let far = scale(&Axis::linear("x"), &[8.0, 10.0]).unwrap();
        assert!(far.low > 7.0 && far.low < 8.0);
        let below = scale(&Axis::linear("x"), &[-10.0, -1.0]).unwrap();
        assert_eq!(below.high, 0.0);
    }

    #[test]
    fn one_value_gives_a_scale() {
        for axis in [Axis::linear("x"), Axis::log("x")] {
            let scale = scale(&axis, &[5.0]).unwrap();
            assert!(scale.low < 5.0 && scale.high > 5.0);
        }
        assert!(scale(&Axis::linear("x"), &[0.0]).is_some());
        for extreme in [f64::MAX, f64::MIN_POSITIVE, -f64::MAX] {
            for axis in [Axis::linear("x"), Axis::log("x")] {
                if let Some(scale) = scale(&axis, &[extreme, 1.0]) {
                    assert!(scale.low < scale.high && scale.low.is_finite() && scale.high.is_finite());
                }
            }
        }
    }

    #[test]
    fn invalid_ranges_are_ignored() {
        for axis in [
            Axis::linear("x").range(1.0, 1.0),
            Axis::linear("x").range(f64::NAN, 1.0),
            Axis::log("x").range(0.0, 1.0),
        ] {
            assert_eq!(axis.range, None);
        }
        assert_eq!(Axis::linear("x").range(0.0, 1.0).range(2.0, 1.0).range, Some((0.0, 1.0)));
    }
}
