//! `superpose status`: where a sweep stands, from its store, its shards and the queue.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use serde::Serialize;
use superpose_lab::store::Store;
use superpose_lab::sweep::{ShareSurvey, Survey};
use superpose_lab::words::grouped;
use superpose_report::{cell_count, duration};

use crate::run::print;
use crate::slurm::Submitted;
use crate::slurm::queue::{Queue, State};
use crate::slurm::script::array;
use crate::submit::{core_hours, finished_lines};
use crate::sweep::{read_sweep, shards_of, shell, store_of};

/// Arguments of `superpose status`.
#[derive(Args, Clone, Debug)]
pub struct StatusArguments {
    /// The sweep; or the folder of outputs of command lines or of a study that were submitted
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// The sweep's store (default: FILE.sqlite beside the sweep)
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Folder of the shards (default: FILE.shards beside the store)
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Where it stands.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct Report {
    /// The sweep, or the folder of outputs.
    file: PathBuf,
    /// The cells of the sweep.
    #[serde(skip_serializing_if = "Option::is_none")]
    cells: Option<Cells>,
    /// The tasks that were submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<Tasks>,
    /// Seconds until the queue is empty, if all its tasks run at once.
    seconds_left: Option<f64>,
    /// What could not be found out or read.
    notes: Vec<String>,
}

impl Report {
    /// Whether something is left that nobody works on.
    fn has_stopped(&self) -> bool {
        match &self.tasks {
            Some(tasks) => !tasks.stopped.is_empty(),
            None => self.cells.as_ref().is_some_and(|cells| cells.left > 0),
        }
    }
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
struct Cells {
    /// All of them.
    cells: usize,
    /// Run, with an outcome.
    done: usize,
    /// Run, without one.
    failed: usize,
    /// Not run yet.
    left: usize,
    /// Of those done, how many only shards have.
    in_shards: usize,
    /// Of those left, how many belong to tasks that run.
    running: usize,
    /// Time of one core that those left will take.
    core_hours_left: f64,
}

#[derive(Debug, Default, Serialize, schemars::JsonSchema)]
struct Tasks {
    /// All of them.
    tasks: usize,
    /// Numbers of the jobs that were submitted.
    jobs: Vec<String>,
    /// With nothing left to do.
    complete: usize,
    /// Running now.
    running: usize,
    /// In the queue.
    waiting: usize,
    /// Incomplete and in no queue, with Slurm's word for how they ended where it is known.
    stopped: Vec<Stopped>,
    /// Incomplete, and the queue gave no answer.
    unknown: usize,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
struct Stopped {
    /// The task's number.
    task: usize,
    /// Slurm's word for how it ended.
    state: Option<String>,
}

/// Runs the command.
pub fn status(arguments: &StatusArguments) -> anyhow::Result<()> {
    let report = if arguments.file.is_dir() { of_lines(&arguments.file)? } else { of_sweep(arguments)? };
    match arguments.json {
        true => print(&(serde_json::to_string_pretty(&report)? + "\n")),
        false => {
            print(&text(&report))?;
            let mut out = std::io::stderr();
            for note in &report.notes {
                let _ = writeln!(out, "note: {note}");
            }
            if report.has_stopped() {
                let _ = writeln!(out, "hint: {} goes on", again(arguments, &report));
            }
            Ok(())
        }
    }
}

/// The words that continue what has stopped.
fn again(arguments: &StatusArguments, report: &Report) -> String {
    let places: String = [("--store", &arguments.store), ("--out", &arguments.out)]
        .into_iter()
        .filter_map(|(flag, place)| Some(format!(" {flag} {}", shell(place.as_ref()?))))
        .collect();
    match (&report.cells, &report.tasks) {
        (Some(_), Some(tasks)) => {
            format!("superpose submit slurm {} --tasks {}{places}", shell(&arguments.file), tasks.tasks)
        }
        (Some(cells), None) => {
            let store = arguments.store.clone().unwrap_or_else(|| store_of(&arguments.file));
            let sweep = format!("superpose sweep {} --store {}", shell(&arguments.file), shell(&store));
            // A local run looks into the store only.
            match cells.in_shards {
                0 => sweep,
                _ => {
                    let folder = arguments.out.clone().unwrap_or_else(|| shards_of(&store));
                    format!("superpose merge {} --store {}, then {sweep},", shell(&folder), shell(&store))
                }
            }
        }
        _ => "the same superpose submit slurm".into(),
    }
}

fn of_sweep(arguments: &StatusArguments) -> anyhow::Result<Report> {
    let (sweep, cells) = read_sweep(&arguments.file)?;
    let store = arguments.store.clone().unwrap_or_else(|| store_of(&arguments.file));
    let folder = arguments.out.clone().unwrap_or_else(|| shards_of(&store));
    let submitted = Submitted::read(&folder)?;
    let shares = submitted.as_ref().map_or(0, |submitted| submitted.tasks);
    let mut opened = open(&store)?;
    let survey = Survey::take(&cells, sweep.noise(), false, opened.as_mut(), &folder, shares)?;

    let mut notes: Vec<String> = survey.damaged.iter().map(|error| format!("{error}; not counted")).collect();
    notes.extend(survey.foreign.iter().map(|(path, line)| {
        format!("{}, line {line}: not a cell of this sweep as it is; not counted", path.display())
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
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        seconds_left = Some(survey.seconds * survey.pace / threads as f64);
    }
    let cells = Cells {
        cells: survey.cells,
        done: survey.done,
        failed: survey.failed,
        in_shards: survey.in_shards,
        left,
        running: running.min(left),
        core_hours_left: survey.seconds * survey.pace / 3600.0,
    };
    Ok(Report { file: arguments.file.clone(), cells: Some(cells), tasks, seconds_left, notes })
}

/// The store to look into. One that is being written on this machine is joined, so that nothing is missed.
fn open(store: &Path) -> anyhow::Result<Option<Store>> {
    let mut log = store.as_os_str().to_owned();
    log.push("-wal");
    Ok(match (store.exists(), Path::new(&log).exists()) {
        (false, _) => None,
        (true, true) => Some(Store::open_existing(store)?),
        (true, false) => Some(Store::peek(store)?),
    })
}

fn of_lines(folder: &Path) -> anyhow::Result<Report> {
    let submitted = Submitted::read(folder)?.ok_or_else(|| {
        anyhow!("{}: nothing was submitted from this folder; for a sweep give its file", folder.display())
    })?;
    let queue = Queue::ask(&submitted.jobs);
    let tasks = tasks(&submitted, &queue, |task| !finished_lines(folder, task));
    Ok(Report {
        file: submitted.file,
        cells: None,
        tasks: Some(tasks),
        seconds_left: None,
        notes: queue.notes,
    })
}

fn tasks(submitted: &Submitted, queue: &Queue, incomplete: impl Fn(usize) -> bool) -> Tasks {
    let jobs = submitted.jobs.iter().map(|job| job.id.clone()).collect();
    let mut tasks = Tasks { tasks: submitted.tasks, jobs, ..Tasks::default() };
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
    let mut text = String::new();
    let number = |x: usize| grouped(x as f64);
    let _ = match &report.cells {
        Some(cells) => writeln!(
            text,
            "{}: {}: {} done, {} failed, {} left{}",
            report.file.display(),
            cell_count(cells.cells),
            number(cells.done),
            number(cells.failed),
            number(cells.left),
            match cells.left {
                0 => String::new(),
                _ => format!(" ({})", core_hours(cells.core_hours_left * 3600.0)),
            }
        ),
        None => writeln!(text, "{}", report.file.display()),
    };
    if let Some(tasks) = &report.tasks {
        let _ = writeln!(
            text,
            "{} {}: {} complete, {} running, {} waiting, {} stopped{} (job {})",
            number(tasks.tasks),
            if tasks.tasks == 1 { "task" } else { "tasks" },
            number(tasks.complete),
            number(tasks.running),
            number(tasks.waiting),
            number(tasks.stopped.len()),
            if tasks.unknown > 0 { format!(", {} not known", number(tasks.unknown)) } else { String::new() },
            tasks.jobs.join(", ")
        );
        let mut words: Vec<Option<&String>> =
            tasks.stopped.iter().map(|stopped| stopped.state.as_ref()).collect();
        words.sort_unstable();
        words.dedup();
        for word in words {
            let of: Vec<usize> = tasks
                .stopped
                .iter()
                .filter(|stopped| stopped.state.as_ref() == word)
                .map(|stopped| stopped.task)
                .collect();
            let _ = writeln!(text, "  {}: {}", word.map_or("in no queue", String::as_str), array(&of));
        }
    }
    if let Some(seconds) = report.seconds_left {
        let about =
            if seconds < 1.0 { "less than a second".into() } else { format!("about {}", duration(seconds)) };
        let how = if report.tasks.is_some() { "if all tasks run at once" } else { "on this machine" };
        let _ = writeln!(text, "{about} left {how}");
    }
    text
}
