//! `superpose bound`: decoders of the first gradient beside the surrogate lower bound, and how far the three-step algorithm
//! gets past it.

use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use superpose_core::backend::Backend;
use superpose_core::config::{Activation, Embedding, EmbeddingSettings, Settings, Trigger};

use crate::arguments::{Count, threads};
use crate::run::print;

/// Arguments of `superpose bound`.
#[derive(Args, Clone, Debug)]
pub struct BoundArguments {
    /// Facts V, one per token
    #[arg(long, value_name = "V", default_value = "200", allow_hyphen_values = true)]
    vocab: Count,
    /// Embedding dimension d
    #[arg(long, value_name = "D", default_value = "100", allow_hyphen_values = true)]
    dim: Count,
    /// Sequence length L
    #[arg(long, value_name = "L", default_value = "16", allow_hyphen_values = true)]
    length: Count,
    /// Width m of the MLP; without it, the attention-only model
    #[arg(long, value_name = "M", allow_hyphen_values = true)]
    width: Option<Count>,
    /// Activation of the MLP: relu, gelu, tanh, softplus, abs, he2, he3, identity
    #[arg(long, value_name = "NAME", default_value = "relu")]
    activation: Activation,
    /// Share of the facts to recall
    #[arg(long, value_name = "SHARE", default_value = "0.5", allow_hyphen_values = true)]
    accuracy: f64,
    /// Seeds to average over
    #[arg(long, value_name = "COUNT", default_value = "5", allow_hyphen_values = true)]
    seeds: Count,
    /// The first seed
    #[arg(long, value_name = "SEED", default_value = "0", allow_hyphen_values = true)]
    seed: Count,
    /// Embeddings: gaussian, sphere, orthonormal, rademacher
    #[arg(long, value_name = "KIND", default_value = "gaussian")]
    embedding: Embedding,
    /// Where the trigger is: values (keys and values) or keys (keys only)
    #[arg(long, value_name = "WHERE", default_value = "values")]
    trigger: Trigger,
    /// Threads (default: all cores); results do not depend on it
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    threads: Option<Count>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn bound(arguments: &BoundArguments) -> anyhow::Result<()> {
    let size = |name: &str, count: Count| {
        usize::try_from(count.0).map_err(|_| anyhow!("{name} = {}: too large for this machine", count.0))
    };
    let threads = threads(arguments.threads)?;
    let settings = Settings {
        vocab: size("vocab", arguments.vocab)?,
        dim: size("dim", arguments.dim)?,
        length: size("length", arguments.length)?,
        width: arguments.width.map(|width| size("width", width)).transpose()?,
        activation: arguments.activation,
        embedding: EmbeddingSettings::plain(arguments.embedding)?,
        trigger: arguments.trigger,
        seed: arguments.seed.0,
        ..Settings::default()
    };
    let (accuracy, seeds) = (arguments.accuracy, size("seeds", arguments.seeds)?);
    let config = superpose_lab::decoders::check(settings, accuracy, seeds)?;
    let backend = Backend::cpu(threads).context("threads cannot be started")?;
    let spinner = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed} so far") {
        spinner.set_style(style);
    }
    // A single number of samples may take many seconds: the time goes on meanwhile.
    spinner.enable_steady_tick(Duration::from_millis(200));
    let mut progress = |what: &str, samples: f64| {
        let at = if samples.is_finite() { format!(": trying N = {samples}") } else { String::new() };
        spinner.set_message(format!("{}{at}", what.replace('_', " ")));
    };
    let record = superpose_lab::decoders::bound(&config, accuracy, seeds, &backend, &mut progress);
    spinner.finish_and_clear();
    let record = record?;
    match arguments.json {
        true => print(&(serde_json::to_string_pretty(&record)? + "\n")),
        false => print(&superpose_report::bound(&record).text()),
    }
}
