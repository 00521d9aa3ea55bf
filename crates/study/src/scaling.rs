//! Part 1. Scaling: critical N against d, L and V for the one-step and the three-step algorithm, with exponents beside those of the
//! closed form over the same sizes, and the collapse onto the predicted product (theory: attention, one step).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use superpose_core::Measure;

use super::finding::{LEVEL, comparison};
use super::{Finding, Part, Study, StudyError};
use crate::fit::{Collapse, Comparison, Line, collapse};
use superpose_store::interval::Interval;

/// Critical numbers of samples over a grid of sizes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Family {
    /// The measure that crosses the level.
    pub measure: Measure,
    /// The leading-order product as text.
    pub product: String,
    /// Its exponents of d, L and V in N.
    pub leading: [f64; 3],
    /// Thresholds.
    pub findings: Vec<Finding>,
    /// Exponents, observed and of the closed form over the same sizes; absent with too few thresholds.
    pub exponents: Option<Comparison>,
    /// Collapse of all runs onto N over the leading-order product.
    pub onto_product: Option<Collapse>,
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
    /// Returns the mean accuracy of all runs by N over the predicted critical N, with 95% intervals.
    pub fn collapsed(&self) -> Vec<(f64, Interval)> {
        let runs = self.findings.iter().flat_map(|finding| {
            let scale = finding.predicted.unwrap_or(f64::NAN);
            finding.points.iter().map(move |&(n, share)| (n as f64 / scale, share))
        });
        binned(runs)
    }
}

/// Returns the leading-order product at a finding's sizes, as a number of samples.
fn product_at(finding: &Finding) -> f64 {
    let (d, l, v) = (finding.dim as f64, finding.length as f64, finding.vocab as f64);
    match finding.measure {
        Measure::OneStepAccuracy => 2.0 * l * v * v * v.ln() / (d * d),
        _ => l * l * (2.0 * v * l.ln()).sqrt() / d.powf(1.5),
    }
}

/// Averages runs in bins of 15% in N, to reduce the scatter between seeds. Bins with fewer than four runs are left out.
fn binned(runs: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, Interval)> {
    const WIDTH: f64 = 0.15;
    let mut bins: BTreeMap<i64, Vec<(f64, f64)>> = BTreeMap::new();
    for (n, share) in runs.filter(|run| run.0.is_finite() && run.0 > 0.0) {
        bins.entry((n.ln() / WIDTH).floor() as i64).or_default().push((n.ln(), share));
    }
    let many = bins.into_values().filter(|runs| runs.len() >= 4);
    let summary = |runs: Vec<(f64, f64)>| {
        let count = runs.len() as f64;
        let mean_of = |f: &dyn Fn(&(f64, f64)) -> f64| runs.iter().map(f).sum::<f64>() / count;
        let mean = mean_of(&|run| run.1);
        let half = 2.0 * (mean_of(&|run| (run.1 - mean).powi(2)) / (count - 1.0)).sqrt();
        (mean_of(&|run| run.0).exp(), Interval { mean, low: mean - half, high: mean + half })
    };
    many.map(summary).collect()
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
    let product = ("N d^2 ~ L V^2 log V", [-2.0, 1.0, 2.0]);
    let one_step = family(study, 0, Measure::OneStepAccuracy, product, one_step)?;
    let product = ("N d^1.5 ~ L^2 sqrt(V log L)", [-1.5, 2.0, 0.5]);
    let three_step = family(study, one_step.findings.len(), Measure::Accuracy, product, three_step)?;
    Ok(Scaling { one_step, three_step })
}

/// Measures one algorithm at all combinations of dimensions, lengths and vocabularies, given its leading-order product with the
/// exponents of d, L and V.
fn family(
    study: &mut Study<'_, '_>,
    first: usize,
    measure: Measure,
    (product, leading): (&str, [f64; 3]),
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
            findings.push(study.samples(settings, measure)?);
        }
    }
    let factors = |f: &Finding| vec![f.dim as f64, f.length as f64, f.vocab as f64];
    let exponents = comparison(&["d", "L", "V"], &findings, factors, study.seed);
    let lines = |scale: &dyn Fn(&Finding) -> Option<f64>| -> Vec<Line> {
        let line = |finding: &Finding| {
            let runs = finding.points.iter().map(|&(n, share)| (n as f64, share));
            let points = binned(runs).into_iter().map(|(n, mean)| (n, mean.mean)).collect();
            Some(Line { scale: scale(finding)?, points })
        };
        findings.iter().filter_map(line).collect()
    };
    let onto_product = collapse(&lines(&|finding| Some(product_at(finding))), LEVEL);
    let onto_prediction = collapse(&lines(&|finding| finding.predicted), LEVEL);
    let product = product.into();
    Ok(Family { measure, product, leading, findings, exponents, onto_product, onto_prediction })
}
