//! The command line: arguments, a checked configuration, one call, text or JSON.
//!
//! Results go to standard output, everything else to standard error. Whatever is wrong with the input ends in one
//! sentence that names the parameter, and exit code 2.

pub mod arguments;
mod bench;
mod bound;
mod completions;
mod export;
mod files;
mod inspect;
mod interrupt;
mod memory;
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
mod slurm;
mod status;
mod submit;
mod sweep;
mod threshold;
mod train;

pub use bench::Measurement;
pub use completions::{Shell, script};
pub use status::Report as StatusReport;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

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
    /// Train the model for as long as you like: optimisers, checkpoints, the trajectory as a plot and a table.
    Train(Box<train::TrainArguments>),
    /// Predict in closed form what `run` would measure, and the sizes at which an accuracy is reached.
    Predict(Box<predict::PredictArguments>),
    /// Find the size at which an accuracy is reached, by running, with a 95% interval, beside the prediction.
    Threshold(Box<threshold::ThresholdArguments>),
    /// Map accuracy over two sizes: measured along the boundary, filled in elsewhere, beside the closed form.
    Phase(Box<phase::PhaseArguments>),
    /// Find the cheapest model for so many facts, what binds, and the trade-off of dimension, width and data.
    Plan(plan::PlanArguments),
    /// Read facts off the first gradient with several decoders, beside the surrogate lower bound.
    Bound(bound::BoundArguments),
    /// An associative memory alone: what it recalls, and how many facts it holds.
    Memory(memory::MemoryArguments),
    /// Inspect the embedding matrix of a real model: how its rows overlap, and how many facts they could hold.
    Inspect(inspect::InspectArguments),
    /// Run a grid, list or ray of cells from a file, resumably; or one share of it for many machines.
    Sweep(sweep::SweepArguments),
    /// Submit a sweep, or other long work, to a cluster.
    Submit(submit::SubmitArguments),
    /// Show where a sweep stands: done, running, failed, left.
    Status(status::StatusArguments),
    /// Bring the shards of a sweep into its store.
    Merge(merge::MergeArguments),
    /// Write a store's results as CSV, JSON Lines or Parquet.
    Export(export::ExportArguments),
    /// Open the page: explore phase maps, train at a click, look at studies. On 127.0.0.1 alone.
    Serve(serve::ServeArguments),
    /// Measure the engine's speed and memory, beside PyTorch where Python has it.
    Bench(bench::BenchArguments),
    /// Print completions for a shell.
    Completions(completions::CompletionsArguments),
}

/// Every command with its arguments: what the help, the completions and the reference of the book are made of.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Whether these are arguments that this program takes.
fn takes(arguments: &[String]) -> Result<(), clap::Error> {
    Cli::try_parse_from(std::iter::once("superpose").chain(arguments.iter().map(String::as_str))).map(|_| ())
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let done = |()| ExitCode::SUCCESS;
    let result = match Cli::parse().command {
        Command::Reproduce(arguments) => reproduce::reproduce(&arguments),
        Command::Run(arguments) => run::run(*arguments).map(done),
        Command::Train(arguments) => train::train(*arguments),
        Command::Predict(arguments) => predict::predict(*arguments).map(done),
        Command::Threshold(arguments) => threshold::threshold(*arguments),
        Command::Phase(arguments) => phase::phase(*arguments),
        Command::Plan(arguments) => plan::plan(&arguments).map(done),
        Command::Bound(arguments) => bound::bound(&arguments).map(done),
        Command::Memory(arguments) => memory::memory(&arguments),
        Command::Inspect(arguments) => inspect::inspect(&arguments).map(done),
        Command::Sweep(arguments) => sweep::sweep(&arguments),
        Command::Submit(arguments) => submit::submit(&arguments).map(done),
        Command::Status(arguments) => status::status(&arguments).map(done),
        Command::Merge(arguments) => merge::merge(&arguments).map(done),
        Command::Export(arguments) => export::export(&arguments).map(done),
        Command::Serve(arguments) => serve::serve(&arguments),
        Command::Bench(arguments) => bench::bench(&arguments).map(done),
        Command::Completions(arguments) => completions::completions(&arguments).map(done),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            // Where even that cannot be written there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}
