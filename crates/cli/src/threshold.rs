//! `superpose threshold`: finds the size at which an accuracy is reached, with an interval, beside the prediction.

use clap::Args;
use superpose_core::config::Config;
use superpose_lab::run::Inputs;
use superpose_lab::threshold::{Question, ThresholdOptions};
use superpose_lab::words::grouped;
use superpose_theory::Point;

use crate::arguments::{RunArguments, hide};
use crate::interrupt::Interrupt;
use crate::progress::spinner;
use crate::setting_flags::SettingFlags;
use crate::shared::{StoreFlag, backend, print_record};

#[derive(Args, Clone, Debug)]
#[command(mut_args = hide(["export", "repeats"]))]
pub struct ThresholdArguments {
    #[command(flatten)]
    run: RunArguments,
    #[command(flatten)]
    options: SettingFlags<ThresholdOptions>,
    #[command(flatten)]
    store: StoreFlag,
}

pub fn threshold(arguments: ThresholdArguments) -> anyhow::Result<()> {
    let run = arguments.run.with_file()?;
    let threads = run.threads()?;
    run.check_no_export("a threshold is many runs; superpose run exports one")?;
    ThresholdOptions::check_given(|name| run.gives(name))?;
    let options = arguments.options.read()?;
    let find = options.find;
    let mut settings = run.settings()?;
    let mut inputs = Inputs::open_with_digest(&mut settings, None, |name| run.gives(name))?;
    inputs.measure(&backend(threads)?)?;
    let search = options.check(settings, &inputs)?;
    let interrupt = Interrupt::listen()?;
    let runner = arguments.store.runner(threads, run.device, &interrupt)?;
    let mut runner = runner.with_inputs(inputs.into());
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
