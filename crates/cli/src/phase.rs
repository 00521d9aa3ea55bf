//! `superpose phase`: accuracy over two sizes, measured along the boundary and filled in elsewhere, beside the closed form.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail, ensure};
use clap::Args;
use superpose_figure::Theme;
use superpose_lab::cell::CellError;
use superpose_lab::phase::{PhaseOptions, Scale, Size, Span};
use superpose_lab::threshold::{Measure, SearchError};
use superpose_report::diagram as draw;

use crate::arguments::{Count, RunArguments};
use crate::files::{can_be_written, whole_file};
use crate::interrupt::Interrupt;
use crate::picture::Target;
use crate::progress::Spinner;
use crate::run::print;
use crate::threshold::{range, runner, stopped};

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
    /// Share of the cells to run at most; the rest is filled in
    #[arg(long, value_name = "SHARE", default_value_t = 0.25, allow_hyphen_values = true)]
    most: f64,
    /// Write every cell to this file (CSV)
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw the diagram into this file (.svg or .png)
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Keep results in this file (SQLite) and take known ones from it
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

/// Runs the command.
pub fn phase(arguments: PhaseArguments) -> anyhow::Result<ExitCode> {
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
        resolution: usize::try_from(arguments.resolution.0).unwrap_or(usize::MAX),
        accuracy: arguments.accuracy,
        measure: arguments.measure,
        most: arguments.most,
    };
    let request = options.check(settings)?;
    // What cannot be written is found now rather than after the runs.
    let picture = arguments.svg.as_deref().map(|path| Target::new("svg", path)).transpose()?;
    if let Some(path) = &arguments.csv {
        can_be_written(path).context("csv")?;
    }
    if let Some(picture) = &picture {
        picture.check().context("svg")?;
    }

    let interrupt = Interrupt::listen()?;
    let mut runner = runner(threads, arguments.store.as_deref(), interrupt.flag())?;
    let spinner = Spinner::new();
    let record = request.record(threads, &mut runner, |runs| {
        spinner.say(&format!("{} of at most {} cells", runs / request.repeats, request.most));
    });
    spinner.finish();
    let record = match record {
        Err(SearchError::Cell { error: CellError::Stopped, .. }) => {
            return Ok(stopped(&interrupt, arguments.store.as_deref()));
        }
        record => record?,
    };
    if let Some(path) = &arguments.csv {
        whole_file(path, superpose_report::phase_csv(&record).as_bytes()).context("csv")?;
        let _ = writeln!(std::io::stderr(), "wrote {}", path.display());
    }
    if let Some(picture) = picture {
        let title = format!("{} over {} and {}", record.measure.label(), record.x.size, record.y.size);
        let figure = draw(&title, &record.x, &record.y, record.measure.label(), &record.diagram);
        picture.write(&figure, Theme::Light)?;
    }
    match run.json {
        true => print(&(serde_json::to_string(&record)? + "\n")),
        false => print(&superpose_report::phase(&record).text()),
    }?;
    Ok(ExitCode::SUCCESS)
}

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
