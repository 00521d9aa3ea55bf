//! Accuracy over a grid of any two sizes: a phase map at the speed of a slider.
//!
//! A map of 64 x 64 cells has 4,096 of them, and setting up a memory takes longer than the time there is for one. But log
//! odds of accuracy are smooth in the logarithms of the sizes. So accuracy is computed at every eighth line and column, or
//! at more of them where that is too coarse, and interpolated in between by cubics in log odds. Where the interpolation is
//! not within [`TOLERANCE`] of the truth in the middle of a block, all of the block is computed. Errors stay
//! below 0.005 (tested on all pairs of axes over the range where the formulas were checked).
//! Memories are kept along the axes that they do not depend on, samples and length.
//!
//! The accuracy is that of [`mod@crate::critical`]: three-step recall, or memory accuracy with an MLP.

mod interpolate;

use crate::critical::{Parameter, Recall};
use crate::point::Point;
use interpolate::{Block, Lattice};

/// Lines of the grid per line that is computed, over samples and over other sizes; the next is tried where the one before
/// is too coarse. Facts are seen once, twice, thrice: accuracy is less smooth in samples, where they are few, than in
/// other sizes.
const STRIDES: [(usize, usize); 3] = [(4, 8), (4, 4), (2, 4)];
/// Error of the interpolation at the middle of a block above which the block is computed in full.
pub const TOLERANCE: f64 = 0.002;

/// An axis of a map: a parameter and its values, which should grow.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What varies.
    pub parameter: Parameter,
    /// Its values.
    pub values: Vec<f64>,
}

impl Axis {
    /// Whole numbers evenly spaced in their logarithm, without repetition.
    pub fn logarithmic(parameter: Parameter, low: f64, high: f64, count: usize) -> Axis {
        let steps = count.saturating_sub(1).max(1) as f64;
        let value = |i: usize| (low * (high / low).powf(i as f64 / steps)).round();
        let mut values: Vec<f64> = (0..count).map(value).collect();
        values.dedup();
        Axis { parameter, values }
    }

    fn stride(&self, (samples, other): (usize, usize)) -> usize {
        if self.parameter == Parameter::Samples { samples } else { other }
    }
}

/// Accuracies over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// The axis that varies within a column.
    pub rows: Axis,
    /// The axis that varies from column to column.
    pub columns: Axis,
    /// Column by column: the accuracy at `rows.values[r]`, `columns.values[c]` is entry `c * rows.values.len() + r`.
    pub accuracy: Vec<f64>,
    /// How many of the entries were computed; the others are interpolated.
    pub computed: usize,
}

impl Map {
    /// The accuracy in a cell.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.accuracy[column * self.rows.values.len() + row]
    }
}

/// Fills a map around a point with the given number of threads. The result does not depend on that number.
///
/// An axis over width makes every model an attention-MLP model.
pub fn fill(point: &Point, rows: Axis, columns: Axis, threads: usize) -> Map {
    // A memory is kept while only samples or length change: let them vary within a column.
    let keeps = |axis: &Axis| matches!(axis.parameter, Parameter::Samples | Parameter::Length);
    if keeps(&columns) && !keeps(&rows) {
        return transposed(fill(point, columns, rows, threads));
    }
    let (height, width) = (rows.values.len(), columns.values.len());
    let fixed = Point {
        width: match rows.parameter == Parameter::Width || columns.parameter == Parameter::Width {
            true => Some(1.0),
            false => point.width,
        },
        ..*point
    };
    let place = |row: usize, column: usize| {
        rows.parameter.set(&columns.parameter.set(&fixed, columns.values[column]), rows.values[row])
    };
    let keep = keeps(&rows);
    // Computes cells that are sorted by column.
    let compute = |cells: &[(usize, usize)]| -> Vec<f64> {
        let mut kept: Option<(usize, Recall)> = None;
        cells
            .iter()
            .map(|&(row, column)| {
                let point = place(row, column);
                if !keep || kept.as_ref().is_none_or(|kept| kept.0 != column) {
                    kept = Some((column, Recall::new(&point)));
                }
                kept.as_ref().map_or(0.0, |(_, recall)| recall.accuracy(point.length, point.samples))
            })
            .collect()
    };

    let mut cells = vec![None; height * width];
    let mut demand = |wanted: Vec<(usize, usize)>| {
        let missing: Vec<(usize, usize)> =
            wanted.into_iter().filter(|&(row, column)| cells[column * height + row].is_none()).collect();
        for (&(row, column), value) in missing.iter().zip(in_parallel(&missing, threads, &compute)) {
            cells[column * height + row] = Some(value);
        }
        cells.clone()
    };
    // What the coarser lattices say, and where that is not good enough: everywhere, to begin with.
    let mut smooth: Vec<f64> = Vec::new();
    let mut open = vec![true; height * width];
    for strides in STRIDES {
        let strides = (rows.stride(strides), columns.stride(strides));
        let lattice = Lattice::new(&rows.values, &columns.values, strides);
        let index = |(row, column): (usize, usize)| column * height + row;
        // Nodes beyond the open blocks lie where a coarser lattice is right.
        let nodes = demand(lattice.nodes().into_iter().filter(|&cell| open[index(cell)]).collect());
        let node = |row: usize, column: usize| {
            let i = index((row, column));
            nodes[i].or(smooth.get(i).copied()).unwrap_or(0.0)
        };
        let finer = lattice.interpolated(node);
        // Where all corners agree on 0 or 1 there is nothing to check.
        let candidates: Vec<Block> =
            lattice.blocks().filter(|block| open[index(block.middle())] && !block.decided(node)).collect();
        let mut middles: Vec<(usize, usize)> = candidates.iter().map(Block::middle).collect();
        middles.sort_by_key(|&(row, column)| (column, row));
        let checked = demand(middles);
        let error = |block: &Block| {
            let i = index(block.middle());
            checked[i].map_or(f64::INFINITY, |exact| (exact - finer[i]).abs())
        };
        // An error may change its sign in the middle of a block: beside a rough one less is tolerated.
        let (mut rough, mut rest): (Vec<Block>, Vec<Block>) =
            candidates.into_iter().partition(|block| error(block) > TOLERANCE);
        rest.retain(|block| error(block) > 0.1 * TOLERANCE && rough.iter().any(|other| other.touches(block)));
        rough.append(&mut rest);
        smooth = match smooth.is_empty() {
            true => finer,
            false => (0..height * width).map(|i| if open[i] { finer[i] } else { smooth[i] }).collect(),
        };
        open.fill(false);
        rough.iter().flat_map(Block::cells).for_each(|cell| open[index(cell)] = true);
    }
    let rest = (0..height * width).filter(|&i| open[i]).map(|i| (i % height, i / height)).collect();
    let done = demand(rest);
    let computed = done.iter().flatten().count();
    let accuracy = done.iter().zip(&smooth).map(|(exact, smooth)| exact.unwrap_or(*smooth)).collect();
    Map { rows, columns, accuracy, computed }
}

/// Splits cells into short runs, which threads take in turn.
fn in_parallel(
    cells: &[(usize, usize)],
    threads: usize,
    compute: &(impl Fn(&[(usize, usize)]) -> Vec<f64> + Sync),
) -> Vec<f64> {
    if threads <= 1 || cells.len() < 2 {
        return compute(cells);
    }
    // Cut between columns, so that no memory is set up twice.
    let runs: Vec<&[(usize, usize)]> = cells.chunk_by(|a, b| a.1 == b.1).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some(run) = runs.get(i) else { return done };
            done.push((i, compute(run)));
        }
    };
    let mut all: Vec<(usize, Vec<f64>)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for other in others {
            all.extend(other.join().expect("a prediction does not panic"));
        }
        all
    });
    all.sort_by_key(|run| run.0);
    all.into_iter().flat_map(|run| run.1).collect()
}

fn transposed(map: Map) -> Map {
    let (height, width) = (map.rows.values.len(), map.columns.values.len());
    let accuracy = (0..height * width).map(|i| map.at(i / width, i % width)).collect();
    Map { rows: map.columns, columns: map.rows, accuracy, computed: map.computed }
}

#[cfg(test)]
mod tests;
