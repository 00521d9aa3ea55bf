//! `superpose threshold`: the size at which an accuracy is reached, measured with an interval, beside the prediction.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anyhow::{anyhow, ensure};
use clap::Args;
use superpose_core::config::Config;
use superpose_lab::cell::{CellError, Runner};
use superpose_lab::store::Store;
use superpose_lab::threshold::{Criterion, Measure, Question, SearchError, ThresholdOptions};
use superpose_lab::words::grouped;
use superpose_theory::Point;
use superpose_theory::critical::Parameter;

use crate::arguments::{Count, RunArguments};
use crate::interrupt::Interrupt;
use crate::progress::Spinner;
use crate::run::{available_memory, print};

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
    let find = arguments.find.as_str();
    let find = find.parse::<Parameter>().map_err(|rule| anyhow!("find = {find}: {rule}"))?;
    let options = ThresholdOptions {
        find,
        accuracy: arguments.accuracy,
        precision: arguments.relative,
        criterion: arguments.criterion,
        measure: arguments.measure,
        max_runs: usize::try_from(arguments.max_runs.0).unwrap_or(usize::MAX),
        range: arguments.range.as_deref().map(|text| range("range", text)).transpose()?,
    };
    let search = options.check(run.settings()?)?;

    let interrupt = Interrupt::listen()?;
    let mut runner = runner(threads, arguments.store.as_deref(), interrupt.flag())?;
    let spinner = Spinner::new();
    let record = search.search(&mut runner, |done, cells| {
        spinner.say(&format!("{done} runs done, now {find} = {}", sizes(&search.question, cells)));
    });
    spinner.finish();
    let record = match record {
        Err(SearchError::Cell { error: CellError::Stopped, .. }) => {
            return Ok(stopped(&interrupt, arguments.store.as_deref()));
        }
        record => record?,
    };
    match run.json {
        true => print(&(serde_json::to_string_pretty(&record)? + "\n")),
        false => print(&superpose_report::threshold(&record).text()),
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
