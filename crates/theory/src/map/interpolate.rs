//! Interpolation between the lines of a lattice: cubics in the logarithm of the size, in log odds of the accuracy.

use crate::recall::log_odds;

/// Accuracies closer to 0 or 1 are clamped, because they are not known more precisely.
const FLOOR: f64 = 1e-8;

/// A subset of the lines of a grid.
pub(super) struct Lattice {
    rows: Lines,
    columns: Lines,
}

/// A subset of the values of an axis.
struct Lines {
    /// Logarithms of all values.
    logs: Vec<f64>,
    /// Indices of the values on the lattice; the first and the last always are.
    chosen: Vec<usize>,
    /// For every line, the nodes (as indices into `chosen`) and weights that interpolate the value there.
    weights: Vec<Vec<(usize, f64)>>,
}

/// The cells between four neighbouring nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    rows: (usize, usize),
    columns: (usize, usize),
}

impl Lines {
    fn new(values: &[f64], stride: usize) -> Lines {
        let last = values.len().saturating_sub(1);
        let mut chosen: Vec<usize> = (0..values.len()).step_by(stride).collect();
        if chosen.last().is_some_and(|&end| end < last) {
            chosen.push(last);
        }
        let logs: Vec<f64> = values.iter().map(|value| libm::log(*value)).collect();
        // A repeated value, which can result from rounding, has one node.
        chosen.dedup_by(|a, b| logs[*a] == logs[*b]);
        let mut lines = Lines { logs, chosen, weights: Vec::new() };
        lines.weights = (0..values.len()).map(|line| lines.weights_at(line)).collect();
        lines
    }

    fn pairs(&self) -> Vec<(usize, usize)> {
        let mut pairs: Vec<(usize, usize)> = match self.chosen[..] {
            [only] => vec![(only, only)],
            _ => self.chosen.windows(2).map(|pair| (pair[0], pair[1])).collect(),
        };
        // Lines after the last node belong to the last block.
        if let Some(pair) = pairs.last_mut() {
            pair.1 = self.logs.len() - 1;
        }
        pairs
    }

    fn weights_at(&self, i: usize) -> Vec<(usize, f64)> {
        let count = self.chosen.len().min(4);
        let right = self.chosen.partition_point(|&line| line < i);
        if self.chosen.get(right) == Some(&i) {
            return vec![(right, 1.0)];
        }
        let first = right.saturating_sub(2).min(self.chosen.len() - count);
        let at = |k: usize| self.logs[self.chosen[first + k]];
        let weight = |k: usize| {
            (0..count).filter(|&j| j != k).map(|j| (self.logs[i] - at(j)) / (at(k) - at(j))).product()
        };
        (0..count).map(|k| (first + k, weight(k))).collect()
    }
}

impl Lattice {
    /// The lattice of every `strides`-th row and column, and the last ones.
    pub fn new(rows: &[f64], columns: &[f64], strides: (usize, usize)) -> Lattice {
        Lattice { rows: Lines::new(rows, strides.0), columns: Lines::new(columns, strides.1) }
    }

    /// The nodes that the values in the selected cells depend on, as (row, column), column by column.
    pub fn nodes(&self, of: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
        let (rows, columns) = (&self.rows.chosen, &self.columns.chosen);
        let mut used = vec![false; rows.len() * columns.len()];
        for (column, column_weights) in self.columns.weights.iter().enumerate() {
            for (_, row_weights) in self.rows.weights.iter().enumerate().filter(|(row, _)| of(*row, column)) {
                for (c, _) in column_weights {
                    row_weights.iter().for_each(|(r, _)| used[c * rows.len() + r] = true);
                }
            }
        }
        let node = |i: usize| (rows[i % rows.len()], columns[i / rows.len()]);
        (0..used.len()).filter(|&i| used[i]).map(node).collect()
    }

    pub fn blocks(&self) -> impl Iterator<Item = Block> {
        let rows = self.rows.pairs();
        let columns = self.columns.pairs();
        columns
            .into_iter()
            .flat_map(move |c| rows.clone().into_iter().map(move |r| Block { rows: r, columns: c }))
    }

    /// The whole grid, column by column, interpolated from values at the nodes; NaN where a node is NaN.
    pub fn interpolated(&self, node: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let (height, width) = (self.rows.logs.len(), self.columns.logs.len());
        // Interpolates first along the columns of the lattice, then across.
        let along = |&column: &usize| -> Vec<f64> {
            let odds = self.rows.chosen.iter().map(|&row| log_odds(node(row, column), FLOOR));
            let odds: Vec<f64> = odds.collect();
            let rows = self.rows.weights.iter();
            rows.map(|weights| weights.iter().map(|&(k, w)| w * odds[k]).sum()).collect()
        };
        let along: Vec<Vec<f64>> = self.columns.chosen.iter().map(along).collect();
        let mut grid = Vec::with_capacity(height * width);
        for weights in &self.columns.weights {
            for row in 0..height {
                grid.push(share(weights.iter().map(|&(k, w)| w * along[k][row]).sum()));
            }
        }
        grid
    }
}

impl Block {
    pub fn middle(&self) -> (usize, usize) {
        ((self.rows.0 + self.rows.1) / 2, (self.columns.0 + self.columns.1) / 2)
    }

    /// Whether the blocks share an edge or a corner.
    pub fn touches(&self, other: &Block) -> bool {
        let meet = |a: (usize, usize), b: (usize, usize)| a.0 <= b.1 && b.0 <= a.1;
        meet(self.rows, other.rows) && meet(self.columns, other.columns)
    }

    /// All cells, borders included.
    pub fn cells(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let Block { rows, columns } = *self;
        (columns.0..=columns.1).flat_map(move |c| (rows.0..=rows.1).map(move |r| (r, c)))
    }

    /// Whether accuracy is close to 0 at every corner, or close to 1 at every corner.
    pub fn decided(&self, node: impl Fn(usize, usize) -> f64) -> bool {
        let Block { rows, columns } = *self;
        let corners = [rows.0, rows.1].map(|row| [node(row, columns.0), node(row, columns.1)]).concat();
        corners.iter().all(|&x| x < 1e-3) || corners.iter().all(|&x| x > 1.0 - 1e-3)
    }
}

fn share(log_odds: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-log_odds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_lines_in_log_odds_are_exact() {
        let values: Vec<f64> = (0..23).map(|i| (1.3_f64).powi(i)).collect();
        let truth = |r: usize, c: usize| share(0.3 * values[r].ln() - 0.5 * values[c].ln() + 0.2);
        let lattice = Lattice::new(&values, &values, (4, 4));
        let grid = lattice.interpolated(truth);
        for c in 0..23 {
            for r in 0..23 {
                assert!((grid[c * 23 + r] - truth(r, c)).abs() < 1e-9, "{r} {c}");
            }
        }
    }

    #[test]
    fn blocks_cover_the_grid() {
        for size in [1, 2, 5, 8, 64] {
            let values: Vec<f64> = (1..=size).map(f64::from).collect();
            let lattice = Lattice::new(&values, &values, (4, 4));
            let mut cells: Vec<_> = lattice.blocks().flat_map(|block| block.cells()).collect();
            cells.sort_unstable();
            cells.dedup();
            assert_eq!(cells.len(), (size * size) as usize);
        }
    }
}
