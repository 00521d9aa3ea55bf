//! Part 1. Scaling: critical N against d, L and V for the one-step and the three-step algorithm, with exponents beside those of the
//! closed form over the same sizes, and the collapse onto the predicted product (theory: attention, one step).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use superpose_core::config::Trigger;
use superpose_core::{Measure, Settings};
use superpose_theory::Point;
use superpose_theory::laws::Law;

use super::finding::{LEVEL, comparison};
use super::{Finding, Part, Study, StudyError};
use crate::fit::{Collapse, Comparison, Line, collapse};
use superpose_lab::threshold::shares;

/// Critical numbers of samples over a grid of sizes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Family {
    /// The measure that crosses the level.
    pub measure: Measure,
    /// The term of the leading-order law that binds at the middle sizes.
    pub law: String,
    /// Thresholds.
    pub findings: Vec<Finding>,
    /// Exponents, observed and of the closed form over the same sizes; absent with too few thresholds.
    pub exponents: Option<Comparison>,
    /// Collapse of all runs onto N over the leading-order law.
    pub onto_law: Option<Collapse>,
    /// Collapse of all runs onto N over the predicted critical N.
    pub onto_prediction: Option<Collapse>,
}

/// Both algorithms.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scaling {
    /// Reading the first gradient.
    pub one_step: Family,
    /// The three-step algorithm where attention is the bottleneck.
    pub three_step: Family,
}

impl Family {
    /// Returns the predicted critical N of each model, and its mean accuracy by N.
    pub fn curves(&self) -> Vec<(f64, Vec<(f64, f64)>)> {
        self.findings.iter().filter_map(|finding| Some((finding.predicted?, binned(finding)))).collect()
    }
}

/// Returns the sizes of a model for its leading-order law.
fn point([dim, length, vocab]: [usize; 3]) -> Point {
    let trigger = Trigger::Keys;
    Point::from(&Settings { vocab, dim, length, trigger, ..Settings::default() })
}

/// Averages the runs of a model in bins of 15% in N, to reduce the scatter between seeds. Bins with fewer than four runs are left out.
fn binned(finding: &Finding) -> Vec<(f64, f64)> {
    const WIDTH: f64 = 0.15;
    let mut bins: BTreeMap<i64, Vec<(f64, f64)>> = BTreeMap::new();
    for &(n, share) in finding.points.iter().filter(|run| run.0 > 0) {
        let log = libm::log(n as f64);
        bins.entry((log / WIDTH).floor() as i64).or_default().push((log, share));
    }
    let many = bins.into_values().filter(|runs| runs.len() >= 4);
    let mean = |runs: Vec<(f64, f64)>| {
        let mean_of = |f: fn(&(f64, f64)) -> f64| runs.iter().map(f).sum::<f64>() / runs.len() as f64;
        (libm::exp(mean_of(|run| run.0)), mean_of(|run| run.1))
    };
    many.map(mean).collect()
}

pub fn run(study: &mut Study<'_, '_>) -> Result<Scaling, StudyError> {
    let scale = study.scale;
    let one_step = scale.pick(
        [[112, 160, 224], [16, 32, 64], [256, 384, 576]],
        [[128, 192, 288], [16, 48, 144], [256, 512, 1024]],
        [[192, 320, 512], [16, 64, 256], [512, 1024, 2048]],
    );
    let three_step = scale.pick(
        [[64, 96, 144], [64, 96, 144], [128, 192, 288]],
        [[96, 144, 216], [64, 128, 256], [128, 256, 512]],
        [[128, 192, 288], [128, 256, 512], [256, 512, 1024]],
    );
    let one_step = family(study, 0, Measure::OneStepAccuracy, one_step)?;
    let three_step = family(study, one_step.findings.len(), Measure::Accuracy, three_step)?;
    Ok(Scaling { one_step, three_step })
}

/// Runs a model far from its predicted critical N, so that the curves to be collapsed reach from small to large accuracy.
fn far(
    study: &mut Study<'_, '_>,
    finding: &Finding,
    settings: Settings,
    measure: Measure,
) -> Result<Vec<(u64, f64)>, StudyError> {
    const FACTORS: [f64; 4] = [0.25, 0.5, 2.0, 4.0];
    const SEEDS: u64 = 4;
    let Some(critical) = finding.predicted else { return Ok(Vec::new()) };
    // Beyond the seeds of the search.
    let seed = settings.seed + 25_000;
    let cell = |factor: f64, number: u64| {
        let samples = (factor * critical).round().max(1.0) as usize;
        Settings { samples, seed: seed + number, repeats: 1, ..settings.clone() }.check()
    };
    let places = FACTORS.iter().flat_map(|&factor| (0..SEEDS).map(move |number| (factor, number)));
    let cells = places.map(|(factor, number)| cell(factor, number)).collect::<Result<Vec<_>, _>>()?;
    let found = shares(study.runner, &cells, measure, &mut *study.observe)?;
    Ok(cells.iter().zip(found).map(|(cell, share)| (cell.samples as u64, share.mean)).collect())
}

/// Measures one algorithm at all combinations of dimensions, lengths and vocabularies.
fn family(
    study: &mut Study<'_, '_>,
    first: usize,
    measure: Measure,
    [dims, lengths, vocabs]: [[usize; 3]; 3],
) -> Result<Family, StudyError> {
    let mut findings = Vec::new();
    for [dim, length] in dims.into_iter().flat_map(|dim| lengths.map(|length| [dim, length])) {
        for vocab in vocabs {
            let mut settings = study.settings(Part::Scaling, first + findings.len(), [vocab, dim, length]);
            if measure == Measure::OneStepAccuracy {
                // The one-step accuracy is computed over all facts, not over test sequences.
                settings.test_samples = 256;
            }
            let mut finding = study.samples(settings.clone(), measure)?;
            let far = far(study, &finding, settings, measure)?;
            finding.runs += far.len();
            finding.points.extend(far);
            findings.push(finding);
        }
    }
    let factors = |f: &Finding| vec![f.dim as f64, f.length as f64, f.vocab as f64];
    let exponents = comparison(&["d", "L", "V"], &findings, factors, study.seed);
    let lines = |scale: &dyn Fn(&Finding) -> Option<f64>| -> Vec<Line> {
        let line = |finding: &Finding| Some(Line { scale: scale(finding)?, points: binned(finding) });
        findings.iter().filter_map(line).collect()
    };
    let law = |point: &Point| Law::of(point, measure, LEVEL);
    let scale = |f: &Finding| Some(law(&point([f.dim, f.length, f.vocab]))?.binding().samples);
    let onto_law = collapse(&lines(&scale));
    let onto_prediction = collapse(&lines(&|finding| finding.predicted));
    let middle = point([dims[1], lengths[1], vocabs[1]]);
    let law = law(&middle).map_or(String::new(), |law| law.binding().formula.clone());
    Ok(Family { measure, law, findings, exponents, onto_law, onto_prediction })
}
