//! Phase diagrams: accuracy over two sizes, measured where it changes and interpolated elsewhere, with the closed-form map, its
//! boundary and the limiting noise terms.
//!
//! [`Refine`] chooses the cells to run and interpolates the rest, because running every cell would take many times longer;
//! [`Diagram`] is the result and [`boundary`] the line at a level.

mod axis;
mod contour;
mod field;
mod record;
mod refine;

use serde::{Deserialize, Serialize};
use superpose_core::Measure;
use superpose_core::backend::Backend;
use superpose_core::config::{Config, ConfigError, Settings};
use superpose_theory::predict::{Dominant, predict_measure, uncovered_with};
use superpose_theory::{Point, Rows};

use crate::interval::{self, SampleMean};
use crate::threshold::{SearchError, Share};

pub(crate) use axis::closed_form;
pub use axis::{Axis, MAX_VALUES, MIN_VALUES, Scale, Size};
pub use contour::boundary;
pub(crate) use record::check_independent;
pub use record::{Extent, PhaseOptions, PhaseRecord, Scales, Span};
pub use refine::Refine;

/// The tolerance of `superpose phase`, for which the accuracy of maps was validated.
pub const TOLERANCE: f64 = 0.01;

/// Seeds at each cell where the repeats are not given.
pub const DEFAULT_REPEATS: usize = 2;

/// A validated phase diagram to map.
#[derive(Clone, Debug)]
pub struct Request {
    /// The model; its values of the two sizes are not used.
    pub config: Config,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The measure to map.
    pub measure: Measure,
    /// The level of the boundary.
    pub level: f64,
    /// Number of consecutive seeds at each cell, the same at every cell.
    pub repeats: usize,
    /// Maximum number of cells to run.
    pub max_cells: usize,
    /// Expected error below which a cell is not run.
    pub tolerance: f64,
    /// Whether the interpolation starts from the closed form, where there is one. Measured cells correct it either way.
    pub trust: bool,
    /// Measured statistics of the input embeddings, for the prediction.
    pub rows: Option<Rows>,
}

/// A cell of a diagram.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cell {
    /// Value on the horizontal axis.
    pub x: u64,
    /// Value on the vertical axis.
    pub y: u64,
    /// The mean of the measure over seeds if the cell was run, else interpolated.
    pub value: f64,
    /// Whether the cell was run.
    pub measured: bool,
    /// Lower end of the 95% interval, if the cell was run: over seeds and test items, or over test items alone with one seed.
    #[serde(default)]
    pub low: Option<f64>,
    /// Upper end of the interval.
    #[serde(default)]
    pub high: Option<f64>,
    /// The predicted value.
    pub predicted: Option<f64>,
    /// The predicted limiting noise term.
    pub dominant: Option<Dominant>,
}

/// A phase diagram.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Diagram {
    /// Values of the horizontal axis.
    pub columns: Vec<u64>,
    /// Values of the vertical axis.
    pub rows: Vec<u64>,
    /// Cells, row by row from the smallest value of the vertical axis.
    pub cells: Vec<Cell>,
    /// Number of cells that were run.
    pub measured: usize,
    /// The line at the level through the measured map, as pieces of (x, y).
    pub boundary: Vec<Vec<(f64, f64)>>,
    /// The same through the predicted map; empty without a prediction.
    pub predicted_boundary: Vec<Vec<(f64, f64)>>,
}

impl Cell {
    /// Whether the interval of a cell that was run holds the prediction; `None` without an interval or a prediction.
    pub fn agrees(&self) -> Option<bool> {
        Some((self.low?..=self.high?).contains(&self.predicted?))
    }
}

impl Diagram {
    /// Returns the limiting noise terms of the cells below a level, each with its share of those cells, the largest first. Empty if
    /// none of those cells has one.
    pub fn shares(&self, level: f64) -> Vec<(Dominant, f64)> {
        let below = self.cells.iter().filter(|cell| cell.value < level).filter_map(|cell| cell.dominant);
        let mut counts: Vec<(Dominant, usize)> = Vec::new();
        for dominant in below {
            match counts.iter_mut().find(|(known, _)| *known == dominant) {
                Some((_, count)) => *count += 1,
                None => counts.push((dominant, 1)),
            }
        }
        // A stable sort: equally frequent terms stay in the order of the map.
        counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        let all: usize = counts.iter().map(|(_, count)| count).sum();
        counts.into_iter().map(|(dominant, count)| (dominant, count as f64 / all as f64)).collect()
    }
}

impl Request {
    fn at(&self, x: u64, y: u64) -> Settings {
        let mut settings = (*self.config).clone();
        self.x.size.set(&mut settings, x);
        self.y.size.set(&mut settings, y);
        settings
    }

    /// Fails if a corner of the map cannot be run; the error names the parameter.
    pub fn check(&self) -> Result<(), ConfigError> {
        for x in self.x.ends() {
            for y in self.y.ends() {
                self.at(x, y).check()?;
            }
        }
        Ok(())
    }

    /// Maps. `run` measures a batch of cells, each of one seed.
    ///
    /// # Errors
    /// Fails if `run` fails.
    pub fn map(
        &self,
        threads: usize,
        mut run: impl FnMut(&[Config]) -> Result<Vec<SampleMean>, SearchError>,
    ) -> Result<Diagram, SearchError> {
        let (columns, rows) = (self.x.values(), self.y.values());
        let (predicted, dominant) = self.predicted(threads);
        let guide = if self.trust { predicted.clone() } else { Vec::new() };
        let mut refine = Refine::new(columns.len(), rows.len(), guide, self.max_cells, self.tolerance);
        let repeats = self.repeats.max(1);
        let mut intervals = vec![None; columns.len() * rows.len()];
        while let Some(wanted) = refine.ask() {
            let mut cells = Vec::with_capacity(wanted.len() * repeats);
            for &(c, r) in &wanted {
                let config = Settings { repeats, ..self.at(columns[c], rows[r]) }.check()?;
                cells.extend((0..repeats).map(|repeat| config.repeat(repeat)));
            }
            let found = run(&cells)?;
            let found = found.chunks(repeats).zip(cells.chunks(repeats));
            for (&(c, r), (found, cells)) in wanted.iter().zip(found) {
                let items = found.iter().map(|&one| Share::new(&cells[0], self.measure, one).items).sum();
                let interval = interval::share(found, cells[0].vocab);
                refine.tell(c, r, interval.mean, items);
                intervals[r * columns.len() + c] = Some(interval);
            }
        }
        let map = refine.map();
        let cell = |(i, &(value, measured)): (usize, &(f64, bool))| Cell {
            x: columns[i % columns.len()],
            y: rows[i / columns.len()],
            value,
            measured,
            low: intervals[i].map(|interval| interval.low),
            high: intervals[i].map(|interval| interval.high),
            predicted: predicted.get(i).copied(),
            dominant: dominant.get(i).copied().flatten(),
        };
        let cells = map.iter().enumerate().map(cell).collect();
        let real = |values: &[u64]| values.iter().map(|&v| v as f64).collect::<Vec<_>>();
        let (xs, ys) = (real(&columns), real(&rows));
        let values: Vec<f64> = map.iter().map(|cell| cell.0).collect();
        Ok(Diagram {
            boundary: boundary(&xs, &ys, &values, self.level),
            // Empty without a prediction.
            predicted_boundary: boundary(&xs, &ys, &predicted, self.level),
            measured: refine.measured(),
            columns,
            rows,
            cells,
        })
    }

    /// Returns the prediction and the limiting noise term of every cell; empty if the theory does not cover the configuration.
    pub fn predicted(&self, threads: usize) -> (Vec<f64>, Vec<Option<Dominant>>) {
        let point = Point { rows: self.rows, ..Point::from(&self.config) };
        if uncovered_with(&self.config, self.rows.is_some(), self.measure).is_some()
            || predict_measure(self.measure, &point).is_none()
        {
            return Default::default();
        }
        let (accuracy, dominant) = closed_form(&point, &self.x, &self.y, threads);
        if self.measure == Measure::Accuracy {
            return (accuracy, dominant);
        }
        let (columns, rows) = (self.x.values(), self.y.values());
        let value = |x, y| {
            let point = Point { rows: self.rows, ..Point::from(&self.at(x, y)) };
            predict_measure(self.measure, &point).unwrap_or(f64::NAN)
        };
        let row = |r: usize| -> Vec<f64> { columns.iter().map(|&x| value(x, rows[r])).collect() };
        let backend = Backend::cpu(threads).unwrap_or_else(|_| Backend::single());
        let values = backend.map(rows.len(), row).expect("nothing cancels this backend");
        (values.concat(), dominant)
    }
}

#[cfg(test)]
mod tests;
