//! An axis of a phase diagram: what varies, over which whole numbers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use superpose_core::config::{ConfigError, Settings, whole};
use superpose_theory::critical::Parameter;
use superpose_theory::predict::Dominant;
use superpose_theory::{Point, map};

use crate::threshold::set;

/// What varies along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(into = "String", try_from = "String")]
#[schemars(extend("enum" = ["samples", "dim", "width", "length", "vocab", "parameters"]))]
pub enum Size {
    /// Parameters of the value matrix with an MLP: width times dimension, by way of the width.
    Parameters,
    /// One size.
    One(Parameter),
}

impl Size {
    /// The name, as in records.
    pub fn word(self) -> &'static str {
        match self {
            Size::One(parameter) => parameter.word(),
            Size::Parameters => "parameters",
        }
    }

    /// The symbol in formulas.
    pub fn symbol(self) -> &'static str {
        match self {
            Size::One(parameter) => parameter.symbol(),
            Size::Parameters => "m d",
        }
    }

    /// Sets it. Parameters become the width that is nearest to them at the dimension there is.
    pub(crate) fn set(self, settings: &mut Settings, value: u64) {
        match self {
            Size::One(parameter) => set(settings, parameter, value as usize),
            Size::Parameters => {
                let width = (value as f64 / settings.dim as f64).round().max(1.0);
                settings.width = Some(width as usize);
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

/// How values are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Evenly in their logarithm.
    Log,
    /// Evenly.
    Linear,
}

impl FromStr for Scale {
    type Err = String;
    fn from_str(text: &str) -> Result<Scale, String> {
        match text {
            "log" => Ok(Scale::Log),
            "linear" => Ok(Scale::Linear),
            _ => Err("must be log or linear".into()),
        }
    }
}

/// Values on an axis at least: its ends.
pub const LEAST_VALUES: usize = 2;

/// Values on an axis at most. Filling in a map solves a system of its measured cells: at 80 by 80 that is seconds, at 200 by 200 hours.
pub const MOST_VALUES: usize = 80;

/// An axis: whole numbers, without repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Axis {
    /// What varies.
    pub size: Size,
    /// How values are spaced.
    pub scale: Scale,
    /// The smallest value.
    low: u64,
    /// The largest.
    high: u64,
    /// Values at most.
    count: usize,
    /// Values are multiples of this: the dimension, on an axis of parameters.
    unit: u64,
}

impl Axis {
    /// An axis from `low` to `high`. Narrow ranges have fewer than `count` whole numbers.
    pub fn new(size: Size, scale: Scale, low: u64, high: u64, count: usize) -> Result<Axis, ConfigError> {
        if low < 1 || low >= high {
            let allowed = "must be whole numbers from 1 on, the first below the second";
            return Err(ConfigError::value(size.word(), format!("{low}..{high}"), allowed));
        }
        whole("resolution", count, LEAST_VALUES, MOST_VALUES)?;
        Ok(Axis { size, scale, low, high, count, unit: 1 })
    }

    /// The same over multiples of a dimension, where the axis is of parameters.
    pub fn at_dim(self, dim: usize) -> Axis {
        match self.size {
            Size::Parameters => Axis { unit: dim.max(1) as u64, ..self },
            Size::One(_) => self,
        }
    }

    /// The values, growing.
    pub fn values(&self) -> Vec<u64> {
        let steps = (self.count - 1) as f64;
        let (low, high) = (self.low as f64, self.high as f64);
        let value = |i: usize| match self.scale {
            Scale::Log => low * (high / low).powf(i as f64 / steps),
            Scale::Linear => low + (high - low) * i as f64 / steps,
        };
        let whole = |x: f64| ((x / self.unit as f64).round().max(1.0) as u64) * self.unit;
        let mut values: Vec<u64> = (0..self.count).map(|i| whole(value(i))).collect();
        values.dedup();
        values
    }

    /// The same for the theory's map, which knows widths, not parameters.
    fn along(&self) -> map::Axis {
        let parameter = match self.size {
            Size::One(parameter) => parameter,
            Size::Parameters => Parameter::Width,
        };
        let values = self.values().iter().map(|&value| (value / self.unit) as f64).collect();
        map::Axis { parameter, values }
    }

    /// The first and the last value.
    pub fn ends(&self) -> [u64; 2] {
        let values = self.values();
        [values.first().copied().unwrap_or(self.low), values.last().copied().unwrap_or(self.high)]
    }
}

/// The closed form over two axes: accuracy and what limits it, row by row from the smallest value of the vertical axis.
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
