//! Part 3. Orthogonal against random embeddings: with orthonormal vectors the factors of the one-step algorithm separate, with
//! random ones they multiply (theory: one step).

use serde::{Deserialize, Serialize};
use superpose_core::config::EmbeddingSettings;
use superpose_core::{Measure, Settings};

use super::finding::comparison;
use super::{Finding, Part, Study, StudyError};
use crate::fit::Comparison;

/// One-step thresholds over L and V.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Orthogonal {
    /// With random embeddings of one dimension.
    pub random: Vec<Finding>,
    /// With orthonormal embeddings, `d = V + 2`.
    pub orthonormal: Vec<Finding>,
    /// Exponents of L and V with random embeddings; absent with too few thresholds.
    pub random_exponents: Option<Comparison>,
    /// The same with orthonormal embeddings.
    pub orthonormal_exponents: Option<Comparison>,
}

pub fn run(study: &mut Study<'_, '_>) -> Result<Orthogonal, StudyError> {
    let random = thresholds(study, EmbeddingSettings::Gaussian, 0)?;
    let orthonormal = thresholds(study, EmbeddingSettings::Orthonormal, random.len())?;
    let exponents = |findings: &[Finding]| {
        comparison(&["L", "V"], findings, |f| vec![f.length as f64, f.vocab as f64], study.seed)
    };
    Ok(Orthogonal {
        random_exponents: exponents(&random),
        orthonormal_exponents: exponents(&orthonormal),
        random,
        orthonormal,
    })
}

fn thresholds(
    study: &mut Study<'_, '_>,
    embedding: EmbeddingSettings,
    first: usize,
) -> Result<Vec<Finding>, StudyError> {
    let scale = study.scale;
    let random_dim = scale.pick(96, 160, 256);
    let mut findings = Vec::new();
    for length in scale.pick([4, 16, 64], [4, 32, 256], [4, 32, 256]) {
        for vocab in scale.pick([64, 128, 256], [128, 256, 512], [128, 362, 1024]) {
            let dim = if embedding == EmbeddingSettings::Orthonormal { vocab + 2 } else { random_dim };
            let settings = study.settings(Part::Orthogonal, first + findings.len(), [vocab, dim, length]);
            let settings = Settings { embedding: embedding.clone(), test_samples: 256, ..settings };
            findings.push(study.samples(settings, Measure::OneStepAccuracy)?);
        }
    }
    Ok(findings)
}
