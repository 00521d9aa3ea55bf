//! A smooth function over a grid, computed at some of its cells and interpolated at the others.
//!
//! It is computed at every eighth line and column, or at more of them where that is too coarse. Where the interpolation is
//! not within tolerance of the truth in the middle of a block, all of the block is computed.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::TOLERANCE;
use super::interpolate::{Block, Lattice};

/// Lines of the grid per line that is computed, over samples and over other sizes; the next is tried where the one before
/// is too coarse. Facts are seen once, twice, thrice: accuracy is less smooth in samples, where they are few, than in
/// other sizes.
const STRIDES: [(usize, usize); 3] = [(4, 8), (4, 4), (2, 4)];

/// Cells with a smaller weight do not matter.
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
    /// The share `f(row, column)` in all cells. Errors count by a weight in every cell: where it is small, less care is taken,
    /// and where it is below [`NEGLIGIBLE`] the value may be 0.
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
        // What the coarser lattices say, and where that is not good enough: everywhere, to begin with.
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
            // Nodes beyond the open blocks lie where a coarser lattice is right, if it was asked.
            let mut nodes = lattice.nodes(|row, column| needed[index((row, column))]);
            nodes.retain(|&cell| open[index(cell)] || smooth[index(cell)].is_nan());
            let nodes = demand(nodes);
            let node = |row: usize, column: usize| {
                let i = index((row, column));
                nodes[i].unwrap_or(smooth[i])
            };
            let finer = lattice.interpolated(node);
            // Where all corners agree on 0 or 1, or where it hardly matters, there is nothing to check.
            blocks.retain(|(block, weight)| *weight > 0.1 * TOLERANCE && !block.decided(node));
            let candidates = blocks;
            let checked = demand(candidates.iter().map(|(block, _)| block.middle()).collect());
            let error = |(block, weight): &(Block, f64)| {
                let i = index(block.middle());
                weight * checked[i].map_or(f64::INFINITY, |exact| (exact - finer[i]).abs())
            };
            // An error may change its sign in the middle of a block: beside a rough one less is tolerated.
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
        // What is not known does not matter.
        let value = |(exact, smooth): (&Option<f64>, &f64)| exact.unwrap_or(smooth.max(0.0));
        let values = done.iter().zip(&smooth).map(value).collect();
        Surface { values, computed: done.iter().flatten().count() }
    }
}

/// `f` of every number below `count`, which threads take in turn. The result does not depend on how many there are.
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
