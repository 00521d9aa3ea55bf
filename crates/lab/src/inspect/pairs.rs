//! Memory accuracy from the overlaps of pairs of rows, where rows differ too much for mean statistics.
//!
//! Let `p = 1/SAMPLES_PER_FACT`, with logits in units of 1/V. The right label of query v has the signal `xi_v`; the label of
//! another fact w has `Delta(w, v)` (theory: setting), which is large for near-duplicates. The other facts contribute to every
//! label through the overlap c of the output embeddings; the sum is normal with variance
//! `sigma^2 = c V [s2_v (1 + p) + kappa_v^2 p]`. A wrong logit has further variance `c xi_v^2` from the right fact and
//! `p (kappa_v + Delta)^2` from its own count. As in the theory, with b the squared length of the right output embedding, the
//! right label has the component `rho = xi_v sqrt(b) + sqrt(sigma^2 + p b (xi_v + kappa_v)^2) z` along it and the logit
//! `sqrt(b) rho`; a wrong label that overlaps with it gains the variance `c rho^2`. With the probability to exceed one wrong
//! logit averaged over the measured `Delta(w, v)`,
//!
//! ```text
//! accuracy = E_v E_b E_z [ (E_w F((sqrt(b) rho - Delta(w, v)) / sqrt(wrong))) ^ (V - 1) ].
//! ```

use std::f64::consts::SQRT_2;

use libm::erfc;
use superpose_core::backend::{Backend, Cancelled, View};
use superpose_core::embedding::Rows;
use superpose_core::random::{Stream, shuffle};

use crate::overlaps::{OverlapSums, Overlaps};

/// Maximum number of rows used as queries.
pub(super) const QUERIES: usize = 2048;
const BLOCK: usize = 512;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Outputs {
    /// Mean square cosine of two of them.
    pub coherence: f64,
    /// Standard deviation of the squared length over its mean.
    pub spread: f64,
}

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
        let mut chosen: Vec<usize> = (0..count).collect();
        shuffle(0, Stream::FileRows, &mut chosen);
        chosen.truncate(QUERIES);
        chosen.sort_unstable();
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

impl Overlaps {
    /// Returns the probability that the row's fact is recalled, among `vocab` such rows with 1/p samples per fact.
    pub(crate) fn win(&self, vocab: f64, p: f64, outputs: Outputs) -> f64 {
        let Overlaps { kappa, xi, s2, .. } = *self;
        if xi.is_nan() || xi <= 0.0 {
            return 0.0;
        }
        let common = outputs.coherence * vocab * (s2 * (1.0 + p) + kappa * kappa * p);
        let (mut sum, mut weights) = (0.0, 0.0);
        for length in -LENGTHS..=LENGTHS {
            let (b, length_weight) = outputs.square(f64::from(length));
            for step in -STEPS..=STEPS {
                let z = 4.0 * f64::from(step) / f64::from(STEPS);
                let weight = length_weight * libm::exp(-0.5 * z * z);
                let rho = xi * b.sqrt() + (common + p * b * (xi + kappa).powi(2)).sqrt() * z;
                let shared = common + outputs.coherence * (rho * rho - common).max(0.0);
                let chance = |&(delta, share): &(f64, f64)| {
                    let wrong = (shared + p * (kappa + delta).powi(2)).sqrt();
                    let ahead = b.sqrt() * rho - delta;
                    // Beyond nine standard deviations the chance is negligible.
                    if ahead > 9.0 * wrong { 0.0 } else { share * 0.5 * erfc(ahead / (wrong * SQRT_2)) }
                };
                let behind: f64 = self.nearest.iter().chain(&self.groups).map(chance).sum();
                sum += weight * libm::exp((vocab - 1.0) * libm::log1p(-behind.min(1.0)));
                weights += weight;
            }
        }
        sum / weights
    }
}

/// Quadrature steps to either side for z, and for lengths.
const STEPS: i32 = 7;
const LENGTHS: i32 = 3;

impl Outputs {
    /// Returns a squared length at this many standard deviations of its cube root, which is nearly normal (Wilson and Hilferty 1931),
    /// and its weight.
    fn square(&self, deviations: f64) -> (f64, f64) {
        let unit = self.spread * self.spread / 9.0;
        let root = 1.0 - unit + deviations * unit.sqrt();
        (root.max(0.05).powi(3), libm::exp(-0.5 * deviations * deviations))
    }
}
