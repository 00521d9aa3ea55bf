//! `superpose train`: training for any number of steps.

use std::path::PathBuf;

use numpy::Element;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use superpose_core::Measure;
use superpose_core::backend::Real;
use superpose_core::train::{Network as Trained, Tensor, TrajectoryPoint};
use superpose_lab::cell::check as check_cell;
use superpose_lab::store::Store;
use superpose_lab::train::{AnyNetwork, Checkpoint, Finish, Observer};

use crate::arrays::view;
use crate::config::Config;
use crate::given::file;
use crate::record::Record;
use crate::run::Job;
use crate::work::{Failure, Watch, work};

/// A network as it was trained.
#[pyclass(frozen, module = "superpose._engine")]
pub struct Network(AnyNetwork);

#[pymethods]
impl Network {
    /// Names of its tensors, those of a checkpoint, trained or not.
    fn names(&self) -> Vec<&'static str> {
        match &self.0 {
            AnyNetwork::F32(network) => names(network),
            AnyNetwork::F64(network) => names(network),
        }
    }

    /// A tensor by its name.
    fn tensor<'py>(this: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match &this.get().0 {
            AnyNetwork::F32(network) => tensor(this, network, name),
            AnyNetwork::F64(network) => tensor(this, network, name),
        }
    }
}

fn names<T: Real>(network: &Trained<T>) -> Vec<&'static str> {
    let there = Tensor::ALL.iter().filter(|&&tensor| !network.tensor(tensor).is_empty());
    there.map(|tensor| tensor.word()).collect()
}

fn tensor<'py, T: Real + Element>(
    this: &Bound<'py, Network>,
    network: &Trained<T>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let tensor: Tensor = name.parse().map_err(|allowed| Failure(format!("tensor {name}: {allowed}")))?;
    let is_vector = matches!(tensor, Tensor::ZTrig | Tensor::ZEos);
    let columns = (!is_vector).then(|| network.columns(tensor));
    Ok(view(this.as_any(), network.tensor(tensor), columns)?.into_any())
}

/// `superpose train`. Where nothing but a checkpoint is given, its configuration is the one to train.
#[pyfunction]
pub fn train(
    py: Python<'_>,
    config: &Config,
    tensors: &Bound<'_, PyDict>,
    checkpoint: Option<PathBuf>,
    store: Option<PathBuf>,
    threads: Option<&Bound<'_, PyAny>>,
    listener: Option<Py<PyAny>>,
) -> PyResult<(Record, Network)> {
    file("checkpoint", checkpoint.as_deref())?;
    file("store", store.as_deref())?;
    let there = checkpoint.as_deref().filter(|path| path.exists());
    let saved = there.map(Checkpoint::open).transpose().map_err(|error| about("checkpoint", error))?;
    let job = match &saved {
        Some(saved) if config.is_empty() => Job::new(&continued(saved, tensors)?, tensors, threads, false)?,
        _ => Job::new(config, tensors, threads, false)?,
    };
    if let Some(saved) = &saved {
        saved.check(&job.config).map_err(Failure::from)?;
    }
    if let Some(path) = &checkpoint {
        // Found now rather than after the training.
        superpose_tensors::target(path).map_err(|error| about("checkpoint", error))?;
    }
    if store.is_some() {
        check_cell(&job.config).map_err(Failure::from)?;
    }
    let (record, network) = work(py, f64::INFINITY, listener, move |watch| {
        let mut store = store.as_deref().map(Store::open).transpose()?;
        let (config, to) = (&job.config, checkpoint.as_deref());
        let begun = saved.as_ref().map_or(0, |saved| saved.counters.step);
        let steps = config.training.as_ref().map_or(0, |training| training.steps);
        watch.begin(steps.saturating_sub(begun) as u64);
        let mut told = Told { watch, saves: to.is_some() };
        // It saves how far it is before it stops.
        let backend = watch.patient_backend(job.threads)?;
        let finish =
            superpose_lab::train::train(config, &job.inputs, saved.as_ref(), to, &backend, &mut told)?;
        let Finish::Done(record, network) = finish else { return Err(Failure("stopped".into())) };
        if let Some(store) = &mut store {
            record.keep(config, &backend.numerics(), store)?;
        }
        Ok((record, network))
    })?;
    Ok((Record::new(*record, superpose_report::train), Network(*network)))
}

fn about(name: &str, error: impl std::error::Error) -> Failure {
    Failure(format!("{name}: {}", Failure::from(error).0))
}

/// The configuration of a checkpoint. Checkpoints do not contain imported arrays, so the caller must pass them again.
fn continued(saved: &Checkpoint, tensors: &Bound<'_, PyDict>) -> Result<Config, Failure> {
    let mut settings = saved.settings.clone();
    match &settings.import {
        Some(import) if import.starts_with("arrays ") && tensors.is_empty() => Err(Failure(format!(
            "import = {import}: the checkpoint was made with these, and does not hold them; give them again"
        ))),
        _ => {
            settings.import = settings.import.filter(|_| tensors.is_empty());
            Ok(Config::of(settings))
        }
    }
}

/// Reports steps and the latest trajectory point.
struct Told<'a> {
    watch: &'a Watch,
    saves: bool,
}

impl Observer for Told<'_> {
    fn step(&mut self, _: usize, _: usize) -> bool {
        self.watch.advance(1);
        self.watch.will_save(self.saves);
        !self.watch.cancel_token().is_cancelled()
    }

    fn point(&mut self, point: &TrajectoryPoint) {
        self.watch.say(format!("loss {:.4}, accuracy {:.4}", point.loss, point.measures[Measure::Accuracy]));
        self.watch.will_save(self.saves);
    }
}
