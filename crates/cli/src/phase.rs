//! `superpose phase`: maps accuracy over two sizes, measured along the boundary and interpolated elsewhere, beside the closed form.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use superpose_lab::phase::{DEFAULT_REPEATS, PhaseOptions};
use superpose_lab::run::Inputs;
use superpose_report::phase_figure;

use crate::arguments::{RunArguments, hide};
use crate::files::{check_writable, write_file};
use crate::interrupt::Interrupt;
use crate::picture::FigureFile;
use crate::progress::spinner;
use crate::setting_flags::SettingFlags;
use crate::shared::{StoreFlag, backend, print};

#[derive(Args, Clone, Debug)]
#[command(mut_args = hide(["export"]), mut_arg("repeats", |flag| flag.help(format!("Number of runs of a cell, with consecutive seeds (default {DEFAULT_REPEATS})"))))]
pub struct PhaseArguments {
    #[command(flatten)]
    run: RunArguments,
    #[command(flatten)]
    options: SettingFlags<PhaseOptions>,
    /// Write every cell to this file (CSV)
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw the diagram into this file (.svg or .png)
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    store: StoreFlag,
}

pub fn phase(arguments: PhaseArguments) -> anyhow::Result<()> {
    let run = arguments.run.clone().with_file()?;
    let threads = run.threads()?;
    run.check_no_export("a phase diagram is many runs; superpose run exports one")?;
    let mut settings = run.settings()?;
    if !run.gives("repeats") {
        settings.repeats = DEFAULT_REPEATS;
    }
    let mut inputs = Inputs::open_with_digest(&mut settings, None, |name| run.gives(name))?;
    inputs.measure(&backend(threads)?)?;
    let request = arguments.options.read()?.check(settings, &inputs)?;
    // An unwritable path is an error now rather than after the runs.
    arguments.csv.as_deref().map(check_writable).transpose().context("csv")?;
    let figure = FigureFile::new(arguments.svg.as_ref())?;

    let interrupt = Interrupt::listen()?;
    let runner = arguments.store.runner(threads, run.device, &interrupt)?;
    let mut runner = runner.with_inputs(inputs.into());
    let record = spinner(|bar| {
        request.record(threads, &mut runner, |runs| {
            bar.say(format!("{} of at most {} cells", runs / request.repeats, request.max_cells));
        })
    });
    let record = arguments.store.finish(record, &interrupt)?;
    // One line of JSON: a map has thousands of cells. What cannot be written does not lose the rest.
    let printed = print(&match run.json {
        true => serde_json::to_string(&record)? + "\n",
        false => superpose_report::phase(&record).text(),
    });
    let table = arguments.csv.as_ref().map_or(Ok(()), |path| {
        write_file(path, superpose_report::phase_csv(&record).as_bytes()).context("csv")
    });
    let drawn = figure.map_or(Ok(()), |figure| figure.write(&phase_figure(&record)));
    printed.and(table).and(drawn)
}
