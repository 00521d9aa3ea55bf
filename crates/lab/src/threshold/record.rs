//! A threshold asked for and answered: options as they were typed, a search that can begin, a record.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use superpose_core::config::{Config, ConfigError, Embedding, Settings};
use superpose_theory::critical::Parameter;

use super::question::{Criterion, Measure, Predicted, Question, SearchError, find, shares};
use super::search::Plan;
use super::{Threshold, Unreached, Why};
use crate::cell::{Runner, check as check_cell};
use crate::words::grouped;

/// What is asked of a search, as it was typed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThresholdOptions {
    /// The size to find.
    pub find: Parameter,
    /// The level to reach.
    #[serde(default = "half")]
    pub accuracy: f64,
    /// Half width of the 95% interval, over the estimate, at which to stop.
    #[serde(default = "half_width")]
    pub half_width: f64,
    /// What counts as reached.
    #[serde(default = "mean")]
    pub criterion: Criterion,
    /// What is measured.
    #[serde(default = "recall")]
    pub measure: Measure,
    /// Runs at most.
    #[serde(default = "max_runs")]
    pub max_runs: usize,
    /// Sizes to search; without it, what runs in seconds.
    pub range: Option<(u64, u64)>,
}

fn half() -> f64 {
    0.5
}

fn half_width() -> f64 {
    0.05
}

fn mean() -> Criterion {
    Criterion::Mean
}

fn recall() -> Measure {
    Measure::Accuracy
}

fn max_runs() -> usize {
    400
}

impl ThresholdOptions {
    /// The size at which mean recall over seeds reaches one half.
    pub fn new(find: Parameter) -> ThresholdOptions {
        ThresholdOptions {
            find,
            accuracy: half(),
            half_width: half_width(),
            criterion: mean(),
            measure: recall(),
            max_runs: max_runs(),
            range: None,
        }
    }

    /// Checks everything, both ends of the range included; the result can be searched.
    pub fn check(&self, mut settings: Settings) -> Result<ThresholdSearch, ConfigError> {
        if !(0.001..=1.0).contains(&self.half_width) {
            return Err(ConfigError::value("half_width", self.half_width, "must be from 0.001 to 1"));
        }
        superpose_core::config::whole("max_runs", self.max_runs, 2, 1_000_000)?;
        if settings.embedding == Embedding::Orthonormal {
            // The size to find need not be right to begin with.
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
        let range = self.range.unwrap_or_else(|| question.range());
        if !(1..range.1).contains(&range.0) {
            let allowed = "must be whole numbers from 1 on, the first below the second";
            return Err(ConfigError::value("range", format!("{}..{}", range.0, range.1), allowed));
        }
        // Both ends can be run: found now rather than on the way.
        for end in [range.0, range.1] {
            question.at(end, 0)?;
        }
        let predicted = question.predicted();
        let plan = question.plan(&predicted, self.half_width, range, self.max_runs);
        Ok(ThresholdSearch { question, predicted, plan })
    }
}

/// A search that can begin.
#[derive(Clone, Debug)]
pub struct ThresholdSearch {
    /// What is asked.
    pub question: Question,
    predicted: Predicted,
    plan: Plan,
}

impl ThresholdSearch {
    /// Searches to the end. `observe` is told how many runs are done and which come next.
    pub fn search(
        &self,
        runner: &mut Runner<'_>,
        mut observe: impl FnMut(usize, &[Config]),
    ) -> Result<ThresholdRecord, SearchError> {
        let started = Instant::now();
        let mut done = 0;
        let (answer, search) = find(&self.question, self.plan, |cells: &[Config]| {
            let found = shares(runner, cells, self.question.measure, &mut |_| observe(done, cells));
            done += cells.len();
            found
        })?;
        Ok(self.record(answer, search.runs(), started.elapsed().as_secs_f64()))
    }

    fn record(&self, answer: Threshold, runs: usize, seconds: f64) -> ThresholdRecord {
        let question = &self.question;
        let (observed, unreached) = match answer {
            Threshold::Found(e) => {
                let observed = Observed {
                    estimate: e.estimate,
                    low: Some(e.low),
                    high: Some(e.high),
                    precise: true,
                    crossing: e.crossing,
                    crossing_low: Some(e.crossing_low),
                    crossing_high: Some(e.crossing_high),
                };
                (Some(observed), None)
            }
            Threshold::Imprecise { estimate, low, high, crossing, crossing_low, crossing_high, .. } => (
                Some(Observed { estimate, low, high, precise: false, crossing, crossing_low, crossing_high }),
                None,
            ),
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
            runs,
            seconds,
            config: (**question.config()).clone(),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }
}

/// A threshold as a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThresholdRecord {
    /// The size that was to be found.
    pub find: Parameter,
    /// What counts as reached.
    pub criterion: Criterion,
    /// What is measured.
    pub measure: Measure,
    /// The level to reach.
    pub accuracy: f64,
    /// The criterion in words.
    pub criterion_text: String,
    /// What was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observed>,
    /// Why nothing was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreached: Option<NotReached>,
    /// What the theory says.
    pub predicted: Option<f64>,
    /// Why it says nothing.
    pub predicted_reason: Option<String>,
    /// Observed over predicted.
    pub ratio: Option<f64>,
    /// The half width that was asked for.
    pub half_width: f64,
    /// Runs it took.
    pub runs: usize,
    /// Time it took.
    pub seconds: f64,
    /// The full configuration.
    pub config: Settings,
    /// The version that searched.
    pub version: String,
}

/// A threshold that was found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// The whole number.
    pub estimate: u64,
    /// Lower end of the 95% interval; nothing when the runs do not tell.
    pub low: Option<u64>,
    /// Upper end.
    pub high: Option<u64>,
    /// Whether the interval is as narrow as was asked for.
    pub precise: bool,
    /// The crossing as a real number, between whole ones.
    pub crossing: f64,
    /// Lower end.
    pub crossing_low: Option<f64>,
    /// Upper end.
    pub crossing_high: Option<f64>,
}

/// A level that is not crossed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotReached {
    /// What was tried.
    #[serde(flatten)]
    pub tried: Unreached,
    /// Where it was to be found.
    pub range: (u64, u64),
    /// All of it in words.
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
