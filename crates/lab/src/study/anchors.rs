//! Part 8. Anchors: reference values that nobody here made, ours beside them (theory section 6).
//!
//! Each anchor is an associative memory as the reference describes it. What a difference comes from is measured too: the same
//! memory under other conventions, and the share of repeats that succeed at the reference's own number of facts.

use serde::{Deserialize, Serialize};
use superpose_core::associative::{MemorySettings, Recall, Rule};
use superpose_core::config::Optimiser;
use superpose_core::config::{Embedding, Labels};
use superpose_core::random::{Stream, Words, unit};

use super::{Part, Scale, Study, StudyError, Verdict};
use crate::associative::{Hunt, MemoryError, over_repeats, recalls, run as repeats};
use crate::cell::NUMERICS_REVISION;
use crate::fit::{Exponents, Sample, exponents};
use crate::interval::{Interval, Measure, student};
use crate::normal::cdf;
use crate::threshold::{Estimate, Threshold};

/// Which memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Linear, Hebbian: facts held, all of them right.
    Hebbian,
    /// Linear, trained: facts held with accuracy 0.99.
    Trained,
    /// MLP, both layers trained: facts held with accuracy 0.99.
    Mlp,
    /// Linear, mini-batches of Zipf inputs: the error.
    Zipf,
    /// Hopfield network: patterns per neuron.
    Hopfield,
}

impl Kind {
    /// Every kind, in the order of the table.
    pub const ALL: [Kind; 5] = [Kind::Hebbian, Kind::Trained, Kind::Mlp, Kind::Zipf, Kind::Hopfield];
}

/// A reference value and ours.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Anchor {
    /// Which memory.
    pub kind: Kind,
    /// What is different from the reference's convention; nothing for the anchor itself.
    pub variant: Option<String>,
    /// The memory; facts, repeats and seed as they were used, facts only where they were given.
    pub settings: MemorySettings,
    /// The reference value, with its own range or error where it has one; the mean is the value itself.
    pub reference: Option<Interval>,
    /// Ours with its 95% interval; nothing where the search has none.
    pub ours: Option<Interval>,
    /// Share of repeats that succeed at the reference's number of facts.
    pub at_reference: Option<Interval>,
    /// What 95% of plain bisections with five repeats at each number of facts give, on the curve that ours was found on.
    pub bisection: Option<Interval>,
    /// Memories made.
    pub runs: usize,
}

impl Anchor {
    /// Ours over the reference, with the errors of both.
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

    /// Whether ours is the reference's.
    pub fn verdict(&self) -> Option<Verdict> {
        self.ratio().map(|ratio| Verdict::of(&ratio))
    }
}

/// All anchors.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Anchors {
    /// What this was made with.
    scale: Scale,
    seed: u64,
    numerics_revision: u32,
    /// Anchors and their variants, in order.
    pub anchors: Vec<Anchor>,
    /// The power of d by which the error under Zipf inputs falls.
    pub zipf_exponent: Option<Exponents>,
    /// Patterns per neuron of an infinite Hopfield network.
    pub hopfield_limit: Option<Limit>,
}

/// A straight line in one over the root of the size, to where the size is infinite.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Limit {
    /// The value there, with its 95% interval.
    pub value: Interval,
    /// The slope in `size^(-1/2)`.
    pub slope: f64,
}

impl Anchors {
    /// Whether this is what the part would give again.
    pub fn is_of(&self, scale: Scale, seed: u64) -> bool {
        (self.scale, self.seed, self.numerics_revision) == (scale, seed, NUMERICS_REVISION)
    }

    /// Anchors of one kind under the reference's own convention.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Anchor> {
        self.anchors.iter().filter(move |anchor| anchor.kind == kind && anchor.variant.is_none())
    }
}

/// What is to be measured.
struct Case {
    kind: Kind,
    variant: Option<&'static str>,
    settings: MemorySettings,
    reference: Option<Interval>,
}

impl Case {
    fn new(kind: Kind, settings: MemorySettings, low: f64, high: f64) -> Case {
        let mean = 0.5 * (low + high);
        Case { kind, variant: None, settings, reference: Some(Interval { mean, low, high }) }
    }

    fn without_reference(self) -> Case {
        Case { reference: None, ..self }
    }

    fn variant(&self, variant: &'static str, change: impl FnOnce(&mut MemorySettings)) -> Case {
        let mut settings = self.settings.clone();
        change(&mut settings);
        Case { variant: Some(variant), settings, ..*self }
    }
}

/// The `N` with `constant N log N = parameters`.
fn guide(constant: f64, parameters: f64) -> f64 {
    (0..60).fold(parameters.max(3.0), |n: f64, _| (parameters / (constant * n.ln())).max(3.0))
}

fn cases(scale: Scale) -> Vec<Case> {
    let default = MemorySettings::default;
    let mut cases = Vec::new();
    for (dim, facts) in [(64, 104.0), (128, 343.0), (256, 1130.0)] {
        let settings = MemorySettings { dim, rule: Rule::Hebbian, accuracy: 1.0, ..default() };
        let case = Case::new(Kind::Hebbian, settings, facts, facts);
        if dim < 256 || scale > Scale::Quick {
            cases.push(case.variant("Gaussian vectors", |s| s.embedding = Embedding::Gaussian));
        }
        cases.push(case);
    }
    for (dim, low, high) in [(16, 63.0, 64.0), (22, 100.0, 104.0), (32, 176.0, 183.0)] {
        let settings = MemorySettings { dim, rule: Rule::Trained, accuracy: 0.99, ..default() };
        let case = Case::new(Kind::Trained, settings, low, high);
        if dim == 16 {
            cases.push(case.variant("every fact right", |s| s.accuracy = 1.0));
            cases.push(case.variant("Gaussian vectors", |s| s.embedding = Embedding::Gaussian));
        }
        cases.push(case);
    }
    for dim in scale.pick(&[][..], &[45, 64][..], &[45, 64, 90][..]) {
        let settings = MemorySettings { dim: *dim, rule: Rule::Trained, accuracy: 0.99, ..default() };
        cases.push(Case::new(Kind::Trained, settings, 0.0, 0.0).without_reference());
    }
    let mlps: &[(usize, usize)] = scale.pick(
        &[(8, 1), (11, 1)],
        &[(8, 1), (8, 2), (8, 4), (11, 1), (11, 2), (16, 1), (16, 2), (22, 1)],
        &[(8, 1), (8, 4), (11, 1), (11, 4), (16, 1), (16, 2), (16, 4), (22, 1), (22, 2), (32, 1), (32, 2)],
    );
    for &(dim, ratio) in mlps {
        let width = Some(ratio * dim);
        let settings = MemorySettings { dim, width, rule: Rule::Trained, accuracy: 0.99, ..default() };
        let facts = guide(0.35, (ratio * dim * dim) as f64);
        let case = Case::new(Kind::Mlp, settings, facts, facts);
        if (dim, ratio) == (8, 1) {
            cases.push(case.variant("4,096 steps", |s| s.steps = Some(4096)));
        }
        cases.push(case);
    }
    for (dim, error) in [(10, 0.0295), (20, 0.0113), (50, f64::NAN), (100, 0.00068)] {
        let settings = MemorySettings {
            facts: 100,
            dim,
            rule: Rule::Trained,
            embedding: Embedding::Gaussian,
            labels: Labels::Mod(5),
            zipf: Some(2.0),
            optimiser: Optimiser::Sgd,
            rate: Some(10.0),
            batch: Some(16),
            steps: Some(6400),
            repeats: scale.pick(30, 100, 400),
            ..default()
        };
        let case = Case::new(Kind::Zipf, settings, error, error);
        if dim == 10 {
            cases.push(case.variant("vectors on the sphere", |s| s.embedding = Embedding::Sphere));
        }
        cases.push(if error.is_nan() { case.without_reference() } else { case });
    }
    for neurons in scale.pick(&[256, 512, 1024][..], &[256, 512, 1024, 2048], &[256, 512, 1024, 2048, 4096]) {
        let settings = MemorySettings { dim: *neurons, rule: Rule::Hopfield, accuracy: 0.5, ..default() };
        let case = Case::new(Kind::Hopfield, settings, 0.138, 0.138);
        cases.push(if *neurons == 256 { case.without_reference() } else { case });
    }
    cases.sort_by_key(|case| case.kind as usize);
    cases
}

pub fn run(study: &mut Study<'_, '_>, known: &mut Option<Anchors>) -> Result<(), StudyError> {
    let (scale, seed) = (study.scale, study.seed);
    let new = Anchors {
        scale,
        seed,
        numerics_revision: NUMERICS_REVISION,
        anchors: Vec::new(),
        zipf_exponent: None,
        hopfield_limit: None,
    };
    let kept = known.take().filter(|known| known.is_of(scale, seed));
    let anchors = known.insert(kept.unwrap_or(new));
    let all = cases(scale);
    for (i, mut case) in all.into_iter().enumerate().skip(anchors.anchors.len()) {
        case.settings.seed = study.seed_of(Part::Anchors, i);
        let anchor = if case.kind == Kind::Zipf { error(study, case)? } else { capacity(study, case)? };
        anchors.anchors.push(anchor);
    }
    let samples: Vec<Sample> = anchors
        .of(Kind::Zipf)
        .filter_map(|anchor| {
            let Interval { mean, low, high } = anchor.ours?;
            // A lower end of 0 has no logarithm; the interval is taken as even on it.
            let low = low.max(mean * mean / high);
            Some(Sample { sizes: vec![anchor.settings.dim as f64], value: mean, low, high })
        })
        .collect();
    anchors.zipf_exponent = exponents(&["d"], &samples, seed).ok();
    let loads: Vec<(f64, Interval)> =
        anchors.of(Kind::Hopfield).filter_map(|a| Some((a.settings.dim as f64, a.ours?))).collect();
    anchors.hopfield_limit = limit(&loads);
    Ok(())
}

/// How many facts a memory holds; of a Hopfield network over its neurons.
fn capacity(study: &mut Study<'_, '_>, case: Case) -> Result<Anchor, StudyError> {
    let Case { kind, variant, settings, reference } = case;
    let scale = study.scale;
    let (precision, most) = match kind {
        Kind::Mlp => (scale.pick(0.08, 0.04, 0.03), scale.pick(60, 120, 300)),
        Kind::Trained => (scale.pick(0.03, 0.015, 0.01), scale.pick(60, 300, 600)),
        _ => (scale.pick(0.02, 0.01, 0.005), scale.pick(400, 2000, 5000)),
    };
    let name = format!("{} at d = {}", kind.label(), settings.dim);
    let hunt = Hunt::new(&settings, precision, most).map_err(stopped)?;
    let found = hunt
        .search(study.backend, study.stop, &mut |runs, facts| {
            (study.say)(&format!("{name}: {facts} facts, {runs} memories"));
        })
        .map_err(stopped)?;
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
            // After the seeds of the search.
            seed: settings.seed + 25_000,
            ..settings
        };
        let config = settings.check()?;
        anchor.at_reference =
            Some(repeats(&config, study.backend, study.stop, &mut |_| {}).map_err(stopped)?.success);
        anchor.runs += config.repeats;
    }
    Ok(anchor)
}

/// The middle 95% of what plain bisection gives with five repeats at each number of facts, when the share of successes at N is
/// `F(slope ln(crossing / N))`. It begins between an eighth and eight times the crossing, and ends where numbers differ by 1%.
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

/// Weighted least squares of a value on `size^(-1/2)`, read where that is 0; errors as large as the scatter asks for.
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

/// The error of a memory, by how often facts are asked.
fn error(study: &mut Study<'_, '_>, case: Case) -> Result<Anchor, StudyError> {
    /// Seeds behind the reference.
    const THEIRS: f64 = 10.0;
    let Case { kind, variant, settings, reference } = case;
    (study.say)(&format!("{} at d = {}", kind.label(), settings.dim));
    let config = settings.check()?;
    let all: Vec<_> = (0..config.repeats).map(|repeat| config.repeat(repeat)).collect();
    let found = recalls(&all, study.backend, study.stop).map_err(stopped)?;
    let missed = |found: &Recall| {
        let accuracy: Measure = found.accuracy.into();
        Measure { mean: 1.0 - accuracy.mean, ..accuracy }
    };
    let errors: Vec<Measure> = found.iter().map(missed).collect();
    let ours = over_repeats(&errors);
    // The reference is a mean over ten seeds: its error is what ten of ours have.
    let count = errors.len() as f64;
    let half = student(count - 1.0).map_or(0.0, |quantile| {
        let variance = errors.iter().map(|e| (e.mean - ours.mean).powi(2)).sum::<f64>() / (count - 1.0);
        quantile * (variance / THEIRS).sqrt()
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

impl Kind {
    /// The name for people.
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

fn stopped(error: MemoryError) -> StudyError {
    match error {
        MemoryError::Cancelled(_) => StudyError::Stopped,
        error => StudyError::Memory(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_is_solved() {
        let facts = guide(0.35, 1024.0);
        assert!((0.35 * facts * facts.ln() - 1024.0).abs() < 1e-6, "{facts}");
    }

    #[test]
    fn a_straight_line_goes_to_its_limit() {
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
    fn a_ratio_has_the_errors_of_both() {
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

    /// Every case can be run, at every scale.
    #[test]
    fn cases_are_valid() {
        for scale in Scale::ALL {
            for case in cases(scale) {
                let most = MemorySettings { facts: case.settings.facts.max(6), ..case.settings };
                assert!(most.check().is_ok(), "{scale}, {}", case.kind.label());
            }
        }
    }
}
