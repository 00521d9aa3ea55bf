//! `superpose train`: the model for as long as one likes.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail, ensure};
use clap::Args;
use superpose_core::backend::Backend;
use superpose_core::train::TrajectoryPoint;
use superpose_figure::Theme;
use superpose_lab::cell::check as check_cell;
use superpose_lab::memory;
use superpose_lab::run::Inputs;
use superpose_lab::store::Store;
use superpose_lab::train::{Checkpoint, Finish, Observer, train as train_model};
use superpose_lab::words::grouped;

use crate::arguments::RunArguments;
use crate::files::{can_be_written, whole_file};
use crate::interrupt::Interrupt;
use crate::picture::Target;
use crate::progress::Work;
use crate::run::{available_memory, print};

/// Arguments of `superpose train`.
#[derive(Args, Clone, Debug)]
pub struct TrainArguments {
    #[command(flatten)]
    run: RunArguments,

    /// Save the run here at every record (safetensors), and go on from there if the file is there already
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Keep the result and its trajectory in this file (SQLite)
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Draw the trajectory into this file, .svg or .png
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write the trajectory as a table into this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// Runs the command.
pub fn train(arguments: TrainArguments) -> anyhow::Result<ExitCode> {
    let run = arguments.run.with_file()?;
    let threads = run.threads()?;
    ensure!(!run.gives("export"), "export is given: a trained model is in its checkpoint");
    let there = arguments.checkpoint.as_deref().filter(|path| path.exists());
    let saved = there.map(Checkpoint::open).transpose().context("checkpoint")?;
    let (config, inputs) = configuration(&run, saved.as_ref())?;
    let steps = config.training.as_ref().map_or(0, |training| training.steps);

    // Found now rather than after the training.
    let picture = arguments.svg.as_deref().map(|path| Target::new("svg", path)).transpose()?;
    picture.as_ref().map(Target::check).transpose()?;
    arguments.csv.as_deref().map(can_be_written).transpose()?;
    arguments.checkpoint.as_deref().map(superpose_tensors::target).transpose().context("checkpoint")?;
    let mut store = match &arguments.store {
        Some(path) => {
            check_cell(&config)?;
            Some(Store::open(path)?)
        }
        None => None,
    };
    let stored = inputs.import.as_ref().is_some_and(|import| import.has_samples());
    memory::check(&config, available_memory(), |config| memory::run_bytes(config, threads, stored, false))?;

    let backend = Backend::cpu(threads).context("threads cannot be started")?;
    let interrupt = Interrupt::listen()?;
    if let Some(saved) = &saved {
        eprintln!("going on from step {} of {}", grouped(saved.step() as f64), grouped(steps as f64));
    }
    let begun = saved.as_ref().map_or(0, Checkpoint::step);
    let mut watch = Watch { bar: Work::new(), stop: interrupt.flag() };
    watch.bar.begin(steps.saturating_sub(begun), steps.saturating_sub(begun) as f64);
    let to = arguments.checkpoint.as_deref();
    let finish = train_model(&config, &inputs, saved.as_ref(), to, &backend, &mut watch);
    watch.bar.finish();
    let record = match finish? {
        Finish::Done(record, _) => record,
        Finish::Interrupted { step } => {
            interrupted(step, steps, to);
            return Ok(ExitCode::from(interrupt.code()));
        }
    };

    if let Some(store) = &mut store {
        record.keep(&config, store)?;
    }
    if let Some(picture) = picture {
        picture.write(&superpose_report::trajectory(&record), Theme::Light)?;
    }
    if let Some(path) = &arguments.csv {
        whole_file(path, superpose_report::train_csv(&record.trajectory).as_bytes())?;
    }
    print(&match run.json {
        true => serde_json::to_string_pretty(&record)? + "\n",
        false => superpose_report::train(&record).text(),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// What to train: what was typed, or what the checkpoint holds; where both speak they must agree.
fn configuration(
    run: &RunArguments,
    saved: Option<&Checkpoint>,
) -> anyhow::Result<(superpose_core::Config, Inputs)> {
    let typed = match saved {
        Some(saved) if run.is_empty() => saved.settings().clone(),
        _ => run.settings()?,
    };
    let mut settings = typed;
    if settings.training.is_none() {
        bail!("steps is needed: how long to train, such as --steps 1000");
    }
    let inputs = Inputs::open(&mut settings, |name| run.gives(name))?;
    let config = settings.check()?;
    if let Some(saved) = saved {
        saved.check(&config)?;
    }
    Ok((config, inputs))
}

fn interrupted(step: usize, steps: usize, to: Option<&Path>) {
    let mut err = std::io::stderr();
    let (step, steps) = (grouped(step as f64), grouped(steps as f64));
    let _ = match to {
        Some(path) => writeln!(
            err,
            "interrupted after {step} of {steps} steps; everything is saved\nhint: superpose train --checkpoint {} goes on",
            path.display()
        ),
        None => writeln!(
            err,
            "interrupted after {step} of {steps} steps\nhint: with --checkpoint FILE a run can go on"
        ),
    };
}

/// The bar and the wish to end.
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
