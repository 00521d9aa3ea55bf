//! `superpose bound`: compares decoders of the first gradient, and the three-step algorithm, with the surrogate lower bound.

use clap::Args;
use superpose_core::config::{Activation, Embedding, EmbeddingSettings, Settings, Trigger};

use crate::arguments::Count;
use crate::progress::ticking_spinner;
use crate::shared::{Threads, backend, print_record, size};

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
    #[command(flatten)]
    threads: Threads,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn bound(arguments: &BoundArguments) -> anyhow::Result<()> {
    let threads = arguments.threads.count()?;
    let settings = Settings {
        vocab: size(arguments.vocab),
        dim: size(arguments.dim),
        length: size(arguments.length),
        width: arguments.width.map(size),
        activation: arguments.activation,
        embedding: EmbeddingSettings::plain(arguments.embedding)?,
        trigger: arguments.trigger,
        seed: arguments.seed.0,
        ..Settings::default()
    };
    let (accuracy, seeds) = (arguments.accuracy, size(arguments.seeds));
    let config = superpose_lab::decoders::check(settings, accuracy, seeds)?;
    let backend = backend(threads)?;
    let record = ticking_spinner(|bar| {
        superpose_lab::decoders::bound(&config, accuracy, seeds, &backend, &mut |what, samples| {
            let at = if samples.is_finite() { format!(": trying N = {samples}") } else { String::new() };
            bar.say(format!("{}{at}", what.replace('_', " ")));
        })
    });
    print_record(arguments.json, &record?, superpose_report::bound)
}
