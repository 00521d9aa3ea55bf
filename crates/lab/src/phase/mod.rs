//! Phase diagrams: accuracy over any two sizes, measured where it changes and filled in between, beside the closed form: its boundary
//! and the partition by what limits recall.
//!
//! [`Refine`] chooses the cells and fills in the rest, [`Diagram`] is the result, [`boundary`] draws the line at a level.

mod axis;
mod contour;
mod field;
mod record;
mod refine;

use serde::{Deserialize, Serialize};
use superpose_core::config::{Config, ConfigError, Settings};
use superpose_theory::Point;
use superpose_theory::predict::{Dominant, uncovered};

use crate::threshold::{Measure, SearchError, Share};

pub(crate) use axis::closed_form;
pub use axis::{Axis, LEAST_VALUES, MOST_VALUES, Scale, Size};
pub use contour::boundary;
pub(crate) use record::apart;
pub use record::{Options, Record, Span};
pub use refine::Refine;

/// The tolerance of `superpose phase`, and the one that is validated.
pub const TOLERANCE: f64 = 0.01;

/// What to map. The two sizes are not dimension and parameters: parameters are counted at a fixed dimension.
#[derive(Clone, Debug)]
pub struct Request {
    /// The model; its values of the two sizes are not used.
    pub config: Config,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is measured.
    pub measure: Measure,
    /// The level of the boundary.
    pub level: f64,
    /// Seeds at each cell that is run: the configuration's seed and those after it, the same at every cell.
    pub repeats: usize,
    /// Cells to run at most.
    pub most: usize,
    /// Expected error below which a cell is not run.
    pub tolerance: f64,
    /// Whether the closed form, where there is one, guides the filling in. Measured cells correct it either way.
    pub trust: bool,
}

/// A cell of a diagram.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Value on the horizontal axis.
    pub x: u64,
    /// Value on the vertical axis.
    pub y: u64,
    /// The measure: its mean over seeds where the cell was run, else filled in.
    pub value: f64,
    /// Whether the cell was run.
    pub measured: bool,
    /// What the theory says.
    pub predicted: Option<f64>,
    /// What limits recall there, by the theory.
    pub dominant: Option<Dominant>,
}

/// A phase diagram.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagram {
    /// Values of the horizontal axis.
    pub columns: Vec<u64>,
    /// Values of the vertical axis.
    pub rows: Vec<u64>,
    /// Cells, row by row from the smallest value of the vertical axis.
    pub cells: Vec<Cell>,
    /// Cells that were run.
    pub measured: usize,
    /// The line at the level through the measured map, as pieces of (x, y).
    pub boundary: Vec<Vec<(f64, f64)>>,
    /// The same through the predicted map; empty without a prediction.
    pub predicted_boundary: Vec<Vec<(f64, f64)>>,
}

impl Diagram {
    /// What limits recall where the map is below a level, by the theory: each cause with its share of those cells, the largest
    /// first. Empty where no such cell has one.
    pub fn shares(&self, level: f64) -> Vec<(Dominant, f64)> {
        let below = self.cells.iter().filter(|cell| cell.value < level).filter_map(|cell| cell.dominant);
        let mut counts: Vec<(Dominant, usize)> = Vec::new();
        for dominant in below {
            match counts.iter_mut().find(|(known, _)| *known == dominant) {
                Some((_, count)) => *count += 1,
                None => counts.push((dominant, 1)),
            }
        }
        // Stable: what is equally frequent stays in the order of the map.
        counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        let all: usize = counts.iter().map(|(_, count)| count).sum();
        counts.into_iter().map(|(dominant, count)| (dominant, count as f64 / all as f64)).collect()
    }
}

impl Request {
    /// The settings of a cell.
    fn at(&self, x: u64, y: u64) -> Settings {
        let mut settings = (*self.config).clone();
        self.x.size.set(&mut settings, x);
        self.y.size.set(&mut settings, y);
        settings
    }

    /// Checks that every corner can be run; an error names the parameter.
    pub fn check(&self) -> Result<(), ConfigError> {
        for x in self.x.ends() {
            for y in self.y.ends() {
                self.at(x, y).check()?;
            }
        }
        Ok(())
    }

    /// Maps. `run` measures a batch of cells of one seed each; it is told the cells in one go.
    pub fn map(
        &self,
        threads: usize,
        mut run: impl FnMut(&[Config]) -> Result<Vec<Share>, SearchError>,
    ) -> Result<Diagram, SearchError> {
        let (columns, rows) = (self.x.values(), self.y.values());
        let (predicted, dominant) = self.predicted(threads);
        let guide = if self.trust { predicted.clone() } else { Vec::new() };
        let mut refine = Refine::new(columns.len(), rows.len(), guide, self.most, self.tolerance);
        let repeats = self.repeats.max(1);
        loop {
            let wanted = refine.ask();
            if wanted.is_empty() {
                break;
            }
            let mut cells = Vec::with_capacity(wanted.len() * repeats);
            for &(c, r) in &wanted {
                let config = Settings { repeats, ..self.at(columns[c], rows[r]) }.check()?;
                cells.extend((0..repeats).map(|repeat| config.repeat(repeat)));
            }
            let shares = run(&cells)?;
            for (&(c, r), shares) in wanted.iter().zip(shares.chunks(repeats)) {
                let mean = shares.iter().map(|s| s.mean).sum::<f64>() / repeats as f64;
                refine.tell(c, r, mean, shares.iter().map(|s| s.items).sum());
            }
        }
        let map = refine.map();
        let cells: Vec<Cell> = map
            .iter()
            .enumerate()
            .map(|(i, &(value, measured))| Cell {
                x: columns[i % columns.len()],
                y: rows[i / columns.len()],
                value,
                measured,
                predicted: predicted.get(i).copied(),
                dominant: dominant.get(i).copied().flatten(),
            })
            .collect();
        let real = |values: &[u64]| values.iter().map(|&v| v as f64).collect::<Vec<_>>();
        let (xs, ys) = (real(&columns), real(&rows));
        let values: Vec<f64> = map.iter().map(|cell| cell.0).collect();
        Ok(Diagram {
            boundary: boundary(&xs, &ys, &values, self.level),
            predicted_boundary: match predicted.is_empty() {
                true => Vec::new(),
                false => boundary(&xs, &ys, &predicted, self.level),
            },
            measured: refine.measured(),
            columns,
            rows,
            cells,
        })
    }

    /// The closed form at every cell, and what limits recall there; empty where there is none.
    pub fn predicted(&self, threads: usize) -> (Vec<f64>, Vec<Option<Dominant>>) {
        if uncovered(&self.config).is_some() {
            return Default::default();
        }
        let (accuracy, dominant) = closed_form(&Point::from(&self.config), &self.x, &self.y, threads);
        match self.measure {
            Measure::Accuracy => (accuracy, dominant),
            _ => (self.points(threads, |point| self.measure.predicted(point)), dominant),
        }
    }

    /// Something at the point of every cell, row by row.
    fn points<R: Send>(&self, threads: usize, f: impl Fn(&Point) -> R + Sync) -> Vec<R> {
        let (columns, rows) = (self.x.values(), self.y.values());
        let backend = superpose_core::backend::Backend::cpu(threads)
            .unwrap_or_else(|_| superpose_core::backend::Backend::single());
        let row =
            |r: usize| -> Vec<R> { columns.iter().map(|&x| f(&Point::from(&self.at(x, rows[r])))).collect() };
        let points = backend.map(rows.len(), row).expect("nothing cancels this backend");
        points.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests;
