//! `superpose predict`: what `superpose run` would measure, in closed form.

use anyhow::ensure;
use clap::Args;

use crate::arguments::RunArguments;
use crate::run::print;

/// Arguments of `superpose predict`.
#[derive(Args, Clone, Debug)]
pub struct PredictArguments {
    #[command(flatten)]
    run: RunArguments,

    /// Accuracy that the critical values are for
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, allow_hyphen_values = true)]
    accuracy: f64,
}

pub fn predict(arguments: PredictArguments) -> anyhow::Result<()> {
    let run = arguments.run.with_file()?;
    run.threads()?;
    ensure!(run.export.is_none(), "export is given: predict trains nothing, so there is nothing to write");
    let record = superpose_lab::predict::predict(&run.settings()?.check()?, arguments.accuracy)?;
    let text = match run.json {
        true => serde_json::to_string_pretty(&record)? + "\n",
        false => superpose_report::predict(&record).text(),
    };
    print(&text)
}
