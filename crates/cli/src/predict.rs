//! `superpose predict`: predicts in closed form what `superpose run` would measure.

use clap::Args;
use superpose_lab::run::Inputs;

use crate::arguments::{RunArguments, hide};
use crate::shared::{backend, print_record};

#[derive(Args, Clone, Debug)]
#[command(mut_args = hide(["export", "device"]))]
pub struct PredictArguments {
    #[command(flatten)]
    pub run: RunArguments,

    /// Target accuracy for which to compute the required sizes
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, allow_hyphen_values = true)]
    accuracy: f64,
}

pub fn predict(arguments: PredictArguments) -> anyhow::Result<()> {
    let run = arguments.run.with_file()?;
    let threads = run.threads()?;
    run.device.check_cpu("predict")?;
    run.check_no_export("predict trains nothing, so there is nothing to write")?;
    let mut settings = run.settings()?;
    let mut inputs = Inputs::open(&mut settings, |name| run.gives(name))?;
    let config = settings.check()?;
    inputs.measure(&backend(threads)?)?;
    let record = superpose_lab::predict::predict_with(&config, inputs.statistics, arguments.accuracy)?;
    print_record(run.json, &record, superpose_report::predict)
}
