//! The search: decides which sizes to run next and when to stop. It runs nothing itself: [`Search::ask`] returns the runs to do,
//! and [`Search::tell`] takes their results, in any order.
//!
//! 1. *Bracket*: one run on either side of the starting point; while all accuracies are on one side of the target, runs further
//!    out at 1 and 2.5 times the log range so far (at most a factor e^2).
//! 2. *Fit*: the [`Curve`] near the crossing.
//! 3. *Place*: the next runs on both sides of the crossing, far enough to determine the slope, near enough for a small bend.
//! 4. *Stop*: when the interval is narrow enough or no runs are left.
//!
//! Every run has its own seed, because runs of one seed share embeddings and samples and hence errors. The size of a batch
//! depends on the data and not on the number of threads, so that the same seed gives the same search.
//!
//! Stopping as soon as the interval is narrow makes intervals too short, because runs may agree by chance. So batches are large
//! (half of the runs still needed), which leaves few occasions to stop, and there is a minimum number of runs. The coverage of
//! the intervals is measured: see `docs/validation/threshold.md`.

use std::collections::BTreeMap;

use super::curve::{Curve, Observation, probit};
use super::{Estimate, Threshold, Unreached, Why};
use crate::interval::student;

/// The target of a search and its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The share to reach, above 0 and below 1.
    pub target: f64,
    /// Relative half width of the 95% interval at which to stop.
    pub half_width: f64,
    /// The smallest and the largest size to try.
    pub range: (u64, u64),
    /// Whether the share rises with the size.
    pub rises: bool,
    /// The size at which to begin.
    pub start: f64,
    /// A guess at the slope there, in standard deviations of a normal CDF per factor of e. It only affects the distance of the first
    /// runs and the start of the fit.
    pub slope: f64,
    /// Maximum number of runs.
    pub max_runs: usize,
}

/// A run to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The size to run at.
    pub value: u64,
    /// The number of the run: its seed is the first seed plus this.
    pub number: u64,
}

/// The next step of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Do these runs.
    Run(Vec<Trial>),
    /// Stop, with this result.
    Done(Threshold),
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct Search {
    plan: Plan,
    data: Vec<Observation>,
    values: Vec<u64>,
    asked: u64,
}

/// Minimum number of runs near the crossing.
const MIN_RUNS: f64 = 12.0;
/// Minimum and maximum number of runs at an end of the range before the crossing is reported to be beyond it.
const AT_THE_END: (usize, usize) = (6, 24);
/// Distance of runs from the crossing, as a multiple of the requested half width.
const DISTANCE: f64 = 2.5;
/// Maximum distance of runs from the crossing, in logarithms.
const MAX_DISTANCE: f64 = 0.3;
const MAX_BATCH: f64 = 32.0;

/// Runs at one size.
struct Place {
    x: f64,
    runs: usize,
    mean: f64,
    /// Variance of one run, at least that of its finite number of test items.
    variance: f64,
}

impl Search {
    /// Returns a search without results.
    pub fn new(plan: Plan) -> Search {
        Search { plan, data: Vec::new(), values: Vec::new(), asked: 0 }
    }

    /// Returns the number of results so far.
    pub fn runs(&self) -> usize {
        self.data.len()
    }

    /// Returns the sizes and shares so far, in the order received.
    pub fn told(&self) -> impl Iterator<Item = (u64, f64)> {
        self.values.iter().copied().zip(self.data.iter().map(|run| run.y))
    }

    /// Adds the result of a run: the share of right answers and the number of independent answers in it.
    pub fn tell(&mut self, value: u64, share: f64, items: f64) {
        let y = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        self.data.push(Observation { x: self.x(value as f64), y, items: items.max(1.0) });
        self.values.push(value);
    }

    /// Returns the next runs or the result. The results of all earlier runs must have been added.
    pub fn ask(&mut self) -> Step {
        let left = self.plan.max_runs.saturating_sub(self.data.len());
        let wanted = match self.next(left) {
            Ok(wanted) => wanted,
            Err(answer) => return Step::Done(answer),
        };
        let trial = |(number, x)| Trial { value: self.value(x), number };
        let trials: Vec<Trial> = (self.asked..).zip(wanted).map(trial).take(left).collect();
        if trials.is_empty() {
            return Step::Done(self.undecided());
        }
        self.asked += trials.len() as u64;
        Step::Run(trials)
    }

    /// Returns the positions of the next runs, or as an error the result.
    fn next(&self, left: usize) -> Result<Vec<f64>, Threshold> {
        let step = (0.6 / self.plan.slope).clamp(0.05, 1.0);
        let places = self.places();
        let (Some(first), Some(last)) = (places.first(), places.last()) else {
            let start = self.x(self.plan.start.max(1.0));
            return Ok(self.pair(start, step));
        };
        let Some((low, high)) = self.bracket(&places) else {
            let below = places.iter().any(|place| place.mean < self.plan.target);
            let above = places.iter().any(|place| place.mean >= self.plan.target);
            let reach = (last.x - first.x).clamp(step, 2.0);
            let mut wanted = if below { self.outward(last, 1.0, reach, left)? } else { Vec::new() };
            if above {
                wanted.extend(self.outward(first, -1.0, reach, left)?);
            }
            return Ok(wanted);
        };
        let (middle, reach) = (0.5 * (low + high), 2.5 * self.distance());
        let Some(curve) = Curve::fit(&self.data, self.plan.target, middle, self.plan.slope, reach) else {
            return if left == 0 { Err(self.undecided()) } else { Ok(vec![middle; 2]) };
        };
        let estimate = self.estimate(&curve);
        if let Some(estimate) = estimate.filter(|estimate| self.precise(estimate, &curve)) {
            return Err(Threshold::Found(estimate));
        }
        if left == 0 {
            return Err(self.imprecise(&curve));
        }
        let bounded = curve.low.is_some() && curve.high.is_some();
        let distance = self.distance().min(0.8 / curve.slope);
        let centre = curve.crossing.clamp(first.x - distance, last.x + distance);
        let missing = match bounded.then_some(estimate).flatten() {
            Some(e) if curve.runs >= MIN_RUNS => {
                let width = (e.crossing_high - e.crossing_low) / (2.0 * self.plan.half_width * e.crossing);
                0.5 * (curve.runs * width * width - curve.runs)
            }
            _ => (0.5 * (MIN_RUNS + 1.0 - curve.runs)).max(2.0),
        };
        let pairs = (0.5 * missing.min(MAX_BATCH)).ceil().max(1.0) as usize;
        Ok(self.pair(centre, distance).into_iter().cycle().take(2 * pairs).collect())
    }

    /// Returns the distance of runs from the crossing: far enough for the slope, near enough for a small bend. Runs beyond 2.5 times
    /// this distance count less.
    fn distance(&self) -> f64 {
        (DISTANCE * self.plan.half_width).min(MAX_DISTANCE)
    }

    /// Steps outward from the sizes so far; at the end of the range, the result may be that the target is not crossed.
    fn outward(&self, edge: &Place, direction: f64, reach: f64, left: usize) -> Result<Vec<f64>, Threshold> {
        let end = if direction > 0.0 { self.ends().1 } else { self.ends().0 };
        if left == 0 {
            return Err(self.undecided());
        }
        if (end - edge.x) * direction > 1e-9 {
            let (low, high) = (end.min(edge.x), end.max(edge.x));
            let place = |factor: f64| (edge.x + direction * factor * reach).clamp(low, high);
            return Ok([1.0, 2.5].map(place).into());
        }
        if edge.runs < AT_THE_END.0 {
            return Ok(vec![end; AT_THE_END.0 - edge.runs]);
        }
        let quantile = student(edge.runs as f64 - 1.0).unwrap_or(2.0);
        let half = quantile * (edge.variance / edge.runs as f64).sqrt();
        if (edge.mean - self.plan.target).abs() > half {
            let why = if direction > 0.0 { Why::Below } else { Why::Above };
            return Err(self.unreached(why));
        }
        if edge.runs < AT_THE_END.1 { Ok(vec![end; 6]) } else { Err(self.undecided()) }
    }

    fn undecided(&self) -> Threshold {
        self.unreached(Why::Undecided)
    }

    fn unreached(&self, why: Why) -> Threshold {
        let places = self.places();
        let best = places.iter().map(|place| place.mean).fold(0.0, f64::max);
        let least = places.iter().map(|place| place.mean).fold(1.0, f64::min);
        let (low, high) = self.values.iter().fold((u64::MAX, 0), |(l, h), &v| (l.min(v), h.max(v)));
        Threshold::Unreached(Unreached { why, low: low.min(high), high, best, least })
    }

    fn imprecise(&self, curve: &Curve) -> Threshold {
        let (first, last) = self.ends();
        // A crossing without an interval or outside of the range is not reported.
        if curve.low.is_none() && curve.high.is_none() || !(first..=last).contains(&curve.crossing) {
            return self.undecided();
        }
        let (crossing, [low, high]) = (self.real(curve.crossing), self.interval(curve));
        Threshold::Imprecise {
            estimate: self.whole(crossing),
            low: low.map(|x| self.whole(x)),
            high: high.map(|x| self.whole(x)),
            crossing,
            crossing_low: low,
            crossing_high: high,
            slope: curve.slope,
            spread: curve.spread,
        }
    }

    /// Returns the ends of the interval as sizes, the smaller first.
    fn interval(&self, curve: &Curve) -> [Option<f64>; 2] {
        let ends = if self.plan.rises { [curve.low, curve.high] } else { [curve.high, curve.low] };
        ends.map(|end| end.map(|x| self.real(x)))
    }

    /// Whether the interval is as narrow as requested, from enough runs near the crossing.
    fn precise(&self, estimate: &Estimate, curve: &Curve) -> bool {
        let half = 0.5 * (estimate.crossing_high - estimate.crossing_low);
        let narrow = half <= self.plan.half_width * estimate.crossing || estimate.low == estimate.high;
        let (low, high) = self.ends();
        let near = |x: Option<f64>| x.is_some_and(|x| (low - 1e-9..=high + 1e-9).contains(&x));
        narrow && curve.runs >= MIN_RUNS && near(curve.low) && near(curve.high)
    }

    fn estimate(&self, curve: &Curve) -> Option<Estimate> {
        let (crossing, [low, high]) = (self.real(curve.crossing), self.interval(curve));
        let (crossing_low, crossing_high) = (low?, high?);
        Some(Estimate {
            estimate: self.whole(crossing),
            low: self.whole(crossing_low),
            high: self.whole(crossing_high),
            crossing,
            crossing_low,
            crossing_high,
            slope: curve.slope,
            spread: curve.spread,
        })
    }

    /// Returns the whole number of a crossing: the smallest that reaches the target, or the largest where larger sizes hurt.
    fn whole(&self, crossing: f64) -> u64 {
        if self.plan.rises { (crossing - 1e-9).ceil() as u64 } else { (crossing + 1e-9).floor() as u64 }
    }

    /// Returns the range in which the means change sides: it spans the last place below the target and the first place above it,
    /// between the first place below and the last place above. `None` if the means do not rise through the target.
    fn bracket(&self, places: &[Place]) -> Option<(f64, f64)> {
        let below = places.iter().find(|place| place.mean < self.plan.target)?;
        let above = places.iter().rev().find(|place| place.mean >= self.plan.target)?;
        if below.x >= above.x {
            return None;
        }
        let inner: Vec<&Place> = places.iter().filter(|p| p.x >= below.x && p.x <= above.x).collect();
        let last_below = inner.iter().rev().find(|p| p.mean < self.plan.target)?;
        let first_above = inner.iter().find(|p| p.mean >= self.plan.target)?;
        Some((last_below.x.min(first_above.x), last_below.x.max(first_above.x)))
    }

    fn places(&self) -> Vec<Place> {
        let mut groups: BTreeMap<u64, Vec<&Observation>> = BTreeMap::new();
        for (&value, run) in self.values.iter().zip(&self.data) {
            groups.entry(value).or_default().push(run);
        }
        let place = |runs: Vec<&Observation>| {
            let count = runs.len() as f64;
            let mean = runs.iter().map(|run| run.y).sum::<f64>() / count;
            let squares: f64 = runs.iter().map(|run| (run.y - mean).powi(2)).sum();
            let items = runs.iter().map(|run| run.items).sum::<f64>() / count;
            let middle = mean.clamp(0.5 / items, 1.0 - 0.5 / items);
            let min = middle * (1.0 - middle) / items;
            let variance = (squares / (count - 1.0).max(1.0)).max(min);
            Place { x: runs[0].x, runs: runs.len(), mean, variance }
        };
        let mut places: Vec<Place> = groups.into_values().map(place).collect();
        places.sort_by(|a, b| a.x.total_cmp(&b.x));
        places
    }

    /// Returns positions on both sides of a place, at different sizes.
    fn pair(&self, centre: f64, distance: f64) -> Vec<f64> {
        let (low, high) = self.ends();
        let (a, b) = ((centre - distance).clamp(low, high), (centre + distance).clamp(low, high));
        let (a, b) = (self.value(a), self.value(b));
        if a != b {
            return vec![self.x(a as f64), self.x(b as f64)];
        }
        // Both sides round to the same whole number, so its neighbours are used.
        let (min, max) = self.plan.range;
        let mut around = vec![a.saturating_sub(1).max(min), a, a.saturating_add(1).min(max)];
        around.dedup();
        around.into_iter().map(|value| self.x(value as f64)).collect()
    }

    fn ends(&self) -> (f64, f64) {
        let (a, b) = (self.x(self.plan.range.0 as f64), self.x(self.plan.range.1 as f64));
        (a.min(b), a.max(b))
    }

    fn x(&self, value: f64) -> f64 {
        if self.plan.rises { libm::log(value) } else { -libm::log(value) }
    }

    fn real(&self, x: f64) -> f64 {
        if self.plan.rises { libm::exp(x) } else { libm::exp(-x) }
    }

    fn value(&self, x: f64) -> u64 {
        (self.real(x).round() as u64).clamp(self.plan.range.0, self.plan.range.1)
    }
}

/// Returns the slope of a predicted curve at a size, in standard deviations of a normal CDF per factor of e, at least 0.3.
pub fn slope_of(share: impl Fn(f64) -> f64, at: f64) -> f64 {
    const STEP: f64 = 0.15;
    let (low, high) = (share(at * libm::exp(-STEP)), share(at * libm::exp(STEP)));
    let slope = (probit(high) - probit(low)).abs() / (2.0 * STEP);
    if slope.is_finite() { slope.clamp(0.3, 30.0) } else { 1.0 }
}
