//! `superpose threshold`: the size at which an accuracy is reached, measured with an interval, beside the prediction.

use std::fmt::Write;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{anyhow, bail, ensure};
use clap::Args;
use serde::Serialize;
use superpose_core::config::{Config, Embedding, Settings};
use superpose_lab::cell::{CellError, Runner, check as check_cell};
use superpose_lab::store::Store;
use superpose_lab::threshold::{
    Criterion, Measure, Predicted, Question, SearchError, Threshold, Unreached, Why, find, shares,
};
use superpose_theory::Point;
use superpose_theory::critical::Parameter;

use crate::arguments::{Count, RunArguments};
use crate::interrupt::Interrupt;
use crate::progress::Spinner;
use crate::run::{available_memory, print};
use crate::text::grouped;

/// Arguments of `superpose threshold`.
#[derive(Args, Clone, Debug)]
#[command(mut_arg("precision", |argument| argument.long("float")))]
pub struct ThresholdArguments {
    #[command(flatten)]
    run: RunArguments,

    /// The size to find: samples, dim, width, length or vocab
    #[arg(long, value_name = "SIZE")]
    find: String,
    /// The level to reach
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, allow_hyphen_values = true)]
    accuracy: f64,
    /// Half width of the 95% interval, over the estimate, at which to stop
    #[arg(
        id = "relative",
        long = "precision",
        value_name = "SHARE",
        default_value_t = 0.05,
        allow_hyphen_values = true
    )]
    relative: f64,
    /// What counts as reached: mean (over seeds, at least the level) or all (the share of seeds that recall everything is)
    #[arg(long, value_name = "mean|all", default_value = "mean")]
    criterion: Criterion,
    /// What is measured: accuracy, memory_accuracy, one_step_accuracy, lock_rate
    #[arg(long, value_name = "NAME", default_value = "accuracy")]
    measure: Measure,
    /// Runs at most
    #[arg(long, value_name = "COUNT", default_value = "400", allow_hyphen_values = true)]
    max_runs: Count,
    /// Sizes to search (default: what runs in seconds)
    #[arg(long, value_name = "LOW..HIGH")]
    range: Option<String>,
    /// Keep results in this file (SQLite) and take known ones from it
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

/// A threshold as it is printed.
#[derive(Serialize)]
struct Report {
    find: Parameter,
    criterion: Criterion,
    measure: Measure,
    accuracy: f64,
    criterion_text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    observed: Option<Observed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unreached: Option<NotReached>,
    predicted: Option<f64>,
    predicted_reason: Option<String>,
    /// Observed over predicted.
    ratio: Option<f64>,
    precision: f64,
    runs: usize,
    seconds: f64,
    config: Settings,
    version: &'static str,
}

#[derive(Serialize)]
struct Observed {
    estimate: u64,
    low: Option<u64>,
    high: Option<u64>,
    /// Whether the interval is as narrow as was asked for.
    precise: bool,
    /// The same as real numbers, between whole ones.
    crossing: f64,
    crossing_low: Option<f64>,
    crossing_high: Option<f64>,
}

#[derive(Serialize)]
struct NotReached {
    #[serde(flatten)]
    tried: Unreached,
    range: (u64, u64),
    text: String,
}

/// Runs the command.
pub fn threshold(arguments: ThresholdArguments) -> anyhow::Result<ExitCode> {
    let run = arguments.run.with_file()?;
    let threads = run.threads()?;
    for name in ["repeats", "export", "import"] {
        let why = if name == "repeats" {
            "the search decides how often to run"
        } else {
            "thresholds take no tensor files"
        };
        ensure!(!run.gives(name), "{name} is given: {why}");
    }
    let find_what = arguments.find.as_str();
    let parameter = Parameter::ALL
        .into_iter()
        .find(|parameter| parameter.word() == find_what)
        .ok_or_else(|| anyhow!("find = {find_what}: must be one of samples, dim, width, length, vocab"))?;
    let precision = arguments.relative;
    ensure!((0.001..=1.0).contains(&precision), "precision = {precision}: must be from 0.001 to 1");
    let most_runs = match arguments.max_runs {
        Count(runs @ 2..=1_000_000) => runs as usize,
        Count(runs) => bail!("max_runs = {runs}: must be a whole number from 2 to 1000000"),
    };
    let mut settings = run.settings()?;
    if settings.embedding == Embedding::Orthonormal {
        // The size to find need not be right to begin with.
        let others = settings.noise_vocab.unwrap_or(0).saturating_add(2);
        match parameter {
            Parameter::Dim => settings.dim = settings.dim.max(settings.vocab.saturating_add(others)),
            Parameter::Vocab => {
                settings.vocab = settings.vocab.min(settings.dim.saturating_sub(others)).max(2)
            }
            _ => {}
        }
    }
    let config = settings.check()?;
    check_cell(&config.repeat(0))?;
    let question =
        Question::new(config.clone(), parameter, arguments.measure, arguments.criterion, arguments.accuracy)?;
    let range = match &arguments.range {
        Some(text) => range("range", text)?,
        None => question.range(),
    };
    // Both ends can be run: found now rather than on the way.
    for end in [range.0, range.1] {
        question.at(end, 0)?;
    }
    let predicted = question.predicted();
    let plan = question.plan(&predicted, precision, range, most_runs);

    let interrupt = Interrupt::listen()?;
    let mut runner = runner(threads, arguments.store.as_deref(), interrupt.flag())?;
    let spinner = Spinner::new();
    let started = Instant::now();
    let mut done = 0;
    let mut measure = |cells: &[Config]| {
        let found = shares(&mut runner, cells, arguments.measure, &mut |_| {
            spinner.say(&format!("{done} runs done, now {parameter} = {}", sizes(&question, cells)));
        });
        done += cells.len();
        found
    };
    let answer = find(&question, plan, &mut measure);
    spinner.finish();
    let (answer, search) = match answer {
        Err(SearchError::Cell { error: CellError::Stopped, .. }) => {
            return Ok(stopped(&interrupt, arguments.store.as_deref()));
        }
        answer => answer?,
    };
    let report = report(
        &question,
        answer,
        predicted,
        range,
        precision,
        search.runs(),
        started.elapsed().as_secs_f64(),
    );
    match run.json {
        true => print(&(serde_json::to_string_pretty(&report)? + "\n")),
        false => print(&text(&report)),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Says what became of the work, and the exit code that tells which signal it was.
pub fn stopped(interrupt: &Interrupt, store: Option<&Path>) -> ExitCode {
    let kept = match store {
        Some(path) => format!("what was run is in {}; the same command continues", path.display()),
        None => "--store FILE would keep what was run".into(),
    };
    let _ = writeln!(std::io::stderr(), "stopped: {kept}");
    ExitCode::from(interrupt.code())
}

/// A runner on all threads, with a file for its results if there is one.
pub fn runner<'a>(threads: usize, store: Option<&Path>, stop: &'a AtomicBool) -> anyhow::Result<Runner<'a>> {
    let runner = Runner::new(threads).with_memory(available_memory()).with_stop(stop);
    Ok(match store {
        Some(path) => runner.with_results(Store::open(path)?),
        None => runner,
    })
}

/// Two whole numbers, as `LOW..HIGH`.
pub fn range(name: &str, text: &str) -> anyhow::Result<(u64, u64)> {
    let allowed = || {
        anyhow!(
            "{name} = {text}: must be LOW..HIGH, whole numbers such as 16..1e6, the first below the second"
        )
    };
    let (low, high) = text.split_once("..").ok_or_else(allowed)?;
    let (Ok(Count(low)), Ok(Count(high))) = (low.parse(), high.parse()) else { return Err(allowed()) };
    ensure!((1..high).contains(&low), allowed());
    Ok((low, high))
}

fn sizes(question: &Question, cells: &[Config]) -> String {
    let point = |config: &Config| question.parameter.of(&Point::from(config)).unwrap_or(0.0);
    let (low, high) = cells.iter().map(point).fold((f64::MAX, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
    if low == high { grouped(low) } else { format!("{} to {}", grouped(low), grouped(high)) }
}

fn report(
    question: &Question,
    answer: Threshold,
    predicted: Predicted,
    range: (u64, u64),
    precision: f64,
    runs: usize,
    seconds: f64,
) -> Report {
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
            (None, Some(NotReached { tried, range, text: not_reached(question, &tried, range) }))
        }
    };
    Report {
        find: question.parameter,
        criterion: question.criterion,
        measure: question.measure,
        accuracy: question.level,
        criterion_text: question.criterion.sentence(question.measure, question.level),
        ratio: observed.as_ref().zip(predicted.value).map(|(o, p)| o.crossing / p),
        observed,
        unreached,
        predicted: predicted.value,
        predicted_reason: predicted.reason,
        precision,
        runs,
        seconds,
        config: (**question.config()).clone(),
        version: env!("CARGO_PKG_VERSION"),
    }
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

/// The report as text for people.
fn text(report: &Report) -> String {
    let (word, symbol) = (report.find.word(), report.find.symbol());
    let point = Point::from(&report.config);
    let fixed: Vec<String> = Parameter::ALL
        .into_iter()
        .filter(|&parameter| parameter != report.find)
        .filter_map(|parameter| Some(format!("{} = {}", parameter.symbol(), grouped(parameter.of(&point)?))))
        .collect();
    let mut text =
        format!("Critical {word} {symbol} for {}\n  {}\n\n", report.criterion_text, fixed.join(", "));
    if let Some(o) = &report.observed {
        let end = |end: Option<u64>| end.map_or("?".into(), |end| grouped(end as f64));
        let _ = writeln!(
            text,
            "  observed    {:>12}  [{}, {}]  95% interval",
            grouped(o.estimate as f64),
            end(o.low),
            end(o.high)
        );
        if !o.precise {
            let _ = writeln!(
                text,
                "              not as precise as {}: the runs were used up (--max-runs)",
                report.precision
            );
        }
    }
    if let Some(unreached) = &report.unreached {
        let _ = writeln!(text, "  observed    {}", unreached.text);
    }
    match (report.predicted, &report.predicted_reason) {
        (Some(value), _) => {
            let _ = writeln!(text, "  predicted   {:>12}", grouped(value));
        }
        (None, reason) => {
            let _ = writeln!(text, "  predicted   nothing: {}", reason.as_deref().unwrap_or("no formula"));
        }
    }
    if let Some(ratio) = report.ratio {
        let _ = writeln!(text, "  ratio       {ratio:>12.3}  observed over predicted");
    }
    let _ = writeln!(text, "\n{} runs in {:.1} s.", report.runs, report.seconds);
    text
}
