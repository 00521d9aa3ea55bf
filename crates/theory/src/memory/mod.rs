//! Memory: what step 3 stores when attention is on `ell` (theory section 5.1).
//!
//! With `f_v = n_v / N`, `S_v = f_v xi + kappa (f_v - 1/V)` and
//! `sigma^2 = (1/d + 1/V) [s2 (1/V + 1/N) + kappa^2 / N]`, memory accuracy is
//! `E[F((S_v b + sigma sqrt(b) z) / sqrt(sigma^2 + S_v^2/d))^(V-1)]` over the count n_v, the place of the key, the squared
//! length b of the right output embedding, and z. Count and place are summed here, b and z in [`race`].
//! Orthonormal embeddings leave counts alone to tell labels apart, see [`counted`].

mod counted;
mod race;
#[cfg(test)]
mod tests;

pub(crate) use counted::Rivals;
pub(crate) use race::{Output, OwnNoise, Race};

use crate::counts::{Detail, binomial};
use crate::kernel::{Kernel, Measured};
use crate::noise::LogitNoise;
use crate::point::Point;

/// Everything about a memory but the number of samples: set up once, then asked for any number of samples.
#[derive(Clone, Debug)]
pub struct Memory {
    vocab: f64,
    kernel: Kernel,
    labels: Labels,
}

#[derive(Clone, Debug)]
enum Labels {
    /// Output embeddings overlap.
    Overlapping(Race),
    /// Output embeddings are orthonormal, and so are the input embeddings.
    Counted,
}

impl Memory {
    /// The memory of the model at a point; its number of samples is not used.
    pub fn new(point: &Point) -> Memory {
        let labels = if point.orthonormal() {
            Labels::Counted
        } else {
            Labels::Overlapping(Race::new(point.vocab - 1.0, output(point), OwnNoise::Absent))
        };
        Memory { vocab: point.vocab, kernel: Kernel::of(point), labels }
    }

    /// The memory of `vocab` facts with a kernel and output embeddings that were measured.
    pub fn measured(vocab: f64, measured: &Measured) -> Memory {
        let spread = measured.output_spread;
        let freedom = (spread > 0.0).then(|| 2.0 / (spread * spread));
        let output = Output { overlap: measured.output_coherence, freedom };
        let labels = Labels::Overlapping(Race::new(vocab - 1.0, output, OwnNoise::Absent));
        Memory { vocab, kernel: Kernel::measured(measured), labels }
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Memory accuracy after `samples` samples.
    pub fn accuracy(&self, samples: f64) -> f64 {
        let accuracy = match &self.labels {
            Labels::Overlapping(race) => self.overlapping(race, samples),
            Labels::Counted => self.counted(samples),
        };
        accuracy.clamp(0.0, 1.0)
    }

    fn overlapping(&self, race: &Race, samples: f64) -> f64 {
        let counts = binomial(samples, 1.0 / self.vocab, Detail::Smooth);
        let per_fact = samples / self.vocab;
        // Signals in units of 1/V, variances in units of 1/V^2.
        let wrong = (race.output().overlap + 1.0 / self.vocab) * self.vocab;
        let mut accuracy = 0.0;
        for query in self.kernel.queries() {
            let uneven = query.kappa * query.kappa / per_fact;
            let variance = wrong * (query.s2 * (1.0 + 1.0 / per_fact) + uneven);
            // A wrong label's own count is Poisson, and its mean bias is as lopsided.
            let third = query.kappa.powi(3) / (per_fact * per_fact);
            let win = |n: f64| {
                let seen = n / per_fact;
                race.win(seen * query.xi + query.kappa * (seen - 1.0), variance, third)
            };
            accuracy += query.weight * counts.mean(win);
        }
        accuracy
    }

    fn counted(&self, samples: f64) -> f64 {
        let per_fact = samples / self.vocab;
        let detail = if per_fact <= 200.0 { Detail::Every } else { Detail::Smooth };
        let counts = binomial(samples, 1.0 / self.vocab, detail);
        let mut accuracy = 0.0;
        for query in self.kernel.queries() {
            let rivals = Rivals::new(self.vocab - 1.0, per_fact, query.kappa, query.s2);
            accuracy += query.weight * counts.mean(|n| rivals.win(n * (query.kappa + query.xi)));
        }
        accuracy
    }

    /// Sizes of the terms of a logit after `samples` samples.
    pub fn noise(&self, samples: f64) -> LogitNoise {
        let overlap = match &self.labels {
            Labels::Overlapping(race) => race.output().overlap,
            Labels::Counted => 0.0,
        };
        let wrong = overlap + 1.0 / self.vocab;
        let summary = self.kernel.summary();
        let averaged = (summary.s2 - summary.mlp_noise).max(0.0);
        let signal = (summary.xi / self.vocab).powi(2);
        LogitNoise {
            signal,
            mean_bias: wrong * summary.kappa.powi(2) / samples,
            interference: wrong * averaged / self.vocab,
            gradient_noise: wrong * averaged / samples,
            output_overlap: signal * overlap,
            mlp_noise: wrong * summary.mlp_noise * (1.0 / self.vocab + 1.0 / samples),
        }
    }
}

/// What output embeddings are like at a point.
pub(crate) fn output(point: &Point) -> Output {
    Output { overlap: point.overlap(), freedom: point.lengths_vary().then_some(point.dim) }
}
