//! Chooses which cells of a map to measure: first a coarse grid, then the cells with the largest expected interpolation error, which
//! lie along the boundary. Like the threshold search it runs nothing itself, so that it can be tested on simulated maps.

use super::field::{Belief, Measured, fill};

/// A map under construction. Cell (c, r) is number `r * columns + c`.
#[derive(Clone, Debug)]
pub struct Refine {
    columns: usize,
    rows: usize,
    predicted: Vec<f64>,
    measured: Vec<Measured>,
    taken: Vec<bool>,
    max: usize,
    tolerance: f64,
    beliefs: Option<Vec<Belief>>,
}

/// Lines of the grid per line of the coarse grid.
const COARSE: usize = 6;
/// Cells per batch, as a share of the grid.
const BATCH: f64 = 0.025;

impl Refine {
    /// Returns a map of `columns` by `rows` of which at most `max` cells are measured, until no other cell has an expected error
    /// above `tolerance`. `predicted` has the predicted accuracy of each cell or is empty.
    pub fn new(columns: usize, rows: usize, predicted: Vec<f64>, max: usize, tolerance: f64) -> Refine {
        let cells = columns * rows;
        let predicted = if predicted.len() == cells { predicted } else { Vec::new() };
        let (taken, max) = (vec![false; cells], max.min(cells));
        Refine { columns, rows, predicted, measured: Vec::new(), taken, max, tolerance, beliefs: None }
    }

    /// Returns the cells to measure next as (column, row); `None` when the map is complete.
    pub fn ask(&mut self) -> Option<Vec<(usize, usize)>> {
        let left = self.max.saturating_sub(self.taken.iter().filter(|&&taken| taken).count());
        if self.columns == 0 || self.rows == 0 || left == 0 {
            return None;
        }
        let mut chosen = if self.measured.is_empty() { self.coarse(left) } else { self.worst(left) };
        chosen.truncate(left);
        for &(column, row) in &chosen {
            self.taken[row * self.columns + column] = true;
        }
        Some(chosen).filter(|chosen| !chosen.is_empty())
    }

    /// Adds the measured accuracy of a cell, from this number of independent answers.
    pub fn tell(&mut self, column: usize, row: usize, accuracy: f64, items: f64) {
        let accuracy = if accuracy.is_finite() { accuracy.clamp(0.0, 1.0) } else { 0.0 };
        self.measured.push(Measured { column, row, accuracy, items });
        self.taken[row * self.columns + column] = true;
        self.beliefs = None;
    }

    /// Returns the number of cells measured.
    pub fn measured(&self) -> usize {
        self.measured.len()
    }

    /// Returns the accuracy of every cell and whether it was measured.
    pub fn map(&mut self) -> Vec<(f64, bool)> {
        let mut map: Vec<(f64, bool)> = self.believe().iter().map(|b| (b.accuracy, false)).collect();
        for m in &self.measured {
            map[m.row * self.columns + m.column] = (m.accuracy, true);
        }
        map
    }

    fn believe(&mut self) -> &[Belief] {
        self.beliefs.get_or_insert_with(|| fill(self.columns, self.rows, &self.predicted, &self.measured))
    }

    fn coarse(&self, left: usize) -> Vec<(usize, usize)> {
        let lines = |count: usize, stride: usize| {
            let mut lines: Vec<usize> = (0..count).step_by(stride).collect();
            if lines.last().is_some_and(|&last| last + 1 < count) {
                lines.push(count - 1);
            }
            lines
        };
        // Coarse enough to leave half of the cells for the boundary.
        let mut stride = COARSE.min(self.columns.max(self.rows).div_ceil(4)).max(1);
        while 2 * lines(self.columns, stride).len() * lines(self.rows, stride).len() > left.max(8)
            && stride < self.columns.max(self.rows)
        {
            stride += 1;
        }
        let columns = lines(self.columns, stride);
        lines(self.rows, stride).iter().flat_map(|&r| columns.iter().map(move |&c| (c, r))).collect()
    }

    /// Returns the cells with the largest expected errors, without direct neighbours, which measuring a cell also improves.
    fn worst(&mut self, left: usize) -> Vec<(usize, usize)> {
        let (columns, tolerance) = (self.columns, self.tolerance);
        let batch = ((BATCH * (columns * self.rows) as f64).ceil() as usize).clamp(1, left);
        let errors: Vec<f64> = self.believe().iter().map(|b| b.error).collect();
        let mut order: Vec<usize> =
            (0..errors.len()).filter(|&i| !self.taken[i] && errors[i] > tolerance).collect();
        order.sort_by(|&a, &b| errors[b].total_cmp(&errors[a]).then(a.cmp(&b)));
        let mut chosen: Vec<(usize, usize)> = Vec::new();
        for i in order {
            let (c, r) = (i % columns, i / columns);
            let beside =
                |&(a, b): &(usize, usize)| a == c && b.abs_diff(r) <= 1 || b == r && a.abs_diff(c) <= 1;
            if chosen.len() < batch && !chosen.iter().any(beside) {
                chosen.push((c, r));
            }
        }
        chosen
    }
}
