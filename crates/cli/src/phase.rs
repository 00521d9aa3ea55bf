//! `superpose phase`: accuracy over two sizes, measured along the boundary and filled in elsewhere, beside the closed form.

use std::fmt::Write;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, anyhow, bail, ensure};
use clap::Args;
use serde::Serialize;
use superpose_core::config::{Config, Settings};
use superpose_figure::Theme;
use superpose_lab::cell::{CellError, check as check_cell};
use superpose_lab::phase::{Axis, Diagram, Request, Scale, Size, TOLERANCE};
use superpose_lab::threshold::{Measure, SearchError, shares};
use superpose_report::diagram as draw;
use superpose_theory::critical::Parameter;
use superpose_theory::predict::{Dominant, Part};

use crate::arguments::{Count, RunArguments};
use crate::files::{can_be_written, whole_file};
use crate::interrupt::Interrupt;
use crate::picture::Target;
use crate::progress::Spinner;
use crate::run::print;
use crate::text::grouped;
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

#[derive(Serialize)]
struct Report<'a> {
    x: &'a Axis,
    y: &'a Axis,
    measure: Measure,
    accuracy: f64,
    repeats: usize,
    #[serde(flatten)]
    diagram: &'a Diagram,
    runs: usize,
    seconds: f64,
    config: &'a Settings,
    version: &'static str,
}

/// Runs the command.
pub fn phase(arguments: PhaseArguments) -> anyhow::Result<ExitCode> {
    let run = arguments.run.clone().with_file()?;
    let threads = run.threads()?;
    for name in ["export", "import"] {
        ensure!(!run.gives(name), "{name} is given: phase diagrams take no tensor files");
    }
    let mut settings = run.settings()?;
    let repeats = if run.gives("repeats") { settings.repeats } else { 2 };
    let (x, y) = axes(&arguments)?;
    let sizes = [x.size, y.size];
    ensure!(x.size != y.size, "x and y are both {}: must be two sizes", x.size);
    let has = |size| sizes.contains(&size);
    let wide = has(Size::Parameters) || has(Size::One(Parameter::Width));
    ensure!(
        !has(Size::Parameters) || !has(Size::One(Parameter::Width)),
        "x and y are width and parameters: parameters are width times dim"
    );
    ensure!(
        !has(Size::Parameters) || !has(Size::One(Parameter::Dim)),
        "x and y are dim and parameters: parameters are counted at a fixed dim; use width and dim"
    );
    if wide && settings.width.is_none() {
        settings.width = Some(1);
    }
    let level = arguments.accuracy;
    ensure!(level > 0.0 && level < 1.0, "accuracy = {level}: must be above 0 and below 1");
    let most = arguments.most;
    ensure!(most > 0.0 && most <= 1.0, "most = {most}: must be above 0 and at most 1");
    // The first corner stands for the sizes that vary: the configuration must be right in all else.
    for axis in [&x, &y] {
        if let Size::One(parameter) = axis.size {
            superpose_lab::threshold::set(&mut settings, parameter, axis.ends()[1] as usize);
        }
    }
    settings.repeats = repeats;
    let config = settings.check()?;
    check_cell(&config.repeat(0))?;
    let (x, y) = (x.at_dim(config.dim), y.at_dim(config.dim));
    let cells = x.values().len() * y.values().len();
    let request = Request {
        config: config.clone(),
        measure: arguments.measure,
        level,
        repeats,
        most: ((most * cells as f64).floor() as usize).max(4),
        tolerance: TOLERANCE,
        trust: true,
        x,
        y,
    };
    request.check()?;
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
    let started = Instant::now();
    let mut runs = 0;
    let diagram = request.map(threads, |batch: &[Config]| {
        let found = shares(&mut runner, batch, arguments.measure, &mut |_| {
            spinner.say(&format!("{} of at most {} cells", runs / repeats, request.most));
        });
        runs += batch.len();
        found
    });
    spinner.finish();
    let diagram = match diagram {
        Err(SearchError::Cell { error: CellError::Stopped, .. }) => {
            return Ok(stopped(&interrupt, arguments.store.as_deref()));
        }
        diagram => diagram?,
    };
    if let Some(path) = &arguments.csv {
        whole_file(path, csv(&request, &diagram).as_bytes()).context("csv")?;
        let _ = writeln!(std::io::stderr(), "wrote {}", path.display());
    }
    if let Some(picture) = picture {
        let title = format!("{} over {} and {}", request.measure.label(), request.x.size, request.y.size);
        let figure = draw(&title, &request.x, &request.y, request.measure.label(), &diagram);
        picture.write(&figure, Theme::Light)?;
    }
    let report = Report {
        x: &request.x,
        y: &request.y,
        measure: request.measure,
        accuracy: level,
        repeats,
        diagram: &diagram,
        runs,
        seconds: started.elapsed().as_secs_f64(),
        config: &config,
        version: env!("CARGO_PKG_VERSION"),
    };
    match run.json {
        true => print(&(serde_json::to_string(&report)? + "\n")),
        false => print(&text(&report)),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn axes(arguments: &PhaseArguments) -> anyhow::Result<(Axis, Axis)> {
    let scales: Vec<&str> = arguments.scale.split(',').collect();
    let scale = |i: usize| -> anyhow::Result<Scale> {
        let text = scales.get(i).or(scales.first()).copied().unwrap_or("log");
        text.parse()
            .map_err(|allowed| anyhow!("scale = {}: {allowed}, or one for each axis", arguments.scale))
    };
    if scales.len() > 2 {
        bail!("scale = {}: must be log or linear, or one for each axis", arguments.scale);
    }
    let count = usize::try_from(arguments.resolution.0).unwrap_or(usize::MAX);
    let axis = |name: &str, text: &str, scale: Scale| -> anyhow::Result<Axis> {
        let (size, values) = text
            .split_once(':')
            .ok_or_else(|| anyhow!("{name} = {text}: must be SIZE:LOW..HIGH, such as dim:16..256"))?;
        let size: Size = size.parse().map_err(|allowed| anyhow!("{name} = {text}: the size {allowed}"))?;
        let (low, high) = range(name, values)?;
        Axis::new(size, scale, low, high, count).with_context(|| format!("{name} = {text}"))
    };
    Ok((axis("x", &arguments.x, scale(0)?)?, axis("y", &arguments.y, scale(1)?)?))
}

/// Every cell as a line.
fn csv(request: &Request, diagram: &Diagram) -> String {
    let mut text =
        format!("{},{},{},measured,predicted,part,term\n", request.x.size, request.y.size, request.measure);
    for cell in &diagram.cells {
        let predicted = cell.predicted.map_or(String::new(), |p| format!("{p:.6}"));
        let (part, term) = cell.dominant.map_or((String::new(), ""), |dominant| {
            (format!("{:?}", dominant.part).to_lowercase(), dominant.term.word())
        });
        let measured = u8::from(cell.measured);
        let _ =
            writeln!(text, "{},{},{:.6},{measured},{predicted},{part},{term}", cell.x, cell.y, cell.value);
    }
    text
}

/// A small map, the shares of what limits recall, and what it took.
fn text(report: &Report<'_>) -> String {
    const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];
    let diagram = report.diagram;
    let (columns, rows) = (diagram.columns.len(), diagram.rows.len());
    let (x, y) = (report.x, report.y);
    let mut text = format!(
        "{} over {} {} and {} {}, boundary at {}\n\n",
        capital(report.measure.label()),
        x.size,
        x.size.symbol(),
        y.size,
        y.size.symbol(),
        report.accuracy
    );
    let _ = writeln!(text, "{:>12}", grouped(diagram.rows[rows - 1] as f64));
    for r in (0..rows).rev().step_by(2) {
        let line: String = (0..columns)
            .map(|c| SHADES[((diagram.cells[r * columns + c].value * 5.0) as usize).min(4)])
            .collect();
        let _ = writeln!(text, "{:>12} {line}", "");
    }
    let ends = [diagram.columns[0], diagram.columns[columns - 1]].map(|value| grouped(value as f64));
    let _ = writeln!(
        text,
        "{:>12} {} to {} {}",
        grouped(diagram.rows[0] as f64),
        ends[0],
        ends[1],
        x.size.symbol()
    );
    let _ = writeln!(text, "{:>12} · below 0.2  ░ 0.2  ▒ 0.4  ▓ 0.6  █ from 0.8\n", "");
    let shares = diagram.shares(report.accuracy);
    if !shares.is_empty() {
        let name = |dominant: &Dominant| {
            let part = match dominant.part {
                Part::Memory => "memory",
                Part::Attention => "attention",
            };
            format!("{part}: {}", dominant.term.word().replace('_', " "))
        };
        let list: Vec<String> = shares
            .iter()
            .map(|(dominant, share)| format!("{} {:.0}%", name(dominant), 100.0 * share))
            .collect();
        let _ = writeln!(text, "Below the boundary the theory blames: {}.", list.join(", "));
    }
    if diagram.predicted_boundary.is_empty() {
        let _ = writeln!(text, "No predicted boundary here.");
    }
    let _ = writeln!(
        text,
        "{} of {} cells run, {} each, the rest filled in; {} runs in {:.1} s.",
        diagram.measured,
        diagram.cells.len(),
        if report.repeats == 1 { "1 seed".into() } else { format!("{} seeds", report.repeats) },
        report.runs,
        report.seconds
    );
    text
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
