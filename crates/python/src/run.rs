//! Runs and trained models.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use superpose_core::backend::{Backend, Device};
use superpose_core::config::{Config as Checked, Settings};
use superpose_cuda::Choice;
use superpose_lab::cell::estimated_seconds;
use superpose_lab::memory;
use superpose_lab::run::{Import, Inputs, reads};

use crate::arrays;
use crate::config::Config;
use crate::given::{Value, put, wrong};
use crate::record::Record;
use crate::work::{Failure, Watch, work};

/// Work expected to take fewer seconds uses one thread. Results do not depend on it.
const QUICK: f64 = 2e-3;

/// Runs below this many bytes are not compared with free memory, because querying it is slow.
pub const SMALL: f64 = 64e6;

/// A configuration and its tensors, checked and ready to run.
pub struct Job {
    pub config: Checked,
    pub inputs: Inputs,
    pub threads: usize,
    /// The device that it runs on; absent: the CPU.
    pub device: Option<Arc<dyn Device>>,
    /// Expected time of one thread.
    pub seconds: f64,
}

impl Job {
    pub fn new(
        config: &Config,
        tensors: &Bound<'_, PyDict>,
        threads: Option<&Bound<'_, PyAny>>,
        keeps: bool,
    ) -> PyResult<Job> {
        let mut settings = config.settings.clone();
        let threads = self::threads(threads)?;
        // Shapes decide the sizes, and sizes the memory: entries are read when there is room for them.
        let shapes = arrays::shapes(tensors)?;
        let brings = shapes.is_some();
        let open = || -> Result<Job, Failure> {
            let mut inputs = Inputs::open(&mut settings, |name| config.gives(name))?;
            if let Some(import) = shapes {
                inputs.add_arrays(import, &mut settings, |name| config.gives(name))?;
            }
            let config = settings.check()?;
            let stored = keeps || inputs.import.as_ref().is_some_and(Import::has_samples);
            let brought = inputs.import.as_ref().map_or(0.0, Import::float_bytes);
            let bytes = |config: &_| memory::run_bytes(config, threads, stored, keeps) + brought;
            if bytes(&config) > SMALL {
                memory::check(&config, memory::available(), bytes)?;
            }
            let seconds = estimated_seconds(&config, true) * config.repeats as f64;
            Ok(Job { config, inputs, threads, device: None, seconds })
        };
        let mut job = open()?;
        if brings {
            job.inputs.import = arrays::import(tensors)?;
        }
        Ok(job)
    }

    /// A backend that the caller can cancel; single-threaded for short work.
    pub fn backend(&self, watch: &Watch) -> Result<Backend, Failure> {
        Ok(backend(self.threads, self.seconds, watch)?.with_device(self.device.clone()))
    }
}

/// The settings and the tensors of many runs: those of files and arrays, with their digest.
pub fn opened(config: &Config, tensors: &Bound<'_, PyDict>) -> PyResult<(Settings, Inputs)> {
    let (mut settings, import) = (config.settings.clone(), arrays::import(tensors)?);
    let open = || -> Result<Inputs, Failure> {
        let mut inputs = Inputs::open_with_digest(&mut settings, import, |name| config.gives(name))?;
        inputs.measure(&Backend::single())?;
        Ok(inputs)
    };
    let inputs = open()?;
    Ok((settings, inputs))
}

/// A backend that the caller can cancel; single-threaded for short work, by its expected `seconds` on one thread.
pub fn backend(threads: usize, seconds: f64, watch: &Watch) -> Result<Backend, Failure> {
    match seconds < QUICK {
        true => Ok(Backend::single().with_cancel(watch.cancel_token())),
        false => watch.backend(threads),
    }
}

/// The threads that this process may use. Asked once: the system takes longer to answer than a tiny run.
static THREADS: LazyLock<usize> = LazyLock::new(|| memory::threads(None).unwrap_or(1));

/// The number of threads; by default one per core.
pub fn threads(given: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
    match given {
        None => Ok(*THREADS),
        Some(given) => {
            let count = put("threads", given, |value| match value {
                Value::Count(count) => Ok(*count),
                _ => Err(memory::ALLOWED_THREADS.into()),
            })?;
            memory::threads(Some(count)).map_err(|allowed| wrong("threads", &count.to_string(), &allowed))
        }
    }
}

/// The device of a keyword; absent: the CPU.
pub fn device(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Arc<dyn Device>>> {
    let Some(given) = given else { return Ok(None) };
    let choice: Choice = put("device", given, |value| match value {
        Value::Text(word) => word.parse(),
        _ => Choice::from_str(""),
    })?;
    Ok(choice.open().map_err(Failure::from)?)
}

/// Trains and evaluates every repeat: `superpose run`.
#[pyfunction]
pub fn run(
    py: Python<'_>,
    config: &Config,
    tensors: &Bound<'_, PyDict>,
    threads: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
    export: Option<PathBuf>,
    listener: Option<Py<PyAny>>,
) -> PyResult<Record> {
    let job = Job::new(config, tensors, threads, export.is_some())?;
    let job = Job { device: self::device(device)?, ..job };
    if let Some(path) = &export {
        // Found now rather than after the training.
        superpose_tensors::target(path).map_err(Failure::from)?;
    }
    let record = work(py, job.seconds, listener, move |watch| {
        watch.begin(reads(&job.config));
        let (config, inputs) = (&job.config, &job.inputs);
        let found = superpose_lab::run::run(config, inputs, &job.backend(watch)?, export.as_deref(), watch)?;
        watch.complete();
        Ok(found)
    })?;
    Ok(Record::with_figure(record, superpose_report::run, superpose_report::run_figure))
}

/// Seconds of each of so many runs, timed without Python: what a call is compared with in `bench/python_overhead.py`.
#[pyfunction]
pub fn time_runs(py: Python<'_>, config: &Config, count: usize) -> PyResult<Vec<f64>> {
    let job = Job::new(config, &PyDict::new(py), None, false)?;
    let job = Job { threads: 1, ..job };
    work(py, job.seconds * count as f64, None, move |watch| {
        let backend = job.backend(watch)?;
        (0..count)
            .map(|_| {
                let started = Instant::now();
                superpose_lab::run::run(&job.config, &job.inputs, &backend, None, &())?;
                Ok(started.elapsed().as_secs_f64())
            })
            .collect()
    })
}
