//! The training thread: takes the oldest queued run, one after another.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use superpose_core::backend::Backend;
use superpose_core::config::Config;
use superpose_lab::predict::predict;
use superpose_lab::run::{Inputs, RunError, run_and_look};

use super::gauge::Gauge;
use super::{RunResult, RunState, Runs};

/// Accuracy of the critical values beside a run.
const TARGET: f64 = 0.5;

/// Trains until the server shuts down.
pub fn work(runs: &Runs) {
    // When threads cannot be started one is enough: results have the same bits.
    let backend = Backend::cpu(runs.threads).unwrap_or_else(|_| Backend::single());
    let backend = backend.with_device(runs.device.clone());
    while let Some((id, config, gauge)) = next(runs) {
        let trained = catch_unwind(AssertUnwindSafe(|| {
            train(&config, &gauge, &backend.with_cancel(gauge.cancel.clone()))
        }));
        let mut state = runs.lock();
        let Some(run) = state.runs.get_mut(&id) else { continue };
        if run.state == RunState::Running {
            let late = "it took far longer than estimated and was stopped";
            let (state, error) = match trained {
                Ok(Ok(outcome)) => {
                    run.outcome = Some(Arc::new(outcome));
                    (RunState::Done, None)
                }
                Ok(Err(_)) if gauge.late() => (RunState::Failed, Some(late.into())),
                Ok(Err(RunError::Cancelled(_))) => (RunState::Cancelled, None),
                Ok(Err(error)) => (RunState::Failed, Some(error.to_string())),
                Err(_) => (RunState::Failed, Some("internal error".into())),
            };
            run.error = error;
            run.end(state);
        }
        runs.changed(&mut state, id);
    }
}

/// Waits for a queued run; `None` when the server shuts down.
fn next(runs: &Runs) -> Option<(u64, Config, Arc<Gauge>)> {
    let mut state = runs.lock();
    loop {
        if state.closed {
            return None;
        }
        let queued = state.runs.iter_mut().find(|(_, run)| run.state == RunState::Queued);
        if let Some((&id, run)) = queued {
            run.state = RunState::Running;
            run.started = Some(Instant::now());
            let (config, gauge) = (run.config.clone(), Arc::clone(&run.gauge));
            runs.changed(&mut state, id);
            return Some((id, config, gauge));
        }
        state = runs.work.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

fn train(config: &Config, gauge: &Gauge, backend: &Backend) -> Result<RunResult, RunError> {
    let mut settings = (**config).clone();
    let inputs = Inputs::open(&mut settings, |_| true)?;
    let (record, seen) = run_and_look(config, &inputs, backend, gauge)?;
    let prediction = predict(config, TARGET)?;
    Ok(RunResult { record, prediction, seen })
}
