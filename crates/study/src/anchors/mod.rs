//! Part 8. Anchors: measurements of associative memories beside published reference values (theory: references).
//!
//! Each anchor is a memory as its reference describes it. To explain differences, the same memory is also measured under other
//! conventions, as is the share of repeats that succeed at the reference's own number of facts.

mod cases;

use std::sync::mpsc::{Sender, channel};

use serde::{Deserialize, Serialize};
use superpose_associative::MemorySettings;
use superpose_core::backend::Backend;
use superpose_core::random::{Stream, Words, unit};
use superpose_core::words;

use super::{Origin, Part, Scale, Study, StudyError, Verdict};
use crate::fit::{Exponents, Sample, exponents};
use cases::cases;
use superpose_lab::associative::{CapacityOptions, CapacitySearch, over_repeats, recalls, run as repeats};
use superpose_lab::normal::cdf;
use superpose_lab::threshold::{Estimate, Threshold};
use superpose_store::interval::{Interval, SampleMean, student};

words! {
    /// A kind of memory, in the order of the table.
    Kind {
        /// Linear and Hebbian: number of facts that are all recalled.
        Hebbian = "hebbian",
        /// Linear and trained: number of facts recalled with accuracy 0.99.
        Trained = "trained",
        /// MLP with both layers trained: number of facts recalled with accuracy 0.99.
        Mlp = "mlp",
        /// Linear with mini-batches of Zipf inputs: the error.
        Zipf = "zipf",
        /// Hopfield network: patterns per neuron.
        Hopfield = "hopfield",
    }
}

impl Kind {
    /// Returns the name in tables.
    pub fn label(self) -> &'static str {
        match self {
            Kind::Hebbian => "Hebbian linear memory",
            Kind::Trained => "trained linear memory",
            Kind::Mlp => "MLP memory",
            Kind::Zipf => "linear memory, Zipf inputs",
            Kind::Hopfield => "Hopfield network",
        }
    }
}

/// A reference value and our measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Anchor {
    /// The kind of memory.
    pub kind: Kind,
    /// How the convention differs from the reference's; `None` for the anchor itself.
    pub variant: Option<String>,
    /// The memory. Its facts count only where they are not searched for.
    pub settings: MemorySettings,
    /// The reference value, with its range or error where it has one.
    pub reference: Option<Interval>,
    /// Our value with its 95% interval; `None` if the search found no interval.
    pub ours: Option<Interval>,
    /// Share of repeats that succeed at the reference's number of facts.
    pub at_reference: Option<Interval>,
    /// The range of 95% of plain bisections with five repeats at each number of facts, on the curve fitted by our search.
    pub bisection: Option<Interval>,
    /// Number of memories made.
    pub runs: usize,
}

impl Anchor {
    /// Returns our value over the reference, with the errors of both.
    pub fn ratio(&self) -> Option<Interval> {
        let (ours, theirs) = (self.ours?, self.reference?);
        // Independent errors add in squares, on the logarithm.
        let factor = |own: f64, other: f64| {
            let log = |end: f64, mean: f64| libm::log(end.max(f64::MIN_POSITIVE) / mean);
            libm::exp(libm::hypot(log(own, ours.mean), log(other, theirs.mean)))
        };
        let mean = ours.mean / theirs.mean;
        let (low, high) = (mean / factor(ours.low, theirs.high), mean * factor(ours.high, theirs.low));
        Some(Interval { mean, low, high })
    }

    /// Returns how our value compares with the reference; `None` for a finite network, whose reference is an infinite one.
    pub fn verdict(&self) -> Option<Verdict> {
        self.ratio().filter(|_| self.kind != Kind::Hopfield).map(|ratio| Verdict::of(&ratio))
    }
}

/// Results of the part on anchors.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Anchors {
    #[serde(flatten)]
    origin: Origin,
    /// Anchors and their variants, in order.
    pub anchors: Vec<Anchor>,
    /// The power of d by which the error under Zipf inputs falls.
    pub zipf_exponent: Option<Exponents>,
    /// Patterns per neuron of an infinite Hopfield network.
    pub hopfield_limit: Option<Limit>,
}

/// The limit of infinite size, by a straight line in `size^(-1/2)`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Limit {
    /// The value in the limit, with its 95% interval.
    pub value: Interval,
    /// The slope in `size^(-1/2)`.
    pub slope: f64,
}

impl Anchors {
    /// Returns the anchors of one kind under the reference's own convention.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Anchor> {
        self.anchors.iter().filter(move |anchor| anchor.kind == kind && anchor.variant.is_none())
    }
}

pub fn run(study: &mut Study<'_, '_>, known: &mut Option<Anchors>) -> Result<(), StudyError> {
    let origin = study.origin();
    let kept = known.take().filter(|known| known.origin == origin);
    let new = Anchors { origin, anchors: Vec::new(), zipf_exponent: None, hopfield_limit: None };
    let anchors = known.insert(kept.unwrap_or(new));
    let mut missing = cases(study.scale);
    for (i, anchor) in missing.iter_mut().enumerate() {
        anchor.settings.seed = study.seed_of(Part::Anchors, i);
    }
    missing.retain(|anchor| anchors.anchors.iter().all(|known| known.settings.seed != anchor.settings.seed));
    let (sender, received) = channel();
    let measurement =
        Measurement { scale: study.scale, seed: study.seed, backend: study.backend, progress: sender };
    // All at once: a search often waits for one long training.
    let result = std::thread::scope(|scope| {
        let all = scope.spawn(move || measurement.all(missing));
        for progress in received {
            match progress {
                Progress::Work(text) => (study.say)(&text),
                Progress::Done(anchor) => anchors.anchors.push(*anchor),
            }
        }
        all.join()
    });
    anchors.anchors.sort_by_key(|anchor| anchor.settings.seed);
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    let ours = |kind: Kind| anchors.of(kind).filter_map(|a| Some((a.settings.dim as f64, a.ours?)));
    let sample = |(dim, Interval { mean, low, high }): (f64, Interval)| {
        // The fit takes logarithms; a lower end of 0 is replaced by the mirror of the upper end.
        let low = low.max(mean * mean / high);
        Sample { sizes: vec![dim], value: Interval { mean, low, high } }
    };
    let samples: Vec<Sample> = ours(Kind::Zipf).map(sample).collect();
    let loads: Vec<(f64, Interval)> = ours(Kind::Hopfield).collect();
    anchors.zipf_exponent = exponents(&["d"], &samples, study.seed).ok();
    anchors.hopfield_limit = limit(&loads);
    Ok(())
}

/// Progress of the measurement.
enum Progress {
    /// A description of the current work.
    Work(String),
    /// A measured anchor.
    Done(Box<Anchor>),
}

/// Measures anchors on all threads.
struct Measurement<'a> {
    scale: Scale,
    seed: u64,
    backend: &'a Backend,
    progress: Sender<Progress>,
}

impl Measurement<'_> {
    fn all(&self, anchors: Vec<Anchor>) -> Result<(), StudyError> {
        let measure = |i: usize| -> Result<(), StudyError> {
            let mut anchor = anchors[i].clone();
            let name = format!("{} at d = {}", anchor.kind.label(), anchor.settings.dim);
            match anchor.kind {
                Kind::Zipf => self.error(&name, &mut anchor)?,
                _ => self.capacity(&name, &mut anchor)?,
            }
            self.send(Progress::Done(Box::new(anchor)));
            Ok(())
        };
        self.backend.try_map(anchors.len(), measure).map(|_| ())
    }

    /// Sends progress. The receiver exists until the measurement ends.
    fn send(&self, progress: Progress) {
        let _ = self.progress.send(progress);
    }

    /// Measures how many facts a memory holds; for a Hopfield network, per neuron.
    fn capacity(&self, name: &str, anchor: &mut Anchor) -> Result<(), StudyError> {
        let (kind, settings, scale) = (anchor.kind, anchor.settings.clone(), self.scale);
        let (half_width, max_runs) = match kind {
            Kind::Mlp => scale.pick((0.08, 60), (0.04, 120), (0.03, 300)),
            Kind::Trained => scale.pick((0.03, 60), (0.015, 300), (0.01, 600)),
            _ => scale.pick((0.02, 400), (0.01, 2000), (0.005, 5000)),
        };
        let options = CapacityOptions { half_width, max_runs, ..CapacityOptions::default() };
        let search = CapacitySearch::new(&settings, &options)?;
        let found = search.search(self.backend, &mut |runs, facts| {
            self.send(Progress::Work(format!("{name}: {facts} facts, {runs} memories")));
        })?;
        let over = if kind == Kind::Hopfield { settings.dim as f64 } else { 1.0 };
        let scaled = |x: Interval| x.map(|x| x / over);
        let curve = match found.threshold {
            Threshold::Found(Estimate { crossing, slope, .. }) => Some((crossing, slope)),
            Threshold::Imprecise { crossing, slope, .. } => Some((crossing, slope)),
            Threshold::Unreached(_) => None,
        };
        anchor.ours = found.threshold.interval().map(scaled);
        anchor.bisection = curve.map(|(crossing, slope)| scaled(bisections(crossing, slope, self.seed)));
        anchor.runs = found.runs;
        anchor.settings.repeats = 1;
        if let Some(reference) = anchor.reference.filter(|_| anchor.variant.is_none()) {
            self.send(Progress::Work(format!("{name}, at the reference")));
            let config = MemorySettings {
                facts: (reference.mean * over).round() as usize,
                repeats: if kind == Kind::Hebbian {
                    scale.pick(60, 400, 1000)
                } else {
                    scale.pick(20, 60, 200)
                },
                // Beyond the seeds of the search.
                seed: settings.seed + 25_000,
                ..settings
            };
            let config = config.check()?;
            anchor.at_reference = Some(repeats(&config, self.backend, &mut |_| {})?.success);
            anchor.runs += config.repeats;
        }
        Ok(())
    }

    /// Measures the error of a memory, weighted by how often facts are asked.
    fn error(&self, name: &str, anchor: &mut Anchor) -> Result<(), StudyError> {
        /// Number of seeds of the reference.
        const REFERENCE_SEEDS: f64 = 10.0;
        self.send(Progress::Work(name.to_string()));
        let config = anchor.settings.clone().check()?;
        let all: Vec<_> = (0..config.repeats).map(|repeat| config.repeat(repeat)).collect();
        let found = recalls(&all, self.backend)?;
        let accuracies = found.iter().map(|found| SampleMean::from(found.accuracy));
        let errors: Vec<_> = accuracies.map(|found| SampleMean { mean: 1.0 - found.mean, ..found }).collect();
        let ours = over_repeats(&errors);
        // The reference is a mean over ten seeds and reports no error, so it gets that of ten of our seeds.
        let count = errors.len() as f64;
        let half = student(count - 1.0).map_or(0.0, |quantile| {
            let variance = errors.iter().map(|e| (e.mean - ours.mean).powi(2)).sum::<f64>() / (count - 1.0);
            quantile * (variance / REFERENCE_SEEDS).sqrt()
        });
        if let Some(Interval { mean, low, high }) = &mut anchor.reference {
            *high = *mean + half;
            *low = (*mean - half).max(*mean * *mean / *high);
        }
        anchor.settings = (*config).clone();
        anchor.ours = Some(ours);
        anchor.runs = errors.len();
        Ok(())
    }
}

/// Simulates plain bisection with five repeats at each number of facts and returns the median and the middle 95% of its results.
/// The share of successes at N is `F(slope ln(crossing / N))`. Bisection starts from an eighth and eight times the crossing and ends
/// when they differ by 1%.
fn bisections(crossing: f64, slope: f64, seed: u64) -> Interval {
    const REPEATS: usize = 5;
    const TIMES: usize = 4000;
    let bisection = |time: u64| {
        let mut words = [0; 2 * REPEATS * 20];
        Words::new(seed, Stream::Test, time).fill(0, &mut words);
        let mut draws = words.chunks_exact(2).map(|pair| unit(pair[0], pair[1]));
        let (mut low, mut high) = (crossing / 8.0, crossing * 8.0);
        while high / low > 1.01 {
            let facts = 0.5 * (low + high);
            let share = cdf(slope * libm::log(crossing / facts));
            let successes = draws.by_ref().take(REPEATS).filter(|&draw| draw < share).count();
            if 2 * successes >= REPEATS { low = facts } else { high = facts }
        }
        low
    };
    let mut ends: Vec<f64> = (0..TIMES as u64).map(bisection).collect();
    ends.sort_by(f64::total_cmp);
    Interval { mean: ends[TIMES / 2], low: ends[TIMES / 40], high: ends[TIMES - 1 - TIMES / 40] }
}

/// Fits a value on `size^(-1/2)` by weighted least squares and extrapolates to 0. Errors are enlarged where the scatter exceeds them.
fn limit(values: &[(f64, Interval)]) -> Option<Limit> {
    let point = |(size, value): &(f64, Interval)| {
        let error = ((value.high - value.low) / 3.92).max(1e-9);
        (1.0 / size.sqrt(), value.mean, 1.0 / (error * error))
    };
    let points: Vec<(f64, f64, f64)> = values.iter().map(point).collect();
    let degrees = points.len().checked_sub(2).filter(|&degrees| degrees > 0)? as f64;
    let sum = |f: &dyn Fn(f64, f64) -> f64| points.iter().map(|&(x, y, w)| w * f(x, y)).sum::<f64>();
    let (w, x, y) = (sum(&|_, _| 1.0), sum(&|x, _| x), sum(&|_, y| y));
    let (xx, xy) = (sum(&|x, _| x * x), sum(&|x, y| x * y));
    let determinant = w * xx - x * x;
    let (mean, slope) = ((xx * y - x * xy) / determinant, (w * xy - x * y) / determinant);
    let scatter = sum(&|x, y| (y - mean - slope * x).powi(2)) / degrees;
    let half = student(degrees)? * (xx / determinant * scatter.max(1.0)).sqrt();
    let value = Interval { mean, low: mean - half, high: mean + half };
    value.mean.is_finite().then_some(Limit { value, slope })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_line_is_extrapolated() {
        let at = |size: f64| {
            let mean = 0.138 + 0.8 / size.sqrt();
            (size, Interval { mean, low: mean - 0.001, high: mean + 0.001 })
        };
        let found = limit(&[at(256.0), at(512.0), at(1024.0)]).expect("a limit");
        assert!((found.value.mean - 0.138).abs() < 1e-9 && (found.slope - 0.8).abs() < 1e-9, "{found:?}");
        assert!(found.value.low < 0.138 && found.value.high < 0.2, "{found:?}");
        assert!(limit(&[at(256.0), at(512.0)]).is_none());
    }

    #[test]
    fn bisections_scatter_about_the_crossing() {
        let found = bisections(1000.0, 10.0, 0);
        assert!((0.93..1.05).contains(&(found.mean / 1000.0)), "{found:?}");
        assert!(found.low < 930.0 && found.high > 1050.0 && found.low > 700.0, "{found:?}");
    }

    #[test]
    fn ratio_has_the_errors_of_both_values() {
        let anchor = |low: f64, high: f64| Anchor {
            ours: Some(Interval { mean: 105.0, low: 102.0, high: 108.0 }),
            ..Anchor::new(Kind::Hebbian, MemorySettings::default(), Some([low, high]))
        };
        assert_eq!(anchor(100.0, 100.0).verdict(), Some(Verdict::Close));
        assert_eq!(anchor(95.0, 105.0).verdict(), Some(Verdict::Agrees));
        let ratio = anchor(100.0, 100.0).ratio().expect("a ratio");
        assert!((ratio.low - 1.02).abs() < 1e-9 && (ratio.high - 1.08).abs() < 1e-9, "{ratio:?}");
    }
}
