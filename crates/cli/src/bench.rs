//! `superpose bench`: measures the engine beside PyTorch on the same data.
//!
//! Every measurement is a separate process, because peak memory is recorded per process.

mod device;

use std::process::Command;

use anyhow::{Context, bail};
use clap::Args;
use serde::{Deserialize, Serialize};

use superpose_core::backend::Backend;
use superpose_core::config::{
    Config, ConfigError, Group, MAX_COUNT, Regime, Settings, Training, check_ranges, counts,
};
use superpose_core::settings;
use superpose_lab::bench::{Place, product_seconds, step_seconds, training_cost};
use superpose_lab::memory::{self, readable};
use superpose_lab::run::{Inputs, run};
use superpose_report::{Align, Block, Document, Grid};

use crate::arguments::{Count, threads};
use crate::setting_flags::SettingFlags;
use crate::shared::{DeviceFlag, available_memory, backend, message, print, print_record};

/// The PyTorch implementation, embedded so that the binary needs no other file.
const TORCH: &str = include_str!("torch_recall.py");

settings! {
    /// The sizes to measure at, how often, and with how many threads.
    pub struct BenchOptions in "" {
        /// Number of facts V.
        vocab: usize as "V" = 1024, counts(2, MAX_COUNT);
        /// Embedding dimension d.
        dim: usize as "D" = 128, counts(1, MAX_COUNT);
        /// Sequence length L.
        length: usize as "L" = 64, counts(1, MAX_COUNT);
        /// Training samples N.
        samples: usize as "N" = 65_536, counts(1, MAX_COUNT);
        /// Number of threads.
        threads: usize as "COUNT" = 2, counts(1, 1024);
        /// Number of measurements; the shortest is reported.
        repeat: usize as "COUNT" = 5, counts(1, 1000);
    }
}

#[derive(Args, Clone, Debug)]
pub struct BenchArguments {
    #[command(flatten)]
    options: SettingFlags<BenchOptions>,
    /// Python with torch, numpy and safetensors
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: String,
    #[command(flatten)]
    device: DeviceFlag,
    /// Skip the PyTorch autograd benchmark, which is slow and needs gigabytes of memory
    #[arg(long)]
    no_autograd: bool,
    /// Print a list of JSON objects instead of text
    #[arg(long)]
    json: bool,
    /// Measure one thing in this process and print it; the other measurements are started this way
    #[arg(long, hide = true, value_name = "WHAT")]
    only: Option<String>,
}

/// One measurement.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Measurement {
    /// What was measured.
    #[serde(default)]
    name: String,
    /// Training time in seconds, the shortest of the repeats.
    train_seconds: f64,
    /// Peak memory of the process in bytes, where the system reports it.
    peak_total_bytes: Option<f64>,
}

/// Measurements of the early phase: name, description, regime, rate of step 1.
const OURS: [(&str, &str, Regime, f64); 3] = [
    ("exact", "superpose, exact, eta 1", Regime::Exact, 1.0),
    ("softmax", "superpose, exact, eta 1000 (softmax far from uniform)", Regime::Exact, 1000.0),
    ("infinitesimal", "superpose, infinitesimal", Regime::Infinitesimal, 1.0),
];
/// One step of training: name, description, where.
const STEPS: [(&str, &str, Place); 2] = [
    ("adam_start", "superpose, one Adam step at the start", Place::Start),
    ("adam", "superpose, one Adam step, softmax far from uniform", Place::Late),
];

pub fn bench(arguments: &BenchArguments) -> anyhow::Result<()> {
    let options = arguments.options.read()?;
    check_ranges(&options, BenchOptions::settings())?;
    threads(Some(Count(options.threads as u64)))?;
    match &arguments.only {
        Some(what) => measure(&options, what),
        None => match arguments.device.open()? {
            Some(device) => device::bench(arguments, &device),
            None => compare(arguments, &options),
        },
    }
}

fn config(options: &BenchOptions, regime: Regime, eta: f64) -> Result<Config, ConfigError> {
    let BenchOptions { vocab, dim, length, samples, .. } = *options;
    Settings { vocab, dim, length, samples, test_samples: 2, regime, eta, ..Settings::default() }.check()
}

fn measure(options: &BenchOptions, what: &str) -> anyhow::Result<()> {
    let (backend, repeat) = (backend(options.threads)?, options.repeat);
    let early = OURS.iter().find(|ours| ours.0 == what);
    let step = STEPS.iter().find(|ours| ours.0 == what);
    let train_seconds = match (early, step) {
        (Some(&(_, _, regime, eta)), _) => {
            training_cost(&config(options, regime, eta)?, &backend, repeat)?.seconds
        }
        (_, Some(&(_, _, place))) => {
            let config = config(options, Regime::Infinitesimal, 1.0)?;
            let config = Settings { training: Some(Training::new(1)), ..(*config).clone() }.check()?;
            step_seconds(&config, place, &backend, repeat)?
        }
        _ => product_seconds(&config(options, Regime::Exact, 1.0)?, &backend, repeat)?,
    };
    let measurement = Measurement { name: what.into(), train_seconds, peak_total_bytes: peak_memory() };
    print(&(serde_json::to_string(&measurement)? + "\n"))
}

/// Returns the peak memory of this process in bytes, where the system reports it (Linux).
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<f64>().ok()? * 1024.0)
}

fn compare(arguments: &BenchArguments, options: &BenchOptions) -> anyhow::Result<()> {
    let exact = config(options, Regime::Exact, 1.0)?;
    let bytes = |config: &_| memory::run_bytes(config, options.threads, true, true);
    memory::check(&exact, available_memory(), bytes)?;
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let mut rows = Vec::new();
    let mut measure = |what: &str, name: &str| -> anyhow::Result<()> {
        message(format_args!("measuring: {name}"));
        let mut command = Command::new(&program);
        command.args(["bench", "--only", what]);
        options.visit(&mut |name, value| {
            command.args([format!("--{name}"), value.to_string()]);
        });
        rows.push(Measurement { name: name.into(), ..finish(command)? });
        Ok(())
    };
    for (what, name, _, _) in OURS {
        measure(what, name)?;
    }
    measure("products", "the four N x V x d products of exact steps, alone")?;
    for (what, name, _) in STEPS {
        measure(what, name)?;
    }

    if has_torch(&arguments.python) {
        let (repeat, threads) = (options.repeat, options.threads.to_string());
        let methods = [
            ("tuned", "exact", repeat, "PyTorch, exact, hand-tuned"),
            ("tuned", "infinitesimal", repeat, "PyTorch, infinitesimal, hand-tuned"),
            ("adam", "exact", repeat, "PyTorch, one Adam step, hand-tuned"),
            ("autograd", "exact", 1, "PyTorch, exact, automatic differentiation"),
        ];
        let backend = backend(options.threads)?;
        rows.extend(torch(arguments, &exact, &backend, &methods, ["--threads", &threads])?);
    }
    print_record(arguments.json, &rows, |rows| table(options, rows))
}

/// Whether this Python has PyTorch; says what to do if it does not.
fn has_torch(python: &str) -> bool {
    let output = Command::new(python).args(["-c", "import torch, safetensors"]).output();
    let found = output.is_ok_and(|output| output.status.success());
    if !found {
        message(format_args!(
            "hint: {python} has no torch and safetensors; give one that has them with --python"
        ));
    }
    found
}

/// A measurement of PyTorch: method, regime, number of repeats, description.
type Method = (&'static str, &'static str, usize, &'static str);

/// Measures PyTorch on the data of a configuration, with further arguments for its script.
fn torch(
    arguments: &BenchArguments,
    exact: &Config,
    backend: &Backend,
    methods: &[Method],
    extra: [&str; 2],
) -> anyhow::Result<Vec<Measurement>> {
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let (script, data) = (folder.path().join("torch_recall.py"), folder.path().join("data.safetensors"));
    std::fs::write(&script, TORCH).context("cannot write the benchmark script")?;
    run(exact, &Inputs::default(), backend, Some(&data), &())?;
    let mut rows = Vec::new();
    for &(method, regime, repeat, name) in methods {
        if method == "autograd" && arguments.no_autograd {
            continue;
        }
        message(format_args!("measuring: {name}"));
        let mut command = Command::new(&arguments.python);
        command.arg(&script).args(["--method", method, "--regime", regime]).args(extra);
        command.args(["--repeat", &repeat.to_string(), "--trigger", "values", "--import"]).arg(&data);
        rows.push(Measurement { name: name.into(), ..finish(command)? });
    }
    Ok(rows)
}

/// Runs a command and parses the measurement that it prints.
fn finish(mut command: Command) -> anyhow::Result<Measurement> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).with_context(|| format!("the output of {command:?}"))
}

fn table(options: &BenchOptions, rows: &[Measurement]) -> String {
    let columns = [Align::Left, Align::Right, Align::Right, Align::Right];
    let mut table = Grid::new(&columns, &["", "seconds", "times eta 1", "peak memory"]);
    table.indent = 1;
    let first = rows.first().map_or(f64::NAN, |row| row.train_seconds);
    for row in rows {
        table.row([
            row.name.clone(),
            format!("{:.3}", row.train_seconds),
            format!("{:.2}", row.train_seconds / first),
            row.peak_total_bytes.map_or("-".into(), readable),
        ]);
    }
    let BenchOptions { vocab, dim, length, samples, threads, repeat } = options;
    let heading = format!(
        "Three steps, or one of Adam, at V = {vocab}, d = {dim}, L = {length}, N = {samples}, f32, {threads} threads; the shortest of {repeat}"
    );
    Document { blocks: vec![Block::Heading(heading), Block::Table(table)] }.text()
}
