//! From scores to lock rates (theory section 5.2).
//!
//! In one run the trigger's score T has one value, and so has every token's score. The lock rate of that run is the
//! chance that T plus the token score at `ell` exceeds the largest of the others, `F(T/spread - Y)` averaged over Y, the
//! largest of as many normal numbers as there are distinct other tokens. From run to run T varies, and where it is
//! not large beside its spread, some runs lock and others do not. What a run stores depends on its own lock
//! rate, so the whole law matters and not only its mean.

use std::sync::LazyLock;

use crate::counts::{Detail, poisson};
use crate::normal::{Maximum, QuickCdf};
use crate::point::Point;
use crate::quadrature::{Rule, Table, hermite};

use super::{Scores, in_squares};

/// How the trigger's score varies from run to run.
static RUNS: LazyLock<Rule> = LazyLock::new(|| hermite(12));

/// Runs with a smaller weight are left out: all of them together weigh less than 1e-7.
const NEGLIGIBLE: f64 = 1e-10;

/// The law of the lock rate over runs.
#[derive(Clone, Debug)]
pub struct LockLaw {
    law: Rule,
}

impl LockLaw {
    /// The law at a point.
    pub fn of(point: &Point) -> LockLaw {
        LockLaw::with(point, &Scores::of(point))
    }

    /// The law at a point whose scores are known.
    pub(crate) fn with(point: &Point, scores: &Scores) -> LockLaw {
        if point.length <= 1.0 {
            return LockLaw { law: Rule::certain(1.0) };
        }
        // At least one, whatever rounding says.
        let others = Maximum::of(distinct(point.length - 1.0, point.vocab).max(1.0));
        let noise = in_squares(&[scores.mean_bias, scores.gradient_noise, scores.mlp_noise]);
        // The part of a token's overlap with the trigger moves with T.
        let overlap = point.overlap().sqrt();
        let (pairs, spread) = pair_counts(scores);
        let cdf = QuickCdf::new();
        let finds = |x: f64| others.rule.mean(|y| cdf.at(x - y));
        // Where it is asked for often, from a table.
        let table = (pairs.points.len() > 8).then(|| {
            let ys = others.rule.points.iter().map(|point| point.0);
            let (low, high) = (ys.clone().fold(0.0, f64::min), ys.fold(0.0, f64::max));
            Table::new(low - QuickCdf::REACH, high + QuickCdf::REACH, 0.16, finds)
        });
        let mut law = Vec::with_capacity(pairs.points.len() * RUNS.points.len());
        for &(count, weight) in &pairs.points {
            let mean = scores.trigger + scores.from_pairs * (count - 1.0);
            for &(z, z_weight) in RUNS.points.iter().filter(|run| run.1 * weight > NEGLIGIBLE) {
                let trigger = mean + spread * z;
                let token = in_squares(&[noise, overlap * trigger]);
                let rate = match (&table, token > 0.0) {
                    (Some(table), true) => table.at(trigger / token).clamp(0.0, 1.0),
                    (None, true) => finds(trigger / token),
                    (_, false) => f64::from(trigger > 0.0),
                };
                law.push((rate, weight * z_weight));
            }
        }
        LockLaw { law: Rule { points: law } }
    }

    /// Lock rates and their weights.
    pub(crate) fn points(&self) -> &[(f64, f64)] {
        &self.law.points
    }

    /// The expectation of a function of the lock rate.
    pub fn mean(&self, f: impl FnMut(f64) -> f64) -> f64 {
        self.law.mean(f)
    }
}

/// The lock rate, averaged over runs.
pub fn lock_rate(point: &Point) -> f64 {
    LockLaw::of(point).mean(|rate| rate).clamp(0.0, 1.0)
}

/// The number of pairs over its mean, and the spread of T that is left beside it. Many pairs vary normally, and their
/// variance joins the rest.
fn pair_counts(scores: &Scores) -> (Rule, f64) {
    const MANY: f64 = 50.0;
    if scores.pairs > MANY {
        let counts = scores.from_pairs / scores.pairs.sqrt();
        return (Rule::certain(1.0), scores.trigger_spread.hypot(counts));
    }
    let mut rule = poisson(scores.pairs, Detail::Every);
    rule.points.iter_mut().for_each(|point| point.0 /= scores.pairs);
    (rule, scores.trigger_spread)
}

/// Distinct tokens among `draws` from a vocabulary: `V (1 - (1 - 1/V)^draws)`.
fn distinct(draws: f64, vocab: f64) -> f64 {
    -vocab * libm::expm1(draws * libm::log1p(-1.0 / vocab))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::gaussian;

    #[test]
    fn one_position_is_always_right() {
        assert_eq!(lock_rate(&gaussian(100.0, 25.0, 1.0, 10.0)), 1.0);
    }

    #[test]
    fn data_and_dimensions_help_and_length_hurts() {
        let at = |dim, length, samples| lock_rate(&gaussian(300.0, dim, length, samples));
        let middle = at(40.0, 60.0, 2000.0);
        assert!((0.85..0.97).contains(&middle), "simulated: 0.925, predicted {middle}");
        assert!(at(40.0, 60.0, 4000.0) > middle && at(80.0, 60.0, 2000.0) > middle);
        assert!(at(40.0, 120.0, 2000.0) < middle);
    }

    /// Simulated with eight seeds of their own: few samples of many facts, where pairs with a common label are rare.
    #[test]
    fn few_pairs_leave_it_to_luck() {
        for (vocab, dim, length, samples, seen, error) in [
            (212.0, 146.0, 7.0, 23.0, 0.708, 0.136),
            (109.0, 139.0, 20.0, 54.0, 0.897, 0.038),
            (549.0, 317.0, 147.0, 758.0, 0.922, 0.028),
            (174.0, 62.0, 12.0, 74.0, 0.885, 0.056),
        ] {
            let rate = lock_rate(&gaussian(vocab, dim, length, samples));
            assert!((rate - seen).abs() < 2.5 * error, "V = {vocab}: {rate} against {seen}");
        }
    }

    /// One other token may come out as one less a rounding error, and is still there.
    #[test]
    fn two_positions_have_one_rival() {
        for vocab in 200..300 {
            let rate = lock_rate(&gaussian(f64::from(vocab), 4.0, 2.0, 8.0));
            assert!((0.5..0.9).contains(&rate), "V = {vocab}: {rate}");
        }
    }

    #[test]
    fn distinct_tokens() {
        assert!((distinct(1.0, 100.0) - 1.0).abs() < 1e-12);
        assert!((distinct(1e6, 100.0) - 100.0).abs() < 1e-9);
        assert!((distinct(10.0, 1e6) - 10.0).abs() < 1e-3);
    }
}
