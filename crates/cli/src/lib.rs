//! The command line: it parses arguments, validates them, makes one call and prints text or JSON.
//!
//! Results go to standard output, everything else to standard error. Invalid input ends with exit code 2 and one sentence that
//! names the parameter; a signal ends with 128 plus its number.

pub mod arguments;
mod bench;
mod completions;
mod devices;
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
pub use devices::Devices;
pub use status::Report as StatusReport;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use interrupt::Interrupted;
use superpose_core::config::Training;

/// How many facts can a transformer learn to recall? Measure it, predict it, see what limits it.
#[derive(Parser)]
#[command(name = "superpose", version, arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the whole study and write results and an HTML report to one folder.
    Reproduce(reproduce::ReproduceArguments),
    /// Run the three-step early phase for one or more seeds; measure recall, attention and noise.
    #[command(mut_args = arguments::hide(Training::settings().iter().map(|setting| setting.name)))]
    Run(Box<arguments::RunArguments>),
    /// Train the model with an optimiser; write checkpoints and the trajectory as plot and table.
    Train(Box<train::TrainArguments>),
    /// Predict in closed form what `run` would measure, and the sizes at which an accuracy is reached.
    Predict(Box<predict::PredictArguments>),
    /// Measure the size at which a target accuracy is reached, with a 95% interval and the prediction.
    Threshold(Box<threshold::ThresholdArguments>),
    /// Compute a phase diagram of two sizes: measured near the boundary, interpolated elsewhere, with the closed form.
    Phase(Box<phase::PhaseArguments>),
    /// Plan the cheapest model for a number of facts; show its limit and the trade-off between dimension, width and data.
    Plan(plan::PlanArguments),
    #[command(flatten)]
    Experiment(experiment::ExperimentCommand),
    /// Inspect the embedding matrix of a real model: how its rows overlap, and how many facts they could hold.
    Inspect(inspect::InspectArguments),
    /// Run all configurations of a sweep file, or one shard of them; resumes where it stopped.
    Sweep(sweep::SweepArguments),
    /// Submit a sweep, command lines or the study to a cluster.
    Submit(submit::SubmitArguments),
    /// Show the progress of a sweep: cells done, running, failed and left.
    Status(status::StatusArguments),
    /// Merge the shards of a sweep into its store.
    Merge(merge::MergeArguments),
    /// Export the results in a store (SQLite) as CSV, JSON Lines or, if built in, Parquet.
    Export(export::ExportArguments),
    /// Serve an interactive web page on 127.0.0.1 for phase maps, runs and studies.
    Serve(serve::ServeArguments),
    /// List the devices that runs can be computed on.
    Devices(devices::DevicesArguments),
    /// Benchmark speed and memory, and those of PyTorch if it is installed. On a GPU, a fixed table of sizes unless one is given.
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
            Command::Devices(arguments) => devices::devices(&arguments),
            Command::Bench(arguments) => bench::bench(&arguments),
            Command::Completions(arguments) => completions::completions(&arguments),
        }
    }

    /// Fails if a device other than the CPU is given to a command that uses the CPU only.
    fn check_device(&self) -> anyhow::Result<()> {
        match self {
            Command::Predict(arguments) => arguments.run.device.check_cpu("predict"),
            Command::Experiment(experiment) => experiment.check_device(),
            _ => Ok(()),
        }
    }
}

/// Returns the definition of every command and its arguments, from which the help, the completions and the book's reference are
/// made.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Parses the words of a command line; fails if this program would reject them.
fn parse(words: &[String]) -> Result<Command, clap::Error> {
    let words = std::iter::once("superpose").chain(words.iter().map(String::as_str));
    Cli::try_parse_from(words).map(|cli| cli.command)
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
