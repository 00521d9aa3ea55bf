//! `superpose threshold`: finds the size at which an accuracy is reached, with an interval, beside the prediction.

use anyhow::{anyhow, ensure};
use clap::Args;
use superpose_core::Measure;
use superpose_core::config::Config;
use superpose_lab::threshold::{Criterion, Question, ThresholdOptions};
use superpose_lab::words::grouped;
use superpose_theory::Point;
use superpose_theory::critical::Parameter;

use crate::arguments::{Count, RunArguments};
use crate::interrupt::Interrupt;
use crate::progress::spinner;
use crate::shared::{StoreFlag, print_record, range, size};

/// Arguments of `superpose threshold`.
#[derive(Args, Clone, Debug)]
pub struct ThresholdArguments {
    #[command(flatten)]
    run: RunArguments,

    /// The size to find: samples, dim, width, length or vocab
    #[arg(long, value_name = "SIZE")]
    find: String,
    /// The level to reach
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, allow_hyphen_values = true)]
    accuracy: f64,
    /// Relative half width of the 95% interval at which to stop
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, allow_hyphen_values = true)]
    half_width: f64,
    /// What counts as reached: mean (over seeds, at least the level) or all (the share of seeds that recall everything is)
    #[arg(long, value_name = "mean|all", default_value = "mean")]
    criterion: Criterion,
    /// What is measured: accuracy, memory_accuracy, one_step_accuracy, lock_rate
    #[arg(long, value_name = "NAME", default_value = "accuracy")]
    measure: Measure,
    /// Maximum number of runs
    #[arg(long, value_name = "COUNT", default_value = "400", allow_hyphen_values = true)]
    max_runs: Count,
    /// Sizes to search (default: those that run in seconds)
    #[arg(long, value_name = "LOW..HIGH")]
    range: Option<String>,
    #[command(flatten)]
    store: StoreFlag,
}

/// Runs the command.
pub fn threshold(arguments: ThresholdArguments) -> anyhow::Result<()> {
    let run = arguments.run.with_file()?;
    let threads = run.threads()?;
    for (name, why) in [
        ("repeats", "the search decides how often to run"),
        ("export", "thresholds take no tensor files"),
        ("import", "thresholds take no tensor files"),
    ] {
        ensure!(!run.gives(name), "{name} is given: {why}");
    }
    let find = arguments.find.as_str();
    let find = find.parse::<Parameter>().map_err(|rule| anyhow!("find = {find}: {rule}"))?;
    let options = ThresholdOptions {
        find,
        accuracy: arguments.accuracy,
        half_width: arguments.half_width,
        criterion: arguments.criterion,
        measure: arguments.measure,
        max_runs: size(arguments.max_runs),
        range: arguments.range.as_deref().map(|text| range("range", text)).transpose()?,
    };
    let search = options.check(run.settings()?)?;
    let interrupt = Interrupt::listen()?;
    let mut runner = arguments.store.runner(threads, interrupt.flag())?;
    let record = spinner(|bar| {
        search.search(&mut runner, |done, cells| {
            bar.say(format!("{done} runs done, now {find} = {}", sizes(&search.question, cells)));
        })
    });
    print_record(run.json, &arguments.store.finish(record, &interrupt)?, superpose_report::threshold)
}

/// The range of sizes in a batch of cells, in words.
fn sizes(question: &Question, cells: &[Config]) -> String {
    let value = |config: &Config| question.parameter.of(&Point::from(config)).unwrap_or(0.0);
    let (low, high) = cells.iter().map(value).fold((f64::MAX, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
    if low == high { grouped(low) } else { format!("{} to {}", grouped(low), grouped(high)) }
}
