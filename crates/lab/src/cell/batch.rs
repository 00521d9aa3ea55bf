//! Cells that a device runs together: they differ in their seeds alone, so that one set of launches serves all of them.

use std::collections::HashMap;
use std::time::Instant;

use superpose_core::Measure;
use superpose_core::backend::{Backend, Device, Measured, Numerics, Real};
use superpose_core::config::{Config, Settings};
use superpose_core::with_precision;

use super::measure::caught;
use super::{CellError, Key, Outcome};
use crate::run::{Inputs, Instance, RunError, independent, not_finite};

/// Whether cells like this one may run together: their device draws all data and returns the measures alone.
pub(super) fn together(config: &Config, inputs: &Inputs, noise: bool) -> bool {
    !noise && config.training.is_none() && independent(config, inputs)
}

/// The largest number of cells like this one that run together: as many as fill the device and need at most `memory` bytes.
pub fn group_size(config: &Config, device: &dyn Device, memory: f64) -> usize {
    device.batch(config).min((memory / device.needs(config, false)) as usize)
}

/// The places of cells that run together, in the order of the first of each group. A group has at most [`group_size`] cells, or one.
pub(super) fn groups<'c>(
    cells: impl Iterator<Item = &'c Config>,
    device: &dyn Device,
    together: impl Fn(&Config) -> bool,
    memory: f64,
) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    // The last group of cells that are equal but for their seeds.
    let mut open: HashMap<Key, usize> = HashMap::new();
    for (place, config) in cells.enumerate() {
        let most = group_size(config, device, memory);
        if most <= 1 || !together(config) {
            groups.push(vec![place]);
            continue;
        }
        let key = Key::new(&Settings { seed: 0, ..Settings::clone(config) }, &Numerics::CPU);
        match open.get(&key).filter(|&&group| groups[group].len() < most) {
            Some(&group) => groups[group].push(place),
            None => {
                open.insert(key, groups.len());
                groups.push(vec![place]);
            }
        }
    }
    groups
}

/// Trains and evaluates cells together on the backend's device. They differ in their seeds alone, and the device draws their data. If
/// that fails, they run one by one.
pub(super) fn measure_batch(cells: &[&Config], backend: &Backend) -> Vec<Result<Outcome, CellError>> {
    let run = || with_precision!(cells[0].precision, T => measure_batch_as::<T>(cells, backend));
    match caught(run) {
        Ok(outcomes) => outcomes.into_iter().map(|outcome| caught(|| outcome)).collect(),
        Err(error @ CellError::Stopped) => vec![Err(error); cells.len()],
        Err(error) if cells.len() == 1 => vec![Err(error)],
        // The others may be without fault.
        Err(_) => cells.iter().flat_map(|&cell| measure_batch(&[cell], backend)).collect(),
    }
}

fn measure_batch_as<T: Real>(
    cells: &[&Config],
    backend: &Backend,
) -> Result<Vec<Result<Outcome, RunError>>, RunError> {
    let (started, observe) = (Instant::now(), |_: usize| {});
    let device = backend.device().expect("cells are batched on devices alone");
    let instances = cells.iter().map(|cell| Instance::<T>::new(cell, &Inputs::default(), backend));
    let instances = instances.collect::<Result<Vec<_>, _>>()?;
    let problems =
        instances.iter().zip(cells).map(|(instance, cell)| instance.problem(cell, None, backend, &observe));
    let measured = T::solver(&**device).measure(&problems.collect::<Vec<_>>())?;
    let seconds = started.elapsed().as_secs_f64() / cells.len() as f64;
    let outcome = |(cell, Measured { phase, evaluation, finite }): (&&Config, Measured<T>)| {
        if !finite || !phase.is_finite() || !evaluation[Measure::Margin].mean().is_finite() {
            return Err(not_finite(cell, &phase));
        }
        Ok(Outcome { seconds, ..Outcome::new(&evaluation, phase.trigger_sign) })
    };
    Ok(cells.iter().zip(measured).map(outcome).collect())
}
