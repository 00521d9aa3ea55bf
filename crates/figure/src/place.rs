//! Placement of labels where they cover no data.

use crate::svg::Spot;
use crate::text::{self, size::SMALL};

/// A rectangle on the page, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Rect {
    /// The rectangle of a small label at the origin.
    pub fn of_text(label: &str) -> Self {
        Self { x: 0.0, y: 0.0, width: text::width(label, SMALL, false), height: 1.15 * SMALL }
    }

    pub fn contains(&self, (x, y): Spot) -> bool {
        (self.x..=self.x + self.width).contains(&x) && (self.y..=self.y + self.height).contains(&y)
    }

    /// Whether the rectangle is inside a frame of that size at the origin.
    pub fn inside(&self, (width, height): (f64, f64)) -> bool {
        self.x >= 0.0 && self.y >= 0.0 && self.x + self.width <= width && self.y + self.height <= height
    }
}

/// The area that is already drawn on, sampled as spots a few pixels apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct OccupiedArea {
    pub spots: Vec<Spot>,
}

impl OccupiedArea {
    const STEP: f64 = 4.0;

    pub fn line(&mut self, from: Spot, to: Spot) {
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let steps = (length / Self::STEP).ceil().clamp(1.0, 5000.0) as usize;
        for i in 0..=steps {
            let share = i as f64 / steps as f64;
            self.spots.push((from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1)));
        }
    }

    pub fn rect(&mut self, rect: Rect) {
        let rows = (rect.height / Self::STEP).ceil().clamp(1.0, 1000.0) as usize;
        for row in 0..=rows {
            let y = rect.y + rect.height * row as f64 / rows as f64;
            self.line((rect.x, y), (rect.x + rect.width, y));
        }
    }

    pub fn square(&mut self, (x, y): Spot, radius: f64) {
        let side = 2.0 * radius;
        self.rect(Rect { x: x - radius, y: y - radius, width: side, height: side });
    }

    /// The number of spots that a rectangle with a small margin would cover.
    pub fn under(&self, rect: Rect) -> usize {
        let Rect { x, y, width, height } = rect;
        let rect = Rect { x: x - 3.0, y: y - 3.0, width: width + 6.0, height: height + 6.0 };
        self.spots.iter().filter(|&&spot| rect.contains(spot)).count()
    }

    /// The first of the places that covers the fewest spots. Places beyond the left or right side of the frame are moved
    /// inside first; places above or below the frame are taken only if there is no other.
    pub fn best(&self, frame: (f64, f64), places: impl IntoIterator<Item = Rect>) -> Option<Rect> {
        let inside = |rect: Rect| Rect { x: rect.x.min(frame.0 - rect.width - 2.0).max(2.0), ..rect };
        places.into_iter().map(inside).min_by_key(|rect| (!rect.inside(frame), self.under(*rect)))
    }
}

/// Possible places for a label beside a spot, in order of preference.
pub(crate) fn around(spot: Spot, distance: f64, label: &str) -> Vec<Rect> {
    let word = Rect::of_text(label);
    // At the corners the distance is measured along the diagonal, so each coordinate is smaller.
    let near = 0.9 * distance;
    let (above, below, level) = (-(distance + 1.0) - word.height, distance + 1.0, -word.height / 2.0);
    let sides = [(distance, near), (-distance - word.width, -near - word.width)];
    let beside = |(x, corner)| [(x, level), (corner, -near - word.height), (corner, near)];
    let middle = [above, below].map(|y| (-word.width / 2.0, y));
    let far = |(_, corner)| [(corner, 2.5 * above), (corner, 3.0 * below)];
    let places = sides.into_iter().flat_map(beside).chain(middle).chain(sides.into_iter().flat_map(far));
    places.map(|(x, y)| Rect { x: spot.0 + x, y: spot.1 + y, ..word }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_avoids_occupied_area() {
        let mut occupied = OccupiedArea::default();
        occupied.line((50.0, 50.0), (100.0, 50.0));
        let best = occupied.best((100.0, 100.0), around((50.0, 50.0), 8.0, "here")).unwrap();
        assert_eq!(occupied.under(best), 0);
        assert!(best.inside((100.0, 100.0)));
        occupied.rect(best);
        let next = occupied.best((100.0, 100.0), around((50.0, 50.0), 8.0, "here")).unwrap();
        assert_ne!(best, next);
    }

    #[test]
    fn label_stays_inside_the_frame() {
        let places = around((98.0, 50.0), 8.0, "here");
        let best = OccupiedArea::default().best((100.0, 100.0), places).unwrap();
        assert!(best.inside((100.0, 100.0)) && best.x < 98.0);
    }
}
