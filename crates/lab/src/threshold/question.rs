//! The specification of a threshold search: model, varied size, measure and criterion.

use serde::{Deserialize, Serialize};
use superpose_core::config::{Config, ConfigError, Embedding, Field, Labels, Settings, accept};
use superpose_core::measure::{Measure, Scale};
use superpose_core::words;
use superpose_theory::critical::{Critical, Parameter, critical};
use superpose_theory::predict::{predict_measure, uncovered_with};
use superpose_theory::{Point, Rows};

use super::Threshold;
use super::search::{Plan, Search, Step, slope_of};
use crate::cell::{CellError, Event, Outcome, Runner};
use crate::interval::SampleMean;
use crate::store::StoreError;

words! {
    /// What counts as reached.
    Criterion {
        /// The mean over seeds is at least the level.
        Mean = "mean",
        /// The share of seeds at which the measure is exactly 1 is at least the level.
        All = "all",
    }
}

impl Criterion {
    /// Fails if the level is not above 0 and below 1.
    pub(super) fn check_level(self, level: f64) -> Result<(), ConfigError> {
        if level > 0.0 && level < 1.0 {
            return Ok(());
        }
        let allowed = match self {
            Criterion::Mean => "must be above 0 and below 1; for all facts recalled use criterion = all",
            Criterion::All => "must be above 0 and below 1: the share of seeds that recall everything",
        };
        Err(ConfigError::value("accuracy", level, allowed))
    }

    /// The criterion in words.
    pub fn sentence(self, measure: Measure, level: f64) -> String {
        match self {
            Criterion::Mean => format!("mean {} over seeds of at least {level}", measure.label()),
            Criterion::All => {
                format!("{} of exactly 1 in a share of seeds of at least {level}", measure.label())
            }
        }
    }
}

/// A measured share and the independent answers behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The share.
    pub mean: f64,
    /// Independent answers.
    pub items: f64,
}

/// Work that could not be finished.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages explain the fields.
pub enum SearchError {
    /// A size of the search cannot be run together with the other values.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A run failed.
    #[error("{what}: {error}")]
    Cell { what: String, error: CellError },
    /// Results could not be kept or read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SearchError {
    /// A run that failed, by its sizes.
    pub fn cell(config: &Config, error: CellError) -> SearchError {
        let Settings { vocab, dim, length, samples, seed, .. } = &**config;
        let what = format!("V = {vocab}, d = {dim}, L = {length}, N = {samples}, seed {seed}");
        SearchError::Cell { what, error }
    }
}

impl Share {
    /// The share that a measure of a cell estimates.
    pub fn new(config: &Config, measure: Measure, estimate: SampleMean) -> Share {
        // Testing a fact twice says nothing about other facts.
        let max = if measure.scale() == Scale::ShareOfFacts { config.vocab } else { usize::MAX };
        Share { mean: estimate.mean, items: estimate.items.min(max) as f64 }
    }
}

/// Runs cells and reads a measure off each.
pub fn estimates(
    runner: &mut Runner<'_>,
    cells: &[Config],
    measure: Measure,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<Vec<SampleMean>, SearchError> {
    runner.require(measure);
    let outcomes = runner.run(cells, observe)?;
    let read = |(config, outcome): (&Config, Result<Outcome, CellError>)| {
        Ok(outcome.map_err(|error| SearchError::cell(config, error))?.measures[measure])
    };
    cells.iter().zip(outcomes).map(read).collect()
}

/// The same as shares.
pub fn shares(
    runner: &mut Runner<'_>,
    cells: &[Config],
    measure: Measure,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<Vec<Share>, SearchError> {
    let found = estimates(runner, cells, measure, observe)?;
    Ok(cells.iter().zip(found).map(|(config, estimate)| Share::new(config, measure, estimate)).collect())
}

/// What the theory says about a threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// The critical value, a whole number.
    pub value: Option<f64>,
    /// Slope of the predicted curve there, in standard deviations of a normal CDF per factor of e.
    pub slope: Option<f64>,
    /// Why there is no value.
    pub reason: Option<String>,
}

/// A question: a model, the size that varies, what is measured and what counts as reached.
#[derive(Clone, Debug)]
pub struct Question {
    pub(super) config: Config,
    /// The size that varies.
    pub parameter: Parameter,
    /// What is measured.
    pub measure: Measure,
    /// What counts as reached.
    pub criterion: Criterion,
    /// The level, above 0 and below 1.
    pub level: f64,
    /// Measured statistics of the input embeddings, for the prediction.
    pub rows: Option<Rows>,
}

impl Question {
    /// A question that can be asked: the level is a share, and the size can vary.
    pub fn new(
        config: Config,
        parameter: Parameter,
        measure: Measure,
        criterion: Criterion,
        level: f64,
    ) -> Result<Question, ConfigError> {
        criterion.check_level(level)?;
        accept(measure.to_value(), Measure::is_share)
            .map_err(|allowed| ConfigError::value("measure", measure, allowed))?;
        if parameter == Parameter::Width && config.width.is_none() {
            let allowed = "the attention-only model has no width; give width to begin with";
            return Err(ConfigError::value("find", parameter, allowed));
        }
        Ok(Question { config, parameter, measure, criterion, level, rows: None })
    }

    /// The configuration of run `number` at a size.
    pub fn at(&self, value: u64, number: u64) -> Result<Config, ConfigError> {
        let mut settings = (*self.config).clone();
        settings.repeats = 1;
        settings.seed = settings.seed.saturating_add(number);
        set(&mut settings, self.parameter, value as usize);
        settings.check()
    }

    /// Sizes to search when none are given: those that run in about a second at the other sizes of the configuration, 2^23 tokens of
    /// data (fewer with many training steps), or four times the prediction where that is more.
    pub fn range(&self) -> (u64, u64) {
        let config = &self.config;
        let steps = config.training.as_ref().map_or(1, |training| training.steps as u64);
        let tokens = ((1 << 23) / steps).max(1 << 19);
        let classes = match config.labels {
            Labels::Mod(classes) => classes as u64,
            Labels::Permutation => 2,
        };
        let orthonormal = config.embedding.kind() == Embedding::Orthonormal;
        let rows = config.token_count() as u64 + 2;
        let spare = (config.dim as u64).saturating_sub(2 + config.noise_vocab.unwrap_or(0) as u64);
        match self.parameter {
            Parameter::Samples => {
                let predicted = self.predicted().value.map_or(0, |value| (4.0 * value) as u64);
                (1, (tokens / config.length as u64).max(predicted).clamp(2, 1 << 30))
            }
            Parameter::Length => (1, (tokens / config.samples as u64).clamp(2, 1 << 20)),
            Parameter::Dim if orthonormal => (rows, rows.max(4096)),
            Parameter::Dim => (1, 4096),
            Parameter::Width => (1, 1 << 17),
            Parameter::Vocab if orthonormal => (classes, spare.clamp(classes, 1 << 14)),
            Parameter::Vocab => (classes, classes.max(1 << 14)),
        }
    }

    /// The share that counts: the measure itself, or whether it is 1.
    pub fn counts(&self, share: Share) -> Share {
        match self.criterion {
            Criterion::Mean => share,
            Criterion::All => Share { mean: f64::from(u8::from(share.mean >= 1.0)), items: 1.0 },
        }
    }

    /// What the theory says.
    pub fn predicted(&self) -> Predicted {
        let silent = |reason: String| Predicted { value: None, slope: None, reason: Some(reason) };
        if let Some(reason) = uncovered_with(&self.config, self.rows.is_some(), self.measure) {
            return silent(reason.text().into());
        }
        let point = Point { rows: self.rows, ..Point::from(&self.config) };
        // For all facts at once, facts are taken as independent.
        let level = match self.criterion {
            Criterion::Mean => self.level,
            Criterion::All => libm::pow(self.level, 1.0 / self.config.vocab as f64),
        };
        let share = |x: f64| {
            let x = x.max(self.parameter.range(&point).0);
            predict_measure(self.measure, &self.parameter.set(&point, x)).unwrap_or(f64::NAN)
        };
        if predict_measure(self.measure, &point).is_none() {
            return silent(format!("there is no formula for the {}", self.measure.label()));
        }
        let solved = match self.measure {
            Measure::Accuracy => critical(&point, self.parameter, level),
            _ => self.solve(&point, level, share),
        };
        match solved.value() {
            Some(x) => Predicted { value: Some(x), slope: Some(slope_of(share, x)), reason: None },
            None => silent(solved.reason(self.parameter).unwrap_or_default()),
        }
    }

    /// Solves for measures that [`critical`] does not know: down from the top by factors of two, then by bisection.
    fn solve(&self, point: &Point, level: f64, share: impl Fn(f64) -> f64) -> Critical {
        let (first, last) = self.parameter.range(point);
        let helps = self.parameter.helps();
        let reaches = |x: f64| share(x) >= level;
        let mut high = last.min(1e9);
        if reaches(high) != helps {
            return match helps {
                true => Critical::Unreachable { end: high, accuracy: share(high), dominant: None },
                false => Critical::Unlimited { limit: high },
            };
        }
        while high > first {
            let low = (high / 2.0).floor().max(first);
            if reaches(low) == helps {
                high = low;
                continue;
            }
            let mut low = low;
            while high - low > 1.0 {
                let middle = (0.5 * (low + high)).floor();
                if reaches(middle) == helps { high = middle } else { low = middle }
            }
            return Critical::At(if helps { high } else { low });
        }
        match helps {
            true => Critical::At(first),
            false => Critical::Unreachable { end: first, accuracy: share(first), dominant: None },
        }
    }

    /// The plan of a search: from the prediction if there is one, else from the configuration's own size.
    pub fn plan(&self, predicted: &Predicted, half_width: f64, range: (u64, u64), max_runs: usize) -> Plan {
        let own = self.parameter.of(&Point::from(&self.config)).unwrap_or(1.0);
        let start = predicted.value.unwrap_or(own).clamp(range.0 as f64, range.1 as f64);
        let (rises, slope) = (self.parameter.helps(), predicted.slope.unwrap_or(1.0));
        Plan { target: self.level, half_width, range, rises, start, slope, max_runs }
    }
}

/// Sets a size.
pub fn set(settings: &mut Settings, parameter: Parameter, value: usize) {
    match parameter {
        Parameter::Samples => settings.samples = value,
        Parameter::Dim => settings.dim = value,
        Parameter::Width => settings.width = Some(value),
        Parameter::Length => settings.length = value,
        Parameter::Vocab => settings.vocab = value,
    }
}

/// Searches to the end: `run` measures a batch of configurations. Returns the answer and the search with its results.
pub fn find<E: From<ConfigError>>(
    question: &Question,
    plan: Plan,
    mut run: impl FnMut(&[Config]) -> Result<Vec<Share>, E>,
) -> Result<(Threshold, Search), E> {
    let mut search = Search::new(plan);
    loop {
        let trials = match search.ask() {
            Step::Run(trials) => trials,
            Step::Done(answer) => return Ok((answer, search)),
        };
        let configs: Result<Vec<Config>, ConfigError> =
            trials.iter().map(|trial| question.at(trial.value, trial.number)).collect();
        for (trial, share) in trials.iter().zip(run(&configs?)?) {
            let share = question.counts(share);
            search.tell(trial.value, share.mean, share.items);
        }
    }
}
