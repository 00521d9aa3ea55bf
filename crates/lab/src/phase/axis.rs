//! An axis of a phase diagram: the size that varies and its values.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use superpose_core::config::{ConfigError, Settings, whole};
use superpose_core::words;
use superpose_theory::critical::Parameter;
use superpose_theory::predict::Dominant;
use superpose_theory::{Point, map};

use crate::threshold::set;

/// The size that varies along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(into = "String", try_from = "String")]
#[schemars(extend("enum" = ["samples", "dim", "width", "length", "vocab", "parameters"]))]
pub enum Size {
    /// Parameters of the value matrix with an MLP: width times dimension, set through the width.
    Parameters,
    /// One size.
    One(Parameter),
}

impl Size {
    /// Returns the name in records.
    pub fn word(self) -> &'static str {
        match self {
            Size::One(parameter) => parameter.word(),
            Size::Parameters => "parameters",
        }
    }

    /// Returns the symbol in formulas.
    pub fn symbol(self) -> &'static str {
        match self {
            Size::One(parameter) => parameter.symbol(),
            Size::Parameters => "m d",
        }
    }

    /// The setting that varies.
    pub(crate) fn setting(self) -> &'static str {
        match self {
            Size::One(parameter) => parameter.word(),
            Size::Parameters => "width",
        }
    }

    /// Sets the size. A number of parameters sets the nearest width at the present dimension.
    pub(crate) fn set(self, settings: &mut Settings, value: u64) {
        match self {
            Size::One(parameter) => set(settings, parameter, value as usize),
            Size::Parameters => {
                settings.width = Some((value as f64 / settings.dim as f64).round().max(1.0) as usize);
            }
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Size {
    type Err = String;
    fn from_str(text: &str) -> Result<Size, String> {
        let one = text.parse().ok().map(Size::One);
        one.or((text == "parameters").then_some(Size::Parameters))
            .ok_or("must be one of samples, dim, width, length, vocab, parameters".into())
    }
}

impl From<Size> for String {
    fn from(size: Size) -> String {
        size.word().into()
    }
}

impl TryFrom<String> for Size {
    type Error = String;
    fn try_from(text: String) -> Result<Size, String> {
        text.parse()
    }
}

words! {
    /// The spacing of values.
    Scale {
        /// Evenly in their logarithm.
        Log = "log",
        /// Evenly.
        Linear = "linear",
    }
}

/// Minimum number of values on an axis: its ends.
pub const MIN_VALUES: usize = 2;

/// Maximum number of values on an axis. Interpolation solves a linear system of the measured cells, which takes seconds at 80 by 80
/// and hours at 200 by 200.
pub const MAX_VALUES: usize = 80;

/// An axis: distinct whole numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Axis {
    /// The size that varies.
    pub size: Size,
    /// The spacing of the values.
    pub scale: Scale,
    /// The smallest value.
    low: u64,
    /// The largest value.
    high: u64,
    /// Maximum number of values.
    count: usize,
    /// Values are multiples of this number: the dimension on an axis of parameters, else 1.
    unit: u64,
}

impl Axis {
    /// Returns an axis from `low` to `high` with at most `count` values.
    ///
    /// # Errors
    /// Fails if the range or the number of values is not allowed.
    pub fn new(size: Size, scale: Scale, low: u64, high: u64, count: usize) -> Result<Axis, ConfigError> {
        if low < 1 || low >= high {
            let allowed = "must be whole numbers of at least 1, the first below the second";
            return Err(ConfigError::value(size.word(), format!("{low}..{high}"), allowed));
        }
        whole("resolution", count, MIN_VALUES, MAX_VALUES)?;
        Ok(Axis { size, scale, low, high, count, unit: 1 })
    }

    /// Returns the axis with multiples of a dimension if it is one of parameters, else unchanged.
    pub fn at_dim(self, dim: usize) -> Axis {
        match self.size {
            Size::Parameters => Axis { unit: dim.max(1) as u64, ..self },
            Size::One(_) => self,
        }
    }

    /// Returns the values in increasing order.
    pub fn values(&self) -> Vec<u64> {
        let steps = (self.count - 1) as f64;
        let (low, high) = (self.low as f64, self.high as f64);
        let value = |i: usize| match self.scale {
            Scale::Log => low * libm::pow(high / low, i as f64 / steps),
            Scale::Linear => low + (high - low) * i as f64 / steps,
        };
        let whole = |x: f64| ((x / self.unit as f64).round().max(1.0) as u64) * self.unit;
        let mut values: Vec<u64> = (0..self.count).map(|i| whole(value(i))).collect();
        values.dedup();
        values
    }

    /// Returns the axis for the theory's map, where parameters are widths.
    fn along(&self) -> map::Axis {
        let parameter = match self.size {
            Size::One(parameter) => parameter,
            Size::Parameters => Parameter::Width,
        };
        let values = self.values().iter().map(|&value| (value / self.unit) as f64).collect();
        map::Axis { parameter, values }
    }

    /// Returns the first and the last value.
    pub fn ends(&self) -> [u64; 2] {
        let values = self.values();
        [values[0], values[values.len() - 1]]
    }
}

/// Returns the predicted accuracy and the limiting noise term over two axes, row by row from the smallest value of the vertical axis.
pub(crate) fn closed_form(
    point: &Point,
    x: &Axis,
    y: &Axis,
    threads: usize,
) -> (Vec<f64>, Vec<Option<Dominant>>) {
    let filled = map::fill(point, y.along(), x.along(), threads);
    let (rows, columns) = (filled.rows.values.len(), filled.columns.values.len());
    let place = |i: usize| (i % columns) * rows + i / columns;
    (0..rows * columns).map(|i| (filled.accuracy[place(i)], filled.dominant[place(i)])).unzip()
}
