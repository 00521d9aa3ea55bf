//! Phase maps: accuracy and the limiting noise term over a grid of any two sizes (theory: planning).
//!
//! Maps must be fast enough for interactive use. Lock rates have sharp edges but are cheap, so they are computed in every
//! cell. Memory accuracy at given lock rates is expensive, but its log odds are smooth in the logarithms of the sizes: it is
//! computed at some of the cells and interpolated, with checks, at the others. Intermediate results are computed once for
//! all cells that share them. Errors stay below 0.005, tested on all pairs of axes over the validated range.

mod interpolate;
mod shared;
mod surface;

use std::sync::OnceLock;

use superpose_core::Measure;

use crate::attention::{Gradient, Scores};
use crate::critical::Parameter;
use crate::kernel::Kernels;
use crate::memory::{Exposure, Memory, Race, race};
use crate::noise::{LogitNoise, ScoreNoise};
use crate::point::Point;
use crate::predict::{Dominant, dominant, predict_at, predict_measure};
use crate::recall::{LAST, NODES, Nodes, Weights};
use shared::Shared;
use surface::{NEGLIGIBLE, Side, Surface, in_parallel};

/// Error of the interpolation at the middle of a block above which the block is computed in full.
pub const TOLERANCE: f64 = 0.002;

/// Weight of an error of the memory accuracy where attention limits recall. It is not zero, because the memory accuracy
/// still determines the limiting noise term.
const MIN_WEIGHT: f64 = 0.05;

/// Under Zipf's law, cells along an axis that share a noise term.
const TERM_BLOCK: usize = 8;

/// An axis of a map: a parameter and its values in increasing order.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The parameter that varies.
    pub parameter: Parameter,
    /// Its values.
    pub values: Vec<f64>,
}

impl Axis {
    /// Whole numbers, evenly spaced on a logarithmic scale, without repetition.
    pub fn logarithmic(parameter: Parameter, low: f64, high: f64, count: usize) -> Axis {
        let steps = count.saturating_sub(1).max(1) as f64;
        let value = |i: usize| (low * libm::pow(high / low, i as f64 / steps)).round();
        let mut values: Vec<f64> = (0..count).map(value).collect();
        values.dedup();
        Axis { parameter, values }
    }

    /// The values that the memory at one of the [`RATES`] depends on. Where every sequence locks it does not depend on the
    /// sequence length, so that axis has one value.
    fn side(&self, rate: usize) -> Side<'_> {
        let shared = self.parameter == Parameter::Length && rate == LAST;
        let count = if shared { self.values.len().min(1) } else { self.values.len() };
        Side { values: &self.values[..count], samples: self.parameter == Parameter::Samples }
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
    /// The limiting noise term in the same order, as in [`predict_at`]. Near the boundary between two terms
    /// it may be either of them.
    pub dominant: Vec<Option<Dominant>>,
    /// Number of memory accuracies that were computed; the others are interpolated.
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
    // A fixed order of the axes, so that a map and its transpose agree to the bit.
    if rows.parameter as usize > columns.parameter as usize {
        return transposed(fill(point, columns, rows, threads));
    }
    let grid = Grid::new(point, &rows, &columns);
    if !point.zipf.is_uniform() {
        return under_zipf(&grid, &rows, &columns, threads);
    }
    let (height, width) = (rows.values.len(), columns.values.len());
    let column = |column: usize| (0..height).map(|row| grid.attention(row, column)).collect::<Vec<_>>();
    let attention = in_parallel(width, threads, column).concat();

    // Index of every cell's memory; where every sequence locks, all cells along an axis over length share one.
    let sides = |rate: usize| (rows.side(rate), columns.side(rate));
    let place = |rate: usize, i: usize| {
        let (rows, columns) = (sides(rate).0.values.len(), sides(rate).1.values.len());
        (i / height).min(columns - 1) * rows + (i % height).min(rows - 1)
    };
    let stored = |rate: usize| {
        let sides = sides(rate);
        let memory_count = sides.0.values.len() * sides.1.values.len();
        let mut weights = vec![if rate == LAST { MIN_WEIGHT } else { 0.0 }; memory_count];
        for (i, cell) in attention.iter().enumerate() {
            let weight = &mut weights[place(rate, i)];
            *weight = weight.max(cell.0.0[rate]);
        }
        // Nothing is stored at the lock rate 0.
        let matters = rate > 0 && weights.iter().any(|&weight| weight > NEGLIGIBLE);
        matters.then(|| {
            let threads = threads.div_ceil(NODES);
            Surface::new(sides, &weights, threads, |row, column| grid.memory_accuracy(row, column, rate))
        })
    };
    // Each surface on one thread, because threads that share one wait for each other several times. The last covers the whole map.
    let mut stored = in_parallel(NODES, threads, |i| stored(LAST - i));
    stored.reverse();

    let column = |column: usize| {
        let cell = |row: usize| {
            let i = column * height + row;
            let chance = 1.0 / grid.point(row, column).vocab;
            let memory =
                |rate: usize| stored[rate].as_ref().map_or(chance, |surface| surface.values[place(rate, i)]);
            let accuracy = attention[i].0.mean(chance, memory);
            (accuracy, grid.dominant(row, column, memory(LAST), &attention[i]))
        };
        (0..height).map(cell).collect::<Vec<_>>()
    };
    let (accuracy, dominant) = in_parallel(width, threads, column).into_iter().flatten().unzip();
    let computed = stored.iter().flatten().map(|surface| surface.computed).sum();
    Map { rows, columns, accuracy, dominant, computed }
}

/// The same for tokens by Zipf's law: recall is computed at some points and interpolated like the memory, and the noise term is that of the
/// nearest of a few points.
fn under_zipf(grid: &Grid, rows: &Axis, columns: &Axis, threads: usize) -> Map {
    let (height, width) = (rows.values.len(), columns.values.len());
    let recall = |row: usize, column: usize| {
        predict_measure(Measure::Accuracy, &grid.point(row, column)).unwrap_or(f64::NAN)
    };
    let surface = Surface::new((rows.side(0), columns.side(0)), &vec![1.0; height * width], threads, recall);
    let blocks = |count: usize| count.div_ceil(TERM_BLOCK);
    let term = |column: usize| {
        let at = |i: usize, count: usize| (i * TERM_BLOCK + TERM_BLOCK / 2).min(count - 1);
        let cell = |row: usize| predict_at(&grid.point(at(row, height), at(column, width))).dominant;
        (0..blocks(height)).map(cell).collect::<Vec<_>>()
    };
    let terms = in_parallel(blocks(width), threads, term);
    let dominant = (0..height * width).map(|i| terms[i / height / TERM_BLOCK][i % height / TERM_BLOCK]);
    let (dominant, computed) = (dominant.collect(), surface.computed);
    Map { rows: rows.clone(), columns: columns.clone(), accuracy: surface.values, dominant, computed }
}

/// The points of a map, and the intermediate results that they share.
struct Grid<'a> {
    point: Point,
    rows: &'a Axis,
    columns: &'a Axis,
    kernels: Shared<Kernels>,
    races: Shared<Option<Race>>,
    memories: Shared<Memory>,
    gradients: Shared<Gradient>,
    nodes: Shared<Nodes>,
    exposures: [Shared<OnceLock<Exposure>>; NODES],
}

/// The attention in a cell: lock rates as weights, and noise of the scores.
type Attention = (Weights, ScoreNoise);

impl<'a> Grid<'a> {
    fn new(point: &Point, rows: &'a Axis, columns: &'a Axis) -> Grid<'a> {
        use Parameter::{Dim, Length, Samples, Vocab, Width};
        let mut point = *point;
        if [rows.parameter, columns.parameter].contains(&Width) {
            point.width = Some(1.0);
        }
        Grid {
            point,
            rows,
            columns,
            kernels: Shared::new(rows, columns, &[Dim]),
            races: Shared::new(rows, columns, &[Dim, Vocab]),
            memories: Shared::new(rows, columns, &[Dim, Vocab, Width]),
            gradients: Shared::new(rows, columns, &[Vocab, Length]),
            nodes: Shared::new(rows, columns, &[Vocab, Length]),
            exposures: std::array::from_fn(|_| Shared::new(rows, columns, &[Samples, Vocab, Length])),
        }
    }

    fn point(&self, row: usize, column: usize) -> Point {
        let point = self.columns.parameter.set(&self.point, self.columns.values[column]);
        self.rows.parameter.set(&point, self.rows.values[row])
    }

    fn kernels(&self, row: usize, column: usize) -> &Kernels {
        self.kernels.at(row, column, || Kernels::of(&self.point(row, column)))
    }

    fn nodes(&self, row: usize, column: usize) -> &Nodes {
        self.nodes.at(row, column, || Nodes::of(&self.point(row, column)))
    }

    fn memory_accuracy(&self, row: usize, column: usize, node: usize) -> f64 {
        let point = self.point(row, column);
        let memory = self.memories.at(row, column, || {
            let race = self.races.at(row, column, || race(&point));
            Memory::with(&point, self.kernels(row, column).clone(), race.clone())
        });
        let exposure = self.exposures[node].at(row, column, OnceLock::new);
        memory.accuracy_with(point.samples, self.nodes(row, column).at(node), exposure)
    }

    fn attention(&self, row: usize, column: usize) -> Attention {
        let point = self.point(row, column);
        let gradient = self.gradients.at(row, column, || Gradient::of_one_row(&point));
        let scores = Scores::with(&point, &gradient.at_width(point.width));
        (self.nodes(row, column).weights(&point, &scores), scores.noise())
    }

    fn dominant(&self, row: usize, column: usize, memory: f64, attention: &Attention) -> Option<Dominant> {
        let (weights, scores) = attention;
        let point = self.point(row, column);
        let kernel = self.kernels(row, column).averaged(point.width.unwrap_or(1.0)).summary();
        let logits = LogitNoise::of(&kernel, point.vocab, point.overlap(), point.samples);
        dominant(&point, memory, Some(weights.lock_rate()), &logits, Some(scores))
    }
}

fn transposed(map: Map) -> Map {
    let (height, width) = (map.rows.values.len(), map.columns.values.len());
    let from = |i: usize| (i % width) * height + i / width;
    let accuracy = (0..height * width).map(|i| map.accuracy[from(i)]).collect();
    let dominant = (0..height * width).map(|i| map.dominant[from(i)]).collect();
    Map { rows: map.columns, columns: map.rows, accuracy, dominant, computed: map.computed }
}

#[cfg(test)]
mod tests;
