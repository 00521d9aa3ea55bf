//! Runs of one configuration: every repeat is trained and evaluated, and its noise is decomposed into terms.

mod data;
mod import;
mod instance;
mod kinds;
mod learn;
mod metered;
mod record;
mod rows;
mod seen;
mod statistics;
mod trained;

use std::path::Path;
use std::time::Instant;

pub use data::Split;
pub use import::{Data, Import, names};
pub use instance::{Digests, Inputs, check_digest};
pub use metered::{Progress, Stage, passes, reads};
pub use record::{NoiseIntervals, RunRecord, TestSource, by_seed};
pub use rows::EmbeddingRows;
pub use seen::{Histogram, Seen, SeenExample, SeenToken};
pub use superpose_store::cell::Noise;
pub use trained::{Gradients, Trained};

use crate::excess::Excess;
use crate::memory::readable;
use crate::train::Function;
pub(crate) use import::below;
pub(crate) use instance::{Instance, digest, independent, narrow};
pub(crate) use learn::{early, learn};
pub(crate) use metered::Metered;
pub(crate) use record::majority;
pub(crate) use statistics::{Sums, measure};
use superpose_core::backend::{Backend, Cancelled, DeviceError, Numerics, Real, Solution};
use superpose_core::config::{Config, ConfigError, EarlyRule, Regime};
use superpose_core::early_phase::{EarlyPhase, early_phase};
use superpose_core::evaluate::{self, Evaluation, Look, look};
use superpose_core::model::Model;
use superpose_core::noise::{Budget, logit_budget, score_budget, split_scores};
use superpose_core::random::Stream;
use superpose_core::task::{Drawn, Samples, Stored, Task};
use superpose_core::train::{Diverged, TrainError};
use superpose_core::with_precision;
use superpose_tensors::{Element, Entry, TensorError};

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages explain the fields.
pub enum RunError {
    /// An input tensor is missing or invalid.
    #[error(transparent)]
    Tensors(#[from] TensorError),
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The run does not fit in memory.
    #[error("{}", excess.message(&format!("this needs about {} of memory, and {} are available", readable(*needed), readable(*available))))]
    TooLarge { needed: f64, available: f64, excess: Excess },
    /// A checkpoint has another configuration.
    #[error(
        "{name} = {given}: the checkpoint was made with {saved}; use that value, give only the checkpoint, or give another file"
    )]
    Checkpoint { name: String, given: String, saved: String },
    #[error(
        "{name}: its contents are not those that the checkpoint was made with; give the same tensors, or another file as checkpoint"
    )]
    CheckpointInput { name: String },
    #[error(
        "the checkpoint was made with numerics {saved}, and this run computes with {now}, with which it would continue differently: use the device that made it"
    )]
    CheckpointNumerics { now: Numerics, saved: Numerics },
    #[error(
        "the checkpoint was made with a {function} of the caller, which it does not hold: give the {function} again, in Python"
    )]
    CheckpointFunction { function: Function },
    /// Training diverged.
    #[error(transparent)]
    Diverged(#[from] Diverged),
    /// The early phase overflowed the floating-point type.
    #[error(
        "the trained matrices or their logits are not finite with eta = {eta:e}, gamma = {gamma:e}, eta2 = {eta2:e}: use smaller rates or precision f64"
    )]
    NotFinite { eta: f64, gamma: f64, eta2: f64 },
    /// The device has no result.
    #[error(transparent)]
    Device(DeviceError),
    /// The run does not fit in the memory of the device.
    #[error("{}", excess.message(&format!("this needs about {} of device memory, and {} are free", readable(*needed), readable(*available))))]
    TooLargeForDevice { needed: f64, available: f64, excess: Excess },
    /// The run was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<DeviceError> for RunError {
    fn from(error: DeviceError) -> RunError {
        match error {
            DeviceError::Cancelled(error) => error.into(),
            error => RunError::Device(error),
        }
    }
}

impl From<TrainError> for RunError {
    fn from(error: TrainError) -> RunError {
        match error {
            TrainError::Diverged(error) => error.into(),
            TrainError::Cancelled(error) => error.into(),
            TrainError::Device(error) => error.into(),
        }
    }
}

struct Repeat {
    evaluation: Evaluation,
    trigger_sign: i8,
    gamma: f64,
    eta2: f64,
    noise: Noise,
    train_seconds: f64,
    data_seconds: f64,
    evaluate_seconds: f64,
    look: Option<Look>,
    rows_over_trigger: Option<f64>,
}

/// Runs every repeat of a configuration. The tensors of the first one are written to the file `export`, if there is one.
///
/// # Errors
/// Fails if the configuration has training steps, a number overflows, a file cannot be written or `progress` cancels the run.
pub fn run(
    config: &Config,
    inputs: &Inputs,
    backend: &Backend,
    export: Option<&Path>,
    progress: &dyn Progress,
) -> Result<RunRecord, RunError> {
    let repeats = run_repeats(config, inputs, backend, export, false, progress)?;
    Ok(RunRecord::new(config, inputs, backend.numerics(), &repeats))
}

/// The same without export, and with a sequence and the margins of the first repeat.
///
/// # Errors
/// As for [`run`].
pub fn run_and_look(
    config: &Config,
    inputs: &Inputs,
    backend: &Backend,
    progress: &dyn Progress,
) -> Result<(RunRecord, Seen), RunError> {
    let repeats = run_repeats(config, inputs, backend, None, true, progress)?;
    let record = RunRecord::new(config, inputs, backend.numerics(), &repeats);
    let look = repeats.into_iter().next().and_then(|repeat| repeat.look).unwrap_or_default();
    Ok((record, Seen::new(config, look)))
}

fn run_repeats(
    config: &Config,
    inputs: &Inputs,
    backend: &Backend,
    export: Option<&Path>,
    look: bool,
    progress: &dyn Progress,
) -> Result<Vec<Repeat>, RunError> {
    config.three_steps_only()?;
    let stored = inputs.import.as_ref().is_some_and(|import| import.has_samples());
    crate::memory::check_device(config, stored, backend)?;
    let run = |repeat| {
        let config = config.repeat(repeat);
        let (export, look) = (export.filter(|_| repeat == 0), look && repeat == 0);
        progress.repeat(repeat);
        with_precision!(config.precision, T => run_repeat::<T>(&config, inputs, backend, export, look, progress))
    };
    (0..config.repeats).map(run).collect()
}

/// Trains and evaluates the first repeat without its noise budget, which is what sweeps need.
///
/// # Errors
/// Fails if an input tensor is invalid or a number overflows.
pub fn evaluation(config: &Config, inputs: &Inputs, backend: &Backend) -> Result<Evaluation, RunError> {
    with_precision!(config.precision, T => {
        let instance = Instance::<T>::new(config, inputs, backend)?;
        let learned = learn(config, &instance, &*instance.samples(config), backend, None, false, &mut |_| true)?;
        Ok(learned.evaluation)
    })
}

/// Trains the first repeat and returns the share of right answers to each fact, over `each` test sequences per fact.
///
/// # Errors
/// Fails if the configuration has training steps, or a number overflows.
pub fn recall_by_fact(config: &Config, each: usize, backend: &Backend) -> Result<Vec<f64>, RunError> {
    config.three_steps_only()?;
    with_precision!(config.precision, T => {
        let instance = Instance::<T>::new(config, &Inputs::default(), backend)?;
        let model = Model::new(config, instance.embeddings(config, backend)?);
        let phase = train(config, &model, &*instance.samples(config), backend)?;
        let labels = instance.task.facts();
        let test = Drawn::new(&instance.task, config.seed, Stream::Test, labels.len() * each);
        Ok(evaluate::recall_by_fact(&model, &phase, labels, &test, each, backend)?)
    })
}

fn run_repeat<T: Real + Element>(
    config: &Config,
    inputs: &Inputs,
    backend: &Backend,
    export: Option<&Path>,
    look_too: bool,
    progress: &dyn Progress,
) -> Result<Repeat, RunError> {
    progress.stage(Stage::Drawing);
    let started = Instant::now();
    let instance = Instance::<T>::new(config, inputs, backend)?;
    let set_up = started.elapsed().as_secs_f64();

    let drawn = instance.samples(config);
    let samples = Metered::new(&*drawn, progress);
    progress.stage(Stage::Training);
    let started = Instant::now();
    let task = &instance.task;
    let test = instance.test(config);
    let test = Metered::new(&*test, progress);
    let Solution { phase, frequency, evaluation, train_seconds: trained } =
        early(config, &instance, &samples, &test, backend, progress)?;
    let data = samples.seconds() / backend.threads() as f64;
    let train_seconds = (trained - data).max(0.0);
    // What follows needs few products and runs on the CPU.
    let model = Model::new(config, instance.embeddings(config, backend)?);
    let evaluated = started.elapsed().as_secs_f64() - trained;
    if let Some(path) = export {
        write(path, &model, &phase, &Stored::copy(&*drawn, backend)?)?;
    }
    let started = Instant::now();
    progress.measured(&evaluation);
    let look = look_too.then(|| look(&model, &phase, config.keep, &test, backend)).transpose()?;
    let EarlyPhase { trigger_sign, gamma, eta2, .. } = phase;
    let noise = budget(config, &model, task, phase, &frequency, &samples, &test, backend)?;
    Ok(Repeat {
        evaluation,
        trigger_sign,
        gamma,
        eta2,
        noise,
        train_seconds,
        data_seconds: set_up + data,
        evaluate_seconds: evaluated + started.elapsed().as_secs_f64(),
        look,
        rows_over_trigger: instance.rows_over_trigger(inputs),
    })
}

/// Returns the noise budget of a trained model. It is defined in the infinitesimal regime; for an exact run it is the budget of the
/// infinitesimal limit on the same data. It is empty unless the memory steps are gradient steps and labels depend on one token: only those are sums over facts.
#[allow(clippy::too_many_arguments)]
pub(crate) fn budget<T: Real>(
    config: &Config,
    model: &Model<'_, T>,
    task: &Task,
    phase: EarlyPhase<T>,
    frequency: &[f64],
    samples: &dyn Samples,
    test: &dyn Samples,
    backend: &Backend,
) -> Result<Noise, Cancelled> {
    if config.early_rule != EarlyRule::Gradient || !task.by_token() {
        return Ok(Noise { logits: Budget::default(), scores: Budget::default() });
    }
    let limit = match config.regime {
        Regime::Infinitesimal => phase,
        Regime::Exact => early_phase(&config.limit(), model, samples, backend)?,
    };
    Ok(Noise {
        logits: logit_budget(model, task, &limit, frequency, test, backend)?,
        // The scores of later rounds come from memories under trained attention, which have no such split.
        scores: if config.rounds > 1 || limit.trigger_sign == 0 {
            Budget::default()
        } else {
            score_budget(&split_scores(model, task, &limit, samples, backend)?)
        },
    })
}

pub(crate) fn train<T: Real>(
    config: &Config,
    model: &Model<'_, T>,
    samples: &dyn Samples,
    backend: &Backend,
) -> Result<EarlyPhase<T>, RunError> {
    let phase = early_phase(config, model, samples, backend)?;
    if phase.is_finite() { Ok(phase) } else { Err(not_finite(config, &phase)) }
}

pub(crate) fn not_finite<T>(config: &Config, phase: &EarlyPhase<T>) -> RunError {
    RunError::NotFinite { eta: config.eta, gamma: phase.gamma, eta2: phase.eta2 }
}

fn write<T: Real + Element>(
    path: &Path,
    model: &Model<'_, T>,
    phase: &EarlyPhase<T>,
    samples: &Stored,
) -> Result<(), TensorError> {
    let (dim, p, count) = (model.dim(), model.inputs(), samples.count());
    let e = model.embeddings;
    let entry = |name, shape: &[usize], data: &[T]| T::entry(name, shape, data.to_vec());
    let mut entries = vec![
        entry("z_in", &[model.tokens(), dim], &e.z_in),
        entry("z_out", &[model.labels(), dim], &e.z_out),
        entry("z_trig", &[dim], &e.z_trig),
        entry("z_eos", &[dim], &e.z_eos),
        entry("m1", &[dim, p], &phase.m1),
        entry("w1", &[dim, dim], &phase.w1_matrix(model)),
        entry("m2", &[dim, p], &phase.m2),
    ];
    entries.extend(e.w_in.as_ref().map(|w_in| entry("w_in", &[p, dim], w_in)));
    entries.extend([
        Entry::whole("tokens", &[count, samples.length()], samples.tokens()),
        Entry::whole("position", &[count], samples.position()),
        Entry::whole("labels", &[count], samples.labels()),
    ]);
    superpose_tensors::write(path, &entries)
}
