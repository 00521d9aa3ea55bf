//! Labels that differ only by counts (theory: memory, orthonormal embeddings).
//!
//! Without overlaps a wrong label's logit is the count of its fact times `K(w, v)`. Counts are often small whole numbers, so
//! ties and the tail of the Poisson distribution matter, and a normal approximation would be wrong.

use crate::counts::{Detail, poisson};
use crate::normal::{QuickTail, Saddle, upper_tail};
use crate::quadrature::Rule;

/// Largest mean count for which the Poisson distribution is tabulated.
const TABLE: f64 = 200.0;
/// The same where every count has its own noise, which costs a normal tail each.
const NOISY_TABLE: f64 = 30.0;

/// Standard deviations that the noise of a rival does not exceed.
const REACH: f64 = 8.0;

/// Wrong labels, each with the score `count (step + sqrt(noise) z)` for a Poisson count.
#[derive(Clone, Debug)]
pub(crate) struct Rivals {
    wrong: f64,
    mean: f64,
    step: f64,
    noise: f64,
    law: Law,
}

#[derive(Clone, Debug)]
enum Law {
    /// The probability of every count from 0 on, and the probability of a larger count.
    Every(Vec<(f64, f64)>),
    /// Counts with their probabilities, at a resolution finer than the noise.
    Blurred(Rule),
    /// Large counts with noise that is small compared with their spread: a saddle-point approximation.
    Large,
}

impl Rivals {
    /// `wrong` rivals whose counts have the given mean.
    pub fn new(wrong: f64, mean: f64, step: f64, noise: f64) -> Rivals {
        let law = if mean <= if noise > 0.0 { NOISY_TABLE } else { TABLE } {
            Law::Every(table(mean, None))
        } else if 9.0 * noise * mean > step * step {
            Law::Blurred(poisson(mean, Detail::Tails))
        } else {
            Law::Large
        };
        Rivals { wrong, mean, step, noise, law }
    }

    /// `wrong` rivals whose counts are sums over a Poisson number of samples, of mean `samples`, of Poisson numbers of mean
    /// `each`. Such clustered counts vary more than a Poisson count of the same mean.
    pub fn clustered(wrong: f64, samples: f64, each: f64) -> Rivals {
        let mean = samples * each;
        if mean <= TABLE {
            let law = Law::Every(table(samples, Some(each)));
            return Rivals { wrong, mean, step: 1.0, noise: 0.0, law };
        }
        // A Poisson count in steps of 1 + each has the mean and the variance of the clusters.
        Rivals { wrong, mean: mean / (1.0 + each), step: 1.0 + each, noise: 0.0, law: Law::Large }
    }

    /// The resolution of the right label's count that is enough.
    pub fn detail(&self) -> Detail {
        match self.law {
            Law::Every(_) | Law::Large if self.mean <= TABLE => Detail::Every,
            _ => Detail::Smooth,
        }
    }

    /// The probability that a label with the score `right` beats all rivals. Ties are broken at random.
    pub fn win(&self, right: f64) -> f64 {
        let (greater, tie) = match &self.law {
            Law::Every(table) if self.noise > 0.0 => {
                let tail = QuickTail::new();
                let (first, last) = self.undecided(right, table.len());
                let ahead = |count: usize| table[count].0 * self.ahead(count as f64, right, tail);
                let tie = if right == 0.0 { table[0].0 } else { 0.0 };
                (table[last].1 + (first..=last).map(ahead).sum::<f64>(), tie)
            }
            Law::Every(table) => self.ahead_or_tied(table, right),
            Law::Blurred(counts) => {
                let tail = QuickTail::new();
                // Smaller counts are never ahead.
                let first = right / (self.step + REACH * self.noise.sqrt());
                let counts = &counts.points[counts.points.partition_point(|point| point.0 < first)..];
                (counts.iter().map(|&(count, weight)| weight * self.ahead(count, right, tail)).sum(), 0.0)
            }
            Law::Large => (self.large(right), 0.0),
        };
        with_ties(greater, tie, self.wrong)
    }

    /// The smallest and the largest of the counts from 1 to below `end` with which a rival may be ahead or not. Smaller counts are never
    /// ahead, larger ones always.
    fn undecided(&self, right: f64, end: usize) -> (usize, usize) {
        let reach = REACH * self.noise.sqrt();
        let last = if self.step > reach { (right / (self.step - reach)).ceil() } else { f64::INFINITY };
        let last = last.clamp(1.0, (end - 1) as f64) as usize;
        ((right / (self.step + reach)).floor().clamp(1.0, last as f64) as usize, last)
    }

    /// The probability that a rival with this count is ahead.
    fn ahead(&self, count: f64, right: f64, tail: QuickTail) -> f64 {
        tail.at((right - count * self.step) / (count * self.noise.sqrt()))
    }

    /// The probabilities that one rival is ahead and that it is tied, without noise.
    fn ahead_or_tied(&self, table: &[(f64, f64)], right: f64) -> (f64, f64) {
        let level = right / self.step;
        if self.step <= 0.0 || !level.is_finite() {
            // Every rival has the score 0.
            return if right > 0.0 { (0.0, 0.0) } else { (0.0, 1.0) };
        }
        let at = |count: f64| table.get(count as usize).copied().unwrap_or_default();
        let whole = level.round();
        if (level - whole).abs() < 1e-9 * whole.max(1.0) {
            let (tie, above) = at(whole);
            (above, tie)
        } else {
            (at(level.floor()).1, 0.0)
        }
    }

    /// The probability of being ahead for large counts: `ln E[e^(t score)] = mean (e^(step t) - 1) + t^2 v / 2`, where v is
    /// the noise at the count that gives a tie.
    fn large(&self, right: f64) -> f64 {
        if self.step <= 0.0 || right <= 0.0 {
            return if right > 0.0 { 0.0 } else { 1.0 };
        }
        let v = self.noise * (right / self.step).powi(2);
        let slope = self.mean * self.step;
        // Newton's method from the solution without noise, which is above the solution with noise.
        let mut t = libm::log(right / slope) / self.step;
        for _ in 0..30 {
            let growth = slope * libm::exp(self.step * t);
            let change = (growth + t * v - right) / (growth * self.step + v);
            t -= change;
            if change.abs() <= 1e-14 * t.abs() {
                break;
            }
        }
        let growth = self.mean * libm::exp(self.step * t);
        let k = |power: i32| growth * self.step.powi(power);
        let rate = t * right - self.mean * libm::expm1(self.step * t) - 0.5 * t * t * v;
        let curvature = k(2) + v;
        upper_tail(Saddle { t, rate, curvature, skewness: k(3) / libm::pow(curvature, 1.5) })
    }
}

/// The probability of winning against `wrong` rivals when each is ahead with probability `greater` and tied with probability
/// `tie`: `((1 - greater)^V - (1 - greater - tie)^V) / (V tie)`, V = wrong + 1.
fn with_ties(greater: f64, tie: f64, wrong: f64) -> f64 {
    let not_ahead = libm::log1p(-greater.min(1.0));
    if tie <= 0.0 {
        return if wrong == 0.0 { 1.0 } else { libm::exp(wrong * not_ahead) };
    }
    let labels = wrong + 1.0;
    let share = -libm::expm1(labels * libm::log1p(-(tie / (1.0 - greater)).min(1.0)));
    (libm::exp(labels * not_ahead) * share / (labels * tie)).clamp(0.0, 1.0)
}

/// For every relevant count its probability and that of a larger one, of a Poisson count or of a Poisson number of clusters
/// of Poisson size (Neyman, Annals of Mathematical Statistics 10, 1939).
fn table(mean: f64, cluster: Option<f64>) -> Vec<(f64, f64)> {
    let total = mean * cluster.unwrap_or(1.0);
    let deviation = (total * (1.0 + cluster.unwrap_or(0.0))).sqrt();
    let last = (total + 12.0 * deviation + 40.0) as usize;
    // `each[j]` is the coefficient of clusters of size j + 1 in the recurrence; single counts are clusters of size 1.
    let mut each = vec![cluster.map_or(1.0, |size| size * libm::exp(-size))];
    if let Some(size) = cluster {
        (1..=last).for_each(|j| each.push(each[j - 1] * size / j as f64));
    }
    let mut chances = vec![libm::exp(cluster.map_or(-mean, |size| mean * libm::expm1(-size)))];
    for k in 0..last {
        let sum: f64 = each.iter().zip(chances.iter().rev()).map(|(each, chance)| each * chance).sum();
        chances.push(mean / (k + 1) as f64 * sum);
    }
    let mut above = 0.0;
    let mut table: Vec<(f64, f64)> = chances.into_iter().map(|chance| (chance, 0.0)).collect();
    for entry in table.iter_mut().rev() {
        entry.1 = above;
        above += entry.0;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_broken_at_random() {
        // All are tied: one in V.
        assert!((with_ties(0.0, 1.0, 9.0) - 0.1).abs() < 1e-15);
        // One rival, tied half of the time, ahead a quarter of the time: 1/4 + 1/2 * 1/2.
        assert!((with_ties(0.25, 0.5, 1.0) - 0.5).abs() < 1e-15);
        assert!((with_ties(0.25, 1e-12, 3.0) - 0.75_f64.powi(3)).abs() < 1e-9);
    }

    #[test]
    fn rivals_without_score_lose_or_tie() {
        let rivals = Rivals::new(99.0, 3.0, 0.0, 0.0);
        assert_eq!(rivals.win(1.0), 1.0);
        assert!((rivals.win(0.0) - 0.01).abs() < 1e-15);
    }

    #[test]
    fn clustered_counts_have_the_right_moments() {
        for (samples, each) in [(3.0, 0.4), (0.5, 2.0), (40.0, 3.0), (1000.0, 0.01), (5.0, 1e-9)] {
            let table = table(samples, Some(each));
            let moment =
                |power: i32| table.iter().enumerate().map(|(k, p)| p.0 * (k as f64).powi(power)).sum::<f64>();
            assert!((moment(0) - 1.0).abs() < 1e-9, "{samples} {each}");
            assert!((moment(1) / (samples * each) - 1.0).abs() < 1e-8, "{samples} {each}");
            let variance = moment(2) - moment(1).powi(2);
            assert!((variance / (samples * each * (1.0 + each)) - 1.0).abs() < 1e-6, "{samples} {each}");
        }
        assert!((table(3.0, None)[2].0 - 4.5 * (-3.0_f64).exp()).abs() < 1e-15);
    }

    #[test]
    fn large_counts_agree_with_the_table() {
        for (noise, mean) in [(0.0, 201.0), (1e-5, 60.0), (1e-4, 60.0), (0.01, 60.0), (0.1, 100.0)] {
            let rivals = Rivals::new(200.0, mean, 1.0, noise);
            let every = Rivals { law: Law::Every(table(mean, None)), ..rivals.clone() };
            for sigmas in [1.0, 2.0, 3.0, 4.0, 5.0] {
                let deviation = (mean + noise * mean * mean).sqrt();
                // Half way between two counts, where the discreteness of counts has no effect.
                let right = (mean + sigmas * deviation).floor() + 0.5;
                let (a, b) = (every.win(right), rivals.win(right));
                assert!((a - b).abs() < 0.01, "noise {noise} at {sigmas}: {a} {b}");
            }
        }
    }
}
