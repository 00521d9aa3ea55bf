//! `superpose inspect`: how the rows of a real embedding matrix overlap, and how many facts they could hold.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use superpose_core::backend::Backend;
use superpose_lab::inspect::InspectError;
use superpose_tensors::TensorFile;

use crate::arguments::Count;
use crate::run::print;

/// Arguments of `superpose inspect`.
#[derive(Args, Clone, Debug)]
pub struct InspectArguments {
    /// File with the embedding matrix (safetensors; F32, F16, BF16 or F64)
    #[arg(value_name = "FILE.safetensors")]
    file: PathBuf,
    /// The matrix of input embeddings, a row per token (default: the largest matrix of the file)
    #[arg(long, value_name = "NAME")]
    tensor: Option<String>,
    /// The matrix of output embeddings, a row per label (default: Gaussian vectors of the same dimension)
    #[arg(long, value_name = "NAME")]
    output_tensor: Option<String>,
    /// Memory accuracy at which facts are counted
    #[arg(long, value_name = "SHARE", default_value = "0.99", allow_hyphen_values = true)]
    accuracy: f64,
    /// Threads (default: all cores); results do not depend on it
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    threads: Option<Count>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn inspect(arguments: &InspectArguments) -> anyhow::Result<()> {
    let threads = match arguments.threads {
        None => std::thread::available_parallelism().map_or(1, usize::from),
        Some(Count(threads @ 1..=1024)) => threads as usize,
        Some(Count(threads)) => bail!("threads = {threads}: must be a whole number from 1 to 1024"),
    };
    let backend = Backend::cpu(threads).context("threads cannot be started")?;
    let file = TensorFile::open(&arguments.file)?;
    let tensors = file.tensors()?;
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    let started = Instant::now();
    let mut progress = |done: usize, total: usize| {
        // A quick one needs no bar.
        if bar.is_hidden() && started.elapsed() > Duration::from_secs(1) {
            if let Ok(style) = ProgressStyle::with_template("reading {wide_bar} {percent}%, {eta} left") {
                bar.set_style(style);
            }
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    };
    let found = superpose_lab::inspect::inspect(
        &tensors,
        arguments.tensor.as_deref(),
        arguments.output_tensor.as_deref(),
        arguments.accuracy,
        &backend,
        &mut progress,
    );
    bar.finish_and_clear();
    let found = found.map_err(|error| match error {
        InspectError::Tensors(error) => file.inside(error).into(),
        other => anyhow::Error::from(other),
    })?;
    match arguments.json {
        true => print(&(serde_json::to_string_pretty(&found)? + "\n")),
        false => print(&superpose_report::inspect(&found).text()),
    }
}
