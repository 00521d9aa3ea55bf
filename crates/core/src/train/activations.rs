//! Named activations of a network on given samples, for looking inside.

use crate::backend::{Backend, Real, Result, product};
use crate::model::{Readout, block_rows};
use crate::task::Samples;
use crate::words;

use super::network::{Network, Tensor};
use super::pass::Pass;
use super::scores::Scores;

words! {
    /// The activations of a network, in the order of the forward pass.
    Activation {
        /// Attention scores, `[samples, heads, length]`.
        Scores = "scores",
        /// Attention weights, `[samples, heads, length]`.
        Attention = "attention",
        /// Head outputs `h`, `[samples, heads, dim]`.
        Head = "head",
        /// `W_in h`, before the activation function, `[samples, heads, width]`; only with an MLP.
        Before = "before",
        /// Features `psi(h)`, `[samples, heads, inputs]`; without an MLP they are `h`.
        Features = "features",
        /// `M psi(h)`, summed over heads, `[samples, dim]`.
        Output = "output",
        /// Logits, `[samples, labels]`.
        Logits = "logits",
    }
}

impl Activation {
    /// The numbers of one sample: rows, one per head or one in all, and columns. There are no columns where the network has none.
    pub fn shape<T: Real>(self, network: &Network<T>, length: usize) -> (usize, usize) {
        let width = network.tensor(Tensor::WIn).len() / network.dim();
        match self {
            Activation::Scores | Activation::Attention => (network.heads, length),
            Activation::Head => (network.heads, network.dim()),
            Activation::Before => (network.heads, width),
            Activation::Features => (network.heads, network.inputs()),
            Activation::Output => (1, network.dim()),
            Activation::Logits => (1, network.view(Tensor::ZOut).rows()),
        }
    }
}

/// The activations `wanted` of the samples `ids`, in the order of `wanted`.
///
/// # Errors
/// When the backend's token was cancelled.
pub fn activations<T: Real>(
    network: &Network<T>,
    samples: &dyn Samples,
    ids: &[u32],
    wanted: &[Activation],
    backend: &Backend,
) -> Result<Vec<Vec<T>>> {
    let scores = Scores::of(network, backend)?;
    let (z_out, m) = (network.view(Tensor::ZOut), network.view(Tensor::M));
    let readout = Readout::of(z_out, m, ids.len(), backend)?;
    let rows = block_rows(z_out.rows().max(m.columns()), samples.length());
    let blocks: Vec<&[u32]> = ids.chunks(rows).collect();
    let parts = backend.map(blocks.len(), |i| {
        let mut pass = Pass::default();
        samples.fill(blocks[i], &mut pass.block);
        pass.score(network, &scores);
        let before_softmax = pass.work.weights.clone();
        pass.forward(network, &scores);
        let features = pass.features(network);
        let one = |activation: &Activation| match activation {
            Activation::Scores => before_softmax.clone(),
            Activation::Attention => pass.work.weights.clone(),
            Activation::Head => pass.work.head.clone(),
            Activation::Before => pass.work.before.clone(),
            Activation::Features => features.data().to_vec(),
            Activation::Output => {
                let mut output = vec![T::ZERO; features.rows() * m.rows()];
                product(&mut output, features, m.t(), false);
                output
            }
            Activation::Logits => {
                let (mut between, mut logits) = (Vec::new(), Vec::new());
                readout.logits(features, &mut between, &mut logits);
                logits
            }
        };
        wanted.iter().map(one).collect::<Vec<_>>()
    })?;
    let mut all: Vec<Vec<T>> = vec![Vec::new(); wanted.len()];
    for part in parts {
        all.iter_mut().zip(part).for_each(|(all, part)| all.extend(part));
    }
    Ok(all)
}

/// The logits of the samples `ids`, a row each.
///
/// # Errors
/// When the backend's token was cancelled.
pub fn logits<T: Real>(
    network: &Network<T>,
    samples: &dyn Samples,
    ids: &[u32],
    backend: &Backend,
) -> Result<Vec<T>> {
    Ok(activations(network, samples, ids, &[Activation::Logits], backend)?.swap_remove(0))
}
