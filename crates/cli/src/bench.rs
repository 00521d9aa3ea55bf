//! `superpose bench`: the engine beside PyTorch, on the same data in the same run.
//!
//! Every measurement is a process of its own, so that its peak memory is its own too.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use serde::{Deserialize, Serialize};

use superpose_core::backend::Backend;
use superpose_core::config::{Config, Regime, Settings};
use superpose_lab::bench::{Place, product_seconds, step_seconds, training_seconds};
use superpose_lab::memory::{self, readable};
use superpose_lab::run::{Inputs, run};

use crate::arguments::Count;
use crate::run::{available_memory, print};

/// The opponent, carried along so that the binary is enough.
const TORCH: &str = include_str!("../../../bench/torch_recall.py");

/// Arguments of `superpose bench`.
#[derive(Args, Clone, Debug)]
pub struct BenchArguments {
    /// Facts V
    #[arg(long, value_name = "V", default_value = "1024")]
    vocab: Count,
    /// Embedding dimension d
    #[arg(long, value_name = "D", default_value = "128")]
    dim: Count,
    /// Sequence length L
    #[arg(long, value_name = "L", default_value = "64")]
    length: Count,
    /// Training samples N
    #[arg(long, value_name = "N", default_value = "65536")]
    samples: Count,
    /// Threads
    #[arg(long, value_name = "COUNT", default_value = "2")]
    threads: Count,
    /// Times to measure; the shortest counts
    #[arg(long, value_name = "COUNT", default_value = "5")]
    repeat: Count,
    /// Python with torch, numpy and safetensors
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: String,
    /// Leave out PyTorch's automatic differentiation, which takes many seconds and gigabytes
    #[arg(long)]
    no_autograd: bool,
    /// Print a list of JSON objects instead of a table
    #[arg(long)]
    json: bool,
    /// Measure one thing in this process and print it: how the others are started
    #[arg(long, hide = true, value_name = "WHAT")]
    only: Option<String>,
}

/// One measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Measurement {
    /// What was measured.
    #[serde(default)]
    name: String,
    /// Training, the shortest of the repeats.
    train_seconds: f64,
    /// The most memory that the process had, in bytes, where the system tells.
    peak_total_bytes: Option<f64>,
}

/// What can be measured here: name, description, regime, rate of step 1.
const OURS: [(&str, &str, Regime, f64); 3] = [
    ("exact", "superpose, exact, eta 1", Regime::Exact, 1.0),
    ("softmax", "superpose, exact, eta 1000 (softmax far from uniform)", Regime::Exact, 1000.0),
    ("infinitesimal", "superpose, infinitesimal", Regime::Infinitesimal, 1.0),
];
const PRODUCTS: &str = "products";
/// One step of training: name, description, where.
const STEPS: [(&str, &str, Place); 2] = [
    ("adam_start", "superpose, one Adam step at the start", Place::Start),
    ("adam", "superpose, one Adam step, softmax far from uniform", Place::Late),
];

pub fn bench(arguments: &BenchArguments) -> anyhow::Result<()> {
    match &arguments.only {
        Some(what) => measure(arguments, what),
        None => compare(arguments),
    }
}

fn config(arguments: &BenchArguments, regime: Regime, eta: f64) -> anyhow::Result<Config> {
    let size = |count: Count| usize::try_from(count.0).unwrap_or(usize::MAX);
    Ok(Settings {
        vocab: size(arguments.vocab),
        dim: size(arguments.dim),
        length: size(arguments.length),
        samples: size(arguments.samples),
        test_samples: 2,
        regime,
        eta,
        ..Settings::default()
    }
    .check()?)
}

fn measure(arguments: &BenchArguments, what: &str) -> anyhow::Result<()> {
    let backend = Backend::cpu(arguments.threads.0 as usize)?;
    let repeat = arguments.repeat.0 as usize;
    let early = OURS.iter().find(|ours| ours.0 == what);
    let step = STEPS.iter().find(|ours| ours.0 == what);
    let train_seconds = match (early, step) {
        (Some(&(_, _, regime, eta)), _) => {
            training_seconds(&config(arguments, regime, eta)?, &backend, repeat)?
        }
        (_, Some(&(_, _, place))) => {
            let config = config(arguments, Regime::Infinitesimal, 1.0)?;
            let config = Settings { steps: 1, ..(*config).clone() }.check()?;
            step_seconds(&config, place, &backend, repeat)?
        }
        _ => product_seconds(&config(arguments, Regime::Exact, 1.0)?, &backend, repeat)?,
    };
    let measurement = Measurement { name: what.into(), train_seconds, peak_total_bytes: peak_memory() };
    print(&(serde_json::to_string(&measurement)? + "\n"))
}

/// The most memory this process has had, where the system tells (Linux).
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<f64>().ok()? * 1024.0)
}

fn compare(arguments: &BenchArguments) -> anyhow::Result<()> {
    if !(1..=1024).contains(&arguments.threads.0) {
        bail!("threads = {}: must be a whole number from 1 to 1024", arguments.threads.0);
    }
    if !(1..=1000).contains(&arguments.repeat.0) {
        bail!("repeat = {}: must be a whole number from 1 to 1000", arguments.repeat.0);
    }
    let exact = config(arguments, Regime::Exact, 1.0)?;
    let bytes = |config: &_| memory::run_bytes(config, arguments.threads.0 as usize, true, true);
    memory::check(&exact, available_memory(), bytes)?;
    let program = std::env::current_exe().context("the program's own file")?;
    let mut rows = Vec::new();
    let mut ours = |what: &str, name: &str| -> anyhow::Result<f64> {
        eprintln!("measuring: {name}");
        let a = arguments;
        let mut command = Command::new(&program);
        command.args(["bench", "--only", what]);
        for (flag, value) in [
            ("--vocab", a.vocab),
            ("--dim", a.dim),
            ("--length", a.length),
            ("--samples", a.samples),
            ("--threads", a.threads),
            ("--repeat", a.repeat),
        ] {
            command.args([flag, &value.0.to_string()]);
        }
        let measurement = Measurement { name: name.into(), ..finish(command)? };
        rows.push(measurement.clone());
        Ok(measurement.train_seconds)
    };
    for (what, name, _, _) in OURS {
        ours(what, name)?;
    }
    ours(PRODUCTS, "the four N x V x d products of exact steps, alone")?;
    for (what, name, _) in STEPS {
        ours(what, name)?;
    }

    let python_works = Command::new(&arguments.python).args(["-c", "import torch, safetensors"]).output();
    if python_works.is_ok_and(|output| output.status.success()) {
        rows.extend(torch(arguments, &exact)?);
    } else {
        eprintln!("hint: {} has no torch and safetensors; name one that has with --python", arguments.python);
    }
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&rows)? + "\n",
        false => table(arguments, &rows),
    };
    print(&text)
}

fn torch(arguments: &BenchArguments, exact: &Config) -> anyhow::Result<Vec<Measurement>> {
    let folder = tempfile::tempdir().context("a temporary folder")?;
    let (script, data) = (folder.path().join("torch_recall.py"), folder.path().join("data.safetensors"));
    std::fs::write(&script, TORCH).context("the benchmark script")?;
    let threads = arguments.threads.0.to_string();
    run(exact, &Inputs::default(), &Backend::cpu(arguments.threads.0 as usize)?, Some(&data), &())?;
    let mut rows = Vec::new();
    for (method, regime, repeat, name) in [
        ("tuned", "exact", arguments.repeat.0, "PyTorch, exact, hand-tuned"),
        ("tuned", "infinitesimal", arguments.repeat.0, "PyTorch, infinitesimal, hand-tuned"),
        ("adam", "exact", arguments.repeat.0, "PyTorch, one Adam step, hand-tuned"),
        ("autograd", "exact", 1, "PyTorch, exact, automatic differentiation"),
    ] {
        if method == "autograd" && arguments.no_autograd {
            continue;
        }
        eprintln!("measuring: {name}");
        let mut command = Command::new(&arguments.python);
        command.arg(&script).args(["--method", method, "--regime", regime, "--threads", &threads]);
        command
            .args(["--repeat", &repeat.to_string(), "--trigger", "values"])
            .arg("--import")
            .arg(&data as &Path);
        rows.push(Measurement { name: name.into(), ..finish(command)? });
    }
    Ok(rows)
}

/// Runs a command that prints one measurement.
fn finish(mut command: Command) -> anyhow::Result<Measurement> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).with_context(|| format!("the output of {command:?}"))
}

fn table(arguments: &BenchArguments, rows: &[Measurement]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["", "seconds", "times eta 1", "peak memory"]);
    let first = rows.first().map_or(f64::NAN, |row| row.train_seconds);
    for row in rows {
        table.add_row([
            row.name.clone(),
            format!("{:.3}", row.train_seconds),
            format!("{:.2}", row.train_seconds / first),
            row.peak_total_bytes.map_or("-".into(), readable),
        ]);
    }
    for column in 1..4 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let BenchArguments { vocab, dim, length, samples, threads, repeat, .. } = arguments;
    format!(
        "Three steps, or one of Adam, at V = {}, d = {}, L = {}, N = {}, f32, {} threads; the shortest of {}\n{table}\n",
        vocab.0, dim.0, length.0, samples.0, threads.0, repeat.0
    )
}
