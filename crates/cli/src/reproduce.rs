//! `superpose reproduce`: runs the whole study into one folder, with a report to open.
//!
//! The folder holds the store, `study.json` with every result, `report.html`, figures, tables as CSV and `manifest.json`. Runs
//! that are in the store are not repeated, so an interrupted study continues where it stopped.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{bail, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};
use superpose_core::backend::Numerics;
use superpose_figure::Theme;
use superpose_lab::cell::{Event, NUMERICS_REVISION, Runner};
use superpose_lab::store::Store;
use superpose_report::{Facts, Report, Section, duration, plain, sections};
use superpose_study::{Part, Results, Scale, Study, StudyError};

use crate::arguments::Count;
use crate::files::{create_folder, read_json, write_file, write_json};
use crate::interrupt::Interrupt;
use crate::picture::PNG_SCALE;
use crate::progress::spinner;
use crate::shared::{
    DeviceFlag, Threads, available_memory, backend, device_flag, message, print, rounded, shell,
};

#[derive(Args, Clone, Debug)]
pub struct ReproduceArguments {
    /// Scale of the study: quick, standard or full
    #[arg(long, value_name = "SCALE", default_value = "quick")]
    scale: Scale,
    #[arg(long, value_name = "PART", help = format!("Run only this part (repeatable): {}", Part::WORDS.join(", ")))]
    only: Vec<Part>,
    /// Folder for all results
    #[arg(long, value_name = "FOLDER", default_value = "superpose-study")]
    out: PathBuf,
    /// Seed of all random numbers
    #[arg(long, value_name = "SEED", default_value = "0", allow_hyphen_values = true)]
    seed: Count,
    /// Run nothing; combine the finished parts in the subfolders of this folder into one study there
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["scale", "only", "out", "seed"])]
    gather: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    device: DeviceFlag,
}

impl ReproduceArguments {
    /// Returns the folder that the study is written to.
    pub fn written(&self) -> &Path {
        self.gather.as_ref().unwrap_or(&self.out)
    }
}

/// How the results in a folder were produced.
#[derive(Clone, Serialize, Deserialize)]
struct Manifest {
    version: String,
    numerics_revision: u32,
    #[serde(default)]
    numerics: Numerics,
    scale: Scale,
    seed: u64,
    command: String,
    machine: Machine,
    /// Seconds by part, summed over all times it was run.
    seconds: BTreeMap<Part, f64>,
    /// Cells by part, whether they were run now or taken from the store.
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

/// Maximum seed: the seeds of findings are derived from it with large factors.
const MAX_SEED: u64 = 100_000_000;

/// Returns the seed of a study, or an error if it is out of range.
pub fn check_seed(Count(seed): Count) -> anyhow::Result<u64> {
    ensure!(seed <= MAX_SEED, "seed = {seed}: must be a whole number from 0 to {MAX_SEED}");
    Ok(seed)
}

pub fn reproduce(arguments: &ReproduceArguments) -> anyhow::Result<()> {
    if let Some(folder) = &arguments.gather {
        return gather(folder);
    }
    let (scale, seed) = (arguments.scale, check_seed(arguments.seed)?);
    let threads = arguments.threads.count()?;
    let device = arguments.device.open()?;
    let numerics = device.as_ref().map_or_else(Numerics::this_cpu, |device| device.numerics());
    let folder = Folder::open(&arguments.out, scale, seed, &numerics)?;
    let mut parts: Vec<Part> =
        if arguments.only.is_empty() { Part::ALL.to_vec() } else { arguments.only.clone() };
    parts.sort_unstable();
    parts.dedup();

    let mut results: Results = folder.results()?.unwrap_or_default();
    if device.is_some() {
        message("note: the parts anchors and bound, and some runs of optimiser and questions, use the CPU");
    }
    let mut manifest = folder.manifest(arguments, numerics, &device_flag(device.as_ref()))?;
    let interrupt = Interrupt::listen()?;
    let backend = backend(threads)?.with_cancel(interrupt.token());
    let mut runner = Runner::new(threads)
        .with_device(device)
        .with_results(Store::open(&folder.path("store.sqlite"))?)
        .with_memory(available_memory())
        .with_stop(interrupt.flag())
        .with_leave(interrupt.token());
    write_json(&folder.path("manifest.json"), &manifest)?;
    message(format_args!("Study at scale {scale} into {}", arguments.out.display()));
    message(format_args!("{}", estimates(&parts, scale)));
    let started = Instant::now();
    for &part in &parts {
        let began = Instant::now();
        let (runs, new) = (Cell::new(0), Cell::new(0));
        let result = spinner(|bar| {
            let about = RefCell::new(String::new());
            let mut study = Study {
                scale,
                seed,
                backend: &backend,
                runner: &mut runner,
                observe: &mut |event| {
                    match event {
                        Event::Planned { done, failed, .. } => runs.set(runs.get() + done + failed),
                        Event::Finished { .. } => new.set(new.get() + 1),
                        Event::Waiting => {}
                    }
                    bar.say(format!("{part}, {}: {} runs", about.borrow(), runs.get() + new.get()));
                },
                say: &mut |text| {
                    *about.borrow_mut() = text.to_owned();
                    bar.say(format!("{part}, {text}"));
                },
            };
            study.run(part, &mut results)
        });
        let (new, seconds) = (new.get(), began.elapsed().as_secs_f64());
        *manifest.seconds.entry(part).or_default() += seconds;
        manifest.runs.insert(part, runs.get() + new);
        folder.keep(&results, &manifest)?;
        result.map_err(|error| match error {
            StudyError::Stopped => interrupt.stopped(format!(
                "stopped: every finished run of part {part} is kept in {}\nhint: continue with {}",
                arguments.out.display(),
                manifest.command
            )),
            error => error.into(),
        })?;
        folder.report(&sections(&results), &manifest)?;
        let new = if manifest.runs[&part] == 0 { String::new() } else { format!("{new} runs, ") };
        message(format_args!("  {part}: {new}{}", duration(seconds)));
    }
    runner.finish()?;
    print(&summary(&sections(&results), &arguments.out, started.elapsed().as_secs_f64()))
}

/// The time that each part takes on two cores, and all together.
fn estimates(parts: &[Part], scale: Scale) -> String {
    let time = |seconds: Option<f64>| seconds.map_or("not measured".into(), rounded);
    let list: Vec<String> =
        parts.iter().map(|part| format!("{part} {}", time(part.seconds(scale)))).collect();
    let all: Option<f64> = parts.iter().map(|part| part.seconds(scale)).sum();
    let (list, all) =
        (list.join(", "), all.map_or(String::new(), |all| format!("; together {}", rounded(all))));
    format!("Time on two idle cores, less for runs that are in the store: {list}{all}")
}

/// Combines parts that were run side by side, in `FOLDER/scaling`, `FOLDER/sizes` and so on, into one study.
fn gather(path: &Path) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut results = Results::default();
    let mut all: Option<Manifest> = None;
    let mut missing = Vec::new();
    for &part in Part::ALL {
        let folder = Folder(path.join(part.word()));
        let (Some(found), Some(manifest)) = (folder.results()?, folder.existing_manifest()?) else {
            missing.push(part.word());
            continue;
        };
        let of = |manifest: &Manifest| {
            (manifest.scale, manifest.seed, manifest.numerics_revision, manifest.numerics.clone())
        };
        let all = all.get_or_insert_with(|| Manifest {
            seconds: BTreeMap::new(),
            runs: BTreeMap::new(),
            command: format!("superpose reproduce --gather {}", shell(path)),
            ..manifest.clone()
        });
        if of(all) != of(&manifest) {
            let folder = folder.0.display();
            bail!("{folder}: has another scale, seed, numerics revision or numerics than the other parts");
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
        message(format_args!("note: parts that are missing or not finished: {}", missing.join(", ")));
    }
    let folder = Folder(path.to_owned());
    let mut store = Store::open(&folder.path("store.sqlite"))?;
    for &part in Part::ALL {
        let part = path.join(part.word()).join("store.sqlite");
        if part.exists() {
            store.take_from(&Store::open_to_read(&part)?)?;
        } else if part.parent().is_some_and(Path::exists) {
            let part = part.display();
            message(format_args!("note: {part} does not exist; its runs are missing in the store"));
        }
    }
    folder.keep(&results, &manifest)?;
    let sections = sections(&results);
    folder.report(&sections, &manifest)?;
    print(&summary(&sections, path, started.elapsed().as_secs_f64()))
}

fn summary(sections: &[Section], folder: &Path, seconds: f64) -> String {
    let headlines: String =
        sections.iter().map(|section| format!("- {}\n", plain(&section.headline))).collect();
    let (time, report) = (duration(seconds), folder.join("report.html"));
    format!("{headlines}\nDone in {time}. Open {}\n", report.display())
}

/// The folder of a study.
struct Folder(PathBuf);

impl Folder {
    /// Creates the folder, or opens one of the same study.
    fn open(path: &Path, scale: Scale, seed: u64, numerics: &Numerics) -> anyhow::Result<Folder> {
        create_folder(path)?;
        let folder = Folder(path.to_owned());
        let found = folder.existing_manifest()?;
        if found.is_none() && std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
            bail!("out = {}: is not empty and holds no study; give a new folder", path.display());
        }
        let Some(found) = found else { return Ok(folder) };
        let out = path.display();
        if (found.scale, found.seed) != (scale, seed) {
            let (scale, seed) = (found.scale, found.seed);
            bail!(
                "out = {out}: holds a study at scale {scale} with seed {seed}; give another folder, or the same scale and seed"
            );
        }
        if (found.numerics_revision, &found.numerics) != (NUMERICS_REVISION, numerics) {
            let (revision, before) = (found.numerics_revision, found.numerics);
            bail!(
                "out = {out}: holds a study with numerics {before}, revision {revision}, and this one would have {numerics}, revision {NUMERICS_REVISION}; give another folder, or use the same version and device"
            );
        }
        Ok(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn results(&self) -> anyhow::Result<Option<Results>> {
        read_json(&self.path("study.json"))
    }

    fn existing_manifest(&self) -> anyhow::Result<Option<Manifest>> {
        read_json(&self.path("manifest.json"))
    }

    fn keep(&self, results: &Results, manifest: &Manifest) -> anyhow::Result<()> {
        write_json(&self.path("study.json"), results)?;
        write_json(&self.path("manifest.json"), manifest)
    }

    /// Returns a manifest for this run, which continues the counts of an existing one.
    fn manifest(
        &self,
        arguments: &ReproduceArguments,
        numerics: Numerics,
        device: &str,
    ) -> anyhow::Result<Manifest> {
        let found = self.existing_manifest()?;
        let (seconds, runs) = found.map(|found| (found.seconds, found.runs)).unwrap_or_default();
        let (scale, Count(seed), out) = (arguments.scale, arguments.seed, shell(&arguments.out));
        let only: String = arguments.only.iter().map(|part| format!(" --only {part}")).collect();
        Ok(Manifest {
            version: env!("CARGO_PKG_VERSION").into(),
            numerics_revision: NUMERICS_REVISION,
            numerics,
            scale,
            seed,
            command: format!("superpose reproduce --scale {scale} --seed {seed}{only} --out {out}{device}"),
            machine: Machine::this(),
            seconds,
            runs,
        })
    }

    /// Writes the report, its figures and its tables.
    fn report(&self, sections: &[Section], manifest: &Manifest) -> anyhow::Result<()> {
        let write = |name: &str, content: &[u8]| write_file(&self.path(name), content);
        create_folder(&self.path("figures"))?;
        create_folder(&self.path("tables"))?;
        for section in sections {
            for picture in &section.pictures {
                let (name, figure) = (&picture.name, &picture.figure);
                write(&format!("figures/{name}.svg"), figure.svg(Theme::Light).as_bytes())?;
                write(&format!("figures/{name}.png"), &figure.png(Theme::Light, PNG_SCALE)?)?;
            }
            for table in &section.tables {
                write(&format!("tables/{}.csv", table.name), table.csv().as_bytes())?;
            }
        }
        let Machine { processor, cores, system } = &manifest.machine;
        let mut facts: Facts = vec![
            ("command".into(), manifest.command.clone()),
            ("version".into(), manifest.version.clone()),
            ("numerics revision".into(), manifest.numerics_revision.to_string()),
            ("numerics".into(), manifest.numerics.to_string()),
            ("seed".into(), manifest.seed.to_string()),
            ("machine".into(), format!("{processor}, {cores} cores, {system}")),
        ];
        for (part, seconds) in &manifest.seconds {
            let runs = manifest.runs.get(part).filter(|&&runs| runs > 0);
            let runs = runs.map_or(String::new(), |runs| format!("{runs} runs, "));
            facts.push((format!("time of part {part}"), format!("{runs}{}", duration(*seconds))));
        }
        let (scale, seed) = (manifest.scale.to_string(), manifest.seed);
        let report = Report { scale, seed, sections, facts };
        write("report.md", report.markdown().as_bytes())?;
        write("results.tex", report.latex().as_bytes())?;
        write("report.html", report.html().as_bytes())
    }
}
