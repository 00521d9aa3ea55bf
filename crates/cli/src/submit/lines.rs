//! Command lines as tasks: thresholds and phase maps along many rays, and the parts of the study.
//!
//! These searches decide what to run from what came out, so they cannot be dealt in advance like the cells of a sweep; they
//! can stand side by side. Each task runs one command line with its own store, since several machines must not write one SQLite file
//! over a network. Results are printed at the end and in one piece, so a task whose output is not empty is complete.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use superpose_lab::study::{Part, Scale};

use super::{MOST_TASKS, Plan, SlurmArguments, Task, hash, program};
use crate::arguments::read_text;
use crate::slurm::Submitted;
use crate::slurm::script::whole;
use crate::sweep::{shell, store_of};

/// The output of a task.
fn output(folder: &Path, task: usize) -> PathBuf {
    folder.join(format!("{task}.out"))
}

/// Whether a task has come to its end.
pub fn finished(folder: &Path, task: usize) -> bool {
    std::fs::metadata(output(folder, task)).is_ok_and(|file| file.len() > 0)
}

/// Submits the command lines of a file.
pub fn submit_file(arguments: &SlurmArguments, file: &Path) -> anyhow::Result<()> {
    let lines = read(file).with_context(|| file.display().to_string())?;
    let file = whole("lines", file)?;
    let folder = arguments.out.clone().unwrap_or_else(|| file.with_extension("out"));
    let place = file.with_extension("slurm.sh");
    submit(arguments, &file, &whole("out", &folder)?, &place, &lines)
}

/// Submits the parts of the study.
pub fn submit_study(arguments: &SlurmArguments, scale: Scale) -> anyhow::Result<()> {
    let folder = arguments.out.clone().unwrap_or_else(|| "superpose-study".into());
    let folder = whole("out", &folder)?;
    // One that was gathered early is still that of these tasks.
    if folder.join("manifest.json").exists() && Submitted::read(&folder)?.is_none() {
        bail!("out = {}: holds a study already; give another folder", folder.display());
    }
    let lines: Vec<Vec<String>> = Part::ALL
        .iter()
        .map(|part| {
            let out = folder.join(part.word()).display().to_string();
            let words = ["reproduce", "--scale", scale.word(), "--seed", &arguments.seed.0.to_string()];
            let words = words.into_iter().chain(["--only", part.word(), "--out", &out]);
            words.map(str::to_owned).collect()
        })
        .collect();
    if let Some(line) = lines.first() {
        crate::takes(line).map_err(|error| anyhow!("{}", reason(&error)))?;
    }
    submit(arguments, &folder, &folder, &folder.join("study.slurm.sh"), &lines)
}

/// The words of each line. What this program would refuse, or two tasks that would write one file, are found now.
fn read(file: &Path) -> anyhow::Result<Vec<Vec<String>>> {
    let text = read_text(file)?;
    let mut lines = Vec::new();
    let mut written: HashMap<PathBuf, usize> = HashMap::new();
    for (i, line) in text.lines().enumerate() {
        let (number, line) = (i + 1, line.trim());
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.contains(['\'', '"', '\\', '$', '>', '|', '*']) {
            bail!(
                "line {number}: words are parted by spaces, and no shell reads them: no quotation marks, $, >, | or *"
            );
        }
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        if matches!(words[0].as_str(), "superpose" | "submit" | "status" | "bench" | "serve" | "completions")
        {
            bail!("line {number}: {}: a line begins with run, threshold, phase or the like", words[0]);
        }
        crate::takes(&words).map_err(|error| anyhow!("line {number}: {}", reason(&error)))?;
        for place in places(&words) {
            if let Some(other) = written.insert(one_name(&place), number) {
                bail!(
                    "line {number}: {} is written by line {other}, too; tasks on several machines need files of their own",
                    place.display()
                );
            }
        }
        lines.push(words);
    }
    match lines.len() as u64 {
        0 => bail!("there is no command line in it"),
        1..=MOST_TASKS => Ok(lines),
        many => bail!("{many} lines, and {MOST_TASKS} is the most"),
    }
}

/// A path under whatever name: through links, and with `.` and `..` followed.
fn one_name(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = || Some(parent.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(beside).unwrap_or_else(|| path.to_owned())
}

/// Stores and folders that a command writes.
fn places(words: &[String]) -> Vec<PathBuf> {
    let mut places = Vec::new();
    let gives = |flag: &str| words.iter().any(|word| word == flag || word.starts_with(&format!("{flag}=")));
    match words[0].as_str() {
        "reproduce" if !gives("--out") => places.push("superpose-study".into()),
        "sweep" if !gives("--store") && !gives("--shard") => {
            places.extend(
                words.iter().find(|word| word.ends_with(".toml")).map(|file| store_of(Path::new(file))),
            );
        }
        _ => {}
    }
    for (i, word) in words.iter().enumerate() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), words.get(i + 1).cloned()),
        };
        if matches!(name, "--store" | "--out" | "--csv" | "--svg" | "--export" | "--checkpoint") {
            places.extend(value.map(PathBuf::from));
        }
    }
    places
}

/// What clap says, in one line.
fn reason(error: &clap::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// Runs the words of a task. Its output is there whole or not at all, signals reach the program, and a sweep among the lines is not a share of
/// the array.
const TASK: &str = r#"[ -s "$out" ] && exit 0
for name in ID COUNT MIN MAX STEP; do unset "SLURM_ARRAY_TASK_$name"; done
superpose "$@" > "$out.part" &
trap 'kill -TERM $!' TERM INT
wait $!
code=$?
while kill -0 $! 2> /dev/null; do wait $!; code=$?; done
[ $code -eq 0 ] && mv "$out.part" "$out"
exit $code
"#;

fn submit(
    arguments: &SlurmArguments,
    file: &Path,
    folder: &Path,
    place: &Path,
    lines: &[Vec<String>],
) -> anyhow::Result<()> {
    let tasks = lines.len();
    let plan = Plan::new(arguments, file, folder, tasks, hash(lines))?;
    let missing: Vec<usize> = (1..=tasks).filter(|&task| !finished(folder, task)).collect();
    if !plan.continues() && missing.len() < tasks {
        bail!("out = {}: holds outputs of other command lines; give another folder", folder.display());
    }
    let here = whole("folder", &std::env::current_dir().context("the working folder cannot be found")?)?;
    let mut body = format!("cd {} || exit 1\ncase $SLURM_ARRAY_TASK_ID in\n", shell(&here));
    for (i, words) in lines.iter().enumerate() {
        let mut words = words.clone();
        let threads = [words.clone(), vec!["--threads".into(), plan.cpus.to_string()]].concat();
        if crate::takes(&threads).is_ok() {
            words = threads;
        }
        let words: Vec<String> = words.iter().map(|word| shell(Path::new(word))).collect();
        body += &format!("{}) set -- {} ;;\n", i + 1, words.join(" "));
    }
    body += &format!("esac\nout={}/\"$SLURM_ARRAY_TASK_ID\".out\n", shell(folder));
    body += &TASK.replace("superpose", &shell(&program()?));
    let log = format!("{}/%a.log", folder.display());
    let title = format!("{}: {tasks} command lines", file.display());
    let status = format!("superpose status {}", shell(folder));
    plan.send(arguments, &Task { title: &title, log: &log, body: &body, place, status: &status }, &missing)
}
