//! Predictions, plans, thresholds, phase diagrams, inspections and the experiments of report.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use superpose_core::backend::Device;
use superpose_core::config::Settings;
use superpose_lab::cell::Runner;
use superpose_lab::decoders::{self, FirstStep};
use superpose_lab::inspect::{InspectError, SizesOptions, inspect_with_sizes};
use superpose_lab::memory::available;
use superpose_lab::phase::{DEFAULT_REPEATS, Extent, PhaseOptions};
use superpose_lab::plan::{PlanOptions, PlanRecord};
use superpose_lab::store::Store;
use superpose_lab::threshold::{SizeRange, ThresholdOptions};
use superpose_report::{Context, EXPERIMENTS, Finding};
use superpose_tensors::TensorFile;

use crate::arrays;
use crate::config::Config;
use crate::decoder::Decoder;
use crate::given::{self, choice, field, file};
use crate::record::Record;
use crate::run::{device, opened, threads};
use crate::work::{Failure, Watch, work};

/// Work of unknown length: never on the caller's thread.
const LONG: f64 = f64::INFINITY;

/// `superpose predict`
#[pyfunction]
pub fn predict(
    py: Python<'_>,
    config: &Config,
    tensors: &Bound<'_, PyDict>,
    accuracy: &Bound<'_, PyAny>,
) -> PyResult<Record> {
    let ((settings, inputs), accuracy) = (opened(config, tensors)?, field("accuracy", accuracy)?);
    let rows = inputs.statistics;
    let record = work(py, LONG, None, move |_| {
        Ok(superpose_lab::predict::predict_with(&settings.check()?, rows, accuracy)?)
    })?;
    Ok(Record::new(record, superpose_report::predict))
}

/// `superpose plan`
#[pyfunction]
pub fn plan(py: Python<'_>, keys: &Bound<'_, PyDict>) -> PyResult<Record> {
    let options: PlanOptions = given::options(keys)?;
    let request = options.check().map_err(Failure::from)?;
    let plan = work(py, LONG, None, move |_| Ok(superpose_theory::plan::plan(&request)))?;
    let (record, plan) = (Arc::new(PlanRecord::from(&plan)), Arc::new(plan));
    let drawn = Arc::clone(&plan);
    let finding = Finding::of(record, move || superpose_report::plan(&plan));
    Ok(Record(finding.with_figure(move || superpose_report::trade_off(&drawn))))
}

/// A runner that stores results in a file, if given, and stops when the call is cancelled.
pub fn runner<'a>(
    threads: usize,
    device: Option<Arc<dyn Device>>,
    store: Option<&Path>,
    watch: &'a Watch,
) -> Result<Runner<'a>, Failure> {
    let runner = Runner::new(threads).with_memory(available()).with_device(device);
    let runner = runner.with_stop(watch.stop()).with_leave(watch.leave());
    Ok(match store {
        Some(path) => runner.with_results(Store::open(path)?),
        None => runner,
    })
}

/// `superpose threshold`
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn threshold(
    py: Python<'_>,
    config: &Config,
    tensors: &Bound<'_, PyDict>,
    keys: &Bound<'_, PyDict>,
    range: Option<&Bound<'_, PyAny>>,
    store: Option<PathBuf>,
    threads: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
    listener: Option<Py<PyAny>>,
) -> PyResult<Record> {
    file("store", store.as_deref())?;
    ThresholdOptions::check_given(|name| config.gives(name)).map_err(Failure::from)?;
    let range = range.map(|range| given::range("range", range)).transpose()?;
    let options = ThresholdOptions { range, ..given::options(keys)? };
    let (threads, device) = (self::threads(threads)?, self::device(device)?);
    let (settings, inputs) = opened(config, tensors)?;
    let search = options.check(settings, &inputs).map_err(Failure::from)?;
    let max_runs = options.max_runs;
    let record = work(py, LONG, listener, move |watch| {
        let mut runner = runner(threads, device, store.as_deref(), watch)?.with_inputs(inputs.into());
        watch.begin(max_runs as u64);
        watch.say("runs".into());
        Ok(search.search(&mut runner, |done, _| watch.count(done as u64))?)
    })?;
    Ok(Record::with_figure(record, superpose_report::threshold, superpose_report::threshold_figure))
}

/// An axis: what varies, from, to.
type Axis<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

fn extent(name: &str, (size, low, high): &Axis<'_>) -> PyResult<Extent> {
    let range = SizeRange { low: field(name, low)?, high: field(name, high)? };
    Ok(Extent { size: choice(name, size)?, range })
}

/// `superpose phase`
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn phase(
    py: Python<'_>,
    config: &Config,
    tensors: &Bound<'_, PyDict>,
    x: Axis<'_>,
    y: Axis<'_>,
    keys: &Bound<'_, PyDict>,
    store: Option<PathBuf>,
    threads: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
    listener: Option<Py<PyAny>>,
) -> PyResult<Record> {
    file("store", store.as_deref())?;
    let options = PhaseOptions { x: extent("x", &x)?, y: extent("y", &y)?, ..given::options(keys)? };
    let (mut settings, inputs) = opened(config, tensors)?;
    if !config.gives("repeats") {
        settings.repeats = DEFAULT_REPEATS;
    }
    let (threads, device) = (self::threads(threads)?, self::device(device)?);
    let request = options.check(settings, &inputs).map_err(Failure::from)?;
    let record = work(py, LONG, listener, move |watch| {
        let mut runner = runner(threads, device, store.as_deref(), watch)?.with_inputs(inputs.into());
        watch.begin(request.max_cells as u64);
        watch.say("cells".into());
        Ok(request.record(threads, &mut runner, |runs| {
            watch.count((runs / request.repeats) as u64);
        })?)
    })?;
    Ok(Record::with_figure(record, superpose_report::phase, superpose_report::phase_figure))
}

/// The experiment of [`EXPERIMENTS`] with this name, with arrays and a decoder of the caller.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn experiment(
    py: Python<'_>,
    name: &str,
    keys: &Bound<'_, PyDict>,
    tensors: &Bound<'_, PyDict>,
    threads: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
    listener: Option<Py<PyAny>>,
    decoder: Option<Py<PyAny>>,
) -> PyResult<Record> {
    let found = EXPERIMENTS.iter().find(|experiment| experiment.name == name);
    let experiment = found.ok_or_else(|| Failure::new(format!("there is no experiment {name}")))?;
    let (values, threads) = (given::values(keys, &(experiment.settings)())?, self::threads(threads)?);
    let (arrays, device) = (arrays::import(tensors)?, self::device(device)?);
    // A caller's function is called on the caller's thread.
    let seconds = if decoder.is_some() { 0.0 } else { LONG };
    let decoder = decoder.map(|function| Decoder {
        function,
        listener: listener.as_ref().map(|listener| listener.clone_ref(py)),
        error: Mutex::default(),
    });
    let record = work(py, seconds, listener, move |watch| {
        let observe = |done: usize, total: usize, note: String| {
            watch.begin(total as u64);
            watch.say(note);
            watch.count(done as u64);
            decoder.iter().for_each(|decoder| decoder.poll(watch));
        };
        let backend = watch.backend(threads)?.with_device(device);
        let labels = decoder.as_ref().map(|decoder| |step: &FirstStep<'_>| decoder.labels(step, watch));
        let found = (experiment.run)(
            &values,
            Context {
                arrays,
                decoder: labels.as_ref().map(|labels| labels as &decoders::Decoder<'_>),
                ..Context::new(&backend, available(), &observe)
            },
        );
        if let Some(error) = decoder.and_then(|decoder| decoder.error.into_inner().ok().flatten()) {
            return Ok(Err(error));
        }
        Ok(Ok(found.map_err(|error| Failure::of(&*error))?))
    })?;
    Ok(Record(record?))
}

/// `superpose inspect`
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn inspect(
    py: Python<'_>,
    file: PathBuf,
    is_array: bool,
    tensor: Option<String>,
    output_tensor: Option<String>,
    accuracy: &Bound<'_, PyAny>,
    facts: Option<&Bound<'_, PyAny>>,
    length: &Bound<'_, PyAny>,
    trigger: &Bound<'_, PyAny>,
    threads: Option<&Bound<'_, PyAny>>,
    listener: Option<Py<PyAny>>,
) -> PyResult<Record> {
    let (threads, accuracy) = (self::threads(threads)?, field("accuracy", accuracy)?);
    let (length, trigger) = (field("length", length)?, choice("trigger", trigger)?);
    Settings { length, ..Settings::default() }.check().map_err(Failure::from)?;
    let facts = facts.map(|facts| field("facts", facts)).transpose()?;
    let sizes = facts.map(|facts| SizesOptions { facts, length, trigger });
    let record = work(py, LONG, listener, move |watch| {
        let backend = watch.backend(threads)?;
        let file = TensorFile::open(&file)?;
        let mut progress = |done: usize, total: usize| {
            watch.begin(total as u64);
            watch.count(done as u64);
        };
        let (tensor, output) = (tensor.as_deref(), output_tensor.as_deref());
        inspect_with_sizes(&file.tensors(), tensor, output, sizes, accuracy, &backend, &mut progress).map_err(
            |error| match error {
                InspectError::Tensors(error) if !is_array => Failure::from(file.inside(error)),
                other => Failure::from(other),
            },
        )
    })?;
    Ok(Record::new(record, superpose_report::inspect))
}
