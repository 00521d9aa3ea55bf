//! Step 3 with all attention weight on the informative position, called placed attention (theory: setting, memory accuracy).
//!
//! Samples with the same informative token then contribute equally, so the sum runs over tokens, weighted by frequency.

use crate::backend::{Backend, Real, Result, SUMS, View, product, residual};
use crate::model::{Model, Readout, Workspace, block_rows, centred};
use crate::task::{Fact, Samples};

/// The frequency of each fact's token as the informative one: `f_w = n_w / N`.
///
/// # Errors
/// When the backend's token was cancelled.
pub fn fact_frequency(samples: &dyn Samples, vocab: usize, backend: &Backend) -> Result<Vec<f64>> {
    const TASKS: usize = 8;
    let count = samples.count();
    let parts = backend.try_map(TASKS, |task| {
        let mut counts = vec![0u32; vocab];
        for id in task * count / TASKS..(task + 1) * count / TASKS {
            if id % (1 << 16) == 0 {
                backend.check_cancelled()?;
            }
            // Imported sequences may have a noise token at the informative position.
            if let Some(count) = counts.get_mut(samples.fact(id as u32).0 as usize) {
                *count += 1;
            }
        }
        Ok(counts)
    })?;
    let mut counts = vec![0u32; vocab];
    for part in &parts {
        counts.iter_mut().zip(part).for_each(|(sum, count)| *sum += count);
    }
    Ok(fact_frequency_of(&counts, samples.count()))
}

/// The frequencies of counts among this many samples.
pub fn fact_frequency_of(counts: &[u32], samples: usize) -> Vec<f64> {
    counts.iter().map(|&count| f64::from(count) / samples as f64).collect()
}

/// The mean of `psi(k) psi(k)^T` over facts, `inputs` rows of `inputs`.
///
/// # Errors
/// When the backend's token was cancelled.
pub fn placed_moment<T: Real>(model: &Model<'_, T>, seen: &[Fact], backend: &Backend) -> Result<Vec<f64>> {
    let inputs = model.inputs();
    let mut total = vec![0.0; inputs * inputs];
    let mut work = Workspace::default();
    let mut part = vec![0.0; inputs * inputs];
    for facts in seen.chunks(block_rows(inputs, 1)) {
        work.place(model, facts.iter().map(|fact| fact.token));
        work.activate(model);
        let rows = work.features(model).data().chunks_exact(inputs).zip(facts);
        let weighted: Vec<f64> =
            rows.flat_map(|(row, fact)| row.iter().map(move |x| x.to_f64() * fact.weight.sqrt())).collect();
        let weighted = View::new(&weighted, facts.len(), inputs);
        backend.product(&mut part, weighted.t(), weighted)?;
        total.iter_mut().zip(&part).for_each(|(sum, x)| *sum += x);
    }
    Ok(total)
}

/// The gradient of `M`, negative and per unit of rate: the mean of `(Z_out^T r) psi(k)^T` over facts. The residual is that of the true softmax
/// at value matrix `m`, or that of a uniform softmax without one.
pub fn placed_step<T: Real>(
    model: &Model<'_, T>,
    m: Option<&[T]>,
    seen: &[Fact],
    backend: &Backend,
) -> Result<Vec<f64>> {
    let (dim, inputs, labels) = (model.dim(), model.inputs(), model.labels());
    let readout = m.map(|m| Readout::new(model, m, seen.len(), backend)).transpose()?;
    let z_centred = centred(&model.embeddings.z_out, dim, backend)?;
    let rows = block_rows(labels.max(inputs), 1);
    let tasks = seen.len().div_ceil(rows).min(SUMS);
    let sums = backend.try_map(tasks, |task| {
        let mut work = Workspace::default();
        let (mut logits, mut between, mut output) = (Vec::new(), Vec::new(), Vec::new());
        let mut step = vec![T::ZERO; dim * inputs];
        let mut sum = vec![0.0; dim * inputs];
        let mine = &seen[task * seen.len() / tasks..(task + 1) * seen.len() / tasks];
        for facts in mine.chunks(rows) {
            backend.check_cancelled()?;
            let right: Vec<u32> = facts.iter().map(|fact| fact.label).collect();
            work.place(model, facts.iter().map(|fact| fact.token));
            work.activate(model);
            let features = work.features(model);
            output.resize(facts.len() * dim, T::ZERO);
            match &readout {
                Some(readout) => {
                    readout.logits(features, &mut between, &mut logits);
                    residual(&mut logits, labels, &right);
                    product(&mut output, View::new(&logits, facts.len(), labels), model.z_out(), false);
                }
                None => {
                    for (out, &fact) in output.chunks_exact_mut(dim).zip(&right) {
                        out.copy_from_slice(&z_centred[fact as usize * dim..][..dim]);
                    }
                }
            }
            for (out, fact) in output.chunks_exact_mut(dim).zip(facts) {
                let weight = T::from_f64(fact.weight);
                out.iter_mut().for_each(|x| *x *= weight);
            }
            product(&mut step, View::new(&output, facts.len(), dim).t(), features, false);
            sum.iter_mut().zip(&step).for_each(|(sum, x)| *sum += x.to_f64());
        }
        Ok(sum)
    })?;
    let mut total = vec![0.0; dim * inputs];
    let parts: Vec<&[f64]> = sums.iter().map(Vec::as_slice).collect();
    backend.add_parts(&mut total, &parts, 1.0)?;
    Ok(total)
}
