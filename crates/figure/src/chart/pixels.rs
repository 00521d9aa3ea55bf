//! From data to pixels: points in the frame, intervals, lines and bands in pieces.

use super::Point;
use crate::scale::Scale;
use crate::svg::Spot;

/// The pixel of a point that is in the frame.
pub(super) fn spot(value: (f64, f64), x: &Scale, y: &Scale) -> Option<Spot> {
    (x.covers(value.0) && y.covers(value.1)).then(|| Some((x.pixel(value.0)?, y.pixel(value.1)?))).flatten()
}

/// The intervals of a point, in pixels, ending at the axes' ends at the latest.
pub(super) fn intervals(point: &Point, spot: Spot, x: &Scale, y: &Scale) -> Vec<(Spot, Spot)> {
    let vertical = point.vertical.map(|(low, high)| {
        let (low, high) = (y.within(low), if high.is_nan() { spot.1 } else { y.within(high) });
        ((spot.0, low), (spot.0, high))
    });
    let horizontal = point.horizontal.map(|(low, high)| {
        let (low, high) = (x.within(low), if high.is_nan() { spot.0 } else { x.within(high) });
        ((low, spot.1), (high, spot.1))
    });
    vertical.into_iter().chain(horizontal).collect()
}

/// A line in pixels, in pieces where points have no place.
pub(super) fn runs(values: &[(f64, f64)], x: &Scale, y: &Scale) -> Vec<Vec<Spot>> {
    let mut runs = vec![Vec::new()];
    for &(a, b) in values {
        match (x.pixel(a), y.pixel(b)) {
            (Some(a), Some(b)) => {
                runs.last_mut().into_iter().for_each(|run: &mut Vec<Spot>| run.push((a, b)))
            }
            _ => runs.push(Vec::new()),
        }
    }
    runs.retain(|run| run.len() > 1);
    runs
}

/// A band in pixels, low and high, in pieces where it has no place.
pub(super) fn areas(values: &[(f64, f64, f64)], x: &Scale, y: &Scale) -> Vec<Vec<(Spot, Spot)>> {
    let mut areas = vec![Vec::new()];
    for &(a, low, high) in values {
        match (x.pixel(a), low.is_nan() || high.is_nan()) {
            (Some(a), false) => {
                let area: &mut Vec<(Spot, Spot)> = match areas.last_mut() {
                    Some(area) => area,
                    None => continue,
                };
                area.push(((a, y.within(low)), (a, y.within(high))));
            }
            _ => areas.push(Vec::new()),
        }
    }
    areas.retain(|area| area.len() > 1);
    areas
}
