//! `superpose train`: trains the model with an optimiser for any number of steps.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use clap::Args;
use superpose_core::Config;
use superpose_core::train::TrajectoryPoint;
use superpose_lab::cell::check as check_cell;
use superpose_lab::memory;
use superpose_lab::run::Inputs;
use superpose_lab::store::Store;
use superpose_lab::train::{Checkpoint, Finish, Observer, train as train_model};
use superpose_lab::words::grouped;

use crate::arguments::{RunArguments, hide};
use crate::files::{check_writable, write_file};
use crate::interrupt::Interrupt;
use crate::picture::FigureFile;
use crate::progress::Work;
use crate::shared::{available_memory, backend, device_flag, message, print_record, shell};

#[derive(Args, Clone, Debug)]
#[command(mut_args = hide(["export"]))]
pub struct TrainArguments {
    #[command(flatten)]
    run: RunArguments,

    /// Save the run here at every trajectory point (safetensors); continue from this file if it exists
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Store the result and its trajectory in this file (SQLite)
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Draw the trajectory into this file (.svg or .png)
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write the trajectory as a table into this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

pub fn train(arguments: TrainArguments) -> anyhow::Result<()> {
    let run = arguments.run.with_file()?;
    let threads = run.threads()?;
    run.check_no_export("a trained model is in its checkpoint")?;
    let checkpoint = arguments.checkpoint.as_deref();
    let existing = checkpoint.filter(|path| path.exists());
    let saved = existing.map(Checkpoint::open).transpose().context("checkpoint")?;
    let (config, inputs) = configuration(&run, saved.as_ref())?;

    // An unwritable path is an error now rather than after the training.
    let figure = FigureFile::new(arguments.svg.as_ref())?;
    arguments.csv.as_deref().map(check_writable).transpose().context("csv")?;
    checkpoint.map(superpose_tensors::target).transpose().context("checkpoint")?;
    if arguments.store.is_some() {
        check_cell(&config)?;
    }
    let mut store = arguments.store.as_deref().map(Store::open).transpose()?;
    let stored = inputs.import.as_ref().is_some_and(|import| import.has_samples());
    memory::check(&config, available_memory(), |config| memory::run_bytes(config, threads, stored, false))?;

    let backend = backend(threads)?.with_device(run.device.open()?);
    let interrupt = Interrupt::listen()?;
    let steps = config.training.as_ref().map_or(0, |training| training.steps);
    let start = saved.as_ref().map_or(0, |saved| saved.counters.step);
    if saved.is_some() {
        message(format_args!("continuing from step {} of {}", grouped(start as f64), grouped(steps as f64)));
    }
    let mut watch = Watch { bar: Work::new(), stop: interrupt.flag() };
    let left = config.repeats * steps.saturating_sub(start);
    watch.bar.begin(left, left as f64);
    let finish = train_model(&config, &inputs, saved.as_ref(), checkpoint, &backend, &mut watch);
    watch.bar.finish();
    let record = match finish? {
        Finish::Done(record, _) => record,
        Finish::Interrupted { step } => {
            let steps = grouped(steps as f64);
            let device = device_flag(backend.device());
            return Err(interrupt.stopped(stopped(&grouped(step as f64), &steps, checkpoint, &device)));
        }
    };

    // What cannot be written does not lose the rest.
    let printed = print_record(run.json, &*record, superpose_report::train);
    let kept = store.as_mut().map_or(Ok(()), |store| record.keep(&config, &backend.numerics(), store));
    let drawn = figure.map_or(Ok(()), |figure| figure.write(&superpose_report::trajectory(&record)));
    let table = arguments.csv.as_ref().map_or(Ok(()), |path| {
        write_file(path, superpose_report::train_csv(&record.trajectory).as_bytes()).context("csv")
    });
    kept?;
    printed.and(drawn).and(table)
}

/// Returns the configuration and its tensors: from the arguments, or from the checkpoint if no argument is given. Arguments that
/// contradict the checkpoint are an error.
fn configuration(run: &RunArguments, saved: Option<&Checkpoint>) -> anyhow::Result<(Config, Inputs)> {
    let mut settings = match saved {
        Some(saved) if run.is_empty() => saved.settings.clone(),
        _ => run.settings()?,
    };
    if settings.training.is_none() {
        bail!("steps is missing: give the number of training steps, such as --steps 1000");
    }
    let inputs = Inputs::open(&mut settings, |name| run.gives(name))?;
    let config = settings.check()?;
    if let Some(saved) = saved {
        saved.check(&config)?;
    }
    Ok((config, inputs))
}

fn stopped(step: &str, steps: &str, checkpoint: Option<&Path>, device: &str) -> String {
    match checkpoint {
        Some(path) => format!(
            "stopped: {step} of {steps} steps are done and kept in {}\nhint: continue with superpose train --checkpoint {}{device}",
            path.display(),
            shell(path)
        ),
        None => format!(
            "stopped: {step} of {steps} steps were done, none is kept\nhint: with --checkpoint FILE a run can continue"
        ),
    }
}

/// Shows the progress of the training and stops it after a signal.
struct Watch<'a> {
    bar: Work,
    stop: &'a AtomicBool,
}

impl Observer for Watch<'_> {
    fn step(&mut self, _: usize, _: usize) -> bool {
        self.bar.advance(1.0);
        !self.stop.load(Ordering::Relaxed)
    }

    fn point(&mut self, _: &TrajectoryPoint) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_to_continue_names_the_device() {
        let text = stopped("3", "10", Some("a b.safetensors".as_ref()), " --device cuda:1");
        assert!(
            text.ends_with(
                "hint: continue with superpose train --checkpoint 'a b.safetensors' --device cuda:1"
            ),
            "{text}"
        );
        assert!(!stopped("3", "10", None, " --device cuda:1").contains("cuda"));
    }
}
