//! One-step accuracy: reading facts from the first gradient (theory: one step).
//!
//! In units of `1/(N L)`, the label of a fact with k samples has the coefficient
//!
//! `c = k G + h a - (N/V)(G + (L-1) a/V) + noise of variance a (k^2 + k (L-1))/d`
//!
//! for a query of squared length a: G is the query's product with what all head outputs have in common, one number of variance
//! `a ((L-1)^2/(V d) + t/d)` per query, and h the number of times that the query occurs among the fact's noise tokens, Poisson with
//! mean `k (L-1)/V`. The right label has `n a` more and no `k^2`. With few samples per fact the law of c is summed over k and h;
//! with many, skewness and kurtosis describe it.
//!
//! With orthonormal embeddings the logit of label j is the number of occurrences of the query's token in samples of that
//! label: a Poisson number of mean `(L - 1)/V` among the noise tokens of each, and one more in each sample of the right label.

mod mlp;

pub(crate) use mlp::variances as mlp_variances;

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::counts::{Detail, binomial, poisson};
use crate::kernel::lengths;
use crate::memory::explicit::{self, Coefficient};
use crate::memory::{Noise, Race, Rivals, output, race};
use crate::point::Point;
use crate::quadrature::{Rule, chi_square, hermite};

/// One-step accuracy at a point.
pub fn one_step_accuracy(point: &Point) -> f64 {
    one_step_beside(point, None)
}

/// The same, given the race of the point's memory, which depends on vocabulary and dimension only.
pub(crate) fn one_step_beside(point: &Point, memory: Option<&Race>) -> f64 {
    let race = memory.map(Cow::Borrowed).or_else(|| race(point).map(Cow::Owned));
    let accuracy = match race.as_deref() {
        None => counted(point),
        Some(race) if point.width.is_some() => mlp::accuracy(point, race),
        Some(_) if point.coverage() < FEW && point.dim >= 0.05 * point.vocab && point.length > 1.0 => {
            few(point)
        }
        Some(race) => overlapping(point, race),
    };
    accuracy.clamp(0.0, 1.0)
}

/// The law of `n step + sqrt(n noise) z` for the count n of the right label and a normal z: a sum over counts below [`FEW`] samples per
/// fact, above it normal with the skewness of a compound Poisson number.
fn right(point: &Point, step: f64, noise: f64) -> Rule {
    let m = point.coverage();
    if m < FEW {
        let counts = binomial(point.samples, 1.0 / point.vocab, Detail::Smooth);
        let normal = |&(n, weight): &(f64, f64)| {
            let point = move |&(z, share): &(f64, f64)| (n * step + (n * noise).sqrt() * z, weight * share);
            OWN.points.iter().map(point)
        };
        return Rule { points: counts.points.iter().flat_map(normal).collect() };
    }
    // Normal with the skewness of a compound Poisson number.
    let variance = step * step + noise;
    let skew = step * (variance + 2.0 * noise) / (6.0 * variance);
    let point =
        |&(z, weight): &(f64, f64)| (m * step + (m * variance).sqrt() * z + skew * (z * z - 1.0), weight);
    Rule { points: MANY.points.iter().map(point).collect() }
}

/// The noise of a right label's coefficient, and the whole coefficient where samples are many, in standard deviations.
static OWN: LazyLock<Rule> = LazyLock::new(|| hermite(3));
static MANY: LazyLock<Rule> = LazyLock::new(|| hermite(8));

/// What the coefficients of all labels share for one query.
struct Shared {
    /// Squared length of the query.
    a: f64,
    /// G, the query's product with the common part of head outputs.
    common: f64,
    /// `(L - 1)/V`, how often a token occurs among the noise tokens of a sequence.
    same: f64,
    /// G with the query's own share, the mean coefficient per sample.
    each: f64,
    /// Mean square of a wrong label's coefficient.
    square: f64,
}

impl Shared {
    /// For a query of squared length `a` whose G is `z` standard deviations.
    fn new(point: &Point, a: f64, z: f64) -> Shared {
        let Point { vocab, length, .. } = *point;
        let (overlap, per_fact, same) = (point.overlap(), point.coverage(), (length - 1.0) / vocab);
        let common = z * (a * overlap * ((length - 1.0) * same + point.trigger.t())).sqrt();
        let each = common + same * a;
        let square = per_fact * (each * each + same * a * a + a * overlap * (per_fact + length));
        Shared { a, common, same, each, square }
    }

    /// The mean coefficient of a right label with n samples.
    fn right(&self, n: f64, per_fact: f64) -> f64 {
        n * self.a + (n - per_fact) * self.each
    }
}

/// The distribution of G, in standard deviations.
static HEADS: LazyLock<Rule> = LazyLock::new(|| hermite(7));

fn overlapping(point: &Point, race: &Race) -> f64 {
    let Point { vocab, length, .. } = *point;
    let (overlap, m) = (point.overlap(), point.coverage());
    let accuracy = |a: f64, z: f64| {
        let Shared { same, each, square, .. } = Shared::new(point, a, z);
        let (square_a, other) = (a * a, a * overlap);
        let third = m * (each.powi(3) + 3.0 * each * same * square_a + same * a.powi(3))
            + 3.0 * each * other * m * (2.0 * m + length);
        let fourth = m * (each.powi(4) + same * square_a * square_a)
            + 3.0 * other * other * m * ((length + 2.0 * m).powi(2) + 2.0 * m);
        let noise = Noise::new((overlap * vocab + 1.0) * square, third, fourth);
        right(point, a + each, a * (overlap * (length - 1.0) + same * a))
            .mean(|c| race.win(c - m * each, noise))
    };
    lengths(point).mean(|a| HEADS.mean(|z| accuracy(a, z)))
}

/// With fewer samples per fact than this, the coefficients of wrong labels are summed over their counts.
const FEW: f64 = 8.0;

fn few(point: &Point) -> f64 {
    let Point { vocab, length, .. } = *point;
    let (overlap, m) = (point.overlap(), point.coverage());
    let counts = binomial(point.samples, 1.0 / vocab, Detail::Every);
    let squares = if point.lengths_vary() { chi_square(point.dim, 3) } else { Rule::certain(1.0) };
    // Without a spread of G one value is enough.
    let heads = hermite(if Shared::new(point, 1.0, 1.0).common * m.sqrt() < 0.05 { 1 } else { 5 });
    let accuracy = |a: f64, z: f64| {
        let shared = Shared::new(point, a, z);
        let Shared { common, same, each, square, .. } = shared;
        let others = |k: f64| a * overlap * k * (length - 1.0);
        let wrong = |&(k, weight): &(f64, f64)| {
            // Many occurrences of the query are normal.
            let (few, many) = if k * same < 3.0 { (k * same, 0.0) } else { (0.0, k * same) };
            let variance = others(k) + a * overlap * k * k + many * a * a;
            poisson(few, Detail::Every).points.into_iter().map(move |(h, chance)| {
                let mean = k * common + (h + many) * a - m * each;
                Coefficient { mean, variance, third: 0.0, weight: weight * chance }
            })
        };
        let right = |&(n, weight): &(f64, f64)| {
            let variance = others(n) + n * same * a * a;
            Coefficient { mean: shared.right(n, m), variance, third: 0.0, weight }
        };
        let wrong: Vec<_> = counts.points.iter().flat_map(wrong).filter(|c| c.weight > 1e-9).collect();
        let right: Vec<_> = counts.points.iter().map(right).filter(|c| c.weight > 1e-7).collect();
        explicit::win(vocab, output(point), square, &wrong, &right)
    };
    squares.mean(|a| heads.mean(|z| accuracy(a, z)))
}

fn counted(point: &Point) -> f64 {
    let detail = if point.coverage() <= 400.0 { Detail::Every } else { Detail::Smooth };
    let each = (point.length - 1.0) / point.vocab;
    let rivals = Rivals::clustered(point.vocab - 1.0, point.coverage(), each);
    let right = |n: f64| poisson(n * each, Detail::Smooth).mean(|more| rivals.win(n + more));
    binomial(point.samples, 1.0 / point.vocab, detail).mean(right)
}

#[cfg(test)]
mod tests {
    use superpose_core::config::{Embedding, Trigger};

    use super::*;
    use crate::Memory;
    use crate::point::gaussian;

    #[test]
    fn length_one_equals_the_memory() {
        for (vocab, dim, samples) in [(300.0, 64.0, 3000.0), (1000.0, 300.0, 1000.0)] {
            let point = gaussian(vocab, dim, 1.0, samples);
            let (one, memory) = (one_step_accuracy(&point), Memory::new(&point).accuracy(samples));
            assert!((one - memory).abs() < 0.02, "{one} {memory}");
        }
    }

    /// Accuracies with standard errors from 32 seeds (many facts: 2): few samples per fact, and long sequences.
    #[test]
    fn accuracy_agrees_with_simulation() {
        for (vocab, dim, length, samples, seen, error) in [
            (152.0, 68.0, 5.0, 180.0, 0.242, 0.004),
            (161.0, 119.0, 455.0, 27_758.0, 0.301, 0.008),
            (258.0, 514.0, 26.0, 448.0, 0.263, 0.003),
            (300.0, 165.0, 3.0, 83.0, 0.193, 0.002),
            (300.0, 165.0, 3.0, 520.0, 0.513, 0.003),
            (327.0, 226.0, 815.0, 49_612.0, 0.243, 0.004),
            (404.0, 263.0, 12.0, 700.0, 0.333, 0.003),
            (10_000.0, 1500.0, 5.0, 6140.0, 0.251, 0.013),
        ] {
            let found = one_step_accuracy(&gaussian(vocab, dim, length, samples));
            assert!((found - seen).abs() < 0.015 + 3.0 * error, "V = {vocab}: {found} against {seen}");
        }
    }

    #[test]
    fn half_of_the_facts_need_about_twice_the_leading_product() {
        // With enough samples per fact, where coverage does not limit the accuracy.
        for (vocab, dim, length) in [(1000.0, 250.0, 10.0), (3000.0, 700.0, 30.0_f64)] {
            let leading = 2.0 * length * vocab * vocab * vocab.ln() / (dim * dim);
            let at = |factor: f64| one_step_accuracy(&gaussian(vocab, dim, length, factor * leading));
            assert!(at(1.5) < 0.5 && at(2.5) > 0.5, "V = {vocab}: {} {}", at(1.5), at(2.5));
        }
    }

    #[test]
    fn orthonormal_accuracy_depends_on_samples_and_length() {
        let point = |vocab: f64, length, samples, trigger| Point {
            embedding: Embedding::Orthonormal,
            trigger,
            ..gaussian(vocab, vocab + 2.0, length, samples)
        };
        let at = |point| one_step_accuracy(&point);
        // In short sequences little more than coverage, 0.95, is needed: a fact seen once can tie with a chance
        // occurrence. The trigger has no effect.
        let short = at(point(1000.0, 2.0, 3000.0, Trigger::Keys));
        assert!((0.8..0.95).contains(&short), "{short}");
        assert_eq!(short, at(point(1000.0, 2.0, 3000.0, Trigger::Values)));
        // In long sequences the samples needed are proportional to L.
        let (half, full) =
            (at(point(300.0, 300.0, 3000.0, Trigger::Keys)), at(point(300.0, 300.0, 2e4, Trigger::Keys)));
        assert!(half < 0.5 && full > 0.9, "{half} {full}");
    }
}
