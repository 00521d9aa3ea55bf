//! Attention weights and logits of every sample of a dataset (theory section 2).

use crate::backend::{Backend, Real, Result};
use crate::task::{Block, Samples};

use super::{Attention, Model, Readout, Workspace, block_rows};

/// Attention weights, a row of [`Samples::length`] per sample.
///
/// # Errors
/// When the backend's token was cancelled.
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
///
/// # Errors
/// When the backend's token was cancelled.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use crate::early_phase::{early_phase, fact_frequency};
    use crate::embedding::Embeddings;
    use crate::evaluate::evaluate;
    use crate::random::Stream;
    use crate::task::{Drawn, Stored, Task};

    /// Accuracy and attention mass computed from the arrays equal those of the evaluation, with and without an MLP.
    #[test]
    fn arrays_agree_with_the_evaluation() {
        for width in [None, Some(48)] {
            let settings =
                Settings { vocab: 40, dim: 24, length: 5, samples: 900, width, ..Settings::default() };
            let config = settings.check().unwrap();
            let backend = Backend::cpu(2).unwrap();
            let embeddings = Embeddings::<f32>::draw(&config, &backend).unwrap();
            let (task, model) = (Task::new(&config), Model::new(&config, &embeddings));
            let train = Drawn::new(&task, config.seed, Stream::Train, config.samples);
            let phase = early_phase(&config, &model, &train, &backend).unwrap();
            let test = Drawn::new(&task, config.seed, Stream::Test, 1000);
            let test = Stored::copy(&test, &backend).unwrap();
            let frequency = fact_frequency(&train, config.vocab, &backend).unwrap();
            let expected = evaluate(&config, &model, &task, &phase, &frequency, &test, &backend).unwrap();

            let attention = phase.attention(&model, &backend).unwrap();
            let weights = attention_weights(&model, &attention, &test, &backend).unwrap();
            let mass: f64 =
                (0..1000).map(|n| f64::from(weights[n * config.length + test.position()[n] as usize])).sum();
            assert!((mass / 1000.0 - expected[crate::Measure::AttentionMass].mean()).abs() < 1e-6);

            let logits = logits(&model, &phase.m2, &attention, &test, &backend).unwrap();
            let right = |n: usize| {
                let row = &logits[n * config.vocab..][..config.vocab];
                let own = row[test.labels()[n] as usize];
                row.iter().filter(|&&x| x >= own).count() == 1
            };
            let accuracy = (0..1000).filter(|&n| right(n)).count() as f64 / 1000.0;
            // Well above chance, which is 1/40, so that the comparison is meaningful.
            assert!(accuracy > 0.08 && accuracy < 1.0, "{accuracy}");
            assert!((accuracy - expected[crate::Measure::Accuracy].mean()).abs() < 1e-9, "{accuracy}");
        }
    }
}
