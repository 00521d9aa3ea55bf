//! The sequence length and the number of samples that a number of facts allows and needs, with the rows of a matrix as input embeddings.

use serde::{Deserialize, Serialize};
use superpose_core::Measure;
use superpose_core::backend::Backend;
use superpose_core::config::{ConfigError, Settings, Trigger, whole};
use superpose_tensors::Tensors;
use superpose_theory::critical::{Parameter, critical};
use superpose_theory::{Point, Rows};

use super::{InspectError, SAMPLES_PER_FACT};
use crate::predict::predict_with;
use crate::run::measure;

/// A number of facts, and the model that stores them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizesOptions {
    /// Number of facts.
    pub facts: usize,
    /// Sequence length.
    pub length: usize,
    /// Whether the trigger is in the values, too.
    pub trigger: Trigger,
}

/// What is predicted for a number of facts, with Gaussian output embeddings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Sizes {
    /// Number of facts.
    pub facts: usize,
    /// Sequence length.
    pub length: usize,
    /// Where the trigger is.
    pub trigger: Trigger,
    /// Training samples.
    pub samples: usize,
    /// By what the rows are multiplied, so that their mean squared length is 1, about that of the trigger.
    pub scale: Option<f64>,
    /// Recall accuracy at these sizes; null if there is no formula.
    pub accuracy: Option<f64>,
    /// Rms error to expect of it; null where it is not known.
    pub error: Option<f64>,
    /// Why it is not known.
    pub error_reason: Option<String>,
    /// The fewest samples with which recall reaches the requested accuracy at this length; null if no number does.
    pub fewest_samples: Option<u64>,
    /// The same with an accuracy that is lower by the error; null if no number does, or the error is not known.
    pub fewest_samples_low: Option<u64>,
    /// The same with an accuracy that is higher by the error.
    pub fewest_samples_high: Option<u64>,
    /// The largest length at which recall reaches the requested accuracy with these samples; null if none does.
    pub largest_length: Option<u64>,
}

/// Predicts the recall of a number of facts whose tokens have rows of the matrix `name`, and the sizes at which it reaches the accuracy.
///
/// Rows are scaled, because what attention learns depends on their length relative to the trigger's, and the rows of real models have any
/// length.
///
/// # Errors
/// Fails if a size is out of range, the matrix cannot be read or the caller cancels.
pub fn sizes(
    tensors: &Tensors<'_>,
    name: &str,
    SizesOptions { facts, length, trigger }: SizesOptions,
    accuracy: f64,
    backend: &Backend,
) -> Result<Sizes, InspectError> {
    let [rows, dim] = tensors.shape(name)?[..] else {
        return Err(ConfigError::value("tensor", name, "must be a matrix").into());
    };
    whole("facts", facts, 2, rows)?;
    let samples = SAMPLES_PER_FACT as usize * facts;
    let settings = Settings { vocab: facts, dim, length, samples, trigger, ..Settings::default() };
    let config = settings.check()?;
    let read = |first, end| Ok::<_, InspectError>(tensors.row_range(name, first, end)?.data);
    let statistics = measure((rows, dim), read, backend)?;
    let scaled = statistics.map(|rows| Rows { square: 1.0, ..rows });
    let found = scaled.map(|rows| predict_with(&config, Some(rows), accuracy)).transpose()?;
    let error = found.as_ref().and_then(|found| found.error);
    let point = Point { rows: scaled, ..Point::from(&config) };
    let within = |error: f64| -> Result<Option<u64>, InspectError> {
        backend.check_cancelled()?;
        let accuracy = Some(accuracy + error).filter(|accuracy| (f64::MIN_POSITIVE..1.0).contains(accuracy));
        let found = accuracy.and_then(|accuracy| critical(&point, Parameter::Samples, accuracy).value());
        Ok(found.map(|samples| samples as u64))
    };
    let [low, high] = match error {
        Some(error) => [within(-error)?, within(error)?],
        None => [None; 2],
    };
    Ok(Sizes {
        fewest_samples_low: low,
        fewest_samples_high: high,
        facts,
        length,
        trigger,
        samples,
        scale: statistics.map(|rows| rows.square.sqrt().recip()),
        error,
        error_reason: found.as_ref().and_then(|found| found.error_reason.clone()),
        accuracy: found.as_ref().and_then(|found| found.measures[Measure::Accuracy]),
        fewest_samples: found.as_ref().and_then(|found| found.critical.samples),
        largest_length: found.as_ref().and_then(|found| found.critical.length),
    })
}
