//! Regions of a phase diagram by what limits recall, with smooth borders.
//!
//! Each cell has one limiting noise term, so borders along cells would be staircases. The share of each term is blurred over
//! neighbouring cells and interpolated, and the largest share wins at each place of a grid finer than the cells.

use superpose_figure::Region;
use superpose_lab::phase::{Diagram, Scale};

use super::phase::cause;

/// Places per cell along each axis.
const FINE: usize = 8;
/// Binomial weights of a cell and its two neighbours on either side.
const BLUR: [f64; 5] = [1.0 / 16.0, 4.0 / 16.0, 6.0 / 16.0, 4.0 / 16.0, 1.0 / 16.0];

/// The edges of the cells along an axis, and its scale.
pub type Edges<'a> = (&'a [(f64, f64)], Scale);

/// Names of the terms that limit recall below the predicted boundary at a level, and the region of each.
pub fn partition(map: &Diagram, level: f64, x: Edges<'_>, y: Edges<'_>) -> (Vec<String>, Vec<Region>) {
    let (columns, rows) = (map.columns.len(), map.rows.len());
    let mut names: Vec<String> = Vec::new();
    let mut kinds = Vec::new();
    for cell in &map.cells {
        kinds.push(cell.dominant.map(|dominant| {
            let name = cause(&dominant);
            names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })
        }));
    }
    let share = |kind: usize| {
        let own: Vec<f64> = kinds.iter().map(|&other| f64::from(u8::from(other == Some(kind)))).collect();
        let across = blur(&own, columns, 1);
        blur(&across, rows, columns)
    };
    let shares: Vec<Vec<f64>> = (0..names.len()).map(share).collect();
    let predicted: Vec<f64> = map.cells.iter().map(|cell| cell.predicted.unwrap_or(f64::NAN)).collect();
    let kind_at = |column: usize, row: usize| {
        let at = |values: &[f64]| interpolate(values, [columns, rows], [column, row]);
        let below = at(&predicted) < level;
        let best = (0..shares.len()).max_by(|&a, &b| at(&shares[a]).total_cmp(&at(&shares[b])));
        best.filter(|_| below)
    };
    let mut regions = Vec::new();
    for row in 0..rows * FINE {
        let kinds: Vec<Option<usize>> = (0..columns * FINE).map(|column| kind_at(column, row)).collect();
        let mut first = 0;
        for run in kinds.chunk_by(|a, b| a == b) {
            let last = first + run.len();
            let (across, up) = ((edge(x, first), edge(x, last)), (edge(y, row), edge(y, row + 1)));
            regions.extend(run[0].map(|kind| Region::new(across, up, kind)));
            first = last;
        }
    }
    (names, regions)
}

/// Blurs along an axis with this many cells, which are `stride` apart in the list.
fn blur(values: &[f64], count: usize, stride: usize) -> Vec<f64> {
    let blurred = |i: usize| {
        let at = i / stride % count;
        let near = |step: usize| (at + step).saturating_sub(2).min(count - 1);
        BLUR.iter()
            .enumerate()
            .map(|(step, weight)| weight * values[i - at * stride + near(step) * stride])
            .sum()
    };
    (0..values.len()).map(blurred).collect()
}

/// The value in the middle of a fine place, linear between the middles of cells.
fn interpolate(values: &[f64], [columns, rows]: [usize; 2], [column, row]: [usize; 2]) -> f64 {
    let along = |place: usize, count: usize| {
        let at = ((place as f64 + 0.5) / FINE as f64 - 0.5).clamp(0.0, (count - 1) as f64);
        let below = (at as usize).min(count.saturating_sub(2));
        (below, (below + 1).min(count - 1), at - below as f64)
    };
    let ((left, right, u), (low, high, v)) = (along(column, columns), along(row, rows));
    let line = |row: usize| (1.0 - u) * values[row * columns + left] + u * values[row * columns + right];
    (1.0 - v) * line(low) + v * line(high)
}

/// The value at the lower edge of a fine place.
fn edge((edges, scale): Edges<'_>, place: usize) -> f64 {
    let (low, high) = edges[(place / FINE).min(edges.len() - 1)];
    let share = place as f64 / FINE as f64 - (place / FINE).min(edges.len() - 1) as f64;
    if scale == Scale::Log { low * (high / low).powf(share) } else { low + share * (high - low) }
}

#[cfg(test)]
mod tests {
    use superpose_lab::phase::Cell;
    use superpose_theory::predict::{Dominant, Part};

    use super::*;

    /// A map whose terms change along a diagonal, above which recall is reached.
    fn map(side: usize) -> Diagram {
        let cell = |i: usize| {
            let (x, y) = (i % side, i / side);
            let term = if x > y {
                superpose_theory::noise::Term::Interference
            } else {
                superpose_theory::noise::Term::MeanBias
            };
            let dominant = Some(Dominant { part: Part::Memory, term });
            let predicted = Some(y as f64 / side as f64);
            let (x, y) = (x as u64 + 1, y as u64 + 1);
            Cell { x, y, value: 0.0, measured: false, low: None, high: None, predicted, dominant }
        };
        let values: Vec<u64> = (1..=side as u64).collect();
        Diagram {
            columns: values.clone(),
            rows: values,
            cells: (0..side * side).map(cell).collect(),
            measured: 0,
            boundary: Vec::new(),
            predicted_boundary: Vec::new(),
        }
    }

    #[test]
    fn borders_are_finer_than_cells_and_nothing_is_named_above_the_boundary() {
        let edges: Vec<(f64, f64)> = (0..8).map(|i| (f64::from(i), f64::from(i + 1))).collect();
        let axis = (&edges[..], Scale::Linear);
        let (names, regions) = partition(&map(8), 0.5, axis, axis);
        assert_eq!(names.len(), 2);
        let ends: Vec<f64> = regions.iter().map(|region| region.ends().0.1).collect();
        assert!(ends.iter().any(|end| end.fract() != 0.0), "{ends:?}");
        let top = regions.iter().map(|region| region.ends().1.1).fold(0.0, f64::max);
        assert!((top - 4.5).abs() < 0.2, "the boundary is at 4.5, the highest region ends at {top}");
    }
}
