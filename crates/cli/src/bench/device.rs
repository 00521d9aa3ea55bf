//! `superpose bench --device`: a fixed table of sizes on a GPU, beside PyTorch on the same GPU.

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use superpose_core::backend::{Backend, Device};
use superpose_core::config::{Config, Regime, Settings};
use superpose_lab::bench::training_cost;
use superpose_lab::cell::{Runner, measure};
use superpose_lab::memory::readable;
use superpose_lab::run::{Inputs, run};
use superpose_report::{Align, Block, Document, Grid};

use super::{BenchArguments, Measurement, TORCH, finish};
use crate::shared::{backend, message, print_record};

/// Sizes of the exact steps: V, N, d, L.
const EXACT: [(usize, usize, usize, usize); 3] =
    [(512, 8192, 64, 16), (1024, 65_536, 128, 64), (4096, 131_072, 256, 64)];
/// Sizes of whole runs in the infinitesimal regime, with evaluation on 4,096 test sequences.
const LARGE: [(usize, usize, usize, usize); 2] =
    [(100_000, 2_000_000, 1024, 64), (1_000_000, 100_000_000, 2048, 64)];
/// Sizes of small cells, each run with many seeds: V and d.
const SMALL: ([usize; 5], [usize; 5]) = ([180, 360, 720, 1450, 2900], [32, 64, 128, 256, 512]);
const SEEDS: u64 = 40;

fn config(size: (usize, usize, usize, usize), regime: Regime, eta: f64) -> anyhow::Result<Config> {
    let (vocab, samples, dim, length) = size;
    Ok(Settings { vocab, samples, dim, length, regime, eta, ..Settings::default() }.check()?)
}

pub fn bench(arguments: &BenchArguments) -> anyhow::Result<()> {
    let options = arguments.options.read()?;
    let device = arguments.device.open()?.context("device = auto: no GPU works here; use superpose bench")?;
    let backend = backend(options.threads)?.with_device(Some(Arc::clone(&device)));
    let repeat = options.repeat.max(10);
    let mut rows = Vec::new();
    let mut add = |name: String, train_seconds: f64, peak_total_bytes: Option<f64>| {
        message(format_args!("measured: {name}, {:.3} ms", 1e3 * train_seconds));
        rows.push(Measurement { name, train_seconds, peak_total_bytes });
    };
    let python = Command::new(&arguments.python).args(["-c", "import torch, safetensors"]).output();
    let torch = python.is_ok_and(|output| output.status.success());
    for size in EXACT {
        let (v, n, d, l) = size;
        let sizes = format!("V {v}, N {n}, d {d}, L {l}");
        for eta in [1.0, 1000.0] {
            let cost = training_cost(&config(size, Regime::Exact, eta)?, &backend, repeat)?;
            add(format!("superpose, exact, eta {eta}, {sizes}"), cost.seconds, Some(cost.bytes));
        }
        let cost = training_cost(&config(size, Regime::Infinitesimal, 1.0)?, &backend, repeat)?;
        add(format!("superpose, infinitesimal, {sizes}"), cost.seconds, Some(cost.bytes));
        if torch {
            for found in pytorch(arguments, size, &backend, repeat)? {
                add(format!("{}, {sizes}", found.name), found.train_seconds, found.peak_total_bytes);
            }
        }
    }
    let (runs, seconds) = small_cells(&device, options.threads)?;
    add(
        format!("superpose, infinitesimal, one of {runs} small cells with evaluation"),
        seconds / runs as f64,
        None,
    );
    for size in LARGE {
        let (v, n, d, l) = size;
        let config = config(size, Regime::Infinitesimal, 1.0)?;
        superpose_lab::memory::check_device(&config, false, &backend)?;
        let started = Instant::now();
        measure(&config, false, &backend)?;
        let name = format!("superpose, infinitesimal with evaluation, V {v}, N {n}, d {d}, L {l}");
        add(name, started.elapsed().as_secs_f64(), None);
    }
    if !torch {
        message(format_args!("hint: {} has no torch and safetensors", arguments.python));
    }
    let heading =
        format!("Three steps on {} ({}), f32; the shortest of {repeat}", device.word(), device.numerics());
    print_record(arguments.json, &rows, |rows| table(heading, rows))
}

/// Runs cells of different sizes with many seeds; their number, and the seconds that they took together.
fn small_cells(device: &Arc<dyn Device>, threads: usize) -> anyhow::Result<(usize, f64)> {
    let shapes = SMALL.0.iter().flat_map(|&vocab| SMALL.1.map(|dim| (vocab, dim)));
    let cells = |seeds: u64| -> anyhow::Result<Vec<Config>> {
        let cells = shapes.clone().flat_map(|(vocab, dim)| (0..seeds).map(move |seed| (vocab, dim, seed)));
        let cell = |(vocab, dim, seed)| Settings { vocab, dim, seed, ..Settings::default() }.check();
        cells.map(|cell_| Ok(cell(cell_)?)).collect()
    };
    let runner = || Runner::new(threads).with_device(Some(Arc::clone(device)));
    // The first runs start the streams and take memory from the system.
    runner().run(&cells(2)?, &mut |_| {})?;
    let cells = cells(SEEDS)?;
    let started = Instant::now();
    let outcomes = runner().run(&cells, &mut |_| {})?;
    let seconds = started.elapsed().as_secs_f64();
    if let Some(error) = outcomes.into_iter().find_map(Result::err) {
        return Err(error.into());
    }
    Ok((cells.len(), seconds))
}

fn pytorch(
    arguments: &BenchArguments,
    size: (usize, usize, usize, usize),
    backend: &Backend,
    repeat: usize,
) -> anyhow::Result<Vec<Measurement>> {
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let (script, data) = (folder.path().join("torch_recall.py"), folder.path().join("data.safetensors"));
    std::fs::write(&script, TORCH).context("cannot write the benchmark script")?;
    run(&config(size, Regime::Exact, 1.0)?, &Inputs::default(), backend, Some(&data), &())?;
    let mut rows = Vec::new();
    for (method, name) in [("tuned", "PyTorch, exact, hand-tuned"), ("autograd", "PyTorch, exact, autograd")]
    {
        if method == "autograd" && arguments.no_autograd {
            continue;
        }
        let mut command = Command::new(&arguments.python);
        command.arg(&script).args(["--method", method, "--regime", "exact", "--device", "cuda"]);
        command.args(["--repeat", &repeat.to_string(), "--trigger", "values", "--import"]).arg(&data);
        rows.push(Measurement { name: name.into(), ..finish(command)? });
    }
    Ok(rows)
}

fn table(heading: String, rows: &[Measurement]) -> String {
    let columns = [Align::Left, Align::Right, Align::Right];
    let mut table = Grid::new(&columns, &["", "milliseconds", "device memory"]);
    table.indent = 1;
    for row in rows {
        let memory = row.peak_total_bytes.map_or("-".into(), readable);
        table.row([row.name.clone(), format!("{:.3}", 1e3 * row.train_seconds), memory]);
    }
    Document { blocks: vec![Block::Heading(heading), Block::Table(table)] }.text()
}
