//! The study: what is claimed about factual recall, measured beside the closed form, part by part.
//!
//! Every part is a function of a [`Scale`] and a seed alone. Its runs go through a [`Runner`], so a study that was interrupted
//! takes what it has from the store and goes on. Runs of different findings have different seeds: luck is not shared.

mod anchors;
mod attention;
mod bound;
mod finding;
mod orthogonal;
mod phase;
mod scaling;
mod sizes;
mod training;

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use superpose_core::Settings;
use superpose_core::backend::Backend;
use superpose_core::config::ConfigError;
use superpose_theory::critical::Parameter;

pub use anchors::{Anchor, Anchors, Kind, Limit};
pub use attention::{Attention, Beyond, LockCurve, LockPoint};
pub use bound::Bounds;
pub use finding::{Finding, LEVEL, Verdict};
pub use orthogonal::Orthogonal;
pub use phase::MlpPhase;
pub use scaling::{Family, Scaling};
pub use sizes::Sizes;
pub use training::{CAPACITY_LEVEL, Training, TrainingPoint};

use crate::associative::MemoryError;
use crate::cell::{CellError, Event, Runner};
use crate::run::RunError;
use crate::threshold::{Criterion, Measure, Question, SearchError, find, shares};

/// How far the study goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Small sizes.
    Quick,
    /// Larger sizes and narrower intervals.
    Standard,
    /// Larger still: for a cluster.
    Full,
}

impl Scale {
    /// How long it takes, where that was measured.
    pub fn about(self) -> &'static str {
        match self {
            Scale::Quick => "a few minutes on two cores",
            Scale::Standard => "not measured as a whole; some tens of minutes",
            Scale::Full => "not measured as a whole; many hours",
        }
    }

    /// Half width of threshold intervals, relative.
    fn half_width(self) -> f64 {
        self.pick(0.06, 0.04, 0.03)
    }

    /// Every scale.
    pub const ALL: [Scale; 3] = [Scale::Quick, Scale::Standard, Scale::Full];

    /// The name.
    pub fn word(self) -> &'static str {
        match self {
            Scale::Quick => "quick",
            Scale::Standard => "standard",
            Scale::Full => "full",
        }
    }

    /// One of three values.
    fn pick<X>(self, quick: X, standard: X, full: X) -> X {
        match self {
            Scale::Quick => quick,
            Scale::Standard => standard,
            Scale::Full => full,
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Scale {
    type Err = String;
    fn from_str(text: &str) -> Result<Scale, String> {
        let found = Scale::ALL.into_iter().find(|scale| scale.word() == text);
        found.ok_or("must be quick, standard or full".into())
    }
}

/// A part of the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Critical N against d, L and V: exponents and collapse.
    Scaling,
    /// Small and large d by small and large L.
    Sizes,
    /// Orthogonal against random embeddings.
    Orthogonal,
    /// Phase diagram of the attention-MLP model.
    Phase,
    /// Decoders of the first gradient over the lower bound.
    Bound,
    /// Lock rates, and what the second step contributes.
    Attention,
    /// Training to the end against three steps.
    Training,
    /// Associative memories beside reference values from the literature.
    Anchors,
}

impl Part {
    /// Every part, in the order of the report.
    pub const ALL: [Part; 8] = [
        Part::Scaling,
        Part::Sizes,
        Part::Orthogonal,
        Part::Phase,
        Part::Bound,
        Part::Attention,
        Part::Training,
        Part::Anchors,
    ];

    /// The name.
    pub fn word(self) -> &'static str {
        match self {
            Part::Scaling => "scaling",
            Part::Sizes => "sizes",
            Part::Orthogonal => "orthogonal",
            Part::Phase => "phase",
            Part::Bound => "bound",
            Part::Attention => "attention",
            Part::Training => "training",
            Part::Anchors => "anchors",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Part {
    type Err = String;
    fn from_str(text: &str) -> Result<Part, String> {
        let found = Part::ALL.into_iter().find(|part| part.word() == text);
        found.ok_or("must be scaling, sizes, orthogonal, phase, bound, attention, training or anchors".into())
    }
}

/// Results by part; a part that was not run is absent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Results {
    /// Critical N against d, L and V.
    pub scaling: Option<Scaling>,
    /// Small and large d by small and large L.
    pub sizes: Option<Sizes>,
    /// Orthogonal against random embeddings.
    pub orthogonal: Option<Orthogonal>,
    /// Phase diagram of the attention-MLP model.
    pub phase: Option<MlpPhase>,
    /// Decoders over the lower bound.
    pub bound: Option<Bounds>,
    /// Lock rates.
    pub attention: Option<Attention>,
    /// Training to the end.
    pub training: Option<Training>,
    /// Associative memories beside reference values.
    #[serde(default)]
    pub anchors: Option<Anchors>,
}

impl Results {
    /// Takes one part from other results; whether they have it.
    pub fn take(&mut self, part: Part, from: Results) -> bool {
        fn take<X>(place: &mut Option<X>, from: Option<X>) -> bool {
            let there = from.is_some();
            if there {
                *place = from;
            }
            there
        }
        match part {
            Part::Scaling => take(&mut self.scaling, from.scaling),
            Part::Sizes => take(&mut self.sizes, from.sizes),
            Part::Orthogonal => take(&mut self.orthogonal, from.orthogonal),
            Part::Phase => take(&mut self.phase, from.phase),
            Part::Bound => take(&mut self.bound, from.bound),
            Part::Attention => take(&mut self.attention, from.attention),
            Part::Training => take(&mut self.training, from.training),
            Part::Anchors => take(&mut self.anchors, from.anchors),
        }
    }
}

/// A study that could not go on.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A run or the store failed.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// A configuration was refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A decoder's run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A memory gave no answer.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// It was asked to stop.
    #[error("stopped")]
    Stopped,
}

/// What a study works with.
pub struct Study<'a, 'r> {
    /// How far to go.
    pub scale: Scale,
    /// Seed of everything.
    pub seed: u64,
    /// Where decoders run, and how many threads maps may use.
    pub backend: &'a Backend,
    /// Runs cells, or takes them from the store.
    pub runner: &'a mut Runner<'r>,
    /// Hears of every cell.
    pub observe: &'a mut dyn FnMut(Event<'_>),
    /// Hears what is being found out.
    pub say: &'a mut dyn FnMut(&str),
    /// When this becomes true, the study stops; what is finished is kept.
    pub stop: &'a AtomicBool,
}

impl Study<'_, '_> {
    /// Runs one part into the results. The runs of the parts on the lower bound and on anchors are no cells: they go on from what
    /// the results have, and keep what they have finished when they are stopped.
    pub fn run(&mut self, part: Part, results: &mut Results) -> Result<(), StudyError> {
        match part {
            Part::Scaling => results.scaling = Some(scaling::run(self)?),
            Part::Sizes => results.sizes = Some(sizes::run(self)?),
            Part::Orthogonal => results.orthogonal = Some(orthogonal::run(self)?),
            Part::Phase => results.phase = Some(phase::run(self)?),
            Part::Bound => bound::run(self, &mut results.bound)?,
            Part::Attention => results.attention = Some(attention::run(self)?),
            Part::Training => results.training = Some(training::run(self)?),
            Part::Anchors => anchors::run(self, &mut results.anchors)?,
        }
        Ok(())
    }

    /// The seed of a finding: far from those of all others.
    fn seed_of(&self, part: Part, number: usize) -> u64 {
        let place = (1 + part as u64) * 1_000_000_000 + 100_000 * number as u64;
        self.seed.wrapping_mul(100_000_000_000).wrapping_add(place) >> 1
    }

    /// The critical number of samples of a model.
    fn samples(
        &mut self,
        settings: Settings,
        measure: Measure,
        half_width: f64,
    ) -> Result<Finding, StudyError> {
        let config = settings.check()?;
        let Settings { vocab, dim, length, .. } = &*config;
        (self.say)(&format!("critical N of {} at V = {vocab}, d = {dim}, L = {length}", measure.label()));
        let question = Question::new(config, Parameter::Samples, measure, Criterion::Mean, LEVEL)?;
        let predicted = question.predicted();
        let plan = question.plan(&predicted, half_width, question.range(), self.scale.pick(160, 400, 1000));
        let (threshold, search) =
            find(&question, plan, |cells| shares(self.runner, cells, measure, &mut *self.observe))
                .map_err(stopped)?;
        Ok(Finding::new(question.config(), measure, threshold, predicted.value, &search))
    }
}

/// A search that ended because it was asked to.
fn stopped(error: SearchError) -> StudyError {
    match error {
        SearchError::Cell { error: CellError::Stopped, .. } => StudyError::Stopped,
        error => StudyError::Search(error),
    }
}
