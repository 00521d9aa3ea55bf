//! The options of a phase diagram, their validation, and the record.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use superpose_core::config::{Config, ConfigError, MAX_COUNT, Settings, share};
use superpose_theory::critical::Parameter;

use super::{Axis, Diagram, Request, Scale, Size, TOLERANCE};
use crate::cell::{Runner, check as check_cell};
use crate::threshold::{SearchError, set, shares};
use superpose_core::Measure;

/// The options of an axis, not yet validated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// The size that varies.
    pub size: Size,
    /// The first value.
    #[schemars(range(min = 1, max = MAX_COUNT))]
    pub low: u64,
    /// The last value.
    #[schemars(range(min = 2, max = MAX_COUNT))]
    pub high: u64,
    /// The spacing of the values.
    #[serde(default = "log")]
    pub scale: Scale,
}

/// The options of a phase diagram, not yet validated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhaseOptions {
    /// The horizontal axis.
    pub x: Span,
    /// The vertical axis.
    pub y: Span,
    /// Number of values on each axis.
    pub resolution: usize,
    /// The level of the boundary.
    pub accuracy: f64,
    /// What is measured.
    pub measure: Measure,
    /// Maximum share of the cells to run.
    pub most: f64,
}

fn log() -> Scale {
    Scale::Log
}

/// Fails if two sizes cannot be set independently.
pub(crate) fn check_independent(x: Size, y: Size) -> Result<(), ConfigError> {
    let has = |size| [x, y].contains(&size);
    let why = match [x, y] {
        [a, b] if a == b => format!("x and y are both {a}; must be two sizes"),
        _ if has(Size::Parameters) && has(Size::One(Parameter::Width)) => {
            "x and y are width and parameters; parameters are width times dim".into()
        }
        _ if has(Size::Parameters) && has(Size::One(Parameter::Dim)) => {
            "x and y are dim and parameters; parameters are counted at a fixed dim, use width and dim".into()
        }
        _ => return Ok(()),
    };
    Err(ConfigError::value("y", y, why))
}

impl PhaseOptions {
    /// Validates the options and the settings at the corners of the map. The repeats of the settings are the seeds at each cell.
    ///
    /// # Errors
    /// Fails if a value is out of range; the error names the parameter.
    pub fn check(&self, mut settings: Settings) -> Result<Request, ConfigError> {
        let axis = |span: &Span| Axis::new(span.size, span.scale, span.low, span.high, self.resolution);
        let (x, y) = (axis(&self.x)?, axis(&self.y)?);
        check_independent(x.size, y.size)?;
        share("accuracy", self.accuracy)?;
        if !(self.most > 0.0 && self.most <= 1.0) {
            return Err(ConfigError::value("most", self.most, "must be above 0 and at most 1"));
        }
        let wide = |size| matches!(size, Size::Parameters | Size::One(Parameter::Width));
        if (wide(x.size) || wide(y.size)) && settings.width.is_none() {
            settings.width = Some(1);
        }
        // The sizes that vary are replaced by those of a corner, so that only the other settings need to be valid.
        for axis in [&x, &y] {
            if let Size::One(parameter) = axis.size {
                set(&mut settings, parameter, axis.ends()[1] as usize);
            }
        }
        let repeats = settings.repeats;
        let config = settings.check()?;
        check_cell(&config.repeat(0))?;
        let (x, y) = (x.at_dim(config.dim), y.at_dim(config.dim));
        let cells = x.values().len() * y.values().len();
        let request = Request {
            config,
            measure: self.measure,
            level: self.accuracy,
            repeats,
            max_cells: ((self.most * cells as f64).floor() as usize).max(4),
            tolerance: TOLERANCE,
            trust: true,
            x,
            y,
        };
        request.check()?;
        Ok(request)
    }
}

/// A phase diagram as a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PhaseRecord {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is measured.
    pub measure: Measure,
    /// The level of the boundary.
    pub accuracy: f64,
    /// Number of seeds at each cell that was run.
    pub repeats: usize,
    /// The map.
    #[serde(flatten)]
    pub diagram: Diagram,
    /// Number of runs.
    pub runs: usize,
    /// Duration in seconds.
    pub seconds: f64,
    /// The configuration; its values of the two sizes are not used.
    pub config: Settings,
    /// The version of superpose.
    pub version: String,
}

impl Request {
    /// Maps. `observe` receives the number of finished runs.
    ///
    /// # Errors
    /// Fails if a run or the store fails, or when the runner is stopped.
    pub fn record(
        &self,
        threads: usize,
        runner: &mut Runner<'_>,
        mut observe: impl FnMut(usize),
    ) -> Result<PhaseRecord, SearchError> {
        let started = Instant::now();
        let mut runs = 0;
        let diagram = self.map(threads, |batch: &[Config]| {
            let found = shares(runner, batch, self.measure, &mut |_| observe(runs));
            runs += batch.len();
            found
        })?;
        Ok(PhaseRecord {
            x: self.x.clone(),
            y: self.y.clone(),
            measure: self.measure,
            accuracy: self.level,
            repeats: self.repeats,
            diagram,
            runs,
            seconds: started.elapsed().as_secs_f64(),
            config: (*self.config).clone(),
            version: env!("CARGO_PKG_VERSION").into(),
        })
    }
}
