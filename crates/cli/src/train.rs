//! `superpose train`: the model for as long as one likes.

mod figure;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail, ensure};
use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use superpose_core::backend::Backend;
use superpose_core::config::Settings;
use superpose_core::train::Point;
use superpose_figure::Theme;
use superpose_lab::cell::{Entry, Key, Results, check as check_cell};
use superpose_lab::memory;
use superpose_lab::run::Inputs;
use superpose_lab::store::Store;
use superpose_lab::train::{Checkpoint, Finish, Observer, Record, train as train_model};
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
    memory::check(&config, threads, stored, false, available_memory())?;

    let backend = Backend::cpu(threads).context("threads cannot be started")?;
    let interrupt = Interrupt::listen()?;
    if let Some(saved) = &saved {
        eprintln!("going on from step {} of {}", grouped(saved.step() as f64), grouped(config.steps as f64));
    }
    let begun = saved.as_ref().map_or(0, Checkpoint::step);
    let mut watch = Watch { bar: Work::new(), stop: interrupt.flag() };
    watch.bar.begin(config.steps.saturating_sub(begun), config.steps.saturating_sub(begun) as f64);
    let to = arguments.checkpoint.as_deref();
    let finish = train_model(&config, &inputs, saved.as_ref(), to, &backend, &mut watch);
    watch.bar.finish();
    let record = match finish? {
        Finish::Done(record) => record,
        Finish::Interrupted { step } => {
            interrupted(step, config.steps, to);
            return Ok(ExitCode::from(interrupt.code()));
        }
    };

    if let Some(store) = &mut store {
        let key = Key::new(&config);
        store.keep(&[Entry::new(key, &config, Ok(record.outcome))])?;
        store.keep_trajectory(key, &record.trajectory)?;
    }
    if let Some(picture) = picture {
        picture.write(&figure::figure(&record), Theme::Light)?;
    }
    if let Some(path) = &arguments.csv {
        whole_file(path, table(&record.trajectory).as_bytes())?;
    }
    print(&match run.json {
        true => serde_json::to_string_pretty(&record)? + "\n",
        false => text(&record),
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
    if settings.steps == 0 {
        bail!("steps is needed: how long to train, such as --steps 1000");
    }
    let inputs = Inputs::open(&mut settings, |name| run.gives(name))?;
    let config = settings.check()?;
    if let Some(saved) = saved {
        agree(&config, saved.settings())?;
    }
    Ok((config, inputs))
}

/// Fails where a checkpoint is of another configuration, and names the setting.
fn agree(config: &Settings, saved: &Settings) -> anyhow::Result<()> {
    let keys = |settings: &Settings| match serde_json::to_value(settings) {
        Ok(serde_json::Value::Object(map)) => map,
        _ => serde_json::Map::new(),
    };
    let (typed, saved) = (keys(config), keys(saved));
    for name in typed.keys().chain(saved.keys()) {
        if typed.get(name) != saved.get(name) {
            let show =
                |value: Option<&serde_json::Value>| value.map_or("its default".into(), ToString::to_string);
            bail!(
                "{name} = {}: the checkpoint was made with {}; make them agree, give nothing but the checkpoint, or name another file",
                show(typed.get(name)),
                show(saved.get(name)),
            );
        }
    }
    Ok(())
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

    fn point(&mut self, _: &Point) {}
}

/// The trajectory as CSV.
fn table(points: &[Point]) -> String {
    let mut text = String::new();
    for (i, point) in points.iter().enumerate() {
        let named = point.named();
        if i == 0 {
            let names: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
            let _ = writeln!(text, "step,{}", names.join(","));
        }
        let numbers: Vec<String> = named.iter().map(|(_, x)| format!("{x:?}")).collect();
        let _ = writeln!(text, "{},{}", point.step, numbers.join(","));
    }
    text
}

/// What was learned, beside the early phase, and the way there.
fn text(record: &Record) -> String {
    let config = &record.config;
    let mut text = headline(config);
    let _ = write!(text, "\n\n");
    let mut rows = Table::new();
    rows.load_style(presets::NOTHING);
    rows.set_header(["", "trained", "three steps"]);
    for ((name, trained), (_, early)) in record.outcome.named().into_iter().zip(record.early_phase.named()) {
        // A margin of the early phase is per unit of rate, and one step is the same for both.
        let early = match name {
            "margin" | "one_step_accuracy" => String::new(),
            _ => format!("{:.4}", early.mean),
        };
        rows.add_row([format!("  {}", name.replace('_', " ")), format!("{:.4}", trained.mean), early]);
    }
    push(&mut text, rows);
    let _ = writeln!(text, "\nThe way there");
    let mut rows = Table::new();
    rows.load_style(presets::NOTHING);
    rows.set_header(["step", "loss", "test loss", "accuracy", "lock rate", "early cosine", "trigger lead"]);
    for point in few(&record.trajectory) {
        rows.add_row([
            grouped(point.step as f64),
            format!("{:.4}", point.loss),
            format!("{:.4}", point.test_loss),
            format!("{:.4}", point.accuracy),
            format!("{:.4}", point.lock_rate),
            format!("{:.3}", point.early_cosine),
            format!("{:.2}", point.trigger_lead),
        ]);
    }
    push(&mut text, rows);
    let _ = writeln!(
        text,
        "Early cosine: of W z_eos with the direction that step 2 of the early phase finds. Trigger lead: the trigger's score over the spread of the tokens'."
    );
    if record.stopped_early {
        let _ = writeln!(
            text,
            "Stopped after {} steps: the loss on test samples no longer fell.",
            grouped(record.steps_taken as f64)
        );
    }
    text
}

fn headline(config: &Settings) -> String {
    let batch = match config.batch {
        Some(batch) => format!("batches of {}", grouped(batch as f64)),
        None => "all samples at once".into(),
    };
    let mut text = format!(
        "{} steps of {} at rate {} ({}), {batch}\n  V = {}, d = {}, L = {}, N = {}, {} embeddings, seed {}",
        grouped(config.steps as f64),
        config.optimiser,
        config.rate,
        config.schedule,
        grouped(config.vocab as f64),
        grouped(config.dim as f64),
        grouped(config.length as f64),
        grouped(config.samples as f64),
        config.embedding,
        config.seed,
    );
    if let Some(width) = config.width {
        let _ = write!(text, ", MLP of width m = {} ({})", grouped(width as f64), config.activation);
    }
    if config.heads > 1 {
        let _ = write!(text, ", {} heads", config.heads);
    }
    for (on, what) in [
        (config.warm_start, "from the early phase"),
        (config.factored, "factored W"),
        (config.train_embeddings, "trained embeddings"),
        (config.train_first_layer, "trained first layer"),
    ] {
        if on {
            let _ = write!(text, ", {what}");
        }
    }
    text
}

/// About a dozen points, the first and the last among them.
fn few(points: &[Point]) -> Vec<&Point> {
    let every = points.len().div_ceil(12).max(1);
    points
        .iter()
        .enumerate()
        .filter(|(i, _)| i % every == 0 || i + 1 == points.len())
        .map(|(_, p)| p)
        .collect()
}

fn push(text: &mut String, mut table: Table) {
    for i in 0.. {
        let Some(column) = table.column_mut(i) else { break };
        column.set_cell_alignment(CellAlignment::Right);
    }
    if let Some(column) = table.column_mut(0) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    table.lines().for_each(|line| {
        let _ = writeln!(text, "{}", line.trim_end());
    });
}
