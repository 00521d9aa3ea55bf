//! `superpose bench --device`: a fixed table of sizes on a GPU, or the sizes given, beside PyTorch on the same GPU.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Instant;

use superpose_core::backend::{Backend, Device};
use superpose_core::config::{Config, Regime, Settings, Values};
use superpose_lab::bench::{batch_cost, training_cost};
use superpose_lab::cell::{Runner, group_size, measure};
use superpose_lab::memory::{self, check_device, readable};
use superpose_report::{Align, Block, Document, Grid};

use super::{BenchArguments, BenchOptions, Measurement, has_torch, torch};
use crate::shared::{available_memory, backend, message, print_record};

/// V, N, d and L.
type Size = (usize, usize, usize, usize);

/// Sizes of the exact steps.
const EXACT: [Size; 3] = [(512, 8192, 64, 16), (1024, 65_536, 128, 64), (4096, 131_072, 256, 64)];
/// Sizes of whole runs in the infinitesimal regime, with evaluation on 4,096 test sequences.
const LARGE: [Size; 2] = [(100_000, 2_000_000, 1024, 64), (1_000_000, 100_000_000, 2048, 64)];
/// Sizes of small cells, each run with many seeds: V and d.
const SMALL: ([usize; 5], [usize; 5]) = ([180, 360, 720, 1450, 2900], [32, 64, 128, 256, 512]);
const SEEDS: u64 = 40;
/// Cells of the smallest exact size, which differ in their seeds.
const CELLS: usize = 4096;

fn config(size: Size, regime: Regime, eta: f64) -> anyhow::Result<Config> {
    let (vocab, samples, dim, length) = size;
    Ok(Settings { vocab, samples, dim, length, regime, eta, ..Settings::default() }.check()?)
}

/// Cells that differ in their seeds alone.
fn seeds(size: Size, regime: Regime, eta: f64, count: usize) -> anyhow::Result<Vec<Config>> {
    let first = config(size, regime, eta)?;
    (0..count as u64).map(|seed| Ok(Settings { seed, ..Settings::clone(&first) }.check()?)).collect()
}

/// Returns the sizes to measure alone, if any was given; the others have their defaults.
fn given(options: &BenchOptions, values: &Values) -> Option<Size> {
    let &BenchOptions { vocab, dim, length, samples, .. } = options;
    let any = ["vocab", "dim", "length", "samples"].into_iter().any(|size| values.gives(size));
    any.then_some((vocab, samples, dim, length))
}

pub fn bench(arguments: &BenchArguments, device: &Arc<dyn Device>) -> anyhow::Result<()> {
    let options = arguments.options.read()?;
    let given = given(&options, &arguments.options.values);
    let backend = backend(options.threads)?.with_device(Some(Arc::clone(device)));
    if let Some(size) = given {
        check_device(&config(size, Regime::Exact, 1.0)?, false, &backend)?;
    }
    let repeat = options.repeat.max(10);
    let mut rows = Vec::new();
    let mut add = |name: String, train_seconds: f64, peak_total_bytes: Option<f64>| {
        message(format_args!("measured: {name}, {:.3} ms", 1e3 * train_seconds));
        rows.push(Measurement { name, train_seconds, peak_total_bytes });
    };
    // A size that does not fit on this GPU leaves the rest of the table.
    let left_out =
        |what: &str, error: &dyn Display| message(format_args!("note: {what} is left out: {error}"));
    let fits = |config: &Config, sizes: &str| {
        check_device(config, false, &backend).inspect_err(|error| left_out(sizes, error)).is_ok()
    };
    let has_torch = has_torch(&arguments.python);
    for &size in given.as_ref().map_or(&EXACT[..], std::slice::from_ref) {
        let (v, n, d, l) = size;
        let sizes = format!("V {v}, N {n}, d {d}, L {l}");
        if !fits(&config(size, Regime::Exact, 1.0)?, &sizes) {
            continue;
        }
        for eta in [1.0, 1000.0] {
            let cell = config(size, Regime::Exact, eta)?;
            let cost = training_cost(&cell, &backend, repeat)?;
            add(format!("superpose, exact, eta {eta}, {sizes}"), cost.seconds, Some(cost.bytes));
            if let count @ 2.. = group_size(&cell, &**device, device.available()?) {
                let name = format!("superpose, exact, eta {eta}, {sizes}, one of {count} together");
                match batch_cost(&seeds(size, Regime::Exact, eta, count)?, &backend, repeat) {
                    Ok(cost) => add(name, cost.seconds / count as f64, Some(cost.bytes)),
                    Err(error) => left_out(&name, &error),
                }
            }
        }
        let cost = training_cost(&config(size, Regime::Infinitesimal, 1.0)?, &backend, repeat)?;
        add(format!("superpose, infinitesimal, {sizes}"), cost.seconds, Some(cost.bytes));
        if has_torch {
            for found in pytorch(arguments, size, &device.word(), &backend, repeat)? {
                add(format!("{}, {sizes}", found.name), found.train_seconds, found.peak_total_bytes);
            }
        }
    }
    if given.is_none() {
        whole_runs(device, options.threads, &backend, &fits, &mut add)?;
    }
    let heading =
        format!("Three steps on {} ({}), f32; the shortest of {repeat}", device.word(), device.numerics());
    print_record(arguments.json, &rows, |rows| table(heading, rows))
}

/// Adds the rows of runs with their evaluation: many cells, and large sizes.
fn whole_runs(
    device: &Arc<dyn Device>,
    threads: usize,
    backend: &Backend,
    fits: &dyn Fn(&Config, &str) -> bool,
    add: &mut dyn FnMut(String, f64, Option<f64>),
) -> anyhow::Result<()> {
    for eta in [1.0, 1000.0] {
        let ((v, n, d, l), cells) = (EXACT[0], |count| seeds(EXACT[0], Regime::Exact, eta, count));
        let batch = device.batch(&config(EXACT[0], Regime::Exact, eta)?);
        let seconds = many(device, threads, &cells(batch)?, &cells(CELLS)?)?;
        let name = format!(
            "superpose, exact, eta {eta}, V {v}, N {n}, d {d}, L {l}, one of {CELLS} cells with evaluation"
        );
        add(name, seconds / CELLS as f64, None);
    }
    let cells = small_cells(SEEDS)?;
    let seconds = many(device, threads, &small_cells(2)?, &cells)?;
    let name = format!("superpose, infinitesimal, one of {} small cells with evaluation", cells.len());
    add(name, seconds / cells.len() as f64, None);
    for size in LARGE {
        let (v, n, d, l) = size;
        let config = config(size, Regime::Infinitesimal, 1.0)?;
        let sizes = format!("V {v}, N {n}, d {d}, L {l}");
        if !fits(&config, &sizes) {
            continue;
        }
        let started = Instant::now();
        measure(&config, false, backend)?;
        let name = format!("superpose, infinitesimal with evaluation, {sizes}");
        add(name, started.elapsed().as_secs_f64(), None);
    }
    Ok(())
}

/// Cells of different sizes, with this many seeds each.
fn small_cells(seeds: u64) -> anyhow::Result<Vec<Config>> {
    let shapes = SMALL.0.iter().flat_map(|&vocab| SMALL.1.map(|dim| (vocab, dim)));
    let cells = shapes.flat_map(|(vocab, dim)| (0..seeds).map(move |seed| (vocab, dim, seed)));
    let cell = |(vocab, dim, seed)| Settings { vocab, dim, seed, ..Settings::default() }.check();
    cells.map(|cell_| Ok(cell(cell_)?)).collect()
}

/// Seconds in which a device runs all cells, after others that start the streams and take memory from the system.
fn many(device: &Arc<dyn Device>, threads: usize, first: &[Config], cells: &[Config]) -> anyhow::Result<f64> {
    let run = |cells: &[Config]| -> anyhow::Result<f64> {
        let started = Instant::now();
        let mut runner = Runner::new(threads).with_device(Some(Arc::clone(device)));
        let outcomes = runner.run(cells, &mut |_| {})?;
        let seconds = started.elapsed().as_secs_f64();
        outcomes.into_iter().find_map(Result::err).map_or(Ok(seconds), |error| Err(error.into()))
    };
    run(first)?;
    run(cells)
}

fn pytorch(
    arguments: &BenchArguments,
    size: Size,
    device: &str,
    backend: &Backend,
    repeat: usize,
) -> anyhow::Result<Vec<Measurement>> {
    let exact = config(size, Regime::Exact, 1.0)?;
    let bytes = |config: &_| memory::run_bytes(config, backend.threads(), true, true);
    if let Err(error) = memory::check(&exact, available_memory(), bytes) {
        message(format_args!("note: PyTorch is left out: {error}"));
        return Ok(Vec::new());
    }
    let methods = [
        ("tuned", "exact", repeat, "PyTorch, exact, hand-tuned"),
        ("autograd", "exact", repeat, "PyTorch, exact, autograd"),
    ];
    torch(arguments, &exact, backend, &methods, ["--device", device])
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        bench: BenchArguments,
    }

    #[test]
    fn sizes_that_are_given_are_measured_alone() {
        let sizes = |line: &str| {
            let Ok(Line { bench }) = Line::try_parse_from(line.split(' ')) else { panic!("{line}") };
            given(&bench.options.read().unwrap(), &bench.options.values)
        };
        assert_eq!(sizes("bench --vocab 64 --dim 16 --repeat 2"), Some((64, 65_536, 16, 64)));
        assert_eq!(sizes("bench --samples 1e3"), Some((1024, 1000, 128, 64)));
        assert_eq!(sizes("bench --repeat 2 --threads 1"), None);
    }
}
