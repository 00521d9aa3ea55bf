//! Kept rates: how often the informative position is among the k largest scores (docs/theory/context.md).
//!
//! It is kept if its score exceeds the k-th largest of the L - 1 others, as it has the largest weight if its score exceeds the
//! largest of them. So the kept rate follows from the lock rate's formula with the distribution of the k-th largest score
//! in place of that of the largest.
//!
//! The other positions are independent draws from V tokens, each with one score in a run. Ranked by score, the token at the
//! k-th largest position has the rank `J = ceil(V B)` with B ~ Beta(k, L - k), the k-th smallest of L - 1 uniform numbers. The
//! share of normal numbers above the J-th largest of V is `q | J ~ Beta(J, V + 1 - J)`. The law of q is close to the Beta law
//! with the same mean and variance. It equals that law for L much smaller than V, where q is B, and for k = 1.

use crate::normal::{cdf, density, ln_cdf, survival};
use crate::point::Point;
use crate::quadrature::Rule;

use super::Scores;
use super::lock::{Largest, mean_rate};

/// The kept rate at a point with the given scores, averaged over runs. It is 1 where all tokens are kept.
pub(crate) fn kept_rate_of(point: &Point, scores: &Scores) -> f64 {
    match point.keep {
        Some(keep) if keep <= 1.0 => mean_rate(point, scores, &Largest::of(point)),
        Some(keep) if keep < point.length => {
            mean_rate(point, scores, &Largest::distributed(kth_largest(keep, point)))
        }
        _ => 1.0,
    }
}

/// The kept rate, averaged over runs.
pub fn kept_rate(point: &Point) -> f64 {
    kept_rate_of(point, &Scores::of(point))
}

/// The smallest number of kept tokens at which the kept rate reaches a share of at most 1.
pub fn tokens_to_keep(point: &Point, share: f64) -> f64 {
    let scores = Scores::of(point);
    let reached = |keep: f64| kept_rate_of(&Point { keep: Some(keep), ..*point }, &scores) >= share;
    let (mut low, mut high) = (0.0, point.length);
    while high - low > 1.0 {
        let middle = f64::floor(0.5 * (low + high));
        if reached(middle) { high = middle } else { low = middle }
    }
    high
}

/// The distribution of the k-th largest score of the other positions, in units of the spread of token scores.
fn kth_largest(keep: f64, point: &Point) -> Rule {
    let Point { vocab, length, .. } = *point;
    // The k-th largest is the (L - k)-th smallest. Shares up to one half are computed without cancellation.
    if keep > 0.5 * length {
        let mut mirrored = kth_largest(length - keep, point);
        mirrored.points.iter_mut().for_each(|point| point.0 = -point.0);
        return mirrored;
    }
    let [rank, rising] = rank_moments(keep, length, vocab);
    let (mean, square) = (rank / (vocab + 1.0), rising / (vocab + 1.0) / (vocab + 2.0));
    let total = (mean - square) / (square - mean * mean);
    OrderStatistic { above: mean * total, below: (1.0 - mean) * total }.rule()
}

/// The means of J and of J (J + 1).
fn rank_moments(keep: f64, length: f64, vocab: f64) -> [f64; 2] {
    let mean = vocab * keep / length;
    let square = mean * vocab * (keep + 1.0) / (length + 1.0);
    // A B that is wide compared with 1/V is rounded up by a uniform number.
    if mean * vocab * (1.0 - keep / length) > 4.0 * (length + 1.0) {
        return [mean + 0.5, square + 2.0 * mean + 5.0 / 6.0];
    }
    // Integrals of J and J (J + 1) over V B; their increments over a cell of a grid average the steps.
    let integrals = |x: f64| {
        let n = x.floor();
        let (one, two) = (n + 1.0, (n + 1.0) * (n + 2.0));
        [n * one / 2.0 + one * (x - n), n * two / 3.0 + two * (x - n)]
    };
    let statistic = OrderStatistic { above: keep, below: length - keep };
    let (grid, step) = statistic.grid();
    let mut sums = [0.0; 2];
    for (y, weight) in grid {
        let [high, low] = [y - 0.5 * step, y + 0.5 * step].map(|y| vocab * survival(y));
        let [upper, lower] = [integrals(high), integrals(low)];
        (0..2).for_each(|i| sums[i] += weight * (upper[i] - lower[i]) / (high - low));
    }
    sums
}

/// A number y such that the share of normal numbers above it is Beta(above, below).
struct OrderStatistic {
    above: f64,
    below: f64,
}

impl OrderStatistic {
    /// The logarithm of the density, up to a constant. It is concave.
    fn ln_density(&self, y: f64) -> f64 {
        (self.below - 1.0) * ln_cdf(y) + (self.above - 1.0) * ln_cdf(-y) - 0.5 * y * y
    }

    /// The most likely value and the standard deviation of the normal law with the same curvature there.
    fn peak(&self) -> (f64, f64) {
        let ratios = |y: f64| (density(y) / cdf(y), density(y) / survival(y));
        let (mut low, mut high) = (-9.0, 9.0);
        for _ in 0..40 {
            let y = 0.5 * (low + high);
            let (left, right) = ratios(y);
            let slope = (self.below - 1.0) * left - (self.above - 1.0) * right - y;
            if slope > 0.0 { low = y } else { high = y }
        }
        let (left, right) = ratios(low);
        let curvature = (self.below - 1.0) * left * (low + left) + (self.above - 1.0) * right * (right - low);
        (low, 1.0 / (1.0 + curvature).sqrt())
    }

    /// Values on a regular grid with their weights, and the step of the grid. Averages of smooth functions converge
    /// exponentially in the step.
    fn grid(&self) -> (Vec<(f64, f64)>, f64) {
        const NEGLIGIBLE: f64 = -18.0;
        let (peak, deviation) = self.peak();
        let (step, top) = (0.45 * deviation, self.ln_density(peak));
        let side = |first: i32, sign: f64| {
            let point = move |i: i32| {
                let y = peak + sign * step * f64::from(i);
                (y, self.ln_density(y) - top)
            };
            (first..).map(point).take_while(|point| point.1 > NEGLIGIBLE)
        };
        let mut points: Vec<(f64, f64)> = side(0, 1.0).chain(side(1, -1.0)).collect();
        points.iter_mut().for_each(|point| point.1 = libm::exp(point.1));
        let total: f64 = points.iter().map(|point| point.1).sum();
        points.iter_mut().for_each(|point| point.1 /= total);
        (points, step)
    }

    fn rule(&self) -> Rule {
        Rule { points: self.grid().0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention::lock_rate;
    use crate::normal::Maximum;
    use crate::point::gaussian;

    fn at(vocab: f64, length: f64, keep: f64) -> Point {
        Point { keep: Some(keep), ..gaussian(vocab, 60.0, length, 3000.0) }
    }

    #[test]
    fn one_kept_token_is_the_largest() {
        for (vocab, length) in [(1000.0, 2.0), (500.0, 30.0), (200.0, 200.0), (100.0, 900.0), (1e5, 1e4)] {
            let point = at(vocab, length, 1.0);
            assert_eq!(kept_rate(&point), lock_rate(&point));
            let largest = Maximum::of(crate::attention::others(&point)).rule;
            let ranked = kth_largest(1.0, &point);
            for x in [-1.0, 0.5, 2.0, 3.0, 4.0] {
                let [a, b] = [&largest, &ranked].map(|law| law.mean(|y| cdf(x - y)));
                assert!((a - b).abs() < 2e-3, "V = {vocab}, L = {length}, {x}: {a} {b}");
            }
        }
    }

    #[test]
    fn more_kept_tokens_keep_more_up_to_all() {
        for (vocab, length) in [(300.0, 60.0), (100.0, 700.0)] {
            let rates: Vec<f64> = [1.0, 2.0, 3.0, 7.0, 20.0, 40.0, length - 1.0, length]
                .map(|keep| kept_rate(&at(vocab, length, keep)))
                .into();
            assert!(rates.windows(2).all(|pair| pair[0] < pair[1]), "{rates:?}");
            assert_eq!(rates[rates.len() - 1], 1.0);
        }
        let all = gaussian(300.0, 60.0, 60.0, 300.0);
        assert_eq!(kept_rate(&all), 1.0);
        for share in [0.1, 0.7, 0.99, 1.0] {
            let keep = tokens_to_keep(&all, share);
            let at = |keep| kept_rate(&Point { keep: Some(keep), ..all });
            assert!(at(keep) >= share && (keep == 1.0 || at(keep - 1.0) < share), "{share}: {keep}");
        }
        assert_eq!(tokens_to_keep(&gaussian(300.0, 60.0, 1.0, 300.0), 0.9), 1.0);
    }

    /// Against the sum over the number of tokens above a score, and over the positions that hold one of them.
    #[test]
    fn agrees_with_the_sum_over_ranks() {
        let ln_choose =
            |n: f64, k: f64| libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
        let mass = |n: f64, p: f64, k: f64| match p {
            _ if p <= 0.0 => f64::from(k == 0.0),
            _ if p >= 1.0 => f64::from(k == n),
            _ => libm::exp(ln_choose(n, k) + k * p.ln() + (n - k) * (1.0 - p).ln()),
        };
        for (vocab, length) in [(60.0, 9.0), (40.0, 40.0), (30.0, 130.0)] {
            for keep in [1.0, 2.0, 5.0, 8.0, length / 4.0, length - 1.0] {
                let keep = f64::floor(keep);
                let fewer = |j: f64| {
                    (0..keep as u32).map(|c| mass(length - 1.0, j / vocab, f64::from(c))).sum::<f64>()
                };
                let fewer: Vec<f64> = (0..=vocab as u32).map(|j| fewer(f64::from(j))).collect();
                let below = |y: f64| {
                    fewer.iter().enumerate().map(|(j, f)| f * mass(vocab, survival(y), j as f64)).sum::<f64>()
                };
                for x in [-0.5, 0.5, 1.5, 2.5] {
                    let z = (-60..=60).map(|i| 0.1 * f64::from(i));
                    let exact: f64 = z.map(|z| 0.1 * density(z) * below(x + z)).sum();
                    let rate = kth_largest(keep, &at(vocab, length, keep)).mean(|y| cdf(x - y));
                    assert!(
                        (rate - exact).abs() < 7e-3,
                        "V = {vocab}, L = {length}, k = {keep}: {rate} {exact}"
                    );
                }
            }
        }
    }
}
