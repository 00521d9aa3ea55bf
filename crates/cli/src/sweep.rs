//! `superpose sweep`: runs a grid, list or ray of cells, all of them or one share of them.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use superpose_core::config::Config;
use superpose_lab::cell::{CellError, Event, Results, Runner, check_input, deal, estimated_seconds};
use superpose_lab::store::Store;
use superpose_lab::sweep::{Shard, Sweep};
use superpose_lab::words::grouped;
use superpose_report::cell_count;

use crate::arguments::read_text;
use crate::interrupt::Interrupt;
use crate::progress::Work;
use crate::shared::{
    DeviceFlag, Threads, about, available_memory, device_flag, message, plural, print, shell,
};

#[derive(Args, Clone, Debug)]
pub struct SweepArguments {
    /// The sweep: a TOML file with base values, [axes], [[points]] and [rays] (docs/sweeps.md)
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    #[command(flatten)]
    places: Places,
    /// Run shard I of N (3/16: the third of sixteen) and write it to a separate file (default in a Slurm array: from the task number)
    #[arg(long, value_name = "I/N")]
    shard: Option<Share>,
    /// Run cells again that failed before
    #[arg(long)]
    retry_failed: bool,
    /// Show what would be run, and how long it would take
    #[arg(long)]
    dry_run: bool,
    /// Refuse embedding files whose tensors have another BLAKE3 digest, as `submit slurm` records it
    #[arg(long, value_name = "DIGEST")]
    input_digest: Option<String>,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    device: DeviceFlag,
}

/// The flags that say where the results of a sweep are.
#[derive(Args, Clone, Debug)]
pub struct Places {
    /// The sweep's store (default: FILE.sqlite beside the sweep)
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// Folder for shard files (default: the store's name with .shards)
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

impl Places {
    pub fn store(&self, file: &Path) -> PathBuf {
        self.store.clone().unwrap_or_else(|| store_of(file))
    }

    /// Returns the folder of the shards that belong to a store.
    pub fn folder(&self, store: &Path) -> PathBuf {
        self.out.clone().unwrap_or_else(|| shards_of(store))
    }

    /// Returns these flags as a command line, each after a space.
    pub fn flags(&self) -> String {
        let given =
            |(flag, place): (_, &Option<PathBuf>)| Some(format!(" {flag} {}", shell(place.as_ref()?)));
        [("--store", &self.store), ("--out", &self.out)].into_iter().filter_map(given).collect()
    }
}

/// Share i of n, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Share {
    share: usize,
    shares: usize,
}

impl Share {
    fn new(share: usize, shares: usize) -> Result<Share, String> {
        if (1..=1_000_000).contains(&shares) && (1..=shares).contains(&share) {
            return Ok(Share { share, shares });
        }
        Err("must be I/N with I from 1 to N, and N at most 1000000".into())
    }

    /// Returns the share of a task of a Slurm job array; `None` outside of one.
    fn of_slurm() -> anyhow::Result<Option<Share>> {
        let variable = |name: &str| -> anyhow::Result<Option<usize>> {
            match std::env::var(name) {
                Err(_) => Ok(None),
                Ok(text) => {
                    text.parse().map(Some).map_err(|_| anyhow!("{name} = {text}: must be a whole number"))
                }
            }
        };
        let Some(id) = variable("SLURM_ARRAY_TASK_ID")? else { return Ok(None) };
        let Some(count) = variable("SLURM_ARRAY_TASK_COUNT")? else {
            bail!(
                "SLURM_ARRAY_TASK_ID = {id} without SLURM_ARRAY_TASK_COUNT: of how many tasks? Give --shard"
            );
        };
        let first = variable("SLURM_ARRAY_TASK_MIN")?.unwrap_or(1);
        let step = variable("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1).max(1);
        let place =
            |id: usize| id.checked_sub(first).filter(|ahead| ahead % step == 0).map(|ahead| ahead / step + 1);
        // An array with gaps would leave the shares of the missing tasks undone.
        let whole = variable("SLURM_ARRAY_TASK_MAX")?.is_none_or(|last| place(last) == Some(count));
        let share = place(id).filter(|_| whole).and_then(|place| Share::new(place, count).ok());
        share.map(Some).ok_or_else(|| {
            anyhow!("SLURM_ARRAY_TASK_ID = {id} is not one of {count} tasks in a row from {first} on: give --shard")
        })
    }
}

impl FromStr for Share {
    type Err = String;
    fn from_str(text: &str) -> Result<Share, String> {
        let numbers = text.split_once('/').map(|(share, shares)| (share.parse(), shares.parse()));
        match numbers {
            Some((Ok(share), Ok(shares))) => Share::new(share, shares),
            _ => Share::new(0, 0),
        }
    }
}

fn store_of(file: &Path) -> PathBuf {
    file.with_extension("sqlite")
}

/// Returns the default folder of shards beside a store.
pub fn shards_of(store: &Path) -> PathBuf {
    store.with_extension("shards")
}

/// Reads a sweep and its cells; an error names the file.
pub fn read_sweep(file: &Path) -> anyhow::Result<(Sweep, Vec<Config>)> {
    let read = || -> anyhow::Result<(Sweep, Vec<Config>)> {
        let mut sweep = Sweep::read(&read_text(file)?)?;
        sweep.open(None)?;
        let cells = sweep.cells()?;
        Ok((sweep, cells))
    };
    read().with_context(|| file.display().to_string())
}

/// Fails if the tensors that the cells read have another digest than the required one.
fn check_required(required: Option<&str>, cell: Option<&Config>) -> anyhow::Result<()> {
    let (Some(required), Some(cell)) = (required, cell) else { return Ok(()) };
    let Some((parameter, file)) = cell.input_file() else {
        bail!("input_digest = {required}: the sweep reads no embedding file");
    };
    let Some(found) = cell.input_digest.as_deref() else { return Ok(()) };
    Ok(superpose_lab::run::check_digest(parameter, file, Some(required), found)?)
}

pub fn sweep(arguments: &SweepArguments) -> anyhow::Result<()> {
    let file = &arguments.file;
    let (sweep, mut cells) = read_sweep(file)?;
    check_required(arguments.input_digest.as_deref(), cells.first())?;
    let threads = arguments.threads.count()?;
    let store = arguments.places.store(file);
    let share = arguments.shard.map_or_else(Share::of_slurm, |share| Ok(Some(share)))?;
    if arguments.places.out.is_some() && share.is_none() {
        bail!("out is the folder of shards: it needs --shard");
    }

    let device = arguments.device.open()?;
    let again = again(arguments, share, &device_flag(device.as_ref()));
    let gpu = device.is_some();
    let runner = Runner::new(threads)
        .with_noise(sweep.noise)
        .with_retry_failed(arguments.retry_failed)
        .with_memory(available_memory())
        .with_device(device)
        .with_inputs(Arc::clone(&sweep.inputs));
    let place = written(&arguments.places, file, share);
    let runner = match share {
        Some(Share { share, shares }) => {
            let open = if arguments.dry_run { Shard::peek } else { Shard::open };
            let mut shard = open(&place, Some(&store))?;
            if let Some(cell) = cells.first() {
                check_input(&shard.input_files()?, cell)?;
            }
            if shard.has_only_other_cells(&cells) {
                bail!(
                    "{}, line 1: not a cell of this sweep; a shard of another one? Move it away",
                    place.display()
                );
            }
            let seconds: Vec<f64> = cells.iter().map(|cell| estimated_seconds(cell, sweep.noise)).collect();
            let mine = deal(&seconds, shares).swap_remove(share - 1);
            cells = mine.into_iter().map(|cell| cells[cell].clone()).collect();
            runner.with_results(shard)
        }
        None if arguments.dry_run && !store.exists() => runner,
        None => runner.with_results(Store::open(&store)?),
    };
    let title = match share {
        Some(Share { share, shares }) => format!("{}, share {share} of {shares}", file.display()),
        None => file.display().to_string(),
    };
    let (dry, retried) = (arguments.dry_run, arguments.retry_failed);
    let job = Job { title, place, threads, gpu, dry, retried, again };
    let (folder, csv) = (job.place.parent().unwrap_or(Path::new(".")), store.with_extension("csv"));
    let next = match share {
        Some(_) => format!("superpose merge {} --store {}", shell(folder), shell(&store)),
        None => format!("superpose export {} --format csv --out {}", shell(&store), shell(&csv)),
    };
    job.run(runner, &cells, &next)
}

/// Returns the file that a sweep writes: its store, or a shard.
fn written(places: &Places, file: &Path, share: Option<Share>) -> PathBuf {
    let store = places.store(file);
    match share {
        Some(Share { share, shares }) => Shard::path(&places.folder(&store), share, shares),
        None => store,
    }
}

impl SweepArguments {
    /// Returns the file that the sweep writes where no variable of Slurm sets the share.
    pub fn written(&self) -> PathBuf {
        written(&self.places, &self.file, self.shard)
    }
}

/// Returns the command line that continues the sweep.
fn again(arguments: &SweepArguments, share: Option<Share>, device: &str) -> String {
    let shard = share.map_or(String::new(), |Share { share, shares }| format!(" --shard {share}/{shares}"));
    let (file, places, threads) =
        (shell(&arguments.file), arguments.places.flags(), arguments.threads.flag());
    let retry = if arguments.retry_failed { " --retry-failed" } else { "" };
    let digest = arguments.input_digest.as_ref().map(|digest| format!(" --input-digest {digest}"));
    let digest = digest.unwrap_or_default();
    format!("superpose sweep {file}{places}{shard}{threads}{device}{retry}{digest}")
}

/// A sweep that can start.
struct Job {
    title: String,
    place: PathBuf,
    threads: usize,
    /// Whether cells run on a GPU, whose times are not estimated.
    gpu: bool,
    dry: bool,
    /// Whether cells that failed before are run again.
    retried: bool,
    again: String,
}

/// How long to wait for running cells after a signal.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

impl Job {
    fn run(&self, runner: Runner<'_>, cells: &[Config], next: &str) -> anyhow::Result<()> {
        let interrupt = Interrupt::listen()?;
        // A dry run is one that is stopped before it begins.
        let stop_at_once = AtomicBool::new(true);
        let mut runner = runner.with_stop(if self.dry { &stop_at_once } else { interrupt.flag() });
        let work = Work::new();
        let started = Instant::now();
        let (mut total, mut finished, mut before) = (0, 0, 0);
        let mut waiting: Option<Instant> = None;
        let outcomes = runner.run(cells, &mut |event| match event {
            Event::Planned { cells, done, failed, seconds } => {
                (total, before) = (cells, done);
                let line = self.announcement(cells, done, failed, seconds);
                if self.dry {
                    _ = print(&(line + "\n"))
                } else {
                    message(line)
                }
                work.begin(cells - done - failed, seconds);
            }
            Event::Finished { estimated, result, .. } => {
                finished += usize::from(result.is_ok());
                work.advance(estimated);
            }
            Event::Waiting if self.dry => {}
            Event::Waiting => {
                let since = waiting.get_or_insert_with(|| {
                    message("note: stopping; running cells get a few seconds to finish");
                    Instant::now()
                });
                if since.elapsed() > STOP_TIMEOUT {
                    // Every finished cell has been committed, so the unfinished ones can be abandoned.
                    work.finish();
                    message(self.stopped(before + finished, total));
                    std::process::exit(interrupt.code().into());
                }
            }
        });
        work.finish();
        let outcomes = outcomes?;
        if self.dry {
            return Ok(());
        }
        let unfinished = outcomes.iter().any(|outcome| matches!(outcome, Err(CellError::Stopped)));
        if unfinished && interrupt.flag().load(Ordering::Relaxed) {
            return Err(interrupt.stopped(self.stopped(before + finished, total)));
        }
        let seconds = started.elapsed().as_secs_f64();
        print(&superpose_report::sweep(Some(&self.place), total, &outcomes, seconds).text())?;
        let errors = || outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        if !self.retried && errors().any(CellError::is_final) {
            message(format_args!("hint: {} --retry-failed runs failed cells again", self.again));
        }
        let left = errors().filter(|error| !error.is_final()).count();
        if left > 0 {
            bail!(
                "{} not run, for the reasons above; where these do not apply, continue with {}",
                cell_count(left),
                self.again
            );
        }
        message(format_args!("hint: {next}"));
        Ok(())
    }

    /// Returns the line before the first cell: how many cells there are, and how long they take on the CPU.
    fn announcement(&self, cells: usize, done: usize, failed: usize, seconds: f64) -> String {
        let mut line = format!("{}: {}", self.title, cell_count(cells));
        if done > 0 {
            line += &format!(", {} done already", grouped(done as f64));
        }
        if failed > 0 {
            line += &format!(", {} failed before", grouped(failed as f64));
        }
        if cells > done + failed {
            let threads = plural(self.threads, "thread", "threads");
            let time = about(seconds / self.threads as f64);
            let who = if self.gpu { "the CPU would take " } else { "" };
            line += &format!("; {who}{time} on {threads}");
        }
        line
    }

    fn stopped(&self, done: usize, total: usize) -> String {
        let [done, total] = [done, total].map(|cells| grouped(cells as f64));
        let (place, again) = (self.place.display(), &self.again);
        format!("stopped: {done} of {total} cells are done and kept in {place}\nhint: continue with {again}")
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        sweep: SweepArguments,
    }

    #[test]
    fn hint_to_continue_has_the_flags_the_share_of_a_slurm_task_and_the_device() {
        let line = "sweep a.toml --store a.sqlite --threads 4 --retry-failed".split(' ');
        let Ok(Line { sweep }) = Line::try_parse_from(line) else { panic!("arguments") };
        let (share, device) = (Some(Share { share: 2, shares: 3 }), " --device cuda:1");
        let expected =
            "superpose sweep a.toml --store a.sqlite --shard 2/3 --threads 4 --device cuda:1 --retry-failed";
        assert_eq!(again(&sweep, share, device), expected);
    }

    #[test]
    fn announcement_for_a_gpu_says_that_the_time_is_that_of_the_cpu() {
        let job = |gpu| Job {
            title: "a.toml".into(),
            place: "a.sqlite".into(),
            threads: 2,
            gpu,
            dry: true,
            retried: false,
            again: String::new(),
        };
        let line = |gpu, seconds| job(gpu).announcement(6, 1, 0, seconds);
        assert_eq!(line(false, 6720.0), "a.toml: 6 cells, 1 done already; about 56 min on 2 threads");
        assert_eq!(
            line(true, 6720.0),
            "a.toml: 6 cells, 1 done already; the CPU would take about 56 min on 2 threads"
        );
        assert!(line(true, 0.1).ends_with("; the CPU would take less than a second on 2 threads"));
    }
}
