//! `superpose reproduce`: the whole study into one folder, with a report to open.
//!
//! The folder holds the store, `study.json` with every result, `report.html`, figures, tables as CSV and `manifest.json`. Runs
//! that the store has are not repeated, so an interrupted study goes on where it was.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use superpose_core::backend::Backend;
use superpose_figure::Theme;
use superpose_lab::cell::{Event, NUMERICS_REVISION, Runner};
use superpose_lab::store::Store;
use superpose_lab::study::{Part, Results, Scale, Study, StudyError};
use superpose_report::{Facts, Section, duration, page, sections};

use crate::arguments::{Count, threads};
use crate::files::whole_file;
use crate::interrupt::Interrupt;
use crate::progress::Spinner;
use crate::run::{available_memory, print};
use crate::sweep::shell;

/// Arguments of `superpose reproduce`.
#[derive(Args, Clone, Debug)]
pub struct ReproduceArguments {
    /// How far to go: quick, standard or full
    #[arg(long, value_name = "SCALE", default_value = "quick")]
    scale: Scale,
    /// One part only: scaling, sizes, orthogonal, phase, bound, attention, training or anchors; may be given several times
    #[arg(long, value_name = "PART")]
    only: Vec<Part>,
    /// Folder for everything
    #[arg(long, value_name = "FOLDER", default_value = "superpose-study")]
    out: PathBuf,
    /// Seed of everything random
    #[arg(long, value_name = "SEED", default_value = "0", allow_hyphen_values = true)]
    seed: Count,
    /// Run nothing: bring the parts in this folder, each in a folder of its own, into one study there
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["scale", "only", "out", "seed"])]
    gather: Option<PathBuf>,
    /// Threads (default: all cores); results do not depend on it
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    threads: Option<Count>,
}

/// How a folder was made.
#[derive(Clone, Serialize, Deserialize)]
struct Manifest {
    version: String,
    numerics_revision: u32,
    scale: Scale,
    seed: u64,
    command: String,
    machine: Machine,
    /// Seconds by part, all times that it was run together.
    seconds: BTreeMap<Part, f64>,
    /// Cells that were run, not taken from the store, by part.
    runs: BTreeMap<Part, usize>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Machine {
    processor: String,
    cores: usize,
    system: String,
}

impl Machine {
    fn this() -> Machine {
        let mut system = sysinfo::System::new();
        system.refresh_cpu_all();
        let processor = system.cpus().first().map(|cpu| cpu.brand().trim().to_owned()).unwrap_or_default();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let system = sysinfo::System::long_os_version().unwrap_or_else(|| std::env::consts::OS.into());
        Machine { processor, cores, system }
    }
}

/// The largest seed: findings have seeds far apart.
const MOST_SEED: u64 = 100_000_000;

/// Runs the command.
pub fn reproduce(arguments: &ReproduceArguments) -> anyhow::Result<ExitCode> {
    if let Some(folder) = &arguments.gather {
        return gather(folder).map(|()| ExitCode::SUCCESS);
    }
    let (scale, Count(seed)) = (arguments.scale, arguments.seed);
    if seed > MOST_SEED {
        bail!("seed = {seed}: must be a whole number from 0 to {MOST_SEED}");
    }
    let threads = threads(arguments.threads)?;
    let folder = Folder::open(&arguments.out, scale, seed)?;
    let mut parts: Vec<Part> =
        if arguments.only.is_empty() { Part::ALL.to_vec() } else { arguments.only.clone() };
    parts.sort_unstable();
    parts.dedup();

    let mut results: Results = folder.read("study.json")?.unwrap_or_default();
    let mut manifest = folder.manifest(arguments)?;
    let interrupt = Interrupt::listen()?;
    let backend = Backend::cpu(threads).context("threads cannot be started")?;
    let mut runner = Runner::new(threads)
        .with_results(Store::open(&folder.path("store.sqlite"))?)
        .with_memory(available_memory())
        .with_stop(interrupt.flag());
    folder.write_json("manifest.json", &manifest)?;
    let about = scale.about();
    say(&format!(
        "Study at scale {scale} into {} ({about}, less what the store has)",
        arguments.out.display()
    ));
    let started = Instant::now();
    for &part in &parts {
        let began = Instant::now();
        let spinner = Spinner::new();
        let runs = Cell::new(0);
        let about = RefCell::new(String::new());
        let mut observe = |event: Event<'_>| {
            if let Event::Finished { .. } = event {
                runs.set(runs.get() + 1);
                spinner.say(&format!("{part}, {}: {} runs", about.borrow(), runs.get()));
            }
        };
        let mut tell = |text: &str| {
            *about.borrow_mut() = text.to_owned();
            spinner.say(&format!("{part}, {text}"));
        };
        let mut study = Study {
            scale,
            seed,
            backend: &backend,
            runner: &mut runner,
            observe: &mut observe,
            say: &mut tell,
            stop: interrupt.flag(),
        };
        let result = study.run(part, &mut results);
        spinner.finish();
        let (runs, seconds) = (runs.get(), began.elapsed().as_secs_f64());
        *manifest.seconds.entry(part).or_default() += seconds;
        *manifest.runs.entry(part).or_default() += runs;
        folder.write_json("study.json", &results)?;
        folder.write_json("manifest.json", &manifest)?;
        match result {
            Err(StudyError::Stopped) => {
                say(&format!(
                    "Stopped in part {part}; every finished run is kept. Continue with: {}",
                    manifest.command
                ));
                return Ok(ExitCode::from(interrupt.code()));
            }
            other => other?,
        }
        folder.report(&sections(&results), &manifest)?;
        say(&format!("  {part}: {runs} runs, {}", duration(seconds)));
    }
    drop(runner);
    print(&summary(&sections(&results), &arguments.out, started.elapsed().as_secs_f64()))?;
    Ok(ExitCode::SUCCESS)
}

/// Makes one study of parts that were run side by side, `FOLDER/scaling`, `FOLDER/sizes` and so on: results, runs and report.
fn gather(path: &Path) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut results = Results::default();
    let mut all: Option<Manifest> = None;
    let mut missing = Vec::new();
    for part in Part::ALL {
        let folder = Folder { folder: path.join(part.word()) };
        let read = (folder.read::<Results>("study.json")?, folder.read::<Manifest>("manifest.json")?);
        let (Some(found), Some(manifest)) = read else {
            missing.push(part.word());
            continue;
        };
        let of = |manifest: &Manifest| (manifest.scale, manifest.seed, manifest.numerics_revision);
        let all = all.get_or_insert_with(|| Manifest {
            seconds: BTreeMap::new(),
            runs: BTreeMap::new(),
            command: format!("superpose reproduce --gather {}", path.display()),
            ..manifest.clone()
        });
        if of(all) != of(&manifest) {
            bail!(
                "{}: is of another scale, seed or numerics revision than the other parts",
                folder.folder.display()
            );
        }
        if !results.take(part, found) {
            missing.push(part.word());
            continue;
        }
        all.seconds.extend(manifest.seconds.get(&part).map(|seconds| (part, *seconds)));
        all.runs.extend(manifest.runs.get(&part).map(|runs| (part, *runs)));
    }
    let Some(manifest) = all else {
        bail!("gather = {}: no part of a study there (folders {})", path.display(), missing.join(", "));
    };
    if !missing.is_empty() {
        say(&format!("note: parts that are not there, or not finished: {}", missing.join(", ")));
    }
    let folder = Folder { folder: path.to_owned() };
    let mut store = Store::open(&folder.path("store.sqlite"))?;
    for part in Part::ALL {
        let part = path.join(part.word()).join("store.sqlite");
        match part.exists() {
            true => store.take_from(&Store::open_existing(&part)?)?,
            false if part.parent().is_some_and(Path::exists) => {
                say(&format!("note: {} is not there: its runs will be missing in the store", part.display()));
            }
            false => {}
        }
    }
    folder.write("study.json", &(serde_json::to_string_pretty(&results)? + "\n"))?;
    folder.write("manifest.json", &(serde_json::to_string_pretty(&manifest)? + "\n"))?;
    let sections = sections(&results);
    folder.report(&sections, &manifest)?;
    print(&summary(&sections, path, started.elapsed().as_secs_f64()))
}

/// Everything but results goes to standard error.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn summary(sections: &[Section], folder: &Path, seconds: f64) -> String {
    let mut text = String::new();
    for section in sections {
        let _ = writeln!(text, "- {}", section.headline);
    }
    let report = folder.join("report.html");
    let _ = writeln!(text, "\nDone in {}. Open {}", duration(seconds), report.display());
    text
}

/// The folder of a study.
struct Folder {
    folder: PathBuf,
}

impl Folder {
    /// Makes the folder, or takes up one of the same study.
    fn open(path: &Path, scale: Scale, seed: u64) -> anyhow::Result<Folder> {
        std::fs::create_dir_all(path)
            .with_context(|| format!("cannot make the folder {}", path.display()))?;
        let folder = Folder { folder: path.to_owned() };
        let found = folder.read::<Manifest>("manifest.json")?;
        if found.is_none() && std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
            bail!("out = {}: is not empty and holds no study; give a new folder", path.display());
        }
        if let Some(found) = found
            && (found.scale, found.seed) != (scale, seed)
        {
            bail!(
                "out = {}: holds a study at scale {} with seed {}; give another folder, or the same scale and seed",
                path.display(),
                found.scale,
                found.seed
            );
        }
        Ok(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A JSON file of the folder; nothing if it is not there.
    fn read<X: for<'de> Deserialize<'de>>(&self, name: &str) -> anyhow::Result<Option<X>> {
        let path = self.path(name);
        match std::fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).map(Some).with_context(|| {
                format!("{} is not of this version of superpose; move it away", path.display())
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Writes a file of the folder, or of a folder in it.
    fn write(&self, name: &str, content: &(impl AsRef<[u8]> + ?Sized)) -> anyhow::Result<()> {
        let path = self.path(name);
        let place = path.parent().unwrap_or(&self.folder);
        std::fs::create_dir_all(place)
            .with_context(|| format!("cannot make the folder {}", place.display()))?;
        whole_file(&path, content.as_ref())
    }

    /// Writes a JSON file for people, too.
    fn write_json(&self, name: &str, value: &impl Serialize) -> anyhow::Result<()> {
        self.write(name, &(serde_json::to_string_pretty(value)? + "\n"))
    }

    /// The manifest that is there, or a new one.
    fn manifest(&self, arguments: &ReproduceArguments) -> anyhow::Result<Manifest> {
        let found = self.read::<Manifest>("manifest.json")?;
        let (seconds, runs) = found.map(|found| (found.seconds, found.runs)).unwrap_or_default();
        let mut command =
            format!("superpose reproduce --scale {} --seed {}", arguments.scale, arguments.seed.0);
        for part in &arguments.only {
            let _ = write!(command, " --only {part}");
        }
        let _ = write!(command, " --out {}", shell(&arguments.out));
        Ok(Manifest {
            version: env!("CARGO_PKG_VERSION").into(),
            numerics_revision: NUMERICS_REVISION,
            scale: arguments.scale,
            seed: arguments.seed.0,
            command,
            machine: Machine::this(),
            seconds,
            runs,
        })
    }

    /// The report, its figures and its tables.
    fn report(&self, sections: &[Section], manifest: &Manifest) -> anyhow::Result<()> {
        for section in sections {
            for picture in &section.pictures {
                self.write(&format!("figures/{}.svg", picture.name), &picture.figure.svg(Theme::Light))?;
                self.write(
                    &format!("figures/{}.png", picture.name),
                    &picture.figure.png(Theme::Light, 2.0)?,
                )?;
            }
            for table in &section.tables {
                self.write(&format!("tables/{}.csv", table.name), &table.csv())?;
            }
        }
        let mut facts: Facts = vec![
            ("command".into(), manifest.command.clone()),
            ("version".into(), manifest.version.clone()),
            ("numerics revision".into(), manifest.numerics_revision.to_string()),
            ("seed".into(), manifest.seed.to_string()),
            (
                "machine".into(),
                format!(
                    "{}, {} cores, {}",
                    manifest.machine.processor, manifest.machine.cores, manifest.machine.system
                ),
            ),
        ];
        for (part, seconds) in &manifest.seconds {
            let runs = manifest.runs.get(part).copied().unwrap_or(0);
            facts.push((format!("time of part {part}"), format!("{}, {runs} runs", duration(*seconds))));
        }
        let title = format!("Superpose: the study, scale {}", manifest.scale);
        self.write("report.html", &page(&title, sections, &facts))
    }
}
