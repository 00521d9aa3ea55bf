//! `superpose submit slurm`: submits a sweep as a job array, or any command lines, or the parts of the study, as one task each.
//!
//! The script is written beside the sweep and the record of the submission beside the shards. Submitting again completes the work:
//! tasks that are complete or still in the queue are left out, and workers skip finished cells.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, anyhow, bail};
use clap::{Args, Subcommand};
use superpose_core::backend::Numerics;
use superpose_cuda::Choice;
use superpose_lab::cell::estimated_seconds;
use superpose_lab::store::Store;
use superpose_lab::sweep::Survey;
use superpose_lab::words::grouped;
use superpose_report::{cell_count, duration};
use superpose_study::Scale;

use crate::arguments::Count;
use crate::files::{create_folder, write_file};
use crate::shared::{message, plural, print, shell};
use crate::slurm::flags::{self, OVERRIDES};
use crate::slurm::queue::{Queue, first_line};
use crate::slurm::script::{absolute, array, script};
use crate::slurm::{Job, SubmissionLock, Submitted};
use crate::sweep::{Places, read_sweep};

mod lines;

pub use lines::finished as finished_lines;

#[derive(Args, Clone, Debug)]
pub struct SubmitArguments {
    #[command(subcommand)]
    to: To,
}

#[derive(Subcommand, Clone, Debug)]
enum To {
    /// Submit a job array to Slurm; resubmitting runs only what is missing (docs/cluster.md).
    Slurm(SlurmArguments),
}

#[derive(Args, Clone, Debug)]
#[command(mut_arg("store", |store| store.help(STORE_HELP)), mut_arg("out", |out| out.help(OUT_HELP)))]
pub struct SlurmArguments {
    /// The sweep (docs/sweeps.md)
    #[arg(value_name = "FILE.toml", required_unless_present_any = ["lines", "reproduce"])]
    file: Option<PathBuf>,
    /// Number of tasks of the job array, one shard each
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, required_unless_present_any = ["lines", "reproduce"])]
    tasks: Option<Count>,
    /// Instead of a sweep: a file with the arguments of one superpose command per line, one task each
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "tasks", "store", "retry_failed", "reproduce"])]
    lines: Option<PathBuf>,
    /// Instead of a sweep: the study at this scale, one task for each of its parts
    #[arg(long, value_name = "SCALE", conflicts_with_all = ["file", "tasks", "store", "retry_failed"])]
    reproduce: Option<Scale>,
    /// Seed of the study
    #[arg(
        long,
        value_name = "SEED",
        default_value = "0",
        requires = "reproduce",
        allow_hyphen_values = true
    )]
    seed: Count,
    /// Partition of the cluster
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// Time limit of a task in Slurm format: 30 (minutes), 4:00:00, 2-12:00
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Cores of a task
    #[arg(long, value_name = "COUNT", default_value = "1", allow_hyphen_values = true)]
    cpus: Count,
    /// Where the tasks of a sweep compute: cpu, or cuda for one GPU each (default: cpu)
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["lines", "reproduce"])]
    device: Option<Choice>,
    #[command(flatten)]
    places: Places,
    /// Run cells again that failed before
    #[arg(long)]
    retry_failed: bool,
    /// Show what would be submitted; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Further flags of sbatch, after --
    #[arg(last = true, value_name = "FLAGS")]
    extra: Vec<String>,
}

const STORE_HELP: &str =
    "The sweep's store, whose cells are not run again (default: FILE.sqlite beside the sweep)";
const OUT_HELP: &str =
    "Output folder (default: FILE.shards, FILE.out for lines, superpose-study for a study)";

impl SlurmArguments {
    /// Whether each task computes on a GPU.
    fn gpu(&self) -> anyhow::Result<bool> {
        match self.device.unwrap_or_default() {
            Choice::Cpu => Ok(false),
            Choice::Cuda(0) => Ok(true),
            device => bail!("device = {device}: must be cpu or cuda, because Slurm gives each task one GPU"),
        }
    }
}

/// Whether the arguments for sbatch request a GPU.
fn requests_gpu(extra: &[String]) -> bool {
    extra.iter().any(|flag| {
        let requests = ["gpu:", "gres=gpu", "gres/gpu"].iter().any(|word| flag.contains(word));
        requests || flag == "gpu" || flag.starts_with("-G") || flag.starts_with("--gpus")
    })
}

/// Whether tasks on GPUs, or on CPUs like this one, write results of this arithmetic.
pub fn is_written_by_tasks(gpu: bool, numerics: &Numerics) -> bool {
    if gpu { numerics.is_gpu() } else { *numerics == Numerics::this_cpu() }
}

/// Maximum number of tasks. Most clusters allow fewer (MaxArraySize, by default 1,001) and report that themselves.
const MAX_TASKS: u64 = 100_000;

pub fn submit(arguments: &SubmitArguments) -> anyhow::Result<()> {
    let To::Slurm(arguments) = &arguments.to;
    flags::check(&arguments.extra)?;
    match (&arguments.file, &arguments.lines, arguments.reproduce) {
        (_, Some(file), _) => lines::submit_file(arguments, file),
        (_, _, Some(scale)) => lines::submit_study(arguments, scale),
        (Some(file), ..) => submit_sweep(arguments, file),
        _ => bail!("give a sweep, --lines or --reproduce"),
    }
}

fn submit_sweep(arguments: &SlurmArguments, file: &Path) -> anyhow::Result<()> {
    let tasks = match arguments.tasks {
        Some(Count(tasks @ 1..=MAX_TASKS)) => tasks as usize,
        Some(Count(tasks)) => bail!("tasks = {tasks}: must be a whole number from 1 to {MAX_TASKS}"),
        None => bail!("tasks is missing: the number of shares"),
    };
    let gpu = arguments.gpu()?;
    let (sweep, cells) = read_sweep(file)?;
    let file = absolute("file", file)?;
    let store = absolute("store", &arguments.places.store(&file))?;
    let folder = absolute("out", &arguments.places.folder(&store))?;

    // Without the log of a process that is writing, like the workers.
    let mut peeked = store.exists().then(|| Store::peek(&store)).transpose()?;
    let survey = Survey::take(
        &cells,
        |numerics| is_written_by_tasks(gpu, numerics),
        sweep.noise,
        arguments.retry_failed,
        peeked.as_mut(),
        &folder,
        tasks,
    )?;
    if let Some(error) = survey.damaged.first() {
        bail!("{error}; its task could not continue: move it away, and its cells will be run again");
    }
    let plan = Plan::new(arguments, &file, &folder, tasks, survey.fingerprint.clone())?;
    if let (true, Some(shard)) = (survey.astray > 0, &survey.astray_in) {
        bail!(
            "{} done in shards that the tasks would not read, such as {}: the sweep or the number of tasks has changed. \
             Merge them first: superpose merge {} --store {}",
            plural(survey.astray, "cell is", "cells are"),
            shard.display(),
            shell(&folder),
            shell(&store)
        );
    }
    let missing: Vec<usize> = (1..=tasks).filter(|&task| survey.shares[task - 1].missing > 0).collect();
    let left: usize = survey.shares.iter().map(|share| share.missing).sum();
    let seconds: Vec<f64> = survey.shares.iter().map(|share| share.seconds * survey.pace).collect();
    let mut line = format!("{}: {}", file.display(), cell_count(survey.cells));
    if left < survey.cells {
        line += &format!(", {} left", grouped(left as f64));
    }
    line += &format!("; {}", core_hours(seconds.iter().sum()));
    if let Some(longest) = seconds.iter().copied().reduce(f64::max).filter(|longest| *longest >= 1.0) {
        line += &format!(", {} a task at most", duration(longest / plan.now.cpus as f64));
    }
    message(line);
    for (path, line) in &survey.foreign {
        message(format_args!(
            "note: {}, line {line}: not a cell of this sweep, and not counted",
            path.display()
        ));
    }
    let longest_cell =
        cells.iter().map(|cell| estimated_seconds(cell, sweep.noise)).fold(0.0, f64::max) * survey.pace;
    warn_if_short(arguments.time.as_deref(), longest_cell);

    let title = format!("{} in {}", file.display(), plural(tasks, "share", "shares"));
    let retry = if arguments.retry_failed { " --retry-failed" } else { "" };
    let (program, store, out) = (shell(&program()?), shell(&store), shell(&folder));
    // A worker refuses embedding files that have changed since.
    let digest = cells.first().and_then(|cell| cell.input_digest.as_ref());
    let digest = digest.map(|digest| format!(" --input-digest {digest}")).unwrap_or_default();
    let device = if gpu { " --device cuda" } else { "" };
    let (sweep, cpus) = (shell(&file), plan.now.cpus);
    let body = format!(
        "exec {program} sweep {sweep} \\\n  --store {store} --out {out} \\\n  --shard \"$SLURM_ARRAY_TASK_ID/{tasks}\" --threads {cpus}{retry}{digest}{device}\n"
    );
    let log = format!("{}/%a-of-{tasks}.log", folder.display());
    let place = file.with_extension("slurm.sh");
    let given = shell(arguments.file.as_deref().unwrap_or(&file));
    let status = format!("superpose status {given}{}", arguments.places.flags());
    let task = Task { title: &title, log: &log, body: &body, place: &place, status: &status };
    plan.send(arguments, &task, &missing)
}

/// Warns if a task would be stopped before its longest cell is done. Slurm signals the worker a minute before the limit, and may
/// be half a minute early.
fn warn_if_short(time: Option<&str>, longest_cell: f64) {
    const AHEAD: f64 = 90.0;
    let Some(limit) = time.and_then(flags::seconds) else { return };
    if limit - AHEAD < longest_cell.max(30.0) {
        message(format_args!(
            "note: time = {}: a task must stop up to {AHEAD} s before its limit, and the longest cell takes about {}; it may never finish",
            time.unwrap_or_default(),
            duration(longest_cell)
        ));
    }
}

/// Returns seconds of one core as core-hours, in words.
pub fn core_hours(seconds: f64) -> String {
    match seconds / 3600.0 {
        hours if hours < 0.01 => "less than 0.01 core-hours".into(),
        hours if hours < 10.0 => format!("about {hours:.2} core-hours"),
        hours => format!("about {} core-hours", grouped(hours.round())),
    }
}

fn program() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    absolute("program", &program)
}

/// A submission, beside the previous one from the same folder.
struct Plan {
    folder: PathBuf,
    before: Option<Submitted>,
    now: Submitted,
    queue: Queue,
}

/// The script of the tasks.
struct Task<'a> {
    title: &'a str,
    log: &'a str,
    body: &'a str,
    place: &'a Path,
    status: &'a str,
}

impl Plan {
    /// Reads what was submitted before and fails if its tasks might still run: two workers must never write one shard.
    fn new(
        arguments: &SlurmArguments,
        file: &Path,
        folder: &Path,
        tasks: usize,
        fingerprint: String,
    ) -> anyhow::Result<Plan> {
        let cpus = match arguments.cpus {
            Count(cpus @ 1..=1024) => cpus as usize,
            Count(cpus) => bail!("cpus = {cpus}: must be a whole number from 1 to 1024"),
        };
        let before = Submitted::read(folder)?;
        let queue = before.as_ref().map_or_else(Queue::default, |before| Queue::ask(&before.jobs));
        if let (Some(before), false) = (&before, queue.complete) {
            bail!(
                "{}. A task that still runs{} must not be submitted twice; if none does, remove {}",
                queue.notes.last().map_or("squeue gave no answer", String::as_str),
                of_jobs(&before.jobs),
                Submitted::path(folder).display()
            );
        }
        let gpu = arguments.gpu()?;
        let now = Submitted { file: file.into(), tasks, fingerprint, cpus, gpu, jobs: Vec::new() };
        let plan = Plan { folder: folder.into(), before, now, queue };
        let active = plan.queue.tasks.values().filter(|state| state.is_active()).count();
        if let Some(before) = plan.before.as_ref().filter(|_| active > 0 && !plan.continues()) {
            let (queued, jobs) = (plural(active, "task is", "tasks are"), of_jobs(&before.jobs));
            let (tasks, file) = (plural(before.tasks, "task", "tasks"), file.display());
            bail!(
                "{queued} still in the queue{jobs}, submitted with {tasks} from an earlier version of {file}. Wait for it, or scancel it"
            );
        }
        Ok(plan)
    }

    /// Whether the shares are those of the previous submission.
    fn continues(&self) -> bool {
        self.before.as_ref().is_some_and(|before| {
            (before.tasks, &before.fingerprint, before.gpu)
                == (self.now.tasks, &self.now.fingerprint, self.now.gpu)
        })
    }

    /// Writes the script and submits the missing tasks that are not in the queue.
    fn send(mut self, arguments: &SlurmArguments, task: &Task<'_>, missing: &[usize]) -> anyhow::Result<()> {
        let active = |task: &usize| self.queue.tasks.get(task).is_some_and(|state| state.is_active());
        let tasks: Vec<usize> = missing.iter().copied().filter(|task| !active(task)).collect();
        let total = self.now.tasks;
        if tasks.is_empty() {
            return print(&match missing.len() {
                0 => "Nothing is missing: nothing to submit.\n".to_string(),
                queued => format!(
                    "{} in the queue already: nothing to submit.\n",
                    plural(queued, "task is", "tasks are")
                ),
            });
        }
        let array = array(&tasks);
        let name = format!("superpose {}", self.now.file.file_name().unwrap_or_default().to_string_lossy());
        let cpus = self.now.cpus.to_string();
        let flags = [
            ("job-name", Some(name.as_str())),
            ("array", Some(array.as_str())),
            ("output", Some(task.log)),
            ("cpus-per-task", Some(cpus.as_str())),
            ("gres", (self.now.gpu && !requests_gpu(&arguments.extra)).then_some("gpu:1")),
            ("partition", arguments.partition.as_deref()),
            ("time", arguments.time.as_deref()),
        ];
        let text = script(task.title, &flags, &arguments.extra, task.body)?;
        if arguments.dry_run {
            return print(&text);
        }
        create_folder(&self.folder)?;
        write_file(task.place, text.as_bytes())?;
        let lock = SubmissionLock::take(&self.folder)?;
        // Another process may have submitted after this one read the queue and before it took the lock.
        if self.before.as_ref().map(|before| before.jobs.len())
            != Submitted::read(&self.folder)?.as_ref().map(|now| now.jobs.len())
        {
            lock.release()?;
            bail!("another process has just submitted from {}: try again", self.folder.display());
        }
        let job = sbatch(task.place, &array).or_else(|error| lock.release().and(Err(error)))?;
        let id = job.id.clone();
        if self.continues() {
            self.now.jobs = self.before.take().map(|before| before.jobs).unwrap_or_default();
        }
        self.now.jobs.push(job);
        self.now
            .write(&self.folder)
            .with_context(|| format!("job {id} was submitted, but cannot be recorded; scancel {id}"))?;
        lock.release()?;
        let tasks = plural(tasks.len(), "task", "tasks");
        let (script, folder) = (task.place.display(), self.folder.display());
        print(&format!("Job {id}: {tasks} of {total}, {array}; script {script}, results in {folder}\n"))?;
        message(format_args!("hint: {}", task.status));
        Ok(())
    }
}

fn sbatch(script: &Path, array: &str) -> anyhow::Result<Job> {
    let mut sbatch = Command::new("sbatch");
    for name in OVERRIDES {
        sbatch.env_remove(name);
    }
    let output = sbatch.arg("--parsable").arg(script).output().map_err(|error| {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => "it is not on this machine".into(),
            _ => error.to_string(),
        };
        anyhow!(
            "sbatch cannot be started: {why}. The script is {}; on the cluster: sbatch {}",
            script.display(),
            shell(script)
        )
    })?;
    if !output.status.success() {
        bail!("sbatch refused: {}. The script is {}", first_line(&output.stderr), script.display());
    }
    let answer = String::from_utf8_lossy(&output.stdout);
    Job::parse(&answer, array).ok_or_else(|| anyhow!("sbatch gave no job number but {:?}", answer.trim()))
}

/// ` (job 12, job 13)`
fn of_jobs(jobs: &[Job]) -> String {
    let ids: Vec<String> = jobs.iter().map(|job| format!("job {}", job.id)).collect();
    format!(" ({})", ids.join(", "))
}
