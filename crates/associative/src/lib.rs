//! Associative memory without attention: facts are pairs of a key and a value, and there are no sequences.
//!
//! Fact `i` has a key `k_i` and the label `l_i`, whose value is `v_l`, all in `R^d`. A linear memory is a `d x d` matrix `M`;
//! the answer to a key is the label with the largest logit `v_l . M k`. Rules for `M`: Hebbian (`sum_i v_{l_i} k_i^T`), least
//! squares, or training by cross-entropy, whose direction on facts that can all be stored tends to the largest margin
//! (Soudry et al. 2018). With a width the features of a key are `relu(W k + b)`, and both layers are trained. A Hopfield
//! network is the classical baseline: patterns that recall themselves.
//!
//! ```
//! use superpose_associative::{MemorySettings, Rule, recall};
//! use superpose_core::backend::Backend;
//!
//! let config = MemorySettings { facts: 60, dim: 64, rule: Rule::Hebbian, ..MemorySettings::default() }.check()?;
//! assert!(recall(&config, &Backend::single())?.accuracy.mean() > 0.95);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod config;
mod gradient;
mod hopfield;
mod list;
mod pairs;
mod train;
mod weights;

pub use config::{Convention, KeyRows, MemoryConfig, MemorySettings, Rule};

use gradient::Workspace;
use hopfield::Hopfield;
use pairs::Pairs;
use superpose_core::backend::{Backend, DeviceError, Result};
use superpose_core::evaluate::Tally;
use weights::Weights;

/// The recall of a memory.
#[derive(Clone, Copy, Debug)]
pub struct Recall {
    /// Fraction of right answers, weighted by the frequency of facts. Of a Hopfield network: fraction of patterns retrieved.
    pub accuracy: Tally,
    /// Right label's logit minus the largest other. Of a Hopfield network: final overlap with the pattern.
    pub margin: Tally,
    /// Training steps taken.
    pub steps: usize,
}

/// Builds the memory of a configuration, with its first seed, and queries it for every fact.
///
/// A memory is trained on the backend's device if it has one; the other rules use the CPU.
///
/// # Errors
/// When the backend's token was cancelled, or its device failed.
pub fn recall(config: &MemoryConfig, backend: &Backend) -> Result<Recall, DeviceError> {
    let computed = |rule: fn(&Pairs<f32>, &Backend) -> Result<Weights<f32>>| {
        let pairs = Pairs::draw(config, backend)?;
        let weights = rule(&pairs, backend)?;
        Workspace::default().read(&pairs, &weights, backend)
    };
    Ok(match config.rule {
        Rule::Hebbian => computed(weights::hebbian)?,
        Rule::LeastSquares => computed(weights::least_squares)?,
        Rule::Trained => train::train(config, &Pairs::<f32>::draw(config, backend)?, backend)?,
        Rule::Hopfield => Hopfield::store(config.facts, config.dim, config.seed, backend)?.recall(backend)?,
    })
}
