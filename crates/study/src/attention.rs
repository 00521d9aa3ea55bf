//! Part 6. Attention: lock rate against N for several d and L, and how many samples the second step saves over the first gradient
//! (theory: attention).

use serde::{Deserialize, Serialize};
use superpose_core::config::Config;
use superpose_core::{Measure, Settings};
use superpose_theory::{Point, attention::lock_rate};

use super::{Finding, Part, Study, StudyError};
use superpose_store::interval::{Interval, share};

/// A measured lock rate.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct LockPoint {
    /// Samples, N.
    pub samples: usize,
    /// Lock rate over seeds, with its 95% interval.
    pub measured: Interval,
    /// The prediction of the closed form.
    pub predicted: f64,
}

/// Lock rates of one model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LockCurve {
    /// Facts, V.
    pub vocab: usize,
    /// Dimension, d.
    pub dim: usize,
    /// Sequence length, L.
    pub length: usize,
    /// Points in the order of samples.
    pub points: Vec<LockPoint>,
}

/// Thresholds of one model with and without the second and third step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Beyond {
    /// The one-step algorithm, which reads the first gradient.
    pub one_step: Finding,
    /// All three steps.
    pub three_step: Finding,
}

impl Beyond {
    /// Returns by which factor three steps need fewer samples, with an interval from those of both thresholds.
    pub fn gain(&self) -> Option<Interval> {
        let (one, three) = (self.one_step.observed()?, self.three_step.observed()?);
        let spread = libm::hypot(libm::log(one.high / one.low), libm::log(three.high / three.low)) / 2.0;
        let mean = one.mean / three.mean;
        Some(Interval { mean, low: mean * libm::exp(-spread), high: mean * libm::exp(spread) })
    }

    /// Returns the predicted gain; `None` if a threshold has no prediction.
    pub fn predicted_gain(&self) -> Option<f64> {
        Some(self.one_step.predicted? / self.three_step.predicted?)
    }
}

/// Results of the part on attention.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attention {
    /// Lock rates.
    pub curves: Vec<LockCurve>,
    /// Seeds at each point.
    pub seeds: usize,
    /// Thresholds of one and three steps, by length.
    pub beyond: Vec<Beyond>,
}

impl Attention {
    /// Returns the root mean square of measured minus predicted lock rates, and the part of it that the scatter of seeds explains.
    pub fn rms(&self) -> (f64, f64) {
        let points: Vec<&LockPoint> = self.curves.iter().flat_map(|curve| &curve.points).collect();
        let mean = |f: &dyn Fn(&LockPoint) -> f64| {
            (points.iter().map(|point| f(point)).sum::<f64>() / points.len().max(1) as f64).sqrt()
        };
        let seeds = |point: &LockPoint| ((point.measured.high - point.measured.low) / 4.0).powi(2);
        (mean(&|point| (point.measured.mean - point.predicted).powi(2)), mean(&seeds))
    }
}

pub fn run(study: &mut Study<'_, '_>) -> Result<Attention, StudyError> {
    let scale = study.scale;
    let vocab = scale.pick(192, 256, 512);
    let dims = scale.pick([48, 96], [64, 128], [64, 256]);
    let lengths = scale.pick([64, 128], [64, 256], [128, 512]);
    let (seeds, points) = scale.pick((32, 7), (32, 9), (64, 11));
    let mut curves = Vec::new();
    for dim in dims {
        for length in lengths {
            let settings = study.settings(Part::Attention, curves.len(), [vocab, dim, length]);
            curves.push(curve(study, &Settings { repeats: seeds, ..settings }, points)?);
        }
    }
    let mut beyond = Vec::new();
    for length in scale.pick([8, 32, 128], [8, 64, 256], [8, 64, 512]) {
        let number = curves.len() + 2 * beyond.len();
        let sizes = [vocab, dims[1], length];
        let settings = study.settings(Part::Attention, number, sizes);
        let one_step = study.samples(settings, Measure::OneStepAccuracy)?;
        let settings = study.settings(Part::Attention, number + 1, sizes);
        beyond.push(Beyond { one_step, three_step: study.samples(settings, Measure::Accuracy)? });
    }
    Ok(Attention { curves, seeds, beyond })
}

/// Measures lock rates from where few sequences lock to where nearly all do.
fn curve(study: &mut Study<'_, '_>, settings: &Settings, points: usize) -> Result<LockCurve, StudyError> {
    let predicted = |samples: usize| -> Result<f64, StudyError> {
        Ok(lock_rate(&Point::from(&Settings { samples, ..settings.clone() }.check()?)))
    };
    let reaching = |level: f64| -> Result<f64, StudyError> {
        let mut samples = 4;
        while samples < 1 << 22 && predicted(samples)? < level {
            samples = samples * 5 / 4;
        }
        Ok(samples as f64)
    };
    let (low, high) = (reaching(0.15)?, reaching(0.985)?);
    let size = |i: usize| (low * libm::pow(high / low, i as f64 / (points - 1) as f64)).round() as usize;
    let mut sizes: Vec<usize> = (0..points).map(size).collect();
    sizes.dedup();
    let mut cells: Vec<Config> = Vec::new();
    for (i, &samples) in sizes.iter().enumerate() {
        // Every point has different seeds.
        let seed = settings.seed + (i * settings.repeats) as u64;
        let config = Settings { samples, seed, ..settings.clone() }.check()?;
        cells.extend((0..settings.repeats).map(|repeat| config.repeat(repeat)));
    }
    let Settings { vocab, dim, length, .. } = settings;
    (study.say)(&format!("lock rates at V = {vocab}, d = {dim}, L = {length}"));
    let outcomes = study.outcomes(&cells)?;
    let mut found = Vec::new();
    for (&samples, outcomes) in sizes.iter().zip(outcomes.chunks(settings.repeats)) {
        let rates: Vec<_> = outcomes.iter().map(|outcome| outcome.measures[Measure::LockRate]).collect();
        let measured = share(&rates, usize::MAX);
        found.push(LockPoint { samples, measured, predicted: predicted(samples)? });
    }
    Ok(LockCurve { vocab: *vocab, dim: *dim, length: *length, points: found })
}
