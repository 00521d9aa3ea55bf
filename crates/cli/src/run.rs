//! `superpose run`: trains the model and measures it.

use anyhow::{Context, anyhow};
use superpose_core::config::{EarlyRule, Regime};
use superpose_lab::run::{Inputs, reads};
use superpose_lab::{memory, run as lab};

use crate::arguments::RunArguments;
use crate::progress::Bar;
use crate::shared::{available_memory, backend, message, print_record};

pub fn run(arguments: RunArguments) -> anyhow::Result<()> {
    let arguments = arguments.with_file()?;
    let threads = arguments.threads()?;
    let mut settings = arguments.settings()?;
    let inputs = Inputs::open(&mut settings, |name| arguments.gives(name))?;
    let config = settings.check()?;
    let stored = inputs.import.as_ref().is_some_and(|import| import.has_samples());
    let export = arguments.export.as_deref();
    if let Some(path) = export {
        // An unwritable path is an error now rather than after the training.
        superpose_tensors::target(path).context("export")?;
    }
    let device = arguments.device.open()?;
    let bytes = |config: &_| memory::run_bytes(config, threads, stored, export.is_some());
    memory::check(&config, available_memory(), bytes).map_err(|error| match device {
        Some(_) if config.early_rule == EarlyRule::Gradient => anyhow!(
            "{error}; with --device cuda, run needs this host memory for the noise budget; a sweep needs it only with noise = true"
        ),
        _ => error.into(),
    })?;
    if config.regime == Regime::Infinitesimal && (arguments.gives("eta") || arguments.gives("eta2")) {
        message("note: eta and eta2 have no effect in the infinitesimal regime");
    }
    let backend = backend(threads)?.with_device(device);
    let bar = Bar::new(reads(&config));
    let record = lab::run(&config, &inputs, &backend, export, &bar);
    bar.finish();
    print_record(arguments.json, &record?, superpose_report::run)
}
