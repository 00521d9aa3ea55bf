//! Measured statistics of real input embeddings, in place of those of random vectors (theory: attention, memory).
//!
//! Let the rows have the mean square length q, the mean `sqrt(q) mu` and the covariance `q S`, so that `|mu|^2 + tr S = 1`. Step 2 depends on
//! the covariance C of the V rows of a run (in units of q) and on their mean m. With independent rows and up to terms of relative order 1/d,
//! traces of powers of C are sums over non-crossing partitions of k with blocks of the sizes b, `V^(1 - blocks) prod tr S^b`; there are
//! `k! / ((k + 1 - blocks)! prod (multiplicities)!)` partitions of a type. For `S = 1/d` these are the moments of Marchenko and Pastur's law.
//! In `a^T C^k a` one of the k gaps between the factors holds a instead of S, so the block with it has `a^T S^b a` in place of its trace.
//!
//! A run draws V of R rows without replacement, so `1/V - 1/R` takes the place of `1/V`: all rows have the measured covariance exactly.

use serde::{Deserialize, Serialize};

use crate::kernel::{Measured, Query};
use crate::point::Point;

/// Largest power of the covariance whose trace is measured.
pub const POWERS: usize = 6;

/// Statistics of the rows of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Rows {
    /// Number of rows, R.
    pub count: f64,
    /// Mean squared length, q.
    pub square: f64,
    /// Variance of the squared length, in units of `q^2`.
    pub length_variance: f64,
    /// `tr S^k` for k from 1 to 6.
    pub traces: [f64; POWERS],
    /// `mu^T S^k mu` for k from 0 to 3.
    pub along_mean: [f64; 4],
    /// Mean overlaps of pairs of rows, in units of q, with Gaussian output embeddings.
    pub kernel: Measured,
    /// Rows by how much they overlap with others, the hardest to tell from them last.
    pub kinds: [Kind; KINDS],
    /// Share of the other rows in each group of overlaps.
    pub shares: [f64; GROUPS],
}

/// Number of [`Kind`]s.
pub const KINDS: usize = 16;
/// Number of groups of the other rows by their overlap with a row.
pub const GROUPS: usize = 14;

/// Mean overlaps of rows that are about equally hard to tell from the others, in units of q.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Kind {
    /// Share of the rows.
    pub weight: f64,
    /// Squared length, in units of `square`.
    pub own: f64,
    /// Mean overlap with other rows, in units of `square`.
    pub kappa: f64,
    /// Variance of the overlaps with other rows, in units of its square.
    pub s2: f64,
    /// Overlaps with other rows, less their mean, in units of `square`, in groups of falling overlap.
    pub overlaps: [f64; GROUPS],
}

impl Rows {
    /// The kernel of queries with these rows as input embeddings, one for each kind, in units of q. A trigger in the values adds its square to
    /// kappa, and its overlaps to s2.
    pub(crate) fn queries(&self, point: &Point) -> Vec<Query> {
        let unit = point.trigger.t() / self.square;
        let query = |kind: &Kind| Query {
            weight: kind.weight,
            kappa: kind.kappa + unit,
            xi: kind.own - kind.kappa,
            s2: kind.s2 + unit * self.traces[0] / point.dim,
            mlp_noise: 0.0,
        };
        self.kinds.iter().map(query).collect()
    }

    /// `1/V - 1/R`
    fn share(&self, vocab: f64) -> f64 {
        (1.0 / vocab - 1.0 / self.count).max(0.0)
    }

    /// Mean of `tr C^power` over runs.
    pub fn trace(&self, power: usize, vocab: f64) -> f64 {
        self.over_partitions(power, vocab, |blocks| blocks.iter().map(|&b| self.traces[b - 1]).product())
    }

    /// Mean of `m^T C^power m` over runs, m the mean of their rows.
    pub fn mean_form(&self, power: usize, vocab: f64) -> f64 {
        self.population_form(power, vocab) + self.drawn_form(power, vocab)
    }

    /// The part of [`Rows::mean_form`] from the mean of all rows, the same in every run.
    fn population_form(&self, power: usize, vocab: f64) -> f64 {
        if power == 0 {
            return self.along_mean[0];
        }
        self.over_partitions(power, vocab, |blocks| self.with_one(blocks, power, |b| self.along_mean[b]))
    }

    /// The part of [`Rows::mean_form`] from the rows of a run, whose mean has the covariance `S (1/V - 1/R)`.
    pub fn drawn_form(&self, power: usize, vocab: f64) -> f64 {
        let form = match power {
            0 => self.traces[0],
            _ => {
                self.over_partitions(power, vocab, |blocks| self.with_one(blocks, power, |b| self.traces[b]))
            }
        };
        self.share(vocab) * form
    }

    /// The product of traces in which one block has another value, averaged over the gaps that the block may have.
    fn with_one(&self, blocks: &[usize], power: usize, special: impl Fn(usize) -> f64) -> f64 {
        let others = |i: usize| -> f64 {
            blocks.iter().enumerate().filter(|&(j, _)| j != i).map(|(_, &b)| self.traces[b - 1]).product()
        };
        let term = |(i, &b): (usize, &usize)| b as f64 / power as f64 * special(b) * others(i);
        blocks.iter().enumerate().map(term).sum()
    }

    /// The sum over non-crossing partitions of `power`, each weighted by `(1/V - 1/R)^(blocks - 1)`.
    fn over_partitions(&self, power: usize, vocab: f64, value: impl Fn(&[usize]) -> f64) -> f64 {
        let share = self.share(vocab);
        let mut sum = 0.0;
        each_partition(power, power, &mut Vec::new(), &mut |blocks| {
            let number = factorial(power) / factorial(power + 1 - blocks.len());
            let equal: f64 = blocks.chunk_by(|a, b| a == b).map(|run| factorial(run.len())).product();
            sum += number / equal * libm::pow(share, blocks.len() as f64 - 1.0) * value(blocks);
        });
        sum
    }
}

/// Calls a function with every way to write a number as a sum of numbers that do not rise.
fn each_partition(left: usize, most: usize, blocks: &mut Vec<usize>, each: &mut dyn FnMut(&[usize])) {
    if left == 0 {
        return each(blocks);
    }
    for block in (1..=most.min(left)).rev() {
        blocks.push(block);
        each_partition(left - block, block, blocks, each);
        blocks.pop();
    }
}

fn factorial(n: usize) -> f64 {
    (1..=n).map(|i| i as f64).product()
}

#[cfg(test)]
pub(crate) fn random(dim: f64) -> Rows {
    let traces = std::array::from_fn(|k| libm::pow(dim, -(k as f64)));
    let (xi_spread, output_spread) = ((2.0 / dim).sqrt(), (2.0 / dim).sqrt());
    let kernel = Measured {
        kappa: 0.0,
        xi: 1.0,
        xi_spread,
        s2: 1.0 / dim,
        output_coherence: 1.0 / dim,
        output_spread,
    };
    let (count, square, length_variance) = (f64::INFINITY, 1.0, 2.0 / dim);
    let mut shares = [0.0; GROUPS];
    shares[0] = 1.0;
    let kind = Kind { weight: 1.0 / KINDS as f64, own: 1.0, s2: 1.0 / dim, ..Kind::default() };
    let kinds = [kind; KINDS];
    Rows { count, square, length_variance, traces, along_mean: [0.0; 4], kernel, kinds, shares }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isotropic_rows_have_the_moments_of_marchenko_and_pastur() {
        let (d, v) = (64.0_f64, 200.0);
        let (rows, c) = (random(d), d / v);
        let moments = [
            1.0,
            1.0 + c,
            1.0 + c * (3.0 + c),
            1.0 + c * (6.0 + c * (6.0 + c)),
            1.0 + c * (10.0 + c * (20.0 + c * (10.0 + c))),
            1.0 + c * (15.0 + c * (50.0 + c * (50.0 + c * (15.0 + c)))),
        ];
        for (k, moment) in moments.iter().enumerate() {
            let expected = moment * libm::pow(d, -(k as f64));
            assert!((rows.trace(k + 1, v) / expected - 1.0).abs() < 1e-12, "{k}");
        }
        for (k, moment) in [1.0, 1.0, 1.0 + c, 1.0 + c * (3.0 + c)].iter().enumerate() {
            let expected = moment / (v * libm::pow(d, k as f64));
            assert!((rows.mean_form(k, v) / expected - 1.0).abs() < 1e-12, "{k}");
        }
    }

    #[test]
    fn all_rows_have_the_measured_covariance() {
        let rows = Rows { count: 200.0, along_mean: [0.04, 0.03, 0.02, 0.01], ..random(64.0) };
        for k in 1..=POWERS {
            assert_eq!(rows.trace(k, 200.0), rows.traces[k - 1]);
        }
        assert_eq!((rows.mean_form(0, 200.0), rows.mean_form(3, 200.0)), (0.04, 0.01));
    }
}
