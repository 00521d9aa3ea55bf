//! `superpose train`: training for any number of steps.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use superpose_core::Measure;
use superpose_core::train::TrajectoryPoint;
use superpose_lab::cell::check as check_cell;
use superpose_lab::store::Store;
use superpose_lab::train::{AnyProposal, AnyScored, Checkpoint, Finish, Function, Observer};

use crate::config::Config;
use crate::given::file;
use crate::hook::{Hook, Loss};
use crate::network::Network;
use crate::record::Record;
use crate::run::{Job, device};
use crate::work::{Failure, Watch, work};

/// `superpose train`. Where nothing but a checkpoint is given, its configuration is the one to train.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn train(
    py: Python<'_>,
    config: &Config,
    tensors: &Bound<'_, PyDict>,
    checkpoint: Option<PathBuf>,
    store: Option<PathBuf>,
    threads: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
    listener: Option<Py<PyAny>>,
    hook: Option<Py<PyAny>>,
    loss: Option<Py<PyAny>>,
) -> PyResult<(Record, Network)> {
    file("checkpoint", checkpoint.as_deref())?;
    file("store", store.as_deref())?;
    let there = checkpoint.as_deref().filter(|path| path.exists());
    if let Some(path) = checkpoint.as_deref().filter(|path| config.is_empty() && !path.exists()) {
        let error = std::io::Error::from(std::io::ErrorKind::NotFound);
        let error = superpose_lab::store::StoreError::io(path, error);
        return Err(about("checkpoint", error).into());
    }
    let saved = there.map(Checkpoint::open).transpose().map_err(|error| about("checkpoint", error))?;
    let job = match &saved {
        Some(saved) if config.is_empty() => Job::new(&continued(saved, tensors)?, tensors, threads, false)?,
        _ => Job::new(config, tensors, threads, false)?,
    };
    let job = Job { device: self::device(device)?, ..job };
    if let Some(saved) = &saved {
        saved.check(&job.config).map_err(Failure::from)?;
    }
    if let Some(path) = &checkpoint {
        // Found now rather than after the training.
        superpose_tensors::target(path).map_err(|error| about("checkpoint", error))?;
    }
    let calls_python = hook.is_some() || loss.is_some();
    if store.is_some() {
        if calls_python {
            return Err(Failure::new(
                "store is given together with a function: a store holds what a configuration alone decides",
            )
            .into());
        }
        check_cell(&job.config).map_err(Failure::from)?;
    }
    // A caller's functions are called on the caller's thread.
    let seconds = if calls_python { 0.0 } else { f64::INFINITY };
    let own = calls_python.then(|| listener.as_ref().map(|listener| listener.clone_ref(py))).flatten();
    let found = work(py, seconds, listener, move |watch| {
        let mut store = store.as_deref().map(Store::open).transpose()?;
        let (config, to) = (&job.config, checkpoint.as_deref());
        let begun = saved.as_ref().map_or(0, |saved| saved.counters.step);
        let steps = config.training.as_ref().map_or(0, |training| training.steps);
        watch.begin((config.repeats * steps.saturating_sub(begun)) as u64);
        let hook = Hook { hook, loss: loss.map(Loss), listener: own, error: None };
        let mut told = Told { watch, saves: to.is_some(), steps: 0, hook };
        // It saves how far it is before it stops.
        let backend = watch.patient_backend(job.threads)?.with_device(job.device.clone());
        let finish =
            superpose_lab::train::train(config, &job.inputs, saved.as_ref(), to, &backend, &mut told);
        if let Some(error) = told.hook.error {
            return Ok(Err(error));
        }
        let Finish::Done(record, state) = finish? else { return Err(Failure::new("stopped")) };
        if let Some(store) = &mut store {
            record.keep(config, &backend.numerics(), store)?;
        }
        Ok(Ok((record, Network { state: *state, job: Arc::new(Job { device: None, ..job }) })))
    })?;
    let (record, network) = found?;
    Ok((Record::with_figure(*record, superpose_report::train, superpose_report::trajectory), network))
}

fn about(name: &str, error: impl std::error::Error + 'static) -> Failure {
    let failure = Failure::from(error);
    Failure { text: format!("{name}: {}", failure.text), ..failure }
}

/// The configuration of a checkpoint. Checkpoints do not contain imported arrays, so the caller must pass them again.
fn continued(saved: &Checkpoint, tensors: &Bound<'_, PyDict>) -> Result<Config, Failure> {
    let mut settings = saved.settings.clone();
    match &settings.import {
        Some(import) if import.starts_with("arrays ") && tensors.is_empty() => Err(Failure::new(format!(
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
    /// Steps of this call.
    steps: u64,
    hook: Hook,
}

impl Observer for Told<'_> {
    fn step(&mut self, _: usize, _: usize) -> bool {
        self.steps += 1;
        self.watch.count(self.steps);
        self.watch.will_save(self.saves);
        !self.watch.cancel_token().is_cancelled()
    }

    fn point(&mut self, point: &TrajectoryPoint) {
        self.watch.say(format!("loss {:.4}, accuracy {:.4}", point.loss, point.measures[Measure::Accuracy]));
        self.watch.will_save(self.saves);
    }

    fn proposal(&mut self, proposal: AnyProposal<'_, '_>) -> bool {
        self.hook.proposal(proposal, self.watch)
    }

    fn functions(&self) -> Vec<Function> {
        let given = [(Function::Hook, self.hook.hook.is_some()), (Function::Loss, self.hook.loss.is_some())];
        given.into_iter().filter(|(_, given)| *given).map(|(function, _)| function).collect()
    }

    fn scored(&mut self, scored: AnyScored<'_, '_>) -> bool {
        self.hook.scored(scored)
    }
}
