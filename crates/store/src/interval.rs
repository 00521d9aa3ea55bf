//! 95% intervals for means over repeats and test items.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};
use superpose_core::evaluate::Tally;
use superpose_core::measure::{Measures, Missing};

/// A mean over test items and what an interval needs beside it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampleMean {
    /// The mean.
    pub mean: f64,
    /// The variance of an item about the mean.
    pub variance: f64,
    /// Number of items.
    pub items: usize,
}

impl Missing for SampleMean {
    fn missing() -> Self {
        SampleMean { mean: f64::NAN, variance: 0.0, items: 0 }
    }
    fn is_missing(&self) -> bool {
        self.items == 0
    }
}

impl From<Tally> for SampleMean {
    fn from(tally: Tally) -> SampleMean {
        SampleMean { mean: tally.mean(), variance: tally.variance(), items: tally.items() }
    }
}

/// A mean and its 95% interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The mean over repeats.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// The interval of an increasing function of the number.
    pub fn map(self, f: impl Fn(f64) -> f64) -> Interval {
        Interval { mean: f(self.mean), low: f(self.low), high: f(self.high) }
    }
}

impl Missing for Interval {
    const MAY_LACK: bool = false;
    fn missing() -> Self {
        Interval { mean: f64::NAN, low: f64::NAN, high: f64::NAN }
    }
    fn is_missing(&self) -> bool {
        self.mean.is_nan()
    }
}

/// Intervals of all measures, from those of each repeat. A measure that no repeat has is missing.
pub fn intervals<M: Copy + Into<SampleMean>>(repeats: &[Measures<M>], facts: usize) -> Measures<Interval> {
    Measures::from_fn(|measure| {
        let repeats = repeats.iter().map(|repeat| repeat[measure].into());
        let repeats: Vec<SampleMean> = repeats.filter(|estimate| !estimate.is_missing()).collect();
        match (repeats.is_empty(), measure.is_share()) {
            (true, _) => Interval::missing(),
            (false, true) => share(&repeats, facts),
            (false, false) => number(&repeats),
        }
    })
}

/// The normal quantile of 97.5%.
const Z: f64 = 1.959_963_984_540_054;

/// Interval of a share between 0 and 1, from one tally or estimate per repeat.
///
/// Two sources of error: repeats differ (other facts, embeddings, data), and each is tested on finitely many items. With several
/// repeats Student's t on their means covers both. It fails when all repeats agree (most often at 0 or 1), so the interval is never
/// narrower than Wilson's, whose items are the test items of a repeat but at most its `facts`: testing a fact twice says nothing
/// about other facts. With one repeat it is Wilson's interval for the test items, which says nothing about other seeds.
pub fn share<M: Copy + Into<SampleMean>>(repeats: &[M], facts: usize) -> Interval {
    let repeats = &measures(repeats);
    let max = if repeats.len() == 1 { usize::MAX } else { facts };
    let items: usize = repeats.iter().map(|repeat| repeat.items.min(max)).sum();
    let mean = mean(repeats);
    let (low, high) = wilson(mean, items as f64);
    match spread(repeats) {
        Some(half) => {
            Interval { mean, low: low.min(mean - half).max(0.0), high: high.max(mean + half).min(1.0) }
        }
        None => Interval { mean, low, high },
    }
}

/// Interval of any mean, from one tally or estimate per repeat: Student's over the repeats, never narrower than
/// what the test items alone allow.
pub fn number<M: Copy + Into<SampleMean>>(repeats: &[M]) -> Interval {
    let repeats = &measures(repeats);
    let mean = mean(repeats);
    let items: usize = repeats.iter().map(|repeat| repeat.items).sum();
    let variance = |repeat: &SampleMean| repeat.variance / (repeat.items as f64 - 1.0);
    let error = repeats.iter().map(variance).sum::<f64>().sqrt() / repeats.len() as f64;
    let within = student(items as f64 - repeats.len() as f64).unwrap_or(f64::INFINITY) * error;
    let half = spread(repeats).map_or(within, |between| between.max(within));
    Interval { mean, low: mean - half, high: mean + half }
}

/// Interval of the ratio of two means over repeats, from one pair of numerator and denominator per repeat: Student's on how far
/// each numerator is from the ratio times its denominator (Cochran, Sampling Techniques, 1977, section 6.3). A repeat whose denominator
/// is small by chance counts little. `None` for fewer than two repeats, or without a positive denominator.
pub fn ratio(repeats: &[(f64, f64)]) -> Option<Interval> {
    let quantile = student(repeats.len() as f64 - 1.0)?;
    let sum = |of: fn(&(f64, f64)) -> f64| repeats.iter().map(of).sum::<f64>();
    let denominator = Some(sum(|repeat| repeat.1)).filter(|sum| *sum > 0.0)?;
    let mean = sum(|repeat| repeat.0) / denominator;
    let square: f64 = repeats.iter().map(|(top, bottom)| (top - mean * bottom).powi(2)).sum();
    let count = repeats.len() as f64;
    let half = quantile * (square * count / (count - 1.0)).sqrt() / denominator;
    Some(Interval { mean, low: mean - half, high: mean + half })
}

fn measures<M: Copy + Into<SampleMean>>(repeats: &[M]) -> Vec<SampleMean> {
    repeats.iter().map(|&repeat| repeat.into()).collect()
}

fn mean(repeats: &[SampleMean]) -> f64 {
    repeats.iter().map(|repeat| repeat.mean).sum::<f64>() / repeats.len() as f64
}

/// Half the width of Student's interval for the mean over repeats; `None` for a single one.
fn spread(repeats: &[SampleMean]) -> Option<f64> {
    let degrees = repeats.len() as f64 - 1.0;
    let quantile = student(degrees)?;
    let mean = mean(repeats);
    let variance = repeats.iter().map(|t| (t.mean - mean).powi(2)).sum::<f64>() / degrees;
    Some(quantile * (variance / repeats.len() as f64).sqrt())
}

/// The 97.5% quantile of Student's t; `None` without a degree of freedom. Rounded to nine decimals, because the last bits of the
/// library's value depend on the platform.
pub fn student(degrees: f64) -> Option<f64> {
    let quantile = StudentsT::new(0.0, 1.0, degrees).ok()?.inverse_cdf(0.975);
    Some((quantile * 1e9).round() / 1e9)
}

/// Wilson's score interval for a share of `items`.
fn wilson(mean: f64, items: f64) -> (f64, f64) {
    let z2 = Z * Z / items;
    let centre = (mean + 0.5 * z2) / (1.0 + z2);
    let half = Z * (mean * (1.0 - mean) / items + 0.25 * z2 / items).max(0.0).sqrt() / (1.0 + z2);
    // At the ends the formula gives 0 and 1 up to rounding. A mean outside 0 to 1, from a foreign file, is left as it is.
    ((centre - half).max(0.0).min(mean), (centre + half).min(1.0).max(mean))
}

#[cfg(test)]
mod tests {
    use super::*;
    use superpose_core::random::{Stream, Words, normals, unit};

    /// A store may contain any numbers.
    #[test]
    fn means_outside_0_to_1_have_ordered_intervals() {
        for mean in [2.0, -3.0, 1e308, f64::INFINITY] {
            let (low, high) = wilson(mean, 100.0);
            assert!(low <= high, "{mean}: {low} {high}");
        }
    }

    fn tally(hits: usize, items: usize) -> Tally {
        let mut tally = Tally::default();
        (0..items).for_each(|i| tally.add(1.0, f64::from(u8::from(i < hits))));
        tally
    }

    #[test]
    fn wilson_agrees_with_published_values() {
        // Newcombe 1998, table I: 81 of 263 and 0 of 20.
        let i = share(&[tally(81, 263)], 500);
        assert!((i.low - 0.2553).abs() < 5e-5 && (i.high - 0.3662).abs() < 5e-5, "{i:?}");
        let i = share(&[tally(0, 20)], 500);
        assert!(i.low == 0.0 && (i.high - 0.1611).abs() < 5e-5, "{i:?}");
    }

    /// Returns how many of these random numbers, from 0 to 1, are below `bound`.
    fn count_below(bound: f64, count: usize, words: &Words) -> usize {
        let mut numbers = vec![0; 2 * count];
        words.fill(0, &mut numbers);
        numbers.chunks(2).filter(|w| unit(w[0], w[1]) < bound).count()
    }

    /// Returns how often the interval of `tallies`, given a trial, covers the truth.
    fn coverage(truth: f64, facts: usize, tallies: impl Fn(u64) -> Vec<Tally>) -> f64 {
        let trials = 2000;
        let covers = |trial: &u64| {
            let i = share(&tallies(*trial), facts);
            i.low <= truth && truth <= i.high
        };
        (0..trials).filter(covers).count() as f64 / trials as f64
    }

    /// With equal denominators the interval is Student's. A common factor of numerator and denominator adds no width.
    #[test]
    fn interval_of_a_ratio_is_students() {
        let i = ratio(&[(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)]).unwrap();
        let half = 4.302_652_73 / 3.0_f64.sqrt() / 2.0;
        assert!((i.mean - 1.0).abs() < 1e-12 && (i.high - 1.0 - half).abs() < 1e-8, "{i:?}");
        assert!((i.low + i.high - 2.0).abs() < 1e-12, "{i:?}");
        let i = ratio(&[(1.0, 2.0), (10.0, 20.0), (0.5, 1.0)]).unwrap();
        assert!((i.mean - 0.5).abs() < 1e-12 && i.high - i.low < 1e-12, "{i:?}");
        assert!(ratio(&[(1.0, 2.0)]).is_none() && ratio(&[(1.0, 0.0), (2.0, 0.0)]).is_none());
    }

    /// Facts are few, each is recalled or not, and repeats often agree: the case that Student's interval cannot do.
    #[test]
    fn coverage_holds_when_nearly_all_is_recalled() {
        let (facts, items, truth) = (20, 500, 0.992);
        for repeats in [2, 5, 20] {
            let rate = coverage(truth, facts, |trial| {
                let words = |repeat: u64| Words::new(3, Stream::Test, trial * 100 + repeat);
                let known = |repeat| count_below(truth, facts, &words(repeat));
                (0..repeats).map(|repeat| tally(items * known(repeat) / facts, items)).collect()
            });
            assert!(rate >= 0.93, "{repeats} repeats: {rate}");
        }
    }

    /// Intervals cover as often as they say: shares that vary from repeat to repeat, tested on finitely many items.
    #[test]
    fn coverage_is_as_stated() {
        let (repeats, items, truth) = (5, 400, 0.6);
        let rate = coverage(truth, 1000, |trial| {
            let mut shift = vec![0.0; repeats];
            normals(&Words::new(1, Stream::Train, trial), &mut shift);
            let words = |repeat: usize| Words::new(2, Stream::Test, trial * 10 + repeat as u64);
            let hits = |repeat: usize| count_below(truth + 0.04 * shift[repeat], items, &words(repeat));
            (0..repeats).map(|repeat| tally(hits(repeat), items)).collect()
        });
        // 0.95 nominal, a little more because of the floor; five standard errors are 0.024.
        assert!((0.93..=0.98).contains(&rate), "{rate}");
    }
}
