//! Running one cell.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use superpose_core::backend::{Backend, Real};
use superpose_core::config::Config;
use superpose_core::model::Model;
use superpose_core::with_precision;

use super::{CellError, Outcome, check, check_no_files};
use crate::run::{Inputs, Instance, RunError, budget, learn};

/// Trains and evaluates the cell. With `noise` the noise budget is measured, too, which takes about as long again. The cell takes
/// no files.
///
/// # Errors
/// Errors and panics inside are the cell's failure; a cancelled backend leaves the cell undone.
pub fn measure(config: &Config, noise: bool, backend: &Backend) -> Result<Outcome, CellError> {
    check_no_files(config)?;
    measure_with(config, &Inputs::default(), noise, backend)
}

/// The same with the tensors that the configuration names.
///
/// # Errors
/// As for [`measure`].
pub fn measure_with(
    config: &Config,
    inputs: &Inputs,
    noise: bool,
    backend: &Backend,
) -> Result<Outcome, CellError> {
    check(config)?;
    let run = || with_precision!(config.precision, T => measure_as::<T>(config, inputs, noise, backend));
    caught(run)
}

/// A result with errors and panics as those of a cell.
pub(super) fn caught<R>(run: impl FnOnce() -> Result<R, RunError>) -> Result<R, CellError> {
    let reason = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(result)) => return Ok(result),
        Ok(Err(RunError::Cancelled(_))) => return Err(CellError::Stopped),
        Ok(Err(RunError::Device(error))) => return Err(CellError::Device(error)),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            format!("internal error: {text}")
        }
    };
    Err(CellError::Failed { reason })
}

fn measure_as<T: Real>(
    config: &Config,
    inputs: &Inputs,
    noise: bool,
    backend: &Backend,
) -> Result<Outcome, RunError> {
    let started = Instant::now();
    let instance = Instance::<T>::new(config, inputs, backend)?;
    let samples = instance.samples(config);
    let learned = learn(config, &instance, &*samples, backend, None, false, &mut |_| true)?;
    let mut outcome = Outcome::new(&learned.evaluation, learned.phase.trigger_sign);
    // The budget is the early phase's, also of a model that was trained after it.
    if noise {
        let (model, task) = (Model::new(config, instance.embeddings(config, backend)?), &instance.task);
        let test = instance.test(config);
        let (phase, frequency) = (learned.phase, &learned.frequency);
        outcome.noise = Some(budget(config, &model, task, phase, frequency, &*samples, &*test, backend)?);
    }
    outcome.seconds = started.elapsed().as_secs_f64();
    Ok(outcome)
}
