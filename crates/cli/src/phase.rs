//! `superpose phase`: maps accuracy over two sizes, measured along the boundary and interpolated elsewhere, beside the closed form.

use std::path::PathBuf;

use anyhow::{Context, anyhow, bail, ensure};
use clap::Args;
use superpose_core::Measure;
use superpose_lab::phase::{PhaseOptions, Scale, Size, Span};
use superpose_report::diagram as draw;

use crate::arguments::{Count, RunArguments};
use crate::files::{check_writable, write_file};
use crate::interrupt::Interrupt;
use crate::picture::FigureFile;
use crate::progress::spinner;
use crate::shared::{StoreFlag, message, print, range, size};

/// Arguments of `superpose phase`.
#[derive(Args, Clone, Debug)]
pub struct PhaseArguments {
    #[command(flatten)]
    run: RunArguments,

    /// Horizontal axis: samples, dim, width, length, vocab, or parameters (m d, by way of the width)
    #[arg(long, value_name = "SIZE:LOW..HIGH")]
    x: String,
    /// Vertical axis
    #[arg(long, value_name = "SIZE:LOW..HIGH")]
    y: String,
    /// Values on each axis, at most 80
    #[arg(long, value_name = "COUNT", default_value = "40", allow_hyphen_values = true)]
    resolution: Count,
    /// Spacing of both axes, or of each: log, linear, or log,linear
    #[arg(long, value_name = "X[,Y]", default_value = "log")]
    scale: String,
    /// The level of the boundary
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, allow_hyphen_values = true)]
    accuracy: f64,
    /// What is measured: accuracy, memory_accuracy, one_step_accuracy, lock_rate
    #[arg(long, value_name = "NAME", default_value = "accuracy")]
    measure: Measure,
    /// Maximum share of the cells to run; the rest is interpolated
    #[arg(long, value_name = "SHARE", default_value_t = 0.25, allow_hyphen_values = true)]
    most: f64,
    /// Write every cell to this file (CSV)
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw the diagram into this file (.svg or .png)
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    store: StoreFlag,
}

/// Runs the command.
pub fn phase(arguments: PhaseArguments) -> anyhow::Result<()> {
    let run = arguments.run.clone().with_file()?;
    let threads = run.threads()?;
    for name in ["export", "import"] {
        ensure!(!run.gives(name), "{name} is given: phase diagrams take no tensor files");
    }
    let mut settings = run.settings()?;
    if !run.gives("repeats") {
        settings.repeats = 2;
    }
    let (x, y) = spans(&arguments)?;
    let options = PhaseOptions {
        x,
        y,
        resolution: size(arguments.resolution),
        accuracy: arguments.accuracy,
        measure: arguments.measure,
        most: arguments.most,
    };
    let request = options.check(settings)?;
    // An unwritable path is an error now rather than after the runs.
    arguments.csv.as_deref().map(check_writable).transpose().context("csv")?;
    let figure = FigureFile::new(arguments.svg.as_ref())?;

    let interrupt = Interrupt::listen()?;
    let mut runner = arguments.store.runner(threads, interrupt.flag())?;
    let record = spinner(|bar| {
        request.record(threads, &mut runner, |runs| {
            bar.say(format!("{} of at most {} cells", runs / request.repeats, request.max_cells));
        })
    });
    let record = arguments.store.finish(record, &interrupt)?;
    if let Some(path) = &arguments.csv {
        write_file(path, superpose_report::phase_csv(&record).as_bytes()).context("csv")?;
        message(format_args!("wrote {}", path.display()));
    }
    if let Some(figure) = figure {
        let title = format!("{} over {} and {}", record.measure.label(), record.x.size, record.y.size);
        figure.write(&draw(&title, &record.x, &record.y, record.measure.label(), &record.diagram))?;
    }
    // One line of JSON: a map has thousands of cells.
    print(&match run.json {
        true => serde_json::to_string(&record)? + "\n",
        false => superpose_report::phase(&record).text(),
    })
}

/// Parses both axes.
fn spans(arguments: &PhaseArguments) -> anyhow::Result<(Span, Span)> {
    let scales: Vec<&str> = arguments.scale.split(',').collect();
    let scale = |i: usize| -> anyhow::Result<Scale> {
        let text = scales.get(i).or(scales.first()).copied().unwrap_or("log");
        text.parse()
            .map_err(|allowed| anyhow!("scale = {}: {allowed}, or one for each axis", arguments.scale))
    };
    if scales.len() > 2 {
        bail!("scale = {}: must be log or linear, or one for each axis", arguments.scale);
    }
    let span = |name: &str, text: &str, scale: Scale| -> anyhow::Result<Span> {
        let (size, values) = text
            .split_once(':')
            .ok_or_else(|| anyhow!("{name} = {text}: must be SIZE:LOW..HIGH, such as dim:16..256"))?;
        let size: Size = size.parse().map_err(|allowed| anyhow!("{name} = {text}: the size {allowed}"))?;
        let (low, high) = range(name, values)?;
        Ok(Span { size, low, high, scale })
    };
    Ok((span("x", &arguments.x, scale(0)?)?, span("y", &arguments.y, scale(1)?)?))
}
