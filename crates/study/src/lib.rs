//! The study: claims about factual recall, measured beside the closed form, part by part.
//!
//! Every part is a function of a [`Scale`] and a seed. Its runs go through a [`Runner`], so an interrupted study continues from its
//! store. Different findings use different seeds, so that their errors are independent.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod anchors;
mod attention;
mod bound;
mod finding;
pub mod fit;
mod optimiser;
mod orthogonal;
mod phase;
mod questions;
mod scaling;
mod sizes;
mod training;

use serde::{Deserialize, Serialize};
use superpose_core::backend::{Backend, Cancelled, Numerics};
use superpose_core::config::{Config, ConfigError, Trigger};
use superpose_core::{Measure, Settings, words};
use superpose_theory::critical::Parameter;

pub use anchors::{Anchor, Anchors, Kind, Limit};
pub use attention::{Attention, Beyond, LockCurve, LockPoint};
pub use bound::Bounds;
pub use finding::{Finding, LEVEL, Verdict};
pub use optimiser::{
    MAX_THRESHOLD_SAMPLES, Optimiser, RankCurve, RankPoint, RulePoint, RuleThreshold, TEXT_EXPONENT,
};
pub use orthogonal::Orthogonal;
pub use phase::MlpPhase;
pub use questions::{AnswerPoint, Questions, ReaderQuestion, Recommendation};
pub use scaling::{Family, Scaling};
pub use sizes::Sizes;
pub use training::{CAPACITY_LEVEL, Training, TrainingPoint};

use superpose_lab::associative::MemoryError;
use superpose_lab::cell::{CellError, Event, NUMERICS_REVISION, Outcome, Runner};
use superpose_lab::run::RunError;
use superpose_lab::threshold::{Criterion, Question, SearchError, find, shares};

words! {
    /// The extent of the study.
    #[derive(PartialOrd, Ord)]
    Scale {
        /// Small sizes.
        Quick = "quick",
        /// Larger sizes and narrower intervals.
        Standard = "standard",
        /// Still larger sizes, for a cluster.
        Full = "full",
    }
}

impl Scale {
    /// Returns the value for this scale.
    fn pick<X>(self, quick: X, standard: X, full: X) -> X {
        match self {
            Scale::Quick => quick,
            Scale::Standard => standard,
            Scale::Full => full,
        }
    }
}

/// Defines every part once: its variant and word in [`Part`], and its field in [`Results`].
macro_rules! parts {
    ($(#[doc = $doc:literal] $part:ident = $word:literal, $field:ident: $result:ty;)+) => {
        words! {
            /// A part of the study, in the order of the report.
            #[derive(PartialOrd, Ord)]
            Part { $(#[doc = $doc] $part = $word),+ }
        }

        /// Results by part; a part that was not run is absent.
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        pub struct Results { $(#[doc = $doc] pub $field: Option<$result>),+ }

        impl Results {
            /// Moves one part from other results into these; returns whether they have it.
            pub fn take(&mut self, part: Part, from: Results) -> bool {
                match part { $(Part::$part => from.$field.map(|found| self.$field = Some(found)).is_some()),+ }
            }
        }
    };
}

parts! {
    /// Critical N against d, L and V: exponents and collapse.
    Scaling = "scaling", scaling: Scaling;
    /// Small and large d by small and large L.
    Sizes = "sizes", sizes: Sizes;
    /// Orthogonal against random embeddings.
    Orthogonal = "orthogonal", orthogonal: Orthogonal;
    /// Phase diagram of the attention-MLP model.
    Phase = "phase", phase: MlpPhase;
    /// Decoders of the first gradient over the lower bound.
    Bound = "bound", bound: Bounds;
    /// Lock rates, and what the second step contributes.
    Attention = "attention", attention: Attention;
    /// Training to the end against three steps.
    Training = "training", training: Training;
    /// Associative memories beside reference values from the literature.
    Anchors = "anchors", anchors: Anchors;
    /// Rules of the memory steps on tokens with Zipf frequencies.
    Optimiser = "optimiser", optimiser: Optimiser;
    /// Questions that readers of the paper ask.
    Questions = "questions", questions: Questions;
}

impl Part {
    /// Returns the seconds that a part took on two idle cores; `None` where that was not measured.
    pub fn seconds(self, scale: Scale) -> Option<f64> {
        let quick = match self {
            Part::Scaling => 25.0,
            Part::Sizes => 5.0,
            Part::Orthogonal => 2.0,
            Part::Phase => 1.0,
            Part::Bound => 2.0,
            Part::Attention => 3.0,
            Part::Training => 10.0,
            Part::Anchors => 43.0,
            Part::Optimiser => 2.0,
            Part::Questions => 25.0,
        };
        (scale == Scale::Quick).then_some(quick)
    }
}

/// The scale, seed and numerics that produced results whose runs are not in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Origin {
    scale: Scale,
    seed: u64,
    numerics_revision: u32,
    #[serde(default)]
    numerics: Numerics,
}

/// Why a study failed.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A run or the store failed.
    #[error(transparent)]
    Search(SearchError),
    /// A configuration was rejected.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A decoder's run failed.
    #[error(transparent)]
    Run(RunError),
    /// An associative memory failed.
    #[error(transparent)]
    Memory(MemoryError),
    /// Cancelled by the caller.
    #[error("stopped")]
    Stopped,
}

impl From<Cancelled> for StudyError {
    fn from(_: Cancelled) -> StudyError {
        StudyError::Stopped
    }
}

impl From<SearchError> for StudyError {
    fn from(error: SearchError) -> StudyError {
        match error {
            SearchError::Cell { error: CellError::Stopped, .. } => StudyError::Stopped,
            error => StudyError::Search(error),
        }
    }
}

impl From<RunError> for StudyError {
    fn from(error: RunError) -> StudyError {
        match error {
            RunError::Cancelled(_) => StudyError::Stopped,
            error => StudyError::Run(error),
        }
    }
}

impl From<MemoryError> for StudyError {
    fn from(error: MemoryError) -> StudyError {
        match error {
            MemoryError::Cancelled(_) => StudyError::Stopped,
            error => StudyError::Memory(error),
        }
    }
}

/// A study under way.
pub struct Study<'a, 'r> {
    /// The extent.
    pub scale: Scale,
    /// The seed from which all seeds follow.
    pub seed: u64,
    /// Runs decoders and memories; maps use its number of threads. Its token stops the study; finished runs are kept.
    pub backend: &'a Backend,
    /// Runs cells, or takes them from the store.
    pub runner: &'a mut Runner<'r>,
    /// Receives the events of every cell.
    pub observe: &'a mut dyn FnMut(Event<'_>),
    /// Receives a description of the current work.
    pub say: &'a mut dyn FnMut(&str),
}

impl Study<'_, '_> {
    /// Runs one part into the results. The lower bound and the anchors do not use the store: they continue from the results
    /// given, and keep there what they have finished when they are stopped.
    ///
    /// # Errors
    /// Fails if a run or the store fails, or when the study is stopped.
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
            Part::Optimiser => results.optimiser = Some(optimiser::run(self)?),
            Part::Questions => results.questions = Some(questions::run(self)?),
        }
        Ok(())
    }

    /// Returns the seed of a finding, far from the seeds of all others.
    fn seed_of(&self, part: Part, number: usize) -> u64 {
        let place = (1 + part as u64) * 1_000_000_000 + 100_000 * number as u64;
        self.seed.wrapping_mul(100_000_000_000).wrapping_add(place) >> 1
    }

    /// What the results of this study are compared with before they are continued.
    fn origin(&self) -> Origin {
        let numerics = self.backend.numerics();
        Origin { scale: self.scale, seed: self.seed, numerics_revision: NUMERICS_REVISION, numerics }
    }

    /// Returns the settings of a finding, with the trigger in the keys.
    fn settings(&self, part: Part, number: usize, [vocab, dim, length]: [usize; 3]) -> Settings {
        Settings {
            vocab,
            dim,
            length,
            trigger: Trigger::Keys,
            test_samples: 1024,
            seed: self.seed_of(part, number),
            ..Settings::default()
        }
    }

    /// Finds the critical number of samples of a model.
    fn samples(&mut self, settings: Settings, measure: Measure) -> Result<Finding, StudyError> {
        self.samples_up_to(settings, measure, u64::MAX)
    }

    /// The same with at most `max` samples.
    fn samples_up_to(
        &mut self,
        settings: Settings,
        measure: Measure,
        max: u64,
    ) -> Result<Finding, StudyError> {
        let config = settings.check()?;
        let Settings { vocab, dim, length, trigger, seed, .. } = *config;
        let embedding = config.embedding.kind();
        (self.say)(&format!("critical N of {} at V = {vocab}, d = {dim}, L = {length}", measure.label()));
        let question = Question::new(config, Parameter::Samples, measure, Criterion::Mean, LEVEL)?;
        let predicted = question.predicted();
        let (half_width, max_runs) = self.scale.pick((0.06, 160), (0.04, 400), (0.03, 1000));
        let (low, high) = question.range();
        let plan = question.plan(&predicted, half_width, (low, high.min(max)), max_runs);
        let (threshold, search) =
            find(&question, plan, |cells| shares(self.runner, cells, measure, &mut *self.observe))?;
        Ok(Finding {
            vocab,
            dim,
            length,
            embedding,
            trigger,
            measure,
            level: LEVEL,
            seed,
            threshold,
            predicted: predicted.value,
            runs: search.runs(),
            points: search.told().collect(),
        })
    }

    fn outcomes(&mut self, cells: &[Config]) -> Result<Vec<Outcome>, StudyError> {
        let outcomes = self.runner.run(cells, self.observe).map_err(SearchError::from)?;
        let checked = |(cell, outcome): (&Config, Result<Outcome, CellError>)| {
            outcome.map_err(|error| SearchError::cell(cell, error).into())
        };
        cells.iter().zip(outcomes).map(checked).collect()
    }
}
