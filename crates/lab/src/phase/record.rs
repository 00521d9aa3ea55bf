//! The options of a phase diagram, their validation, and the serialised result.

use std::fmt;
use std::str::FromStr;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use superpose_core::backend::Numerics;
use superpose_core::config::{
    Config, ConfigError, Field, MAX_COUNT, Settings, above, between, check_ranges, counts,
};
use superpose_core::{Measure, settings, text_field};
use superpose_theory::critical::Parameter;

use super::{Axis, Diagram, MAX_VALUES, MIN_VALUES, Request, Scale, Size, TOLERANCE};
use crate::cell::{Runner, check as check_cell};
use crate::run::Inputs;
use crate::threshold::{SearchError, SizeRange, estimates, set};

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

/// The sizes along an axis of a phase diagram, written as `SIZE:LOW..HIGH`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// The size that varies.
    pub size: Size,
    /// Its values.
    pub range: SizeRange,
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.size, self.range)
    }
}

impl FromStr for Extent {
    type Err = String;
    fn from_str(text: &str) -> Result<Extent, String> {
        let (size, range) = text.split_once(':').ok_or(Extent::KIND.allowed())?;
        let size = size.parse().map_err(|allowed| format!("the size {allowed}"))?;
        Ok(Extent { size, range: range.parse()? })
    }
}

text_field!(Extent, "^[a-z]+:[0-9_.e]+$", "must be SIZE:LOW..HIGH, such as dim:16..256");

/// The spacing of both axes, written as `log`, or of each, written as `log,linear`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scales {
    /// Of the horizontal axis.
    pub x: Scale,
    /// Of the vertical axis.
    pub y: Scale,
}

impl fmt::Display for Scales {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.x == self.y { self.x.fmt(f) } else { write!(f, "{},{}", self.x, self.y) }
    }
}

impl FromStr for Scales {
    type Err = String;
    fn from_str(text: &str) -> Result<Scales, String> {
        let (x, y) = text.split_once(',').unwrap_or((text, text));
        let scale = |word: &str| word.parse().map_err(|_| Scales::KIND.allowed());
        Ok(Scales { x: scale(x)?, y: scale(y)? })
    }
}

text_field!(
    Scales,
    "^(log|linear)(,(log|linear))?$",
    "must be log or linear, or one for each axis as in log,linear"
);

settings! {
    /// The options of a phase diagram, not yet validated.
    pub struct PhaseOptions in "" requires x y {
        /// Horizontal axis: samples, dim, width, length, vocab, or parameters (m d at fixed d).
        x: Extent as "SIZE:LOW..HIGH" =
            Extent { size: Size::One(Parameter::Dim), range: SizeRange { low: 16, high: 256 } };
        /// Vertical axis.
        y: Extent as "SIZE:LOW..HIGH" =
            Extent { size: Size::One(Parameter::Samples), range: SizeRange { low: 100, high: 100_000 } };
        /// Number of values on each axis.
        resolution: usize as "COUNT" = 40, counts(MIN_VALUES, MAX_VALUES);
        /// Axis spacing: log or linear for both, or one each as in log,linear.
        scale: Scales as "X[,Y]" = Scales { x: Scale::Log, y: Scale::Log };
        /// Value of the measure on the boundary.
        accuracy: f64 as "SHARE" = 0.5, between(0.0, 1.0);
        /// Measure to map.
        measure: Measure where Measure::is_share as "NAME" = Measure::Accuracy;
        /// Maximum share of the cells to run; the others are interpolated.
        max_share: f64 as "SHARE" = 0.25, above(0.0, 1.0);
    }
}

fn log() -> Scale {
    Scale::Log
}

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
    /// Validates the options and the settings, with their tensors, at the corners of the map. The repeats of the settings are the
    /// seeds at each cell.
    ///
    /// # Errors
    /// Fails if a value is out of range or the tensors fix a size of an axis; the error names the parameter.
    pub fn check(&self, mut settings: Settings, inputs: &Inputs) -> Result<Request, ConfigError> {
        let axis = |Extent { size, range }: Extent, scale| {
            Axis::new(size, scale, range.low, range.high, self.resolution)
        };
        let (x, y) = (axis(self.x, self.scale.x)?, axis(self.y, self.scale.y)?);
        check_independent(x.size, y.size)?;
        for (name, axis) in [("x", &x), ("y", &y)] {
            inputs.check_varies(name, axis.size.setting())?;
        }
        check_ranges(self, PhaseOptions::settings())?;
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
        inputs.check(&config)?;
        check_cell(&config.repeat(0))?;
        let (x, y) = (x.at_dim(config.dim), y.at_dim(config.dim));
        let cells = x.values().len() * y.values().len();
        let request = Request {
            config,
            measure: self.measure,
            level: self.accuracy,
            repeats,
            max_cells: ((self.max_share * cells as f64).floor() as usize).max(4),
            tolerance: TOLERANCE,
            trust: true,
            rows: inputs.statistics,
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
    /// The arithmetic that made it.
    #[serde(default)]
    pub numerics: Numerics,
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
            estimates(runner, batch, self.measure, &mut |event| {
                runs += event.finished();
                observe(runs);
            })
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
            numerics: runner.numerics().clone(),
            version: env!("CARGO_PKG_VERSION").into(),
        })
    }
}
