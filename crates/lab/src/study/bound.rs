//! Part 5. Lower bound: critical N of each decoder of the first gradient over the bound (theory section 5.4).

use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use superpose_core::Settings;
use superpose_core::config::Trigger;

use super::finding::LEVEL;
use super::{Part, Scale, Study, StudyError};
use crate::cell::NUMERICS_REVISION;
use crate::decoders::{BoundRecord, bound};

/// Decoders beside the bound at several sizes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bounds {
    /// What this was made with.
    scale: Scale,
    seed: u64,
    numerics_revision: u32,
    /// One record for each model.
    pub records: Vec<BoundRecord>,
}

impl Bounds {
    /// Whether this is what the part would give again.
    pub fn is_of(&self, scale: Scale, seed: u64) -> bool {
        (self.scale, self.seed, self.numerics_revision) == (scale, seed, NUMERICS_REVISION)
    }

    /// The smallest ratio of a critical number of samples to the bound: below 1 a decoder would beat it.
    pub fn smallest_ratio(&self) -> Option<f64> {
        let decoders = self.records.iter().flat_map(|record| record.decoders.values());
        decoders.filter_map(|critical| critical.ratio).min_by(f64::total_cmp)
    }
}

pub fn run(study: &mut Study<'_, '_>, known: &mut Option<Bounds>) -> Result<(), StudyError> {
    let sizes: &[(usize, usize, usize)] = match study.scale {
        Scale::Quick => &[(96, 48, 4), (96, 48, 16), (192, 72, 16)],
        Scale::Standard => &[(96, 48, 4), (96, 48, 32), (256, 64, 16), (256, 128, 16), (512, 128, 16)],
        Scale::Full => {
            &[(128, 48, 4), (128, 48, 64), (512, 96, 16), (512, 256, 64), (1000, 128, 16), (1000, 256, 64)]
        }
    };
    let seeds = 24;
    let (scale, seed) = (study.scale, study.seed);
    let new = Bounds { scale, seed, numerics_revision: NUMERICS_REVISION, records: Vec::new() };
    let kept = known.take().filter(|known| known.is_of(scale, seed));
    let bounds = known.insert(kept.unwrap_or(new));
    for (i, &(vocab, dim, length)) in sizes.iter().enumerate().skip(bounds.records.len()) {
        if study.stop.load(Ordering::Relaxed) {
            return Err(StudyError::Stopped);
        }
        let settings = Settings {
            vocab,
            dim,
            length,
            trigger: Trigger::Keys,
            test_samples: 1024,
            repeats: seeds,
            seed: study.seed_of(Part::Bound, i),
            ..Settings::default()
        };
        let mut progress = |decoder: &str, samples: f64| {
            (study.say)(&format!("{decoder} at V = {vocab}, d = {dim}, L = {length}, N = {samples:.0}"));
        };
        bounds.records.push(bound(&settings.check()?, LEVEL, seeds, study.backend, &mut progress)?);
    }
    Ok(())
}
