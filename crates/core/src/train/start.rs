//! The warm start: training from the end of the early phase.

use crate::backend::{Backend, Real, Result};
use crate::config::{Config, Regime};
use crate::early_phase::EarlyPhase;
use crate::task::Samples;

use super::gradient::gradient;
use super::network::{Network, Tensor};

/// The maximum number of samples that the scale is fitted on.
const SAMPLES: usize = 4096;

/// Sets the network to the end of the early phase. In the exact regime that is `(M2, W1)`. In the infinitesimal regime `m2` is per unit
/// of rate and has no scale; it gets the scale with the smallest training loss.
///
/// # Errors
/// When the backend's token was cancelled.
pub fn warm_start<T: Real>(
    config: &Config,
    network: &mut Network<T>,
    phase: &EarlyPhase<T>,
    samples: &dyn Samples,
    backend: &Backend,
) -> Result<()> {
    network.warm_start(phase, 1.0);
    if config.regime == Regime::Exact {
        return Ok(());
    }
    let ids: Vec<u32> = (0..samples.count().min(SAMPLES) as u32).collect();
    // Larger is better as long as the loss falls along m2.
    let falls = |network: &mut Network<T>, scale: f64| {
        network.warm_start(phase, scale);
        let found = gradient(network, samples, &ids, backend)?;
        let (inputs, columns) = (network.inputs(), network.columns(Tensor::M));
        let rows = found.tensors[0].chunks_exact(columns).zip(phase.m2.chunks_exact(inputs));
        let slope: f64 =
            rows.map(|(row, m2)| row.iter().zip(m2).map(|(g, m)| g * m.to_f64()).sum::<f64>()).sum();
        Ok(slope < 0.0)
    };
    // The loss is convex along a line in M, so its slope changes sign once: double the scale, then bisect.
    let norm = network.norm(Tensor::M);
    if norm == 0.0 {
        return Ok(());
    }
    let (mut low, mut high) = (0.0, 1.0 / norm);
    for _ in 0..64 {
        if !falls(network, high)? {
            break;
        }
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..10 {
        let middle = 0.5 * (low + high);
        if falls(network, middle)? { low = middle } else { high = middle }
    }
    network.warm_start(phase, 0.5 * (low + high));
    Ok(())
}
