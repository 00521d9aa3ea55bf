//! The command line: it parses arguments, validates them, makes one call and prints text or JSON.
//!
//! Results go to standard output, everything else to standard error. Invalid input ends with exit code 2 and one sentence that
//! names the parameter; a signal ends with 128 plus its number.

pub mod arguments;
mod bench;
mod completions;
mod experiment;
mod export;
mod files;
mod inspect;
mod interrupt;
mod merge;
mod phase;
mod picture;
mod plan;
mod predict;
mod progress;
mod reproduce;
mod run;
mod serve;
mod setting_flags;
mod shared;
mod slurm;
mod status;
mod submit;
mod sweep;
mod threshold;
mod train;

pub use bench::Measurement;
pub use completions::{Shell, script};
pub use status::Report as StatusReport;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use interrupt::Interrupted;

/// How many facts can a transformer learn to recall? Measure it, predict it, see what limits it.
#[derive(Parser)]
#[command(name = "superpose", version, arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Reproduce the whole study into one folder, with a report to open.
    Reproduce(reproduce::ReproduceArguments),
    /// Train the model once (or for several seeds) and measure recall, attention and the noise that limits it.
    Run(Box<arguments::RunArguments>),
    /// Train the model with an optimiser for any number of steps: checkpoints, the trajectory as a plot and a table.
    Train(Box<train::TrainArguments>),
    /// Predict in closed form what `run` would measure, and the sizes at which an accuracy is reached.
    Predict(Box<predict::PredictArguments>),
    /// Find the size at which an accuracy is reached, by running, with a 95% interval, beside the prediction.
    Threshold(Box<threshold::ThresholdArguments>),
    /// Map accuracy over two sizes: measured along the boundary, filled in elsewhere, beside the closed form.
    Phase(Box<phase::PhaseArguments>),
    /// Find the cheapest model for a number of facts, what limits it, and the trade-off of dimension, width and data.
    Plan(plan::PlanArguments),
    #[command(flatten)]
    Experiment(experiment::ExperimentCommand),
    /// Inspect the embedding matrix of a real model: how its rows overlap, and how many facts they could hold.
    Inspect(inspect::InspectArguments),
    /// Run a grid, list or ray of cells from a file, resumably; or one share of it for many machines.
    Sweep(sweep::SweepArguments),
    /// Submit a sweep, or other long work, to a cluster.
    Submit(submit::SubmitArguments),
    /// Show where a sweep stands: done, running, failed, left.
    Status(status::StatusArguments),
    /// Merge the shards of a sweep into its store.
    Merge(merge::MergeArguments),
    /// Write a store's results as CSV, JSON Lines or Parquet.
    Export(export::ExportArguments),
    /// Serve the web page on 127.0.0.1: explore phase maps, train at a click, look at studies.
    Serve(serve::ServeArguments),
    /// Measure the engine's speed and memory, beside PyTorch where Python has it.
    Bench(bench::BenchArguments),
    /// Print completions for a shell.
    Completions(completions::CompletionsArguments),
}

impl Command {
    fn run(self) -> anyhow::Result<()> {
        match self {
            Command::Reproduce(arguments) => reproduce::reproduce(&arguments),
            Command::Run(arguments) => run::run(*arguments),
            Command::Train(arguments) => train::train(*arguments),
            Command::Predict(arguments) => predict::predict(*arguments),
            Command::Threshold(arguments) => threshold::threshold(*arguments),
            Command::Phase(arguments) => phase::phase(*arguments),
            Command::Plan(arguments) => plan::plan(&arguments),
            Command::Experiment(experiment) => experiment.run(),
            Command::Inspect(arguments) => inspect::inspect(&arguments),
            Command::Sweep(arguments) => sweep::sweep(&arguments),
            Command::Submit(arguments) => submit::submit(&arguments),
            Command::Status(arguments) => status::status(&arguments),
            Command::Merge(arguments) => merge::merge(&arguments),
            Command::Export(arguments) => export::export(&arguments),
            Command::Serve(arguments) => serve::serve(&arguments),
            Command::Bench(arguments) => bench::bench(&arguments),
            Command::Completions(arguments) => completions::completions(&arguments),
        }
    }
}

/// Returns the definition of every command and its arguments, from which the help, the completions and the book's reference are
/// made.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Fails if this program would reject these arguments.
fn check_command_line(arguments: &[String]) -> Result<(), clap::Error> {
    Cli::try_parse_from(std::iter::once("superpose").chain(arguments.iter().map(String::as_str))).map(|_| ())
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let Err(error) = Cli::parse().command.run() else { return ExitCode::SUCCESS };
    if let Some(interrupted) = error.downcast_ref::<Interrupted>() {
        shared::message(interrupted);
        return ExitCode::from(interrupted.code);
    }
    shared::message(format_args!("error: {error:#}"));
    ExitCode::from(2)
}
