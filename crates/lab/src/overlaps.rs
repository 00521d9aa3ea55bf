//! The overlaps of one row of a matrix with all others, and the memory accuracy of its fact.
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
use superpose_core::random::{Stream, shuffle};

/// Number of largest overlaps that are kept individually.
const NEAREST: usize = 32;
/// Number of equal groups by which the other overlaps are represented.
const GROUPS: usize = 24;
/// Number of other rows from which the groups are formed.
const OTHERS: usize = 2048;
/// Maximum number of rows whose overlaps are measured.
pub(crate) const QUERIES: usize = 2048;
/// Rows read at once.
pub(crate) const BLOCK: usize = 512;

/// Draws the rows of a matrix whose overlaps are measured, in rising order.
pub(crate) fn queries(count: usize) -> Vec<usize> {
    let mut chosen: Vec<usize> = (0..count).collect();
    shuffle(0, Stream::FileRows, &mut chosen);
    chosen.truncate(QUERIES);
    chosen.sort_unstable();
    chosen
}

/// Output embeddings by the overlaps of pairs and their lengths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outputs {
    /// Mean square cosine of two of them.
    pub coherence: f64,
    /// Standard deviation of the squared length over its mean.
    pub spread: f64,
}

/// The overlaps of a row with others (theory: memory).
pub(crate) struct Overlaps {
    /// Their mean.
    pub kappa: f64,
    /// The squared length of the row less that mean.
    pub xi: f64,
    /// Their variance.
    pub s2: f64,
    /// The largest ones less the mean, the largest first, and the share of rows that each represents.
    pub nearest: Vec<(f64, f64)>,
    /// The others in groups, the largest first.
    pub groups: Vec<(f64, f64)>,
}

/// The overlaps of a row with others, accumulated over blocks of rows.
pub(crate) struct OverlapSums {
    row: usize,
    /// Every `step`-th row represents those that are not near.
    step: usize,
    own: f64,
    count: f64,
    sum: f64,
    squares: f64,
    /// The largest overlaps, in rising order.
    nearest: Vec<f32>,
    others: Vec<f32>,
}

impl OverlapSums {
    /// Of one of `count` rows.
    pub fn new(row: usize, count: usize) -> OverlapSums {
        let step = count.div_ceil(OTHERS);
        let (nearest, others) = (Vec::with_capacity(NEAREST + 1), Vec::with_capacity(count.div_ceil(step)));
        OverlapSums { row, step, own: 0.0, count: 0.0, sum: 0.0, squares: 0.0, nearest, others }
    }

    /// Adds the overlaps with the rows from `first`.
    pub fn add(&mut self, first: usize, dots: impl Iterator<Item = f64>) {
        for (i, dot) in dots.enumerate() {
            if first + i == self.row {
                self.own = dot;
                continue;
            }
            self.count += 1.0;
            self.sum += dot;
            self.squares += dot * dot;
            let dot = dot as f32;
            if (first + i).is_multiple_of(self.step) {
                self.others.push(dot);
            }
            if self.nearest.len() < NEAREST || dot > self.nearest[0] {
                let place = self.nearest.partition_point(|&x| x < dot);
                self.nearest.insert(place, dot);
                if self.nearest.len() > NEAREST {
                    self.nearest.remove(0);
                }
            }
        }
    }

    /// The overlaps with all rows that were added.
    pub fn overlaps(mut self) -> Overlaps {
        let kappa = self.sum / self.count;
        let far = self.nearest.first().copied().unwrap_or(f32::INFINITY);
        let near = |&x: &f32| (f64::from(x) - kappa, 1.0 / self.count);
        let nearest: Vec<(f64, f64)> = self.nearest.iter().rev().map(near).collect();
        // Those that are kept individually are not among the others; several may be as large as the smallest of them.
        let mut ties = self.nearest.iter().filter(|&&x| x == far).count();
        self.others.retain(|&x| {
            let tie = x == far && ties > 0;
            ties -= usize::from(tie);
            x < far || (x == far && !tie)
        });
        self.others.sort_unstable_by(|a, b| b.total_cmp(a));
        let bulk = 1.0 - nearest.len() as f64 / self.count;
        let total = self.others.len() as f64;
        let group = |group: &[f32]| {
            let mean = group.iter().map(|&x| f64::from(x)).sum::<f64>() / group.len() as f64;
            (mean - kappa, bulk * group.len() as f64 / total)
        };
        let groups = self.others.chunks(self.others.len().div_ceil(GROUPS).max(1)).map(group).collect();
        let s2 = (self.squares / self.count - kappa * kappa).max(0.0);
        Overlaps { kappa, xi: self.own - kappa, s2, nearest, groups }
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
    /// Gaussian vectors.
    pub fn gaussian(dim: usize) -> Outputs {
        let dim = dim as f64;
        Outputs { coherence: 1.0 / dim, spread: (2.0 / dim).sqrt() }
    }

    /// Returns a squared length at this many standard deviations of its cube root, which is nearly normal (Wilson and Hilferty 1931),
    /// and its weight.
    fn square(&self, deviations: f64) -> (f64, f64) {
        let unit = self.spread * self.spread / 9.0;
        let root = 1.0 - unit + deviations * unit.sqrt();
        (root.max(0.05).powi(3), libm::exp(-0.5 * deviations * deviations))
    }
}
