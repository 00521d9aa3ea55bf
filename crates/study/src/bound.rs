//! Part 5. Lower bounds: critical N of each decoder of the first gradient over the bound that holds for it (`docs/theory/bound.md`).

use serde::{Deserialize, Serialize};
use superpose_core::Settings;

use super::finding::LEVEL;
use super::{Origin, Part, Study, StudyError};
use superpose_lab::decoders::{BoundOptions, BoundRecord, bound};
use superpose_lab::run::Inputs;

/// Decoders beside the bounds at several sizes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bounds {
    #[serde(flatten)]
    origin: Origin,
    /// One record per model.
    pub records: Vec<BoundRecord>,
}

impl Bounds {
    /// Returns the smallest ratio of a critical number of samples to the bound that holds for the decoder.
    pub fn smallest_ratio(&self) -> Option<f64> {
        let decoders = self.records.iter().flat_map(|record| record.decoders.values());
        decoders.filter_map(|critical| critical.ratio).min_by(f64::total_cmp)
    }
}

pub fn run(study: &mut Study<'_, '_>, known: &mut Option<Bounds>) -> Result<(), StudyError> {
    let sizes: &[[usize; 3]] = study.scale.pick(
        &[[96, 48, 4], [96, 48, 16], [192, 72, 16]],
        &[[96, 48, 4], [96, 48, 32], [256, 64, 16], [256, 128, 16], [512, 128, 16]],
        &[[128, 48, 4], [128, 48, 64], [512, 96, 16], [512, 256, 64], [1000, 128, 16], [1000, 256, 64]],
    );
    let options = BoundOptions { accuracy: LEVEL, seeds: 24 };
    let origin = study.origin();
    let kept = known.take().filter(|known| known.origin == origin);
    let bounds = known.insert(kept.unwrap_or(Bounds { origin, records: Vec::new() }));
    for (i, &[vocab, dim, length]) in sizes.iter().enumerate().skip(bounds.records.len()) {
        study.backend.check_cancelled()?;
        let settings = study.settings(Part::Bound, i, [vocab, dim, length]);
        let settings = Settings { repeats: options.seeds, ..settings };
        let mut progress = |decoder: &str, samples: f64| {
            (study.say)(&format!("{decoder} at V = {vocab}, d = {dim}, L = {length}, N = {samples:.0}"));
        };
        bounds.records.push(bound(
            &settings.check()?,
            &Inputs::default(),
            &options,
            None,
            study.backend,
            &mut progress,
        )?);
    }
    Ok(())
}
