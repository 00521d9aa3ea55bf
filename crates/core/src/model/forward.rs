//! Attention weights and logits of every sample of a dataset (theory: setting).

use crate::backend::{Backend, Real, Result};
use crate::task::{Block, Samples};

use super::{Attention, Model, Readout, Workspace, block_rows};

/// Attention weights, a row of [`Samples::length`] per sample.
pub fn attention_weights<T: Real>(
    model: &Model<'_, T>,
    attention: &Attention<T>,
    samples: &dyn Samples,
    backend: &Backend,
) -> Result<Vec<T>> {
    let length = samples.length();
    each_block(model, samples, length, backend, |block, work, _, out| {
        work.weigh(attention, block);
        out.copy_from_slice(&work.weights);
    })
}

/// Logits `Z_out M psi(h)` at the value matrix `m`, a row of [`Model::labels`] per sample.
pub fn logits<T: Real>(
    model: &Model<'_, T>,
    m: &[T],
    attention: &Attention<T>,
    samples: &dyn Samples,
    backend: &Backend,
) -> Result<Vec<T>> {
    let readout = Readout::new(model, m, samples.count(), backend)?;
    each_block(model, samples, model.labels(), backend, |block, work, between, out| {
        work.attend(model, attention, block);
        work.activate(model);
        let mut logits = Vec::new();
        readout.logits(work.features(model), between, &mut logits);
        out.copy_from_slice(&logits);
    })
}

/// `columns` numbers per sample, filled block by block.
fn each_block<T: Real>(
    model: &Model<'_, T>,
    samples: &dyn Samples,
    columns: usize,
    backend: &Backend,
    fill: impl Fn(&Block, &mut Workspace<T>, &mut Vec<T>, &mut [T]) + Sync,
) -> Result<Vec<T>> {
    let rows = block_rows(model.labels().max(model.inputs()), samples.length());
    let mut all = vec![T::ZERO; samples.count() * columns];
    backend.for_chunks(&mut all, rows * columns, |i, out| {
        let (mut block, mut work, mut between) = (Block::default(), Workspace::default(), Vec::new());
        let first = (i * rows) as u32;
        let ids: Vec<u32> = (first..first + (out.len() / columns) as u32).collect();
        samples.fill(&ids, &mut block);
        fill(&block, &mut work, &mut between, out);
    })?;
    Ok(all)
}
