//! Part 3. Orthogonal against random embeddings: with orthonormal vectors the factors of the one-step algorithm separate, with
//! random ones they multiply (theory section 5.3).

use serde::{Deserialize, Serialize};
use superpose_core::Settings;
use superpose_core::config::{Embedding, Trigger};

use super::{Finding, Part, Study, StudyError};
use crate::fit::{Comparison, Sample, compare};
use crate::threshold::Measure;

/// One-step thresholds over L and V.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Orthogonal {
    /// With random embeddings of one dimension.
    pub random: Vec<Finding>,
    /// With orthonormal ones, `d = V + 2`.
    pub orthonormal: Vec<Finding>,
    /// Exponents of L and V with random embeddings; absent with too few thresholds.
    pub random_exponents: Option<Comparison>,
    /// With orthonormal ones.
    pub orthonormal_exponents: Option<Comparison>,
}

pub fn run(study: &mut Study<'_, '_>) -> Result<Orthogonal, StudyError> {
    let random = thresholds(study, Embedding::Gaussian, 0)?;
    let orthonormal = thresholds(study, Embedding::Orthonormal, random.len())?;
    let seed = study.seed;
    Ok(Orthogonal {
        random_exponents: exponents(&random, seed),
        orthonormal_exponents: exponents(&orthonormal, seed),
        random,
        orthonormal,
    })
}

fn thresholds(
    study: &mut Study<'_, '_>,
    embedding: Embedding,
    first: usize,
) -> Result<Vec<Finding>, StudyError> {
    let scale = study.scale;
    let vocabs = scale.pick([64, 128, 256], [128, 256, 512], [128, 362, 1024]);
    let lengths = scale.pick([4, 16, 64], [4, 32, 256], [4, 32, 256]);
    let dim = scale.pick(96, 160, 256);
    let half_width = scale.half_width();
    let mut findings = Vec::new();
    for length in lengths {
        for vocab in vocabs {
            let settings = Settings {
                vocab,
                dim: if embedding == Embedding::Orthonormal { vocab + 2 } else { dim },
                length,
                embedding,
                trigger: Trigger::Keys,
                test_samples: 256,
                seed: study.seed_of(Part::Orthogonal, first + findings.len()),
                ..Settings::default()
            };
            findings.push(study.samples(settings, Measure::OneStepAccuracy, half_width)?);
        }
    }
    Ok(findings)
}

fn exponents(findings: &[Finding], seed: u64) -> Option<Comparison> {
    let mut samples = Vec::new();
    let mut predicted = Vec::new();
    for finding in findings {
        if let (Some(seen), Some(value)) = (finding.observed(), finding.predicted) {
            let sizes = vec![finding.length as f64, finding.vocab as f64];
            samples.push(Sample { sizes, value: seen.mean, low: seen.low, high: seen.high });
            predicted.push(value);
        }
    }
    compare(&["L", "V"], &samples, &predicted, seed).ok()
}
