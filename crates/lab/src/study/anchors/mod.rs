//! Part 8. Anchors: measurements of associative memories beside published reference values (theory section 6).
//!
//! Each anchor is a memory as its reference describes it. To explain differences, the same memory is also measured under other
//! conventions, as is the share of repeats that succeed at the reference's own number of facts.

mod cases;

use serde::{Deserialize, Serialize};
use superpose_core::associative::{MemorySettings, Recall};
use superpose_core::random::{Stream, Words, unit};

use super::{Origin, Part, Study, StudyError, Verdict};
use crate::associative::{CapacityOptions, CapacitySearch, over_repeats, recalls, run as repeats};
use crate::fit::{Exponents, Sample, exponents};
use crate::interval::{Interval, SampleMean, student};
use crate::normal::cdf;
use crate::threshold::{Estimate, Threshold};
use cases::{Case, cases};

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Linear and Hebbian: number of facts that are all recalled.
    Hebbian,
    /// Linear and trained: number of facts recalled with accuracy 0.99.
    Trained,
    /// MLP with both layers trained: number of facts recalled with accuracy 0.99.
    Mlp,
    /// Linear with mini-batches of Zipf inputs: the error.
    Zipf,
    /// Hopfield network: patterns per neuron.
    Hopfield,
}

impl Kind {
    /// Every kind, in the order of the table.
    pub const ALL: [Kind; 5] = [Kind::Hebbian, Kind::Trained, Kind::Mlp, Kind::Zipf, Kind::Hopfield];

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
        let end = |x: f64, own: f64, reference: f64, other: f64| {
            // Independent errors add in squares, on the logarithm.
            ((x / own).ln().hypot((other / reference).ln())).exp()
        };
        let mean = ours.mean / theirs.mean;
        let low = mean / end(ours.low.max(f64::MIN_POSITIVE), ours.mean, theirs.mean, theirs.high);
        let high = mean * end(ours.high, ours.mean, theirs.mean, theirs.low.max(f64::MIN_POSITIVE));
        Some(Interval { mean, low, high })
    }

    /// Returns how our value compares with the reference.
    pub fn verdict(&self) -> Option<Verdict> {
        self.ratio().map(|ratio| Verdict::of(&ratio))
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
    let new = Anchors { origin, anchors: Vec::new(), zipf_exponent: None, hopfield_limit: None };
    let kept = known.take().filter(|known| known.origin == origin);
    let anchors = known.insert(kept.unwrap_or(new));
    for (i, mut case) in cases(study.scale).into_iter().enumerate().skip(anchors.anchors.len()) {
        case.settings.seed = study.seed_of(Part::Anchors, i);
        let anchor = if case.kind == Kind::Zipf { error(study, case)? } else { capacity(study, case)? };
        anchors.anchors.push(anchor);
    }
    let samples: Vec<Sample> = anchors
        .of(Kind::Zipf)
        .filter_map(|anchor| {
            let Interval { mean, low, high } = anchor.ours?;
            // The fit takes logarithms; a lower end of 0 is replaced by the mirror of the upper end.
            let low = low.max(mean * mean / high);
            Some(Sample { sizes: vec![anchor.settings.dim as f64], value: mean, low, high })
        })
        .collect();
    anchors.zipf_exponent = exponents(&["d"], &samples, study.seed).ok();
    let loads: Vec<(f64, Interval)> =
        anchors.of(Kind::Hopfield).filter_map(|a| Some((a.settings.dim as f64, a.ours?))).collect();
    anchors.hopfield_limit = limit(&loads);
    Ok(())
}

/// Measures how many facts a memory holds; for a Hopfield network, per neuron.
fn capacity(study: &mut Study<'_, '_>, case: Case) -> Result<Anchor, StudyError> {
    let Case { kind, variant, settings, reference } = case;
    let scale = study.scale;
    let (half_width, max_runs) = match kind {
        Kind::Mlp => (scale.pick(0.08, 0.04, 0.03), scale.pick(60, 120, 300)),
        Kind::Trained => (scale.pick(0.03, 0.015, 0.01), scale.pick(60, 300, 600)),
        _ => (scale.pick(0.02, 0.01, 0.005), scale.pick(400, 2000, 5000)),
    };
    let name = format!("{} at d = {}", kind.label(), settings.dim);
    let options = CapacityOptions { half_width, max_runs, ..CapacityOptions::default() };
    let search = CapacitySearch::new(&settings, &options)?;
    let found = search.search(study.backend, study.stop, &mut |runs, facts| {
        (study.say)(&format!("{name}: {facts} facts, {runs} memories"));
    })?;
    let over = if kind == Kind::Hopfield { settings.dim as f64 } else { 1.0 };
    let scaled = |x: Interval| Interval { mean: x.mean / over, low: x.low / over, high: x.high / over };
    let curve = match found.threshold {
        Threshold::Found(Estimate { crossing, slope, .. }) => Some((crossing, slope)),
        Threshold::Imprecise { crossing, slope, .. } => Some((crossing, slope)),
        Threshold::Unreached(_) => None,
    };
    let bisection = curve.map(|(crossing, slope)| bisections(crossing, slope, study.seed)).map(scaled);
    let mut anchor = Anchor {
        kind,
        variant: variant.map(Into::into),
        reference,
        ours: found.threshold.interval().map(scaled),
        at_reference: None,
        bisection,
        runs: found.runs,
        settings: MemorySettings { repeats: 1, ..settings.clone() },
    };
    if let Some(reference) = anchor.reference.filter(|_| anchor.variant.is_none()) {
        (study.say)(&format!("{name}, at the reference"));
        let settings = MemorySettings {
            facts: (reference.mean * over).round() as usize,
            repeats: if kind == Kind::Hebbian { scale.pick(60, 400, 1000) } else { scale.pick(20, 60, 200) },
            // Beyond the seeds of the search.
            seed: settings.seed + 25_000,
            ..settings
        };
        let config = settings.check()?;
        anchor.at_reference = Some(repeats(&config, study.backend, study.stop, &mut |_| {})?.success);
        anchor.runs += config.repeats;
    }
    Ok(anchor)
}

/// Simulates plain bisection with five repeats at each number of facts and returns the median and the middle 95% of its results.
/// The share of successes at N is `F(slope ln(crossing / N))`. Bisection starts from an eighth and eight times the crossing and ends
/// when they differ by 1%.
fn bisections(crossing: f64, slope: f64, seed: u64) -> Interval {
    const REPEATS: usize = 5;
    const TIMES: usize = 4000;
    let mut ends: Vec<f64> = (0..TIMES as u64)
        .map(|time| {
            let mut words = [0; 2 * REPEATS * 20];
            Words::new(seed, Stream::Test, time).fill(0, &mut words);
            let mut draws = words.chunks_exact(2).map(|pair| unit(pair[0], pair[1]));
            let (mut low, mut high) = (crossing / 8.0, crossing * 8.0);
            while high / low > 1.01 {
                let facts = 0.5 * (low + high);
                let share = cdf(slope * (crossing / facts).ln());
                let successes = draws.by_ref().take(REPEATS).filter(|&draw| draw < share).count();
                if 2 * successes >= REPEATS { low = facts } else { high = facts }
            }
            low
        })
        .collect();
    ends.sort_by(f64::total_cmp);
    Interval { mean: ends[TIMES / 2], low: ends[TIMES / 40], high: ends[TIMES - 1 - TIMES / 40] }
}

/// Fits a value on `size^(-1/2)` by weighted least squares and extrapolates to 0. Errors are enlarged where the scatter exceeds them.
fn limit(values: &[(f64, Interval)]) -> Option<Limit> {
    let points: Vec<(f64, f64, f64)> = values
        .iter()
        .map(|(size, value)| {
            let error = ((value.high - value.low) / 3.92).max(1e-9);
            (1.0 / size.sqrt(), value.mean, 1.0 / (error * error))
        })
        .collect();
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

/// Measures the error of a memory, weighted by how often facts are asked.
fn error(study: &mut Study<'_, '_>, case: Case) -> Result<Anchor, StudyError> {
    /// Number of seeds of the reference.
    const REFERENCE_SEEDS: f64 = 10.0;
    let Case { kind, variant, settings, reference } = case;
    (study.say)(&format!("{} at d = {}", kind.label(), settings.dim));
    let config = settings.check()?;
    let all: Vec<_> = (0..config.repeats).map(|repeat| config.repeat(repeat)).collect();
    let found = recalls(&all, study.backend, study.stop)?;
    let missed = |found: &Recall| {
        let accuracy: SampleMean = found.accuracy.into();
        SampleMean { mean: 1.0 - accuracy.mean, ..accuracy }
    };
    let errors: Vec<SampleMean> = found.iter().map(missed).collect();
    let ours = over_repeats(&errors);
    // The reference is a mean over ten seeds and reports no error, so it gets that of ten of our seeds.
    let count = errors.len() as f64;
    let half = student(count - 1.0).map_or(0.0, |quantile| {
        let variance = errors.iter().map(|e| (e.mean - ours.mean).powi(2)).sum::<f64>() / (count - 1.0);
        quantile * (variance / REFERENCE_SEEDS).sqrt()
    });
    let reference = reference.map(|r| Interval {
        mean: r.mean,
        low: (r.mean - half).max(r.mean * r.mean / (r.mean + half)),
        high: r.mean + half,
    });
    Ok(Anchor {
        kind,
        variant: variant.map(Into::into),
        settings: (*config).clone(),
        reference,
        ours: Some(ours),
        at_reference: None,
        bisection: None,
        runs: errors.len(),
    })
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
        let anchor = |reference: Interval| Anchor {
            kind: Kind::Hebbian,
            variant: None,
            settings: MemorySettings::default(),
            reference: Some(reference),
            ours: Some(Interval { mean: 105.0, low: 102.0, high: 108.0 }),
            at_reference: None,
            bisection: None,
            runs: 0,
        };
        let sharp = anchor(Interval { mean: 100.0, low: 100.0, high: 100.0 });
        assert_eq!(sharp.verdict(), Some(Verdict::Close));
        let ratio = sharp.ratio().expect("a ratio");
        assert!((ratio.low - 1.02).abs() < 1e-9 && (ratio.high - 1.08).abs() < 1e-9, "{ratio:?}");
        let wide = anchor(Interval { mean: 100.0, low: 95.0, high: 105.0 });
        assert_eq!(wide.verdict(), Some(Verdict::Agrees));
    }
}
