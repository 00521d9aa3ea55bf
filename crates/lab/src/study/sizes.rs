//! Part 2. The table of small and large d by small and large L: critical N of both algorithms, predicted and observed.

use serde::{Deserialize, Serialize};
use superpose_core::Settings;
use superpose_core::config::Trigger;

use super::{Finding, Part, Study, StudyError};
use crate::threshold::Measure;

/// The table's thresholds: for each of small and large d, small and large L, three steps and one step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sizes {
    /// Thresholds.
    pub findings: Vec<Finding>,
}

pub fn run(study: &mut Study<'_, '_>) -> Result<Sizes, StudyError> {
    let scale = study.scale;
    let vocab = scale.pick(256, 512, 1024);
    let dims = scale.pick([72, 192], [96, 256], [128, 512]);
    let lengths = scale.pick([8, 128], [8, 256], [8, 512]);
    let half_width = scale.half_width();
    let mut findings = Vec::new();
    for dim in dims {
        for length in lengths {
            for measure in [Measure::Accuracy, Measure::OneStepAccuracy] {
                let settings = Settings {
                    vocab,
                    dim,
                    length,
                    trigger: Trigger::Keys,
                    test_samples: 1024,
                    seed: study.seed_of(Part::Sizes, findings.len()),
                    ..Settings::default()
                };
                findings.push(study.samples(settings, measure, half_width)?);
            }
        }
    }
    Ok(Sizes { findings })
}
