//! `superpose memory`: measures an associative memory alone: what it recalls, or how many facts it holds.

use std::sync::atomic::AtomicBool;

use anyhow::bail;
use clap::Args;
use superpose_associative::{MemorySettings, Rule};
use superpose_core::config::{Embedding, Labels, Optimiser};
use superpose_lab::associative::{
    CapacitySearch, DEFAULT_HALF_WIDTH, DEFAULT_MAX_RUNS, MemoryError, check_room, run,
};

use crate::arguments::Count;
use crate::interrupt::Interrupt;
use crate::progress::spinner;
use crate::shared::{Threads, available_memory, backend, print_record, size};

/// Arguments of `superpose memory`.
#[derive(Args, Clone, Debug)]
pub struct MemoryArguments {
    /// Facts N; patterns of a Hopfield network (default 100)
    #[arg(long, value_name = "N", allow_hyphen_values = true, conflicts_with = "find")]
    facts: Option<Count>,
    /// Dimension d of keys and values; neurons of a Hopfield network
    #[arg(long, value_name = "D", default_value = "64", allow_hyphen_values = true)]
    dim: Count,
    /// How the weights are computed: hebbian, least-squares, trained or hopfield
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
    /// Zipf exponent of how often facts are asked and shown in mini-batches (default: equally often)
    #[arg(long, value_name = "EXPONENT", allow_hyphen_values = true)]
    zipf: Option<f64>,
    /// Optimiser of a trained memory: sgd, adam, adamw or muon
    #[arg(long, value_name = "NAME", default_value = "adamw")]
    optimiser: Optimiser,
    /// Learning rate (default 1000; with a width 0.03)
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    rate: Option<f64>,
    /// Maximum number of training steps (default 4,096; with a width 32,768)
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    steps: Option<Count>,
    /// Facts drawn for a step (default: all facts at every step)
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    batch: Option<Count>,
    /// Share of right answers that counts as success; full-batch training ends there
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, allow_hyphen_values = true)]
    accuracy: f64,
    /// Find how many facts can be stored, with a 95% interval: half of the repeats succeed
    #[arg(long, value_name = "facts")]
    find: Option<String>,
    /// Relative half width of that interval at which to stop
    #[arg(long, value_name = "SHARE", default_value_t = DEFAULT_HALF_WIDTH, allow_hyphen_values = true, requires = "find")]
    half_width: f64,
    /// Maximum number of memories that the search may make
    #[arg(long, value_name = "COUNT", default_value_t = Count(DEFAULT_MAX_RUNS as u64), allow_hyphen_values = true, requires = "find")]
    max_runs: Count,
    /// Memories with consecutive seeds (default 20)
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, conflicts_with = "find")]
    repeats: Option<Count>,
    /// The first seed
    #[arg(long, value_name = "SEED", default_value = "0", allow_hyphen_values = true)]
    seed: Count,
    #[command(flatten)]
    threads: Threads,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

impl MemoryArguments {
    fn settings(&self) -> MemorySettings {
        let default = MemorySettings::default();
        MemorySettings {
            facts: self.facts.map_or(default.facts, size),
            dim: size(self.dim),
            rule: self.rule,
            width: self.width.map(size),
            embedding: self.embedding,
            labels: self.labels,
            zipf: self.zipf,
            optimiser: self.optimiser,
            rate: self.rate,
            steps: self.steps.map(size),
            batch: self.batch.map(size),
            accuracy: self.accuracy,
            repeats: self.repeats.map_or(default.repeats, size),
            seed: self.seed.0,
        }
    }
}

/// Runs the command.
pub fn memory(arguments: &MemoryArguments) -> anyhow::Result<()> {
    let threads = arguments.threads.count()?;
    let settings = arguments.settings();
    let check_room = |settings: &MemorySettings| check_room(settings, threads, available_memory());
    let Some(find) = &arguments.find else {
        let config = settings.check()?;
        check_room(&config)?;
        let backend = backend(threads)?;
        let record = spinner(|bar| {
            run(&config, &backend, &AtomicBool::new(false), &mut |done| {
                bar.say(format!("{done} of {} memories made", config.repeats));
            })
        });
        return print_record(arguments.json, &record?, superpose_report::memory);
    };
    if find != "facts" {
        bail!("find = {find}: must be facts");
    }
    let search = CapacitySearch::new(&settings, arguments.half_width, size(arguments.max_runs))?;
    check_room(search.largest())?;
    let interrupt = Interrupt::listen()?;
    let backend = backend(threads)?;
    let record = spinner(|bar| {
        search.record(&backend, interrupt.flag(), &mut |runs, facts| {
            bar.say(format!("{runs} memories made, now with {facts} facts"));
        })
    });
    let record = record.map_err(|error| match error {
        MemoryError::Cancelled(_) => {
            interrupt.stopped("stopped: a search for a capacity keeps no results".into())
        }
        error => error.into(),
    })?;
    print_record(arguments.json, &record, superpose_report::capacity)
}
