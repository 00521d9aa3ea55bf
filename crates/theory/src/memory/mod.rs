//! Memory accuracy: recall of the facts that step 3 stores when attention is on `ell` (theory: memory).
//!
//! With `f_v = n_v / N`, the right label's signal is `S_v = f_v xi + kappa (f_v - 1/V)`, and wrong labels
//! have the noise variance `sigma^2 = (1/d + 1/V) [s2 (1/V + 1/N) + kappa^2 / N]`. Memory accuracy is the
//! probability that the right label's logit is the largest, averaged over the count n_v, the key, and the output
//! embeddings. This module averages over count and key; `Race` averages over the output embeddings.
//!
//! The race between labels improves on `E[F((S b + sigma sqrt(b) z) / sqrt(sigma^2 + S^2/d))^(V-1)]` by three effects that
//! are visible in simulation:
//!
//! - the right label's noise is part of the vector that wrong labels overlap with, and has no part from its own fact;
//! - the length of the noise vector is common to all labels and varies from query to query;
//! - a wrong label's own count is Poisson, so where `1/V` is not small compared with `1/d` its distribution is skewed and
//!   has a long tail.
//!
//! The effects were identified on simulations and then tested on new random points (V from 60 to 700, d from 20 to 300, N
//! from 64 to 30,000, 10 seeds each, simulated accuracy between 0.03 and 0.97). The rms error was 0.022 for Gaussian
//! embeddings (0.030 for the formula above, 191 points, seed noise 0.017) and 0.021 on the sphere (0.035, 188 points, seed
//! noise 0.015). The remaining bias is -0.01.
//!
//! With orthonormal embeddings labels differ only by counts, which are summed exactly.

mod counted;
pub(crate) mod explicit;
mod given;
mod loose;
mod mixture;
mod race;
mod softmax;
#[cfg(test)]
mod tests;

pub(crate) use counted::Rivals;
pub(crate) use loose::{Fact, Loose, Stored};
pub(crate) use race::{Noise, Output, Race};

use std::sync::{LazyLock, OnceLock};

use crate::counts::{Detail, binomial};
use crate::kernel::{Kernel, Kernels, Measured, Query};
use crate::noise::LogitNoise;
use crate::point::Point;
use crate::quadrature::{Rule, hermite, of_points};
use explicit::Coefficient;
use given::Given;

/// A memory, set up once and then evaluated for any number of samples.
#[derive(Clone, Debug)]
pub struct Memory {
    vocab: f64,
    kernel: Kernel,
    /// The race of labels whose output embeddings overlap. With orthonormal embeddings labels differ only by counts.
    pub(crate) race: Option<Race>,
    /// The point and kernels that it was set up with, unless the kernel was measured.
    origin: Option<(Point, Kernels)>,
}

impl Memory {
    /// The memory of the model at a point, whose number of samples is not used.
    pub fn new(point: &Point) -> Memory {
        Memory::with(point, Kernels::of(point), race(point))
    }

    /// The same with given kernels and race.
    pub(crate) fn with(point: &Point, kernels: Kernels, race: Option<Race>) -> Memory {
        let kernel = kernels.at(point.width.unwrap_or(1.0));
        Memory { vocab: point.vocab, kernel, race, origin: Some((*point, kernels)) }
    }

    /// The memory at another point. It reuses the parts that the two points share, which [`Memory::new`] would compute.
    pub fn moved(&self, point: &Point) -> Memory {
        let Some((origin, kernels)) = &self.origin else { return Memory::new(point) };
        let same_embeddings =
            (origin.dim, origin.embedding, origin.rows) == (point.dim, point.embedding, point.rows);
        let same_labels = same_embeddings && origin.vocab == point.vocab;
        let same_kernels = same_embeddings
            && origin.trigger == point.trigger
            && origin.activation == point.activation
            && origin.width.is_some() == point.width.is_some();
        let race = if same_labels { self.race.clone() } else { race(point) };
        let kernels = if same_kernels { kernels.clone() } else { Kernels::of(point) };
        if !same_kernels || origin.width != point.width {
            return Memory::with(point, kernels, race);
        }
        Memory { vocab: point.vocab, kernel: self.kernel.clone(), race, origin: Some((*point, kernels)) }
    }

    /// The memory of `vocab` facts with measured statistics of the kernel and the output embeddings.
    pub fn measured(vocab: f64, measured: &Measured) -> Memory {
        let spread = measured.output_spread;
        let freedom = (spread > 0.0).then(|| 2.0 / (spread * spread));
        let output = Output { overlap: measured.output_coherence, freedom };
        let race = Some(Race::new(vocab - 1.0, output));
        Memory { vocab, kernel: Kernel { queries: measured.queries() }, race, origin: None }
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The accuracy of guessing.
    pub fn chance(&self) -> f64 {
        1.0 / self.vocab
    }

    /// Memory accuracy after `samples` samples.
    pub fn accuracy(&self, samples: f64) -> f64 {
        self.accuracy_when(samples, &Loose::tight())
    }

    /// Memory accuracy in a run whose attention finds facts at the given rates, averaged over the sequences in which it
    /// finds them. The other training samples store the right label with a wrong token: they give no signal but the same
    /// gradient noise, and the wrong tokens confuse the facts that they belong to.
    pub(crate) fn accuracy_when(&self, samples: f64, loose: &Loose) -> f64 {
        self.accuracy_with(samples, loose, &OnceLock::new())
    }

    /// The same with what was computed for another memory of as many facts, or a place for it.
    pub(crate) fn accuracy_with(&self, samples: f64, loose: &Loose, exposure: &OnceLock<Exposure>) -> f64 {
        if loose.facts.is_empty() || loose.mass < NEGLIGIBLE_MASS {
            return self.chance();
        }
        let accuracy = match &self.race {
            Some(race) if loose.is_tight() && self.has_discrete_counts(race.output, samples) => {
                self.with_discrete_counts(race.output, samples)
            }
            Some(race) => {
                let exposure = exposure.get_or_init(|| Exposure::new(samples, self.vocab, loose));
                self.overlapping(race, samples, loose, exposure)
            }
            None => self.accuracy_with_mass(samples, loose.mass),
        };
        accuracy.clamp(0.0, 1.0)
    }

    /// Whether mean bias matters: kappa is above a tenth of xi for some query.
    fn is_biased(&self) -> bool {
        self.kernel.queries.iter().any(|query| query.kappa.abs() > 0.1 * query.xi.abs())
    }

    /// Whether the whole numbers in wrong labels' own coefficients matter: few samples per fact and noise mostly from the own fact, or
    /// noise from all facts that is smaller than the effect of one sample.
    fn has_discrete_counts(&self, output: Output, samples: f64) -> bool {
        let dim = 1.0 / output.overlap;
        let linear = self.origin.as_ref().is_some_and(|(point, _)| point.width.is_none());
        let few = samples < 6.0 * self.vocab && dim > 0.7 * self.vocab;
        let random = self.origin.as_ref().is_some_and(|(point, _)| point.rows.is_none());
        linear && random && self.is_biased() && (few || samples < dim.min(100.0 * self.vocab))
    }

    /// Memory accuracy where wrong labels' own coefficients are whole numbers times kappa. With the many dimensions of this case queries
    /// differ little, so one with mean statistics stands for all.
    fn with_discrete_counts(&self, output: Output, samples: f64) -> f64 {
        let per_fact = samples / self.vocab;
        let counts = binomial(samples, 1.0 / self.vocab, Detail::Every);
        let Query { kappa, xi, s2, .. } = self.kernel.mean();
        let square = per_fact * (kappa * kappa + s2 * (per_fact + 1.0));
        let law = |step: f64, noise: f64| -> Vec<Coefficient> {
            let own = |&(k, weight): &(f64, f64)| Coefficient {
                mean: k * (kappa + step) - per_fact * kappa,
                variance: k * k * noise,
                third: 0.0,
                weight,
            };
            counts.points.iter().map(own).filter(|c| c.weight > 1e-8).collect()
        };
        explicit::win(self.vocab, output, square, &law(0.0, s2), &law(xi, 0.0))
    }

    fn overlapping(&self, race: &Race, samples: f64, loose: &Loose, exposure: &Exposure) -> f64 {
        let Memory { vocab, kernel, .. } = self;
        let Exposure { stored, moments, mislabelled, seen } = exposure;
        let overlap = race.output.overlap;
        let rows = self.origin.as_ref().and_then(|(point, _)| point.rows);
        let input_overlap = rows.map_or(overlap, |rows| rows.kernel.s2);
        let mixed = loose.is_soft() || (self.is_biased() && !loose.is_tight());
        let shift =
            if mixed { mixture::shift(*vocab, race, samples, loose, stored, &kernel.mean()) } else { 0.0 };
        let given = rows.as_ref().map(|rows| Given::new(rows, race.output, *vocab, samples));
        let mut accuracy = 0.0;
        for (i, query) in kernel.queries.iter().enumerate() {
            // Signals in units of 1/V, variances in units of 1/V^2.
            let parts = stored.noise(query, loose, input_overlap, *vocab);
            let noise = parts.iter().sum::<f64>() + query.xi * query.xi * mislabelled;
            if let Some(given) = &given {
                // What is not a wrong label's own fact.
                let misplaced = parts[2] + query.xi * query.xi * mislabelled;
                let signal = |f: f64| f * query.xi + query.kappa * (f - 1.0) - shift;
                accuracy += query.weight * seen.mean(|f| given.win(i, query, signal(f), noise, misplaced));
                continue;
            }
            let [third, fourth] = if mixed { [0.0; 2] } else { cumulants(query, *moments) };
            let noise = Noise::new((overlap * vocab + 1.0) * noise, third, fourth);
            accuracy +=
                query.weight * seen.mean(|f| race.win(f * query.xi + query.kappa * (f - 1.0) - shift, noise));
        }
        accuracy
    }

    /// The same with orthonormal embeddings, where only the mean attention matters.
    pub(crate) fn accuracy_with_mass(&self, samples: f64, mass: f64) -> f64 {
        let samples = samples * mass;
        let per_fact = samples / self.vocab;
        let mut accuracy = 0.0;
        for query in &self.kernel.queries {
            let rivals = Rivals::new(self.vocab - 1.0, per_fact, query.kappa, query.s2);
            let counts = binomial(samples, 1.0 / self.vocab, rivals.detail());
            accuracy += query.weight * counts.mean(|n| rivals.win(n * (query.kappa + query.xi)));
        }
        accuracy
    }

    /// Sizes of the terms of a logit after `samples` samples.
    pub fn noise(&self, samples: f64) -> LogitNoise {
        let overlap = self.race.as_ref().map_or(0.0, |race| race.output.overlap);
        LogitNoise::of(&self.kernel.summary(), self.vocab, overlap, samples)
    }
}

/// What a number of samples shows of the facts. It does not depend on the dimension or the width.
#[derive(Clone, Debug)]
pub(crate) struct Exposure {
    stored: Stored,
    moments: [f64; 3],
    mislabelled: f64,
    seen: Rule,
}

impl Exposure {
    fn new(samples: f64, vocab: f64, loose: &Loose) -> Exposure {
        let all = samples / vocab;
        Exposure {
            stored: loose.stored(all),
            moments: moments(all, loose),
            mislabelled: loose.mislabelled / (samples * loose.mass * loose.mass),
            seen: seen(samples, vocab, loose),
        }
    }
}

/// The race of labels at a point, which depends on vocabulary and dimension only; none with orthonormal embeddings.
pub(crate) fn race(point: &Point) -> Option<Race> {
    (!point.orthonormal()).then(|| Race::new(point.vocab - 1.0, output(point)))
}

/// How much of a fact is stored, in units of the mean, with the share of sequences in which attention finds facts with it at test, in
/// units of the lock rate.
fn seen(samples: f64, vocab: f64, loose: &Loose) -> Rule {
    let unit = vocab / (samples * loose.mass);
    let counts = |fact: &Fact| {
        let mean = samples * fact.rate / (fact.sample_weight * vocab);
        let law: Vec<_> = match mean > MANY && !loose.is_tight() {
            // Normal with the skewness of a Poisson number.
            true => NORMAL
                .points
                .iter()
                .map(|&(z, w)| (mean + mean.sqrt() * z + (z * z - 1.0) / 6.0, w))
                .collect(),
            false => binomial(samples, mean / samples, Detail::Smooth).points,
        };
        let (scale, share) = (unit * fact.sample_weight, fact.weight * fact.test / loose.lock);
        law.into_iter().map(move |(n, weight)| (n * scale, weight * share))
    };
    let found = |fact: &&Fact| fact.weight * fact.test > 1e-4 * loose.lock;
    let points: Vec<_> = loose.facts.iter().filter(found).flat_map(counts).collect();
    if loose.is_tight() {
        return Rule { points };
    }
    let total: f64 = points.iter().map(|point| point.1).sum();
    let mut rule = of_points(&points, if samples < FEW * vocab { 2 * POINTS } else { POINTS });
    rule.points.iter_mut().for_each(|point| point.1 *= total);
    rule
}

/// A run with less attention on the informative position recalls nothing.
const NEGLIGIBLE_MASS: f64 = 1e-9;

/// Number of points for how much of a fact is stored, and the samples per fact below which there are twice as many.
const POINTS: usize = 8;
const FEW: f64 = 5.0;

/// From this mean on, six points stand for a count.
const MANY: f64 = 6.0;
static NORMAL: LazyLock<Rule> = LazyLock::new(|| hermite(6));

/// Moments two to four of f, the part of a fact that is stored with `all` samples of each, in units of the mean: a compound Poisson
/// number whose mean varies with the attention on the fact.
fn moments(all: f64, loose: &Loose) -> [f64; 3] {
    let mut moments = [0.0; 3];
    for fact in &loose.facts {
        let (unit, n) = (fact.sample_weight / (all * loose.mass), all * fact.rate / fact.sample_weight);
        moments[0] += fact.weight * unit.powi(2) * n * (n + 1.0);
        moments[1] += fact.weight * unit.powi(3) * n * (n * (n + 3.0) + 1.0);
        moments[2] += fact.weight * unit.powi(4) * n * (n * (n * (n + 6.0) + 7.0) + 1.0);
    }
    moments
}

/// Third and fourth cumulant of a wrong label's coefficient with its own fact, `kappa (f - 1) + Delta f`, given the moments of f.
fn cumulants(query: &Query, [f2, f3, f4]: [f64; 3]) -> [f64; 2] {
    let Query { kappa, s2, .. } = *query;
    let variance = f2 - 1.0;
    let third = f3 - 3.0 * f2 + 2.0;
    let fourth = f4 - 4.0 * f3 + 6.0 * f2 - 3.0 - 3.0 * variance * variance;
    [
        kappa * (kappa * kappa * third + 3.0 * s2 * (f3 - f2)),
        kappa.powi(4) * fourth + 3.0 * s2 * s2 * (f4 - f2 * f2),
    ]
}

/// Statistics of the output embeddings at a point.
pub(crate) fn output(point: &Point) -> Output {
    Output { overlap: point.overlap(), freedom: point.lengths_vary().then_some(point.dim) }
}
