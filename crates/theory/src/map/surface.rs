//! A smooth function over a grid, computed at some of the cells and interpolated at the others.
//!
//! The function is computed at every fourth or eighth line, or at more of them where that is too coarse. Where the
//! interpolation error in the middle of a block remains above the tolerance, the whole block is computed.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::TOLERANCE;
use super::interpolate::{Block, Lattice};

/// Distance between computed lines, over samples and over other sizes; the next pair is tried where the one before is too
/// coarse. Accuracy is less smooth in the number of samples than in other sizes, because counts of facts are small whole
/// numbers.
const STRIDES: [(usize, usize); 3] = [(4, 8), (4, 4), (2, 4)];

/// Cells with a smaller weight are not computed.
pub(super) const NEGLIGIBLE: f64 = 1e-5;

/// The values along a side of the grid, and whether they are numbers of samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side<'a> {
    pub values: &'a [f64],
    pub samples: bool,
}

impl Side<'_> {
    fn stride(&self, (samples, other): (usize, usize)) -> usize {
        if self.samples { samples } else { other }
    }
}

/// The values of a function, column by column.
#[derive(Clone, Debug)]
pub(super) struct Surface {
    /// Computed or interpolated.
    pub values: Vec<f64>,
    /// How many were computed.
    pub computed: usize,
}

impl Surface {
    /// The values of `f(row, column)`, numbers from 0 to 1, in all cells. Errors count by the weight of a cell; where it is
    /// below [`NEGLIGIBLE`] the value may be 0.
    pub fn new(
        (rows, columns): (Side, Side),
        weights: &[f64],
        threads: usize,
        f: impl Fn(usize, usize) -> f64 + Sync,
    ) -> Surface {
        let height = rows.values.len();
        let index = |(row, column): (usize, usize)| column * height + row;
        let mut cells: Vec<Option<f64>> = vec![None; weights.len()];
        let mut demand = |wanted: Vec<(usize, usize)>| {
            let missing: Vec<(usize, usize)> =
                wanted.into_iter().filter(|&cell| cells[index(cell)].is_none()).collect();
            let found = in_parallel(missing.len(), threads, |i| f(missing[i].0, missing[i].1));
            for (&cell, value) in missing.iter().zip(found) {
                cells[index(cell)] = Some(value);
            }
            cells.clone()
        };
        // Interpolated values so far, and the cells where they are not accurate enough: at first all.
        let mut smooth = vec![f64::NAN; weights.len()];
        let mut open = vec![true; weights.len()];
        for strides in STRIDES {
            let lattice =
                Lattice::new(rows.values, columns.values, (rows.stride(strides), columns.stride(strides)));
            let weight = |block: &Block| block.cells().map(|cell| weights[index(cell)]).fold(0.0, f64::max);
            let mut blocks: Vec<(Block, f64)> =
                lattice.blocks().map(|block| (block, weight(&block))).collect();
            blocks.retain(|(block, weight)| open[index(block.middle())] && *weight > NEGLIGIBLE);
            let mut needed = vec![false; weights.len()];
            blocks.iter().flat_map(|block| block.0.cells()).for_each(|cell| needed[index(cell)] = true);
            // Nodes outside the open blocks use the values of the coarser lattice where there are any.
            let mut nodes = lattice.nodes(|row, column| needed[index((row, column))]);
            nodes.retain(|&cell| open[index(cell)] || smooth[index(cell)].is_nan());
            let nodes = demand(nodes);
            let node = |row: usize, column: usize| {
                let i = index((row, column));
                nodes[i].unwrap_or(smooth[i])
            };
            let finer = lattice.interpolated(node);
            // Blocks whose corners are all 0 or all 1, and blocks of small weight, need no check.
            blocks.retain(|(block, weight)| *weight > 0.1 * TOLERANCE && !block.decided(node));
            let candidates = blocks;
            let checked = demand(candidates.iter().map(|(block, _)| block.middle()).collect());
            let error = |(block, weight): &(Block, f64)| {
                let i = index(block.middle());
                weight * checked[i].map_or(f64::INFINITY, |exact| (exact - finer[i]).abs())
            };
            // The error may change sign in the middle of a block, so the tolerance is smaller beside a rough block.
            let (mut rough, mut rest): (Vec<_>, Vec<_>) =
                candidates.into_iter().partition(|block| error(block) > TOLERANCE);
            rest.retain(|block| {
                error(block) > 0.1 * TOLERANCE && rough.iter().any(|other| other.0.touches(&block.0))
            });
            rough.append(&mut rest);
            smooth.iter_mut().zip(finer).zip(&open).filter(|(_, open)| **open).for_each(|((s, f), _)| *s = f);
            open.fill(false);
            rough.iter().flat_map(|block| block.0.cells()).for_each(|cell| open[index(cell)] = true);
            if rough.is_empty() {
                break;
            }
        }
        let needed = |i: &usize| open[*i] && weights[*i] > NEGLIGIBLE;
        let rest = (0..weights.len()).filter(needed).map(|i| (i % height, i / height)).collect();
        let done = demand(rest);
        // Cells without any value have a negligible weight.
        let value = |(exact, smooth): (&Option<f64>, &f64)| exact.unwrap_or(smooth.max(0.0));
        let values = done.iter().zip(&smooth).map(value).collect();
        Surface { values, computed: done.iter().flatten().count() }
    }
}

/// `f` of every number below `count`, computed by several threads. The result does not depend on their number.
pub(super) fn in_parallel<T: Send + Sync>(
    count: usize,
    threads: usize,
    f: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    if threads <= 1 || count < 2 {
        return (0..count).map(f).collect();
    }
    let done: Vec<OnceLock<T>> = (0..count).map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(place) = done.get(i) else { return };
            place.get_or_init(|| f(i));
        }
    };
    std::thread::scope(|scope| {
        (1..threads.min(count)).for_each(|_| {
            scope.spawn(work);
        });
        work();
    });
    done.into_iter().filter_map(OnceLock::into_inner).collect()
}
