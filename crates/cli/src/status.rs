//! `superpose status`: reports the progress of a sweep from its store, its shards and the queue.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use serde::Serialize;
use superpose_core::backend::Numerics;
use superpose_lab::cell::LANES;
use superpose_lab::store::Store;
use superpose_lab::sweep::{ShareSurvey, Survey};
use superpose_lab::words::grouped;
use superpose_report::cell_count;

use crate::shared::{about, message, plural, print_record, shell};
use crate::slurm::Submitted;
use crate::slurm::queue::{Queue, State};
use crate::slurm::script::array;
use crate::submit::{core_hours, finished_lines, is_written_by_tasks};
use crate::sweep::{Places, read_sweep};

#[derive(Args, Clone, Debug)]
pub struct StatusArguments {
    /// Sweep file, or output folder of submitted command lines or of a submitted study
    #[arg(value_name = "PATH")]
    file: PathBuf,
    #[command(flatten)]
    places: Places,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// The progress of a sweep or of submitted command lines.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct Report {
    /// The sweep, or the output folder.
    file: PathBuf,
    /// The cells of the sweep.
    #[serde(skip_serializing_if = "Option::is_none")]
    cells: Option<Cells>,
    /// The tasks that were submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<Tasks>,
    /// Seconds until the queue is empty, if all its tasks run at once.
    seconds_left: Option<f64>,
    /// What could not be read.
    notes: Vec<String>,
}

impl Report {
    /// Whether cells or tasks are left that no job works on.
    fn has_stopped(&self) -> bool {
        match &self.tasks {
            Some(tasks) => !tasks.stopped.is_empty(),
            None => self.cells.as_ref().is_some_and(|cells| cells.left > 0),
        }
    }
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
struct Cells {
    /// All cells.
    cells: usize,
    /// Cells with an outcome.
    done: usize,
    /// Whether the results that count are those of GPUs.
    gpu: bool,
    /// Cells that were run and failed.
    failed: usize,
    /// Cells not run yet.
    left: usize,
    /// Cells done whose results are in shards only.
    in_shards: usize,
    /// Cells left that belong to running tasks.
    running: usize,
    /// Core-hours that the cells left will take.
    core_hours_left: f64,
}

#[derive(Debug, Default, Serialize, schemars::JsonSchema)]
struct Tasks {
    /// All tasks.
    tasks: usize,
    /// Cores of each task.
    cpus: usize,
    /// Whether each task computes on a GPU.
    gpu: bool,
    /// Numbers of the jobs that were submitted.
    jobs: Vec<String>,
    /// Tasks with nothing left to do.
    complete: usize,
    /// Tasks that run now.
    running: usize,
    /// Tasks in the queue.
    waiting: usize,
    /// Incomplete tasks that are in no queue, with the state in which Slurm reports them, where it is known.
    stopped: Vec<Stopped>,
    /// Incomplete tasks for which the queue gave no answer.
    unknown: usize,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
struct Stopped {
    /// The task's number.
    task: usize,
    /// The final state that Slurm reports.
    state: Option<String>,
}

pub fn status(arguments: &StatusArguments) -> anyhow::Result<()> {
    let report = if arguments.file.is_dir() { of_lines(&arguments.file)? } else { of_sweep(arguments)? };
    print_record(arguments.json, &report, text)?;
    if !arguments.json {
        report.notes.iter().for_each(|note| message(format_args!("note: {note}")));
        if report.has_stopped() {
            message(format_args!("hint: continue with {}", again(arguments, &report)));
        }
    }
    Ok(())
}

/// Returns the command that continues the rest.
fn again(arguments: &StatusArguments, report: &Report) -> String {
    let (file, places) = (shell(&arguments.file), &arguments.places);
    match (&report.cells, &report.tasks) {
        (Some(_), Some(tasks)) => {
            let cpus = if tasks.cpus > 1 { format!(" --cpus {}", tasks.cpus) } else { String::new() };
            let device = if tasks.gpu { " --device cuda" } else { "" };
            format!("superpose submit slurm {file} --tasks {}{cpus}{device}{}", tasks.tasks, places.flags())
        }
        (Some(cells), None) => {
            let path = places.store(&arguments.file);
            let store = shell(&path);
            let device = if cells.gpu { " --device cuda" } else { "" };
            let sweep = format!("superpose sweep {file} --store {store}{device}");
            // A local run reads the store but not the shards.
            match cells.in_shards {
                0 => sweep,
                _ => {
                    let folder = shell(&places.folder(&path));
                    format!("superpose merge {folder} --store {store}, then {sweep}")
                }
            }
        }
        _ => "the same superpose submit slurm".into(),
    }
}

fn of_sweep(arguments: &StatusArguments) -> anyhow::Result<Report> {
    let (sweep, cells) = read_sweep(&arguments.file)?;
    let store = arguments.places.store(&arguments.file);
    let folder = arguments.places.folder(&store);
    let submitted = Submitted::read(&folder)?;
    let shares = submitted.as_ref().map_or(0, |submitted| submitted.tasks);
    let mut opened = open(&store)?;
    let mut survey = |gpu: bool| {
        let counted = |numerics: &Numerics| is_written_by_tasks(gpu, numerics);
        Survey::take(&cells, counted, sweep.noise, false, opened.as_mut(), &folder, shares)
    };
    let (gpu, survey) = match &submitted {
        Some(submitted) => (submitted.gpu, survey(submitted.gpu)?),
        // A sweep that was not submitted continues where more of it was computed.
        None => {
            let [cpu, gpu] = [survey(false)?, survey(true)?];
            if gpu.done > cpu.done { (true, gpu) } else { (false, cpu) }
        }
    };

    let mut notes: Vec<String> = survey.damaged.iter().map(|error| format!("{error}; not counted")).collect();
    if survey.uncounted > 0 {
        let results = plural(survey.uncounted, "result", "results");
        notes.push(format!("{results} in shards from another device or CPU, not counted"));
    }
    notes.extend(survey.foreign.iter().map(|(path, line)| {
        format!("{}, line {line}: not a cell of the present sweep; not counted", path.display())
    }));
    let left = survey.left();
    let (mut running, mut seconds_left) = (0, None);
    let tasks = submitted.map(|submitted| {
        let queue = Queue::ask(&submitted.jobs);
        let incomplete = |task: usize| survey.shares[task - 1].missing > 0;
        let tasks = tasks(&submitted, &queue, incomplete);
        let of = |share: &ShareSurvey| share.seconds * survey.pace / submitted.cpus.max(1) as f64;
        for (&task, state) in &queue.tasks {
            let Some(share) = survey.shares.get(task.wrapping_sub(1)).filter(|_| state.is_active()) else {
                continue;
            };
            running += if *state == State::Running { share.missing } else { 0 };
            seconds_left = Some(of(share).max(seconds_left.unwrap_or(0.0)));
        }
        if !queue.complete && left > 0 {
            seconds_left = survey.shares.iter().map(of).reduce(f64::max);
        }
        if submitted.fingerprint != survey.fingerprint {
            notes.push(
                "the sweep has changed since it was submitted: submit it again for the new cells".into(),
            );
        }
        notes.extend(queue.notes);
        tasks
    });
    if tasks.is_none() && left > 0 {
        let workers = if gpu { LANES } else { std::thread::available_parallelism().map_or(1, usize::from) };
        seconds_left = Some(survey.seconds * survey.pace / workers as f64);
    }
    let cells = Cells {
        cells: survey.cells,
        done: survey.done,
        gpu,
        failed: survey.failed,
        in_shards: survey.in_shards,
        left,
        running: running.min(left),
        core_hours_left: survey.seconds * survey.pace / 3600.0,
    };
    Ok(Report { file: arguments.file.clone(), cells: Some(cells), tasks, seconds_left, notes })
}

/// Opens the store. If another process is writing it, the log that SQLite keeps beside it is read too.
fn open(store: &Path) -> anyhow::Result<Option<Store>> {
    let mut log = store.as_os_str().to_owned();
    log.push("-wal");
    let open = if Path::new(&log).exists() { Store::open_existing } else { Store::peek };
    Ok(store.exists().then(|| open(store)).transpose()?)
}

fn of_lines(folder: &Path) -> anyhow::Result<Report> {
    let submitted = Submitted::read(folder)?.ok_or_else(|| {
        anyhow!("{}: nothing was submitted from this folder; for a sweep give its file", folder.display())
    })?;
    let queue = Queue::ask(&submitted.jobs);
    let tasks = tasks(&submitted, &queue, |task| !finished_lines(folder, task));
    let (file, notes) = (submitted.file, queue.notes);
    Ok(Report { file, cells: None, tasks: Some(tasks), seconds_left: None, notes })
}

fn tasks(submitted: &Submitted, queue: &Queue, incomplete: impl Fn(usize) -> bool) -> Tasks {
    let jobs = submitted.jobs.iter().map(|job| job.id.clone()).collect();
    let &Submitted { tasks, cpus, gpu, .. } = submitted;
    let mut tasks = Tasks { tasks, cpus, gpu, jobs, ..Tasks::default() };
    for task in 1..=submitted.tasks {
        match queue.tasks.get(&task) {
            Some(State::Running) => tasks.running += 1,
            Some(State::Waiting) => tasks.waiting += 1,
            _ if !incomplete(task) => tasks.complete += 1,
            Some(State::Ended(word)) => tasks.stopped.push(Stopped { task, state: Some(word.clone()) }),
            None if !queue.complete => tasks.unknown += 1,
            None => tasks.stopped.push(Stopped { task, state: None }),
        }
    }
    tasks
}

fn text(report: &Report) -> String {
    let mut text = report.file.display().to_string();
    let number = |x: usize| grouped(x as f64);
    if let Some(cells) = &report.cells {
        let [done, failed, left] = [cells.done, cells.failed, cells.left].map(number);
        text += &format!(": {}: {done} done, {failed} failed, {left} left", cell_count(cells.cells));
        if cells.left > 0 {
            text += &format!(" ({})", core_hours(cells.core_hours_left * 3600.0));
        }
    }
    text.push('\n');
    if let Some(tasks) = &report.tasks {
        let (all, jobs) = (plural(tasks.tasks, "task", "tasks"), tasks.jobs.join(", "));
        let states = [tasks.complete, tasks.running, tasks.waiting, tasks.stopped.len()];
        let [complete, running, waiting, stopped] = states.map(number);
        text +=
            &format!("{all}: {complete} complete, {running} running, {waiting} waiting, {stopped} stopped");
        if tasks.unknown > 0 {
            text += &format!(", {} not known", number(tasks.unknown));
        }
        text += &format!(" (job {jobs})\n");
        let mut by_state: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
        for stopped in &tasks.stopped {
            by_state.entry(stopped.state.as_deref()).or_default().push(stopped.task);
        }
        for (state, of) in by_state {
            text += &format!("  {}: {}\n", state.unwrap_or("in no queue"), array(&of));
        }
    }
    if let Some(seconds) = report.seconds_left {
        let how = if report.tasks.is_some() { "if all tasks run at once" } else { "on this machine" };
        text += &format!("{} left {how}\n", about(seconds));
    }
    text
}
