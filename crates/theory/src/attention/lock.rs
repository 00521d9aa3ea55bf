//! Lock rates from scores (theory: attention).
//!
//! In one run the trigger's score T has one value, and so has every token's score. The lock rate of that run is the
//! probability that T plus the token score at `ell` exceeds the largest of the others: `F(T/spread - Y)` averaged over Y,
//! the largest of as many normal numbers as there are distinct other tokens. T varies from run to run, and where it is not
//! large compared with its spread, some runs lock and others do not. What a run stores depends on its own lock rate, so
//! recall needs the whole distribution and not only its mean.

use std::sync::{LazyLock, OnceLock};

use crate::counts::{Detail, poisson};
use crate::normal::{Maximum, QuickCdf};
use crate::point::Point;
use crate::quadrature::{Rule, Table, hermite};

use super::{Scores, in_squares};

/// The distribution of the trigger's score over runs, in standard deviations.
static RUNS: LazyLock<Rule> = LazyLock::new(|| hermite(12));

/// Runs with a smaller weight are left out; together they weigh less than 1e-7.
const NEGLIGIBLE: f64 = 1e-10;

/// Runs with the same score of the trigger.
pub(crate) struct Run {
    /// The score of the trigger, in units of the spread of token scores; infinite without spread.
    pub score: f64,
    /// The lock rate.
    pub lock: f64,
    /// Their share among all runs.
    pub weight: f64,
}

/// The largest score of the other tokens in a sequence, or the k-th largest, in units of the spread of token scores.
#[derive(Clone, Debug)]
pub(crate) struct Largest {
    rule: Rule,
    /// Its mean.
    pub mean: f64,
    /// Standard deviation of its difference from the score of one more token.
    pub deviation: f64,
    /// Lock rates by the score of the trigger, tabulated on first use.
    table: OnceLock<Table>,
}

impl Largest {
    pub fn of(point: &Point) -> Largest {
        let Maximum { rule, deviation } = Maximum::of(others(point));
        Largest {
            mean: rule.mean(|y| y),
            deviation: libm::hypot(deviation, 1.0),
            rule,
            table: OnceLock::new(),
        }
    }

    /// A score with the given distribution.
    pub fn distributed(rule: Rule) -> Largest {
        let mean = rule.mean(|y| y);
        let variance = rule.mean(|y| (y - mean).powi(2));
        Largest { mean, deviation: (1.0 + variance).sqrt(), rule, table: OnceLock::new() }
    }

    /// The lock rate of a run whose trigger has this score.
    pub fn lock_rate(&self, score: f64) -> f64 {
        let cdf = QuickCdf::new();
        self.rule.mean(|y| cdf.at(score - y))
    }

    fn table(&self) -> &Table {
        self.table.get_or_init(|| {
            let ys = self.rule.points.iter().map(|point| point.0);
            let (low, high) = (ys.clone().fold(0.0, f64::min), ys.fold(0.0, f64::max));
            Table::new(low - QuickCdf::REACH, high + QuickCdf::REACH, 0.16, |score| self.lock_rate(score))
        })
    }
}

/// Runs at a point by the score of the trigger.
pub(crate) fn runs(point: &Point, scores: &Scores, largest: &Largest) -> Vec<Run> {
    if point.length <= 1.0 {
        return vec![Run { score: f64::INFINITY, lock: 1.0, weight: 1.0 }];
    }
    let noise = in_squares(&[scores.mean_bias, scores.gradient_noise, scores.mlp_noise]);
    // The part of a token's score from its overlap with the trigger is proportional to T.
    let overlap = point.overlap_with_trigger().sqrt();
    let Pairs { counts: pairs, spread, skew } = Pairs::of(scores);
    let bias_spread = scores.bias_variance.sqrt() * scores.mean_bias.powi(2)
        / (noise * noise + (overlap * scores.trigger).powi(2)).max(f64::MIN_POSITIVE);
    // Many evaluations use a table.
    let table = (pairs.points.len() > 8).then(|| largest.table());
    let mut law = Vec::with_capacity(pairs.points.len() * RUNS.points.len());
    for &(count, weight) in &pairs.points {
        // A run whose tokens have a spread smaller by a factor is one whose trigger has a score larger by that factor.
        let mean = scores.trigger + scores.from_pairs * (count - 1.0);
        let (own, square) = (mean * bias_spread, bias_spread * bias_spread);
        let variance = spread * spread + own * own;
        let third = 6.0 * skew * spread * spread + 3.0 * mean * square * (own * own + 2.0 * spread * spread);
        let skew = if variance > 0.0 { third / (6.0 * variance) } else { 0.0 };
        let (mean, spread) = (mean * (1.0 + 1.5 * square), variance.sqrt());
        for &(z, z_weight) in RUNS.points.iter().filter(|run| run.1 * weight > NEGLIGIBLE) {
            let trigger = mean + spread * z + skew * (z * z - 1.0);
            let token = in_squares(&[noise, overlap * trigger]);
            let score = if token > 0.0 { trigger / token } else { f64::INFINITY.copysign(trigger) };
            let lock = table.map_or_else(|| largest.lock_rate(score), |table| table.at(score));
            law.push(Run { score, lock: lock.clamp(0.0, 1.0), weight: weight * z_weight });
        }
    }
    law
}

/// The lock rate, averaged over runs.
pub fn lock_rate(point: &Point) -> f64 {
    mean_rate(point, &Scores::of(point), &Largest::of(point))
}

/// How often the score at `ell` exceeds a score of the others, averaged over runs.
pub(super) fn mean_rate(point: &Point, scores: &Scores, largest: &Largest) -> f64 {
    let runs = runs(point, scores, largest);
    runs.iter().map(|run| run.weight * run.lock).sum::<f64>().clamp(0.0, 1.0)
}

/// The number of pairs of samples with the same label.
struct Pairs {
    /// Relative to its mean. A large number is certain here, and its variance and skewness are in the other two.
    counts: Rule,
    /// The spread of T from everything else.
    spread: f64,
    /// A sixth of the third cumulant of T, divided by its variance.
    skew: f64,
}

impl Pairs {
    fn of(scores: &Scores) -> Pairs {
        const MANY: f64 = 12.0;
        if scores.pairs <= 0.0 {
            return Pairs { counts: Rule::certain(0.0), spread: scores.trigger_spread, skew: 0.0 };
        }
        if scores.pairs > MANY {
            let variance = scores.from_pairs.powi(2) / scores.pairs;
            let spread = (scores.trigger_spread.powi(2) + variance).sqrt();
            let third = scores.from_pairs * variance / scores.pairs;
            let skew = if spread > 0.0 { third / (6.0 * spread * spread) } else { 0.0 };
            return Pairs { counts: Rule::certain(1.0), spread, skew };
        }
        let mut counts = poisson(scores.pairs, Detail::Every);
        counts.points.iter_mut().for_each(|point| point.0 /= scores.pairs);
        Pairs { counts, spread: scores.trigger_spread, skew: 0.0 }
    }
}

/// The number of distinct tokens beside the informative one. There is at least one, also after rounding.
pub(crate) fn others(point: &Point) -> f64 {
    distinct(point.length - 1.0, point.vocab).max(1.0)
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
    fn single_position_always_locks() {
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

    /// Lock rates and standard errors from eight seeds each: few samples of many facts, where pairs with one label are rare.
    #[test]
    fn few_pairs_agree_with_simulation() {
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

    /// The number of other tokens may be 1 minus a rounding error.
    #[test]
    fn two_positions_have_one_other_token() {
        for vocab in 200..300 {
            let rate = lock_rate(&gaussian(f64::from(vocab), 4.0, 2.0, 8.0));
            assert!((0.5..0.9).contains(&rate), "V = {vocab}: {rate}");
        }
    }

    #[test]
    fn distinct_tokens_are_counted() {
        assert!((distinct(1.0, 100.0) - 1.0).abs() < 1e-12);
        assert!((distinct(1e6, 100.0) - 100.0).abs() < 1e-9);
        assert!((distinct(10.0, 1e6) - 10.0).abs() < 1e-3);
    }
}
