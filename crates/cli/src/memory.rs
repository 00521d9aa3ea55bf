//! `superpose memory`: an associative memory alone, what it recalls and how many facts it holds.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, bail};
use clap::Args;
use superpose_core::associative::{MemorySettings, Rule};
use superpose_core::backend::Backend;
use superpose_core::config::Optimiser;
use superpose_core::config::{Embedding, Labels};
use superpose_lab::associative::{Hunt, MemoryError, USUAL_PRECISION, USUAL_RUNS, check_room, run};

use crate::arguments::{Count, threads};
use crate::interrupt::Interrupt;
use crate::progress::Spinner;
use crate::run::{available_memory, print};
use crate::text;

/// Arguments of `superpose memory`.
#[derive(Args, Clone, Debug)]
pub struct MemoryArguments {
    /// Facts N; patterns of a Hopfield network (default 100)
    #[arg(long, value_name = "N", allow_hyphen_values = true, conflicts_with = "find")]
    facts: Option<Count>,
    /// Dimension d of keys and values; neurons of a Hopfield network
    #[arg(long, value_name = "D", default_value = "64", allow_hyphen_values = true)]
    dim: Count,
    /// How weights are made: hebbian, least-squares, trained or hopfield
    #[arg(long, value_name = "RULE", default_value = "hebbian")]
    rule: Rule,
    /// Width m of an MLP with ReLU, both layers trained; without it, a linear memory
    #[arg(long, value_name = "M", allow_hyphen_values = true)]
    width: Option<Count>,
    /// Keys and values: sphere, gaussian or rademacher
    #[arg(long, value_name = "KIND", default_value = "sphere")]
    embedding: Embedding,
    /// Labels: permutation (each fact its own) or mod:M
    #[arg(long, value_name = "KIND", default_value = "permutation")]
    labels: Labels,
    /// Zipf exponent of how often facts are asked and shown in mini-batches (default: all alike)
    #[arg(long, value_name = "EXPONENT", allow_hyphen_values = true)]
    zipf: Option<f64>,
    /// Optimiser of a trained memory: sgd, adam, adamw or muon
    #[arg(long, value_name = "NAME", default_value = "adamw")]
    optimiser: Optimiser,
    /// Its rate (default 1000; with a width 0.03)
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    rate: Option<f64>,
    /// Its steps at most (default 4,096; with a width 32,768)
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    steps: Option<Count>,
    /// Facts drawn for a step (default: all facts at every step)
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    batch: Option<Count>,
    /// Share of right answers that is success; full-batch training ends there
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, allow_hyphen_values = true)]
    accuracy: f64,
    /// Find how many facts can be stored, with a 95% interval: half of the repeats succeed
    #[arg(long, value_name = "facts")]
    find: Option<String>,
    /// Half width of that interval, over the estimate, at which to stop
    #[arg(long, value_name = "SHARE", default_value_t = USUAL_PRECISION, allow_hyphen_values = true, requires = "find")]
    precision: f64,
    /// Memories made in the search at most
    #[arg(long, value_name = "COUNT", default_value_t = Count(USUAL_RUNS as u64), allow_hyphen_values = true, requires = "find")]
    max_runs: Count,
    /// Memories with consecutive seeds (default 20)
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, conflicts_with = "find")]
    repeats: Option<Count>,
    /// The first seed
    #[arg(long, value_name = "SEED", default_value = "0", allow_hyphen_values = true)]
    seed: Count,
    /// Threads (default: all cores); results do not depend on it
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    threads: Option<Count>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

impl MemoryArguments {
    fn settings(&self) -> MemorySettings {
        let count = |Count(count): Count| usize::try_from(count).unwrap_or(usize::MAX);
        let default = MemorySettings::default();
        MemorySettings {
            facts: self.facts.map_or(default.facts, count),
            dim: count(self.dim),
            rule: self.rule,
            width: self.width.map(count),
            embedding: self.embedding,
            labels: self.labels,
            zipf: self.zipf,
            optimiser: self.optimiser,
            rate: self.rate,
            steps: self.steps.map(count),
            batch: self.batch.map(count),
            accuracy: self.accuracy,
            repeats: self.repeats.map_or(default.repeats, count),
            seed: self.seed.0,
        }
    }
}

/// Runs the command.
pub fn memory(arguments: &MemoryArguments) -> anyhow::Result<ExitCode> {
    let threads = threads(arguments.threads)?;
    let settings = arguments.settings();
    let backend = || Backend::cpu(threads).context("threads cannot be started");
    let room = |settings: &MemorySettings| check_room(settings, threads, available_memory());
    if arguments.find.is_none() {
        let config = settings.check()?;
        room(&config)?;
        let spinner = Spinner::new();
        let record = run(&config, &backend()?, &AtomicBool::new(false), &mut |done| {
            spinner.say(&format!("{done} of {} memories made", config.repeats));
        });
        spinner.finish();
        let record = record?;
        let text = match arguments.json {
            true => serde_json::to_string_pretty(&record)? + "\n",
            false => text::memory(&record),
        };
        return print(&text).map(|()| ExitCode::SUCCESS);
    }
    match arguments.find.as_deref() {
        Some("facts") => {}
        other => bail!("find = {}: must be facts", other.unwrap_or_default()),
    }
    let most = usize::try_from(arguments.max_runs.0).unwrap_or(usize::MAX);
    let hunt = Hunt::new(&settings, arguments.precision, most)?;
    room(hunt.largest())?;
    let interrupt = Interrupt::listen()?;
    let spinner = Spinner::new();
    let record = hunt.record(&backend()?, interrupt.flag(), &mut |runs, facts| {
        spinner.say(&format!("{runs} memories made, now with {facts} facts"));
    });
    spinner.finish();
    let record = match record {
        Err(MemoryError::Cancelled(_)) => {
            let _ = writeln!(std::io::stderr(), "stopped: nothing is kept of a search for a capacity");
            return Ok(ExitCode::from(interrupt.code()));
        }
        record => record?,
    };
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&record)? + "\n",
        false => text::capacity(&record),
    };
    print(&text).map(|()| ExitCode::SUCCESS)
}
