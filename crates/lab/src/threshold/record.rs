//! The options of a threshold search, the validated search, and the serialised result.

use std::fmt;
use std::str::FromStr;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use superpose_core::backend::Numerics;
use superpose_core::config::{
    Config, ConfigError, Embedding, Field, Kind, Settings, Value, between, check_ranges, counts, within,
};
use superpose_core::{Measure, settings, text_field};
use superpose_theory::critical::Parameter;

use super::question::{Criterion, Predicted, Question, SearchError, find, shares};
use super::search::Plan;
use super::{Estimate, Threshold, Unreached, Why};
use crate::cell::{Runner, check as check_cell};
use crate::run::Inputs;
use crate::words::grouped;

/// Sizes from `low` to `high`, written as `LOW..HIGH`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeRange {
    /// The smallest size.
    pub low: u64,
    /// The largest size.
    pub high: u64,
}

impl fmt::Display for SizeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.low, self.high)
    }
}

impl FromStr for SizeRange {
    type Err = String;
    fn from_str(text: &str) -> Result<SizeRange, String> {
        let (low, high) = text.split_once("..").ok_or(SizeRange::KIND.allowed())?;
        match (Kind::Count.parse(low), Kind::Count.parse(high)) {
            (Ok(Value::Count(low)), Ok(Value::Count(high))) if (1..high).contains(&low) => {
                Ok(SizeRange { low, high })
            }
            _ => Err(SizeRange::KIND.allowed()),
        }
    }
}

text_field!(
    SizeRange,
    r"^[0-9_.e]+\.\.[0-9_.e]+$",
    "must be LOW..HIGH, whole numbers such as 16..1e6, the first below the second"
);

settings! {
    /// The options of a threshold search, not yet validated.
    pub struct ThresholdOptions in "" requires find {
        /// The size to find.
        find: Parameter as "SIZE" = Parameter::Samples;
        /// Target value of the measure.
        accuracy: f64 as "SHARE" = 0.5, between(0.0, 1.0);
        /// Stop when the relative half width of the 95% interval is at most this.
        half_width: f64 as "SHARE" = 0.05, within(0.001, 1.0);
        /// Criterion: mean over seeds (mean), or share of seeds that recall every fact (all).
        criterion: Criterion = Criterion::Mean;
        /// Measure that must reach the target.
        measure: Measure where Measure::is_share as "NAME" = Measure::Accuracy;
        /// Maximum number of runs.
        max_runs: usize as "COUNT" = 400, counts(2, 1_000_000);
        /// Range of sizes to search; absent: chosen from the configuration.
        range: Option<SizeRange> as "LOW..HIGH" = None;
    }
}

impl ThresholdOptions {
    /// Fails if a setting was given that the search decides. `gives(name)` says whether a setting was given.
    pub fn check_given(gives: impl Fn(&str) -> bool) -> Result<(), ConfigError> {
        match gives("repeats") {
            true => Err(ConfigError::Together {
                names: "repeats is given".into(),
                why: "the search decides how often to run",
            }),
            false => Ok(()),
        }
    }

    /// Validates the options and the settings, with their tensors, at both ends of the range.
    ///
    /// # Errors
    /// Fails if a value is out of range or the tensors fix the size to find; the error names the parameter.
    pub fn check(&self, mut settings: Settings, inputs: &Inputs) -> Result<ThresholdSearch, ConfigError> {
        // Before the ranges, since its message says more.
        self.criterion.check_level(self.accuracy)?;
        check_ranges(self, ThresholdOptions::settings())?;
        inputs.check_varies("find", self.find.word())?;
        if settings.embedding.kind() == Embedding::Orthonormal {
            // The size to find is replaced by the search, so its initial value need not be valid.
            let others = settings.noise_vocab.unwrap_or(0).saturating_add(2);
            match self.find {
                Parameter::Dim => settings.dim = settings.dim.max(settings.vocab.saturating_add(others)),
                Parameter::Vocab => {
                    settings.vocab = settings.vocab.min(settings.dim.saturating_sub(others)).max(2)
                }
                _ => {}
            }
        }
        let config = settings.check()?;
        check_cell(&config.repeat(0))?;
        let question = Question::new(config, self.find, self.measure, self.criterion, self.accuracy)?;
        let question = Question { rows: inputs.statistics, ..question };
        let mut range = self.range.map_or_else(|| question.range(), |range| (range.low, range.high));
        if let (Parameter::Vocab, None, Some(rows)) = (self.find, self.range, inputs.row_count()) {
            range.1 = range.1.min(rows.saturating_sub(question.config.noise_vocab.unwrap_or(0)) as u64);
        }
        if !(1..range.1).contains(&range.0) {
            let allowed = "must be whole numbers of at least 1, the first below the second";
            return Err(ConfigError::value("range", format!("{}..{}", range.0, range.1), allowed));
        }
        // An end that cannot be run is an error now rather than during the search.
        for end in [range.0, range.1] {
            inputs.check(&*question.at(end, 0)?)?;
        }
        let predicted = question.predicted();
        let plan = question.plan(&predicted, self.half_width, range, self.max_runs);
        Ok(ThresholdSearch { question, predicted, plan })
    }
}

/// A validated search.
#[derive(Clone, Debug)]
pub struct ThresholdSearch {
    /// The size and the level to find.
    pub question: Question,
    predicted: Predicted,
    plan: Plan,
}

impl ThresholdSearch {
    /// Runs the search. `observe` receives the number of finished runs and the next cells.
    ///
    /// # Errors
    /// Fails if a run or the store fails, or when the runner is stopped.
    pub fn search(
        &self,
        runner: &mut Runner<'_>,
        mut observe: impl FnMut(usize, &[Config]),
    ) -> Result<ThresholdRecord, SearchError> {
        let started = Instant::now();
        let mut done = 0;
        let (answer, search) = find(&self.question, self.plan, |cells: &[Config]| {
            shares(runner, cells, self.question.measure, &mut |event| {
                done += event.finished();
                observe(done, cells);
            })
        })?;
        let trials = search.told().map(|(size, share)| TrialResult { size, share }).collect();
        let numerics = runner.numerics().clone();
        Ok(self.record(answer, trials, numerics, started.elapsed().as_secs_f64()))
    }

    fn record(
        &self,
        answer: Threshold,
        trials: Vec<TrialResult>,
        numerics: Numerics,
        seconds: f64,
    ) -> ThresholdRecord {
        let question = &self.question;
        let precise = matches!(answer, Threshold::Found(_));
        let (observed, unreached) = match answer {
            Threshold::Found(Estimate {
                estimate, low, high, crossing, crossing_low, crossing_high, ..
            }) => {
                let (low, high) = (Some(low), Some(high));
                let (crossing_low, crossing_high) = (Some(crossing_low), Some(crossing_high));
                (Some(Observed { estimate, low, high, precise, crossing, crossing_low, crossing_high }), None)
            }
            Threshold::Imprecise { estimate, low, high, crossing, crossing_low, crossing_high, .. } => {
                (Some(Observed { estimate, low, high, precise, crossing, crossing_low, crossing_high }), None)
            }
            Threshold::Unreached(tried) => {
                let text = not_reached(question, &tried, self.plan.range);
                (None, Some(NotReached { tried, range: self.plan.range, text }))
            }
        };
        ThresholdRecord {
            find: question.parameter,
            criterion: question.criterion,
            measure: question.measure,
            accuracy: question.level,
            criterion_text: question.criterion.sentence(question.measure, question.level),
            ratio: observed.as_ref().zip(self.predicted.value).map(|(o, p)| o.crossing / p),
            observed,
            unreached,
            predicted: self.predicted.value,
            predicted_reason: self.predicted.reason.clone(),
            half_width: self.plan.half_width,
            runs: trials.len(),
            trials,
            seconds,
            config: (*question.config).clone(),
            numerics,
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }
}

/// A threshold as a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ThresholdRecord {
    /// The size to find.
    pub find: Parameter,
    /// When the level counts as reached.
    pub criterion: Criterion,
    /// What is measured.
    pub measure: Measure,
    /// The level to reach.
    pub accuracy: f64,
    /// The criterion as a sentence.
    pub criterion_text: String,
    /// The threshold, if it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observed>,
    /// Why no threshold was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreached: Option<NotReached>,
    /// The predicted threshold.
    pub predicted: Option<f64>,
    /// Why there is no prediction.
    pub predicted_reason: Option<String>,
    /// Observed over predicted.
    pub ratio: Option<f64>,
    /// The relative half width at which the search stops.
    pub half_width: f64,
    /// Number of runs.
    pub runs: usize,
    /// The size and the result of every run.
    #[serde(default)]
    pub trials: Vec<TrialResult>,
    /// Duration in seconds.
    pub seconds: f64,
    /// The full configuration.
    pub config: Settings,
    /// The arithmetic that made it.
    #[serde(default)]
    pub numerics: Numerics,
    /// The version of superpose.
    pub version: String,
}

/// One run of a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TrialResult {
    /// The size.
    pub size: u64,
    /// The measure there; with the criterion `all`, 1 where every fact was recalled and 0 elsewhere.
    pub share: f64,
}

/// A threshold that was found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Observed {
    /// The threshold as a whole number.
    pub estimate: u64,
    /// Lower end of the 95% interval; `None` if the runs do not determine it.
    pub low: Option<u64>,
    /// Upper end.
    pub high: Option<u64>,
    /// Whether the interval is as narrow as requested.
    pub precise: bool,
    /// The crossing as a real number.
    pub crossing: f64,
    /// Lower end of the crossing.
    pub crossing_low: Option<f64>,
    /// Upper end of the crossing.
    pub crossing_high: Option<f64>,
}

/// A level that is not crossed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NotReached {
    /// The sizes tried and the shares measured.
    #[serde(flatten)]
    pub tried: Unreached,
    /// The range that was to be searched.
    pub range: (u64, u64),
    /// The same as a sentence.
    pub text: String,
}

fn not_reached(question: &Question, tried: &Unreached, range: (u64, u64)) -> String {
    let word = question.parameter.word();
    let over = format!("{word} from {} to {}", grouped(tried.low as f64), grouped(tried.high as f64));
    let whole = format!("the range is {} to {}", grouped(range.0 as f64), grouped(range.1 as f64));
    match tried.why {
        Why::Below => format!("not reached: at most {:.3} over {over}; {whole}", tried.best),
        Why::Above => format!("reached everywhere: at least {:.3} over {over}; {whole}", tried.least),
        Why::Undecided => {
            format!("not decided over {over}: too close to the level, or too few runs; {whole}")
        }
    }
}
