//! `superpose run`.

use std::io::Write;

use anyhow::Context;
use superpose_core::backend::Backend;
use superpose_core::config::Regime;
pub use superpose_lab::memory::available as available_memory;
use superpose_lab::run::Inputs;
use superpose_lab::{memory, run as lab};

use crate::arguments::RunArguments;
use crate::progress::Bar;

pub fn run(arguments: RunArguments) -> anyhow::Result<()> {
    let arguments = arguments.with_file()?;
    let threads = arguments.threads()?;
    let mut settings = arguments.settings()?;
    let inputs = Inputs::open(&mut settings, |name| arguments.gives(name))?;
    let config = settings.check()?;
    let stored = inputs.import.as_ref().is_some_and(|import| import.has_samples());
    let export = arguments.export.as_deref();
    if let Some(path) = export {
        // Found now rather than after the training.
        superpose_tensors::target(path).context("export")?;
    }
    let bytes = |config: &_| memory::run_bytes(config, threads, stored, export.is_some());
    memory::check(&config, available_memory(), bytes)?;

    if config.regime == Regime::Infinitesimal && (arguments.gives("eta") || arguments.gives("eta2")) {
        let _ = writeln!(std::io::stderr(), "note: eta and eta2 have no effect in the infinitesimal regime");
    }

    let backend = Backend::cpu(threads).context("threads cannot be started")?;
    let bar = Bar::new(&config);
    let record = lab::run(&config, &inputs, &backend, export, &bar);
    bar.finish();
    let record = record?;
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&record)? + "\n",
        false => superpose_report::run(&record).text(),
    };
    print(&text)
}

/// Writes to standard output. A reader that has seen enough and closed the pipe is not an error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("standard output"),
        _ => Ok(()),
    }
}
