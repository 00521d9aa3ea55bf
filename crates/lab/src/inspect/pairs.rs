//! The overlaps of rows of a matrix with all others, raw and minus their mean, and the memory accuracy that follows from them.

use superpose_core::backend::{Backend, Cancelled, View};
use superpose_core::embedding::Rows;

use crate::overlaps::{BLOCK, Outputs, OverlapSums, Overlaps, queries};

/// The overlaps of some rows with all others.
pub struct Pairs {
    outputs: Outputs,
    queries: Vec<Overlaps>,
}

impl Pairs {
    /// Measures the rows raw and minus `mean`, their mean. One product serves both: raw overlaps follow from centred ones and the
    /// overlaps with the mean. `passed` receives the number of rows of every block.
    pub(super) fn measure(
        rows: &dyn Rows,
        mean: &[f64],
        outputs: Outputs,
        backend: &Backend,
        passed: &mut dyn FnMut(usize),
    ) -> Result<[Pairs; 2], Cancelled> {
        let (count, dim) = (rows.count(), rows.dim());
        let chosen = queries(count);
        let read = |first: usize, end: usize, out: &mut Vec<f32>| {
            rows.read(first, end, out);
            for row in out.chunks_exact_mut(dim) {
                row.iter_mut().zip(mean).for_each(|(x, c)| *x = (f64::from(*x) - c) as f32);
            }
        };
        let mut block = Vec::new();
        let mut keys = Vec::with_capacity(chosen.len() * dim);
        for &row in &chosen {
            read(row, row + 1, &mut block);
            keys.extend_from_slice(&block);
        }
        // A raw overlap from the centred one: (x + m) . (y + m) = x . y + x . m + (y . m + m . m).
        let along = |row: &[f32]| row.iter().zip(mean).map(|(x, m)| f64::from(*x) * m).sum::<f64>();
        let size: f64 = mean.iter().map(|m| m * m).sum();
        let sums = |(&row, key): (&usize, &[f32])| {
            (along(key) + size, [OverlapSums::new(row, count), OverlapSums::new(row, count)])
        };
        let mut found: Vec<_> = chosen.iter().zip(keys.chunks_exact(dim)).map(sums).collect();
        let mut dots = Vec::new();
        for first in (0..count).step_by(BLOCK) {
            let end = (first + BLOCK).min(count);
            read(first, end, &mut block);
            dots.resize(chosen.len() * (end - first), 0.0);
            let with_mean: Vec<f64> = block.chunks_exact(dim).map(along).collect();
            let (keys, block) = (View::new(&keys, chosen.len(), dim), View::new(&block, end - first, dim));
            backend.product(&mut dots, keys, block.t())?;
            let (dots, with_mean) = (&dots, &with_mean);
            backend.for_chunks(&mut found, 64, |i, part| {
                let rows = dots.chunks_exact(end - first).skip(i * 64);
                for ((key, [raw, centred]), row) in part.iter_mut().zip(rows) {
                    let moved = row.iter().zip(with_mean).map(|(&dot, m)| f64::from(dot) + m + *key);
                    raw.add(first, moved);
                    centred.add(first, row.iter().map(|&dot| f64::from(dot)));
                }
            })?;
            passed(end - first);
        }
        let (raw, centred) =
            found.into_iter().map(|(_, [raw, centred])| (raw.overlaps(), centred.overlaps())).unzip();
        Ok([Pairs { outputs, queries: raw }, Pairs { outputs, queries: centred }])
    }

    /// Returns the predicted memory accuracy of `vocab` such rows with this many samples per fact.
    ///
    /// # Errors
    /// Fails if the caller cancels.
    pub fn accuracy(&self, vocab: f64, samples_per_fact: f64, backend: &Backend) -> Result<f64, Cancelled> {
        const PART: usize = 128;
        let parts = backend.map(self.queries.len().div_ceil(PART), |i| {
            let part = &self.queries[i * PART..((i + 1) * PART).min(self.queries.len())];
            part.iter().map(|query| query.win(vocab, 1.0 / samples_per_fact, self.outputs)).sum::<f64>()
        })?;
        Ok(parts.iter().sum::<f64>() / self.queries.len() as f64)
    }
}
