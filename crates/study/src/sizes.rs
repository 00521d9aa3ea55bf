//! Part 2. Critical N of both algorithms for small and large d by small and large L, predicted and observed.

use serde::{Deserialize, Serialize};
use superpose_core::Measure;

use super::{Finding, Part, Study, StudyError};

/// Thresholds of three steps and of one step, for each of small and large d, small and large L.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sizes {
    /// The thresholds.
    pub findings: Vec<Finding>,
}

pub fn run(study: &mut Study<'_, '_>) -> Result<Sizes, StudyError> {
    let scale = study.scale;
    let vocab = scale.pick(256, 512, 1024);
    let mut findings = Vec::new();
    for dim in scale.pick([72, 192], [96, 256], [128, 512]) {
        for length in scale.pick([8, 128], [8, 256], [8, 512]) {
            for measure in [Measure::Accuracy, Measure::OneStepAccuracy] {
                let settings = study.settings(Part::Sizes, findings.len(), [vocab, dim, length]);
                findings.push(study.samples(settings, measure)?);
            }
        }
    }
    Ok(Sizes { findings })
}
