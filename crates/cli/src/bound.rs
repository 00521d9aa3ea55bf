//! `superpose bound`: decoders of the first gradient beside the surrogate lower bound, and how far the three-step algorithm
//! gets past it.

use std::fmt::Write;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use superpose_core::backend::Backend;
use superpose_core::config::{Activation, Embedding, Settings, Trigger};
use superpose_lab::decoders::{BoundRecord, CLEARLY, Critical, DECODERS};

use crate::arguments::Count;
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
    /// A decoder takes V x V scores, and an assignment time in proportion to V cubed.
    const LARGEST: usize = 10_000;
    /// The linear estimate inverts matrices of that many rows.
    const WIDEST: usize = 4096;
    let whole = |name: &str, count: Count, least: usize, most: usize| match usize::try_from(count.0) {
        Ok(value) if (least..=most).contains(&value) => Ok(value),
        _ => Err(anyhow!("{name} = {}: must be a whole number from {least} to {most}", count.0)),
    };
    let accuracy = arguments.accuracy;
    if !(accuracy > 0.0 && accuracy < 1.0) {
        bail!("accuracy = {accuracy}: must be above 0 and below 1");
    }
    if arguments.embedding == Embedding::File {
        bail!("embedding = file: must be gaussian, sphere, orthonormal or rademacher here");
    }
    let seeds = whole("seeds", arguments.seeds, 2, 1000)?;
    let threads = match arguments.threads {
        None => std::thread::available_parallelism().map_or(1, usize::from),
        Some(threads) => whole("threads", threads, 1, 1024)?,
    };
    let settings = Settings {
        vocab: whole("vocab", arguments.vocab, 2, LARGEST)?,
        dim: whole("dim", arguments.dim, 1, LARGEST)?,
        length: whole("length", arguments.length, 2, 1 << 20)?,
        width: arguments.width.map(|width| whole("width", width, 1, WIDEST)).transpose()?,
        activation: arguments.activation,
        embedding: arguments.embedding,
        trigger: arguments.trigger,
        seed: arguments.seed.0,
        test_samples: 2048,
        ..Settings::default()
    };
    let config = Settings { repeats: seeds, ..settings }.check()?;
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
        false => print(&text(&record)),
    }
}

/// The record as text for people.
fn text(record: &BoundRecord) -> String {
    let config = &record.config;
    let model = config.width.map_or(String::new(), |width| format!("m = {width} ({}), ", config.activation));
    let mut text = format!(
        "Reading {}% of V = {} facts off the first gradient, {model}d = {}, L = {}, {} seeds\n\n",
        100.0 * record.accuracy,
        config.vocab,
        config.dim,
        config.length,
        record.seeds
    );
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["", "critical N", "95% interval", "over the bound"]);
    let bound = record.bound.map_or("beyond all numbers".into(), |bound| format!("{bound:.0}"));
    table.add_row(["  surrogate lower bound".to_string(), bound]);
    let mut row = |name: &str, critical: &Critical| {
        let cells = match (critical.estimate, critical.low, critical.high) {
            (Some(estimate), Some(low), Some(high)) => {
                let ratio = critical.ratio.map_or("-".into(), |ratio| format!("{ratio:.2}"));
                [format!("  {name}"), format!("{estimate:.0}"), format!("[{low:.0}, {high:.0}]"), ratio]
            }
            _ => {
                let (above, why) = match critical.limit {
                    Some(limit) if limit + CLEARLY < record.accuracy => {
                        ("no N".into(), format!("accuracy {limit:.3} with unlimited data"))
                    }
                    _ => (format!("> {:.0}", record.most_samples), "not reached".into()),
                };
                [format!("  {name}"), above, why, "-".into()]
            }
        };
        table.add_row(cells);
    };
    for (name, label) in DECODERS.iter().zip(LABELS) {
        if let Some(critical) = record.decoders.get(*name) {
            row(label, critical);
        }
    }
    row("three-step algorithm", &record.three_step);
    for i in [1, 3] {
        if let Some(column) = table.column_mut(i) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().for_each(|line| {
        let _ = writeln!(text, "{}", line.trim_end());
    });
    let _ = writeln!(text, "\nThe bound is a surrogate: it takes the gradient's noise as Gaussian.");
    let best =
        record.decoders.values().filter_map(|critical| critical.estimate).fold(f64::INFINITY, f64::min);
    if let Some(three) = record.three_step.estimate
        && best.is_finite()
    {
        let times = best / three;
        let _ = match times > 1.0 {
            true => writeln!(
                text,
                "Training the attention needs {times:.1} times fewer samples than the best decoder of the first gradient."
            ),
            false => writeln!(
                text,
                "Training the attention needs {:.1} times more samples than the best decoder of the first gradient.",
                1.0 / times
            ),
        };
    }
    let _ = writeln!(text, "Intervals: {}.", record.interval);
    text
}

/// Names for people, in the order of [`DECODERS`].
const LABELS: [&str; 4] =
    ["argmax", "one-to-one assignment", "linear MMSE", "linear MMSE, then one-to-one assignment"];
