//! The sequence length and the number of samples that a number of facts allows and needs, with the rows of a matrix as input embeddings.

use serde::{Deserialize, Serialize};
use superpose_core::Measure;
use superpose_core::backend::Backend;
use superpose_core::config::{ConfigError, Settings, Trigger, whole};
use superpose_tensors::Tensors;

use super::{InspectError, SAMPLES_PER_FACT};
use crate::predict::predict_with;
use crate::run::measure;

/// What is predicted for a number of facts, with the trigger in the keys and Gaussian output embeddings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Sizes {
    /// Number of facts.
    pub facts: usize,
    /// Sequence length.
    pub length: usize,
    /// Training samples.
    pub samples: usize,
    /// Recall accuracy at these sizes; null if there is no formula.
    pub accuracy: Option<f64>,
    /// The fewest samples with which recall reaches the requested accuracy at this length; null if no number does.
    pub fewest_samples: Option<u64>,
    /// The largest length at which recall reaches the requested accuracy with these samples; null if none does.
    pub largest_length: Option<u64>,
}

/// Predicts the recall of a number of facts whose tokens have rows of the matrix `name`, and the sizes at which it reaches the accuracy.
///
/// # Errors
/// Fails if a size is out of range, the matrix cannot be read or the caller cancels.
pub fn sizes(
    tensors: &Tensors<'_>,
    name: &str,
    [facts, length]: [usize; 2],
    accuracy: f64,
    backend: &Backend,
) -> Result<Sizes, InspectError> {
    let [rows, dim] = tensors.shape(name)?[..] else {
        return Err(ConfigError::value("tensor", name, "must be a matrix").into());
    };
    whole("facts", facts, 2, rows)?;
    let samples = SAMPLES_PER_FACT as usize * facts;
    let settings =
        Settings { vocab: facts, dim, length, samples, trigger: Trigger::Keys, ..Settings::default() };
    let config = settings.check()?;
    let read = |first, end| Ok::<_, InspectError>(tensors.row_range(name, first, end)?.data);
    let statistics = measure((rows, dim), read, backend)?;
    let found = statistics.map(|rows| predict_with(&config, Some(rows), accuracy)).transpose()?;
    Ok(Sizes {
        facts,
        length,
        samples,
        accuracy: found.as_ref().and_then(|found| found.measures[Measure::Accuracy]),
        fewest_samples: found.as_ref().and_then(|found| found.critical.samples),
        largest_length: found.as_ref().and_then(|found| found.critical.length),
    })
}
