//! Sequences to train on and to test on: those that a configuration draws, and files of them.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use superpose_core::task::Samples;
use superpose_lab::run::Split;
use superpose_lab::train::samples;
use superpose_tensors::{Entry, TensorFile};

use crate::arrays::{indices, whole};
use crate::config::Config;
use crate::run::{Job, threads};
use crate::work::{Failure, work};

/// The samples of a job: tokens, positions and labels.
pub fn sequences<'py>(
    py: Python<'py>,
    job: &Arc<Job>,
    split: Split,
    threads: usize,
) -> PyResult<Bound<'py, PyTuple>> {
    let job = Arc::clone(job);
    let stored = work(py, job.seconds, None, move |watch| {
        Ok(samples(&job.config, &job.inputs, split, &watch.backend(threads)?)?)
    })?;
    let tokens = indices(py, stored.tokens(), Some(stored.length()))?;
    (tokens, indices(py, stored.position(), None)?, indices(py, stored.labels(), None)?).into_pyobject(py)
}

/// The training and the test samples of a configuration.
#[pyfunction]
pub fn draw_task<'py>(
    py: Python<'py>,
    config: &Config,
    tensors: &Bound<'py, PyDict>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyTuple>)> {
    let (job, threads) = (Arc::new(Job::new(config, tensors, threads, true)?), self::threads(threads)?);
    Ok((sequences(py, &job, Split::Train, threads)?, sequences(py, &job, Split::Test, threads)?))
}

/// The tensors of whole numbers of a safetensors file by these names.
#[pyfunction]
pub fn read_sequences<'py>(
    py: Python<'py>,
    file: PathBuf,
    names: Vec<String>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let file = TensorFile::open(&file).map_err(Failure::from)?;
    let read = |name: String| {
        let tensor = file.tensors().whole(&name).map_err(|error| Failure::from(file.inside(error)))?;
        let columns = (tensor.shape.len() == 2).then(|| tensor.shape[1]);
        indices(py, &tensor.data, columns)
    };
    names.into_iter().map(read).collect()
}

/// Writes arrays of whole numbers to a safetensors file.
#[pyfunction]
pub fn write_sequences(file: PathBuf, arrays: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<()> {
    let tensors = arrays.iter().map(|(name, array)| whole(name, array)).collect::<Result<Vec<_>, _>>()?;
    let entries: Vec<Entry<'_>> =
        tensors.iter().map(|tensor| Entry::whole(&tensor.name, &tensor.shape, &tensor.data)).collect();
    superpose_tensors::write(&file, &entries).map_err(|error| Failure::from(error).into())
}
