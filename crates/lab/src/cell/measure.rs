//! Running one cell.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use superpose_core::backend::{Backend, Real};
use superpose_core::config::{Config, Precision};
use superpose_core::early_phase::fact_frequency;
use superpose_core::evaluate::evaluate;
use superpose_core::model::Model;
use superpose_core::random::Stream;
use superpose_core::task::Drawn;

use super::{CellError, Outcome, check};
use crate::run::{Inputs, Instance, OutputRows, RunError, budget, not_finite, train};

/// Trains and evaluates the cell. With `noise` the noise budget is measured, too, which takes about as long again.
/// Whatever goes wrong inside is the cell's failure and nobody else's.
pub fn measure(config: &Config, noise: bool, backend: &Backend) -> Result<Outcome, CellError> {
    check(config)?;
    let run = || match config.precision {
        Precision::F32 => measure_as::<f32>(config, noise, backend),
        Precision::F64 => measure_as::<f64>(config, noise, backend),
    };
    let reason = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(outcome)) => return Ok(outcome),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            format!("a fault of the engine: {text}")
        }
    };
    Err(CellError::Failed { reason })
}

fn measure_as<T: Real>(config: &Config, noise: bool, backend: &Backend) -> Result<Outcome, RunError> {
    let started = Instant::now();
    let output = config.output_embedding.as_ref().map(|_| OutputRows::Tied);
    let instance = Instance::<T>::new(config, &Inputs { output, ..Inputs::default() }, backend)?;
    let (model, task) = (Model::new(config, &instance.embeddings), &instance.task);
    let samples = instance.samples(config);
    let phase = train(config, &model, &*samples, backend)?;
    let frequency = fact_frequency(&*samples, config.vocab, backend);
    let test = Drawn::new(task, config.seed, Stream::Test, config.test_samples);
    let evaluation = evaluate(config, &model, task, &phase, &frequency, &test, backend);
    if !evaluation.margin.mean().is_finite() {
        return Err(not_finite(config, &phase));
    }
    let trigger_sign = phase.trigger_sign;
    let noise = noise.then(|| budget(config, &model, task, phase, &frequency, &*samples, &test, backend));
    Ok(Outcome {
        accuracy: evaluation.accuracy.into(),
        memory_accuracy: evaluation.memory_accuracy.into(),
        one_step_accuracy: evaluation.one_step_accuracy.into(),
        lock_rate: evaluation.lock_rate.into(),
        attention_mass: evaluation.attention_mass.into(),
        margin: evaluation.margin.into(),
        trigger_sign,
        noise,
        seconds: started.elapsed().as_secs_f64(),
    })
}
