//! Runs and trained models.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use superpose_core::backend::Backend;
use superpose_core::config::Config as Checked;
use superpose_lab::cell::estimated_seconds;
use superpose_lab::memory;
use superpose_lab::run::{Inputs, reads};

use crate::arrays;
use crate::config::Config;
use crate::record::Record;
use crate::work::{Failure, work};

/// Below this, starting threads takes a good part of what they save. Results do not depend on it.
const QUICK: f64 = 2e-3;

/// Runs that take less are not held against the memory that is free, which takes a while to find out.
const SMALL: f64 = 64e6;

/// A configuration and its tensors, checked and ready to run.
pub struct Job {
    pub config: Checked,
    pub inputs: Inputs,
    pub threads: usize,
    /// Expected time of one thread.
    pub seconds: f64,
}

impl Job {
    pub fn new(
        config: &Config,
        tensors: &Bound<'_, PyDict>,
        threads: Option<i64>,
        keeps: bool,
    ) -> PyResult<Job> {
        let mut settings = config.settings.clone();
        let import = arrays::import(tensors)?;
        let threads = self::threads(threads)?;
        let open = || -> Result<Job, Failure> {
            let mut inputs = Inputs::open(&mut settings, |name| config.gives(name))?;
            if let Some(import) = import {
                let names = import.names().join(", ");
                inputs.bring(import, &mut settings, |name| config.gives(name))?;
                // Says so where the result is printed: this configuration alone does not make it again.
                settings.import = Some(format!("arrays {names}"));
            }
            let config = settings.check()?;
            let stored = keeps || inputs.import.as_ref().is_some_and(|import| import.has_samples());
            if memory::run_bytes(&config, threads, stored, keeps) > SMALL {
                memory::check(&config, threads, stored, keeps, memory::available())?;
            }
            let seconds = estimated_seconds(&config, true) * config.repeats as f64;
            Ok(Job { config, inputs, threads, seconds })
        };
        Ok(open()?)
    }

    /// Threads for what is worth it.
    pub fn backend(&self) -> Result<Backend, Failure> {
        backend(self.threads, self.seconds)
    }
}

/// Threads for work that is expected to take one thread so many seconds.
pub fn backend(threads: usize, seconds: f64) -> Result<Backend, Failure> {
    match seconds < QUICK {
        true => Ok(Backend::single()),
        false => Ok(Backend::cpu(threads)?),
    }
}

/// Cores that this process may use. Asked once: the system takes longer to answer than a tiny run.
static CORES: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

/// So many threads, or one for each core.
pub fn threads(given: Option<i64>) -> Result<usize, Failure> {
    match given {
        None => Ok(*CORES),
        Some(threads @ 1..=1024) => Ok(threads as usize),
        Some(threads) => Err(Failure(format!("threads = {threads}: must be a whole number from 1 to 1024"))),
    }
}

/// Trains and evaluates every repeat: `superpose run`.
#[pyfunction]
pub fn run(
    py: Python<'_>,
    config: &Config,
    tensors: &Bound<'_, PyDict>,
    threads: Option<i64>,
    export: Option<PathBuf>,
    listener: Option<Py<PyAny>>,
) -> PyResult<Record> {
    let job = Job::new(config, tensors, threads, export.is_some())?;
    if let Some(path) = &export {
        // Found now rather than after the training.
        superpose_tensors::target(path).map_err(Failure::from)?;
    }
    let record = work(py, job.seconds, listener, move |watch| {
        watch.begin(reads(&job.config));
        let (config, inputs) = (&job.config, &job.inputs);
        Ok(superpose_lab::run::run(config, inputs, &job.backend()?, export.as_deref(), watch)?)
    })?;
    Ok(Record::new(record, superpose_text::run))
}

/// Seconds of each of so many runs, timed without Python: what a call is compared with in `bench/python_overhead.py`.
#[pyfunction]
pub fn time_runs(py: Python<'_>, config: &Config, count: usize) -> PyResult<Vec<f64>> {
    let job = Job::new(config, &PyDict::new(py), Some(1), false)?;
    work(py, job.seconds * count as f64, None, move |_| {
        let backend = job.backend()?;
        (0..count)
            .map(|_| {
                let started = Instant::now();
                superpose_lab::run::run(&job.config, &job.inputs, &backend, None, &())?;
                Ok(started.elapsed().as_secs_f64())
            })
            .collect()
    })
}
