//! Heat maps and regions: cells, the colour bar, outlines between categories, and the places of their names.

use super::Region;
use super::pixels::Scales;
use crate::place::{OccupiedArea, Rect};
use crate::scale::Axis;
use crate::svg::{Anchor, Spot, Stroke, Svg, Type};
use crate::text::{self, size};
use crate::theme::Palette;
use crate::ticks::{Direction, ticks};

/// Distance of the colour bar from the frame, and its width.
const BAR_GAP: f64 = 14.0;
const BAR: f64 = 12.0;

/// Room that the colour bar needs to the right of the frame.
pub(super) fn bar_room(label: &str, height: f64) -> f64 {
    let title = if label.is_empty() { 0.0 } else { 18.0 };
    BAR_GAP + BAR + 7.0 + text::widest(&bar_ticks(height)) + title + 4.0
}

fn bar_ticks(height: f64) -> Vec<(f64, String)> {
    let axis = Axis::linear("").range(0.0, 1.0);
    let Some(scale) = axis.scale([0.0].into_iter(), height, 0.0, true) else { return Vec::new() };
    ticks(&axis, &scale, Direction::Up)
}

pub(super) fn draw_bar(svg: &mut Svg, palette: &Palette, label: &str, width: f64, height: f64) {
    const STEPS: usize = 64;
    let (left, right) = (width + BAR_GAP, width + BAR_GAP + BAR);
    let step = height / STEPS as f64;
    svg.crisp(|svg| {
        for i in 0..STEPS {
            let color = palette.sequential((i as f64 + 0.5) / STEPS as f64);
            svg.rect((left, height - step * (i + 1) as f64), BAR, step + 0.5, &color, 1.0);
        }
    });
    let stroke = Stroke::new(palette.axis, 1.0);
    svg.path(&[(left, 0.0), (right, 0.0), (right, height), (left, height), (left, 0.0)], stroke);
    let ticks = bar_ticks(height);
    for (y, label) in &ticks {
        svg.line((right, *y), (right + 3.0, *y), stroke);
        svg.text((right + 6.0, y + 0.36 * size::SMALL), label, Type::new(size::SMALL, palette.axis));
    }
    let set = Type { upwards: true, ..Type::new(size::LABEL, palette.ink).anchor(Anchor::Middle) };
    svg.text((right + 7.0 + text::widest(&ticks) + 14.0, height / 2.0), label, set);
}

/// Opacity of a filled region.
pub(super) const FILL: f64 = 0.5;

/// Fills rectangles, each given by its ends in x and in y and its colour.
pub(super) fn draw_rects(svg: &mut Svg, scales: &Scales, rects: impl Iterator<Item = (Spot, Spot, String)>) {
    svg.crisp(|svg| {
        for (x, y, color) in rects {
            if let Some(rect) = scales.rect(x, y) {
                svg.rect((rect.x, rect.y), rect.width, rect.height, &color, 1.0);
            }
        }
    });
}

/// Fills the regions of each category as one shape.
pub(super) fn draw_regions(svg: &mut Svg, palette: &Palette, scales: &Scales, regions: &[Region]) {
    /// Neighbours overlap by this much, so that rounding leaves no gap.
    const OVERLAP: f64 = 0.2;
    let categories = regions.iter().map(|region| region.category + 1).max().unwrap_or(0);
    for category in 0..categories {
        let of_category = regions.iter().filter(|region| region.category == category);
        let rects = of_category.filter_map(|region| scales.rect(region.x, region.y));
        let wider = |r: Rect| Rect { width: r.width + OVERLAP, height: r.height + OVERLAP, ..r };
        svg.rects(rects.map(wider), palette.category(category), FILL);
    }
}

/// Regions on the coarsest grid that contains all their edges, in pixels.
#[derive(Default)]
pub(super) struct Partition {
    xs: Vec<i64>,
    ys: Vec<i64>,
    /// Category by row and column.
    grid: Vec<Option<usize>>,
}

/// Edges are rounded to a hundredth of a pixel.
const UNIT: f64 = 100.0;
/// Largest number of grid cells; finer grids are not outlined.
const MAX_CELLS: usize = 4_000_000;

impl Partition {
    pub fn new(regions: &[Region], scales: &Scales) -> Self {
        let place = |pixel: f64| (pixel * UNIT).round() as i64;
        let ends = |region: &Region| {
            let Rect { x, y, width, height } = scales.rect(region.x, region.y)?;
            Some(([x, x + width, y, y + height].map(place), region.category))
        };
        let rects: Vec<([i64; 4], usize)> = regions.iter().filter_map(ends).collect();
        let edges = |which: [usize; 2]| {
            let mut edges: Vec<i64> = rects.iter().flat_map(|(ends, _)| which.map(|i| ends[i])).collect();
            edges.sort_unstable();
            edges.dedup();
            edges
        };
        let (xs, ys) = (edges([0, 1]), edges([2, 3]));
        if xs.len().saturating_mul(ys.len()) > MAX_CELLS || xs.len() < 2 || ys.len() < 2 {
            return Self::default();
        }
        let columns = xs.len() - 1;
        let mut grid = vec![None; columns * (ys.len() - 1)];
        let index = |edges: &[i64], edge: i64| edges.partition_point(|&other| other < edge);
        for &([x0, x1, y0, y1], category) in &rects {
            for row in index(&ys, y0)..index(&ys, y1) {
                for column in index(&xs, x0)..index(&xs, x1) {
                    grid[row * columns + column] = Some(category);
                }
            }
        }
        Self { xs, ys, grid }
    }

    fn counts(&self) -> (usize, usize) {
        (self.xs.len().saturating_sub(1), self.ys.len().saturating_sub(1))
    }

    fn at(&self, row: usize, column: usize) -> Option<usize> {
        self.grid.get(row * self.counts().0 + column).copied().flatten()
    }

    /// Lines between different categories, each as long as possible.
    pub fn outlines(&self) -> Vec<(Spot, Spot)> {
        let mut lines = Vec::new();
        let (columns, rows) = self.counts();
        let differ = |a: Option<usize>, b: Option<usize>| a.is_some() && b.is_some() && a != b;
        let pixel = |edge: i64| edge as f64 / UNIT;
        for column in 1..columns {
            let x = pixel(self.xs[column]);
            let is_edge = |row| differ(self.at(row, column - 1), self.at(row, column));
            let line = |(from, to)| ((x, pixel(self.ys[from])), (x, pixel(self.ys[to])));
            lines.extend(runs(rows, is_edge).into_iter().map(line));
        }
        for row in 1..rows {
            let y = pixel(self.ys[row]);
            let is_edge = |column| differ(self.at(row - 1, column), self.at(row, column));
            let line = |(from, to)| ((pixel(self.xs[from]), y), (pixel(self.xs[to]), y));
            lines.extend(runs(columns, is_edge).into_iter().map(line));
        }
        lines
    }

    fn category(&self, (x, y): Spot) -> Option<usize> {
        let index = |edges: &[i64], pixel: f64| {
            let left = edges.partition_point(|&edge| edge as f64 / UNIT <= pixel).checked_sub(1);
            left.filter(|left| left + 1 < edges.len())
        };
        self.at(index(&self.ys, y)?, index(&self.xs, x)?)
    }

    /// The middle of a place where a label is entirely inside its category and covers nothing, if there is one.
    pub fn room_for(
        &self,
        category: usize,
        label: &str,
        frame: (f64, f64),
        occupied: &OccupiedArea,
    ) -> Option<Spot> {
        const LATTICE: (usize, usize) = (48, 40);
        let half_width = text::width(label, size::SMALL, false) / 2.0 + 6.0;
        let half_height = size::SMALL / 2.0 + 5.0;
        let along = |size: f64, i: usize, count: usize| size * (i as f64 + 0.5) / count as f64;
        let spot =
            |i: usize| (along(frame.0, i % LATTICE.0, LATTICE.0), along(frame.1, i / LATTICE.0, LATTICE.1));
        let (own, other): (Vec<Spot>, Vec<Spot>) =
            (0..LATTICE.0 * LATTICE.1).map(spot).partition(|&spot| self.category(spot) == Some(category));
        // The factor by which the label around this spot could be enlarged before it touches something.
        let room = |(x, y): Spot| {
            let edges = (x.min(frame.0 - x) / half_width).min(y.min(frame.1 - y) / half_height);
            let apart = |&(a, b): &Spot| ((a - x).abs() / half_width).max((b - y).abs() / half_height);
            other.iter().chain(&occupied.spots).map(apart).fold(edges, f64::min)
        };
        let best = own.into_iter().map(|spot| (room(spot), spot)).max_by(|a, b| a.0.total_cmp(&b.0));
        best.filter(|(room, _)| *room >= 1.0).map(|(_, spot)| spot)
    }
}

/// The maximal runs of numbers below `count` that satisfy a condition, as half-open ranges.
fn runs(count: usize, holds: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let numbers: Vec<usize> = (0..count).filter(|&i| holds(i)).collect();
    numbers.chunk_by(|one, next| *next == one + 1).map(|run| (run[0], run[0] + run.len())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scales() -> Scales {
        let scale = Axis::linear("").range(0.0, 10.0).scale([0.0].into_iter(), 0.0, 100.0, true).unwrap();
        Scales { x: scale, y: scale }
    }

    fn room_for(partition: &Partition, category: usize, label: &str) -> Option<Spot> {
        partition.room_for(category, label, (100.0, 100.0), &OccupiedArea::default())
    }

    #[test]
    fn outlines_are_maximal_and_only_between_categories() {
        // Left half of one category in four cells, right half of another in one.
        let mut regions = vec![Region::new((5.0, 10.0), (0.0, 10.0), 1)];
        for (a, b) in [(0.0, 2.5), (2.5, 5.0)] {
            regions.push(Region::new((a, b), (0.0, 5.0), 0));
            regions.push(Region::new((a, b), (5.0, 10.0), 0));
        }
        let partition = Partition::new(&regions, &scales());
        assert_eq!(partition.outlines(), [((50.0, 0.0), (50.0, 100.0))]);
        let spot = room_for(&partition, 0, "ab").unwrap();
        assert!((15.0..35.0).contains(&spot.0), "{spot:?}");
        assert_eq!(room_for(&partition, 0, "a name too long for it"), None);
        assert_eq!(room_for(&partition, 7, "a"), None);
    }

    #[test]
    fn no_regions_give_no_outlines() {
        for regions in [vec![], vec![Region::new((f64::NAN, 1.0), (0.0, 1.0), 0)]] {
            let partition = Partition::new(&regions, &scales());
            assert!(partition.outlines().is_empty());
            assert_eq!(room_for(&partition, 0, "a"), None);
        }
    }
}
