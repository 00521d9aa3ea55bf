//! Estimates of the RAM of a run, so that a run that does not fit is rejected before it starts.

use std::sync::Arc;

use superpose_core::backend::{Backend, DeviceError, SUMS};
use superpose_core::config::{Config, EarlyRule, Embedding, Positions, Regime};
use superpose_core::model::block_rows;
use superpose_core::with_precision;
use sysinfo::System;

use crate::excess::Excess;
use crate::run::RunError;

/// Returns an estimate of the peak memory of a run in bytes, slightly too high: what is allocated throughout, plus the largest
/// addition of any phase. It is a float so that very large sizes do not overflow.
pub fn run_bytes(config: &Config, threads: usize, stored: bool, export: bool) -> f64 {
    let real = with_precision!(config.precision, T => size_of::<T>()) as f64;
    let (n, l) = (config.samples as f64, config.length as f64);
    let (d, p) = (config.dim as f64, config.inputs() as f64);
    let (tokens, labels) = (config.token_count() as f64, config.label_count() as f64);
    let (vocab, width) = (config.vocab as f64, config.width.map_or(0.0, |width| width as f64));
    let tasks = SUMS as f64;
    let threads = (threads as f64).min(tasks);

    let embeddings = (tokens + labels + width) * d * real;
    // m1, m2 and those of the limit; facts, frequencies, probabilities; the imported dataset.
    let dataset = if stored { n * (8.0 * l + 24.0) } else { 0.0 };
    let throughout = embeddings + 4.0 * d * p * real + 40.0 * tokens + dataset;

    // A block of 128 to 512 samples per thread: tokens, weights, dots; heads and features; logits.
    let rows = block_rows(config.label_count().max(config.inputs()), config.length) as f64;
    let block = rows * (l * (8.0 + 2.0 * real) + (labels + 4.0 * p + 4.0 * d) * real);
    let centred = labels * d * real;
    let sums = (tasks + 2.0) * d * p * 8.0 + threads * d * p * real;
    let index = 12.0 * n + 16.0 * labels;
    let tables = 64.0 * tokens * (8.0 + real) + threads * 16.0 * tokens;

    // The iterates of a polar factor with their Gram matrix, or both factors of the Hessian with sums by task, in 64 bits.
    let small = d.min(p);
    let rule = match config.early_rule {
        EarlyRule::Gradient | EarlyRule::Sign => 0.0,
        EarlyRule::Muon => (2.0 * d * p + small * small) * 8.0,
        EarlyRule::Newton => {
            let moment = (tasks + 2.0) * p * p * 8.0 + threads * p * p * real;
            moment + (2.0 * d * p + 2.0 * d * d + 2.0 * labels * d) * 8.0
        }
    };

    // Groups of step 3: sums of a piece and of up to two blocks of groups, features that wait and those of tokens alone.
    let grouped = match config.regime {
        Regime::Exact => threads * (d * p * 8.0 + 2.0 * rows * (p * 8.0 + (d + 3.0 * p) * real)),
        Regime::Infinitesimal => 0.0,
    };

    let orthonormal = config.embedding.kind() == Embedding::Orthonormal;
    let draw = if orthonormal { (tokens + labels) * d * 8.0 } else { 0.0 };
    let train = centred * 2.0
        + labels * p * real
        + sums
        + index
        + threads * (block + tables)
        + tasks * tokens * 8.0
        + grouped
        + rule;
    let evaluate =
        centred + labels * p * real + sums + rule + threads * block + 24.0 * config.test_samples as f64;
    let at_once = 32.0 * (vocab * (16.0 + 5.0 * real) + 12.0 * labels * real);
    let budget = centred + vocab * d * real + labels * p * real + threads * (at_once + block);
    let written =
        if export { embeddings + 2.0 * d * p * real + d * d * real + n * (12.0 * l + 32.0) } else { 0.0 };
    // The network, its gradients by task and the optimiser's moments.
    let training = config.training.as_ref().map_or(0.0, |training| {
        let h = training.heads as f64;
        let taught = if training.train_embeddings { (tokens + labels) * d } else { 0.0 };
        let first = if training.train_first_layer { width * d } else { 0.0 };
        let trained = (h * d * (p + d) + taught + first) * (2.0 * real + 24.0 + (tasks + 2.0) * 8.0);
        let rotary = training.positions == Positions::Rotary;
        let scores = h * tokens * if rotary { l } else { 1.0 } * (real + tasks * 8.0);
        embeddings + trained + scores + threads * h * block + 8.0 * n
    });
    throughout + [draw, train, evaluate, budget, written, training].into_iter().fold(0.0, f64::max)
}

/// Fails if a run needs more memory than is available; `bytes` estimates the memory of a configuration.
///
/// # Errors
/// The error names the size to reduce.
pub fn check(config: &Config, available: f64, bytes: impl Fn(&Config) -> f64) -> Result<(), RunError> {
    let needed = bytes(config);
    if needed <= available {
        return Ok(());
    }
    Err(RunError::TooLarge { needed, available, excess: Excess::find(config, available, bytes) })
}

/// Fails if the backend's device cannot run a configuration, or has less memory free than it needs.
///
/// # Errors
/// The error names the size to reduce, and has both figures of memory.
pub fn check_device(config: &Config, stored: bool, backend: &Backend) -> Result<(), RunError> {
    let Some(device) = backend.device() else { return Ok(()) };
    device.check(config)?;
    let (needed, available) = (device.needs(config, stored), device.available()?);
    if needed <= available {
        return Ok(());
    }
    let excess = Excess::find(config, available, |config| device.needs(config, stored));
    Err(RunError::TooLargeForDevice { needed, available, excess })
}

/// Returns how many jobs that need so many bytes each fit side by side, at least 1 and at most `most`.
pub fn side_by_side(needed: f64, available: f64, most: usize) -> usize {
    ((available / needed) as usize).clamp(1, most.max(1))
}

/// Returns the backend with as many of its threads as jobs of so many bytes fit on its device side by side.
///
/// # Errors
/// The device does not say how much memory is free.
pub fn backend_for(needed: f64, backend: &Backend) -> Result<Backend, DeviceError> {
    let Some(device) = backend.device() else { return Ok(backend.clone()) };
    let fit = side_by_side(needed, device.available()?, backend.threads());
    if fit == backend.threads() {
        return Ok(backend.clone());
    }
    let fewer = Backend::cpu(fit).unwrap_or_else(|_| Backend::single());
    Ok(fewer.with_cancel(backend.cancel_token().clone()).with_device(Some(Arc::clone(device))))
}

/// Returns the bytes that a run may use: what the system reports as available, within the limits of the control group and of the
/// process if there are any.
pub fn available() -> f64 {
    let mut system = System::new();
    system.refresh_memory();
    let free = free(&system);
    address_space().map_or(free, |space| free.min(space))
}

/// Returns the free memory within the limit of the control group. A system that reports nothing, such as one without `/proc`, has
/// no limit.
fn free(system: &System) -> f64 {
    if system.total_memory() == 0 {
        return f64::MAX;
    }
    let free = system.available_memory() as f64;
    // The cached files of a group can be dropped, so its resident memory is subtracted rather than its reported usage.
    let limits = system.cgroup_limits();
    limits.map_or(free, |limits| free.min(limits.total_memory.saturating_sub(limits.rss) as f64))
}

/// Returns the address space that `ulimit -v` leaves to this process, if there is such a limit (Linux). Allocations beyond it abort.
fn address_space() -> Option<f64> {
    let number = |file: &str, name: &str| -> Option<f64> {
        let text = std::fs::read_to_string(file).ok()?;
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        rest.split_whitespace().next()?.parse().ok()
    };
    let limit = number("/proc/self/limits", "Max address space")?;
    let used = 1024.0 * number("/proc/self/status", "VmSize:")?;
    Some((limit - used).max(0.0))
}

/// Threads at most.
const MAX_THREADS: u64 = 1024;
/// The numbers of threads that are allowed.
pub const ALLOWED_THREADS: &str = "must be a whole number from 1 to 1024";
/// Address space of a thread: a stack of 2 MiB, and the 64 MiB that glibc reserves for a thread that allocates.
const THREAD_SPACE: f64 = 70e6;

/// Returns the number of threads to use: the number given, or one per core as far as the address space allows.
///
/// Threads that are started until the address space is used up leave nothing to allocate, and the process aborts.
///
/// # Errors
/// What is allowed, if the number given is not.
pub fn threads(given: Option<u64>) -> Result<usize, String> {
    let space = address_space();
    let fitting = space.map_or(MAX_THREADS, |space| ((space / THREAD_SPACE) as u64).max(1));
    match given {
        None => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            Ok(cores.min(fitting as usize))
        }
        Some(threads) if !(1..=MAX_THREADS).contains(&threads) => Err(ALLOWED_THREADS.into()),
        Some(threads) if threads > fitting => Err(format!(
            "must be at most {fitting}, as the limit of the address space (ulimit -v) leaves {}",
            readable(space.unwrap_or_default())
        )),
        Some(threads) => Ok(threads as usize),
    }
}

/// Returns a number of bytes with a unit.
pub fn readable(bytes: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let power = ((libm::log10(bytes.max(1.0)) / 3.0) as usize).min(units.len() - 1);
    let value = bytes / 1000_f64.powi(power as i32);
    if value < 10.0 { format!("{value:.1} {}", units[power]) } else { format!("{value:.0} {}", units[power]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_that_reports_no_memory_has_no_limit() {
        assert_eq!(free(&System::new()), f64::MAX);
    }
}
