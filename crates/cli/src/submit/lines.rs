//! Command lines as tasks: thresholds, phase maps and the parts of the study.
//!
//! These searches choose their runs from earlier results, so their cells cannot be distributed in advance like those of a sweep, but
//! whole searches can run side by side. Each task runs one command line with its own store, because several machines must not write
//! one SQLite file over a network. A command prints its result at the end, so a task with output is complete.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use superpose_lab::sweep::fingerprint;
use superpose_study::{Part, Scale};

use super::{MAX_TASKS, Plan, SlurmArguments, Task, program, requests_gpu};
use crate::Command;
use crate::arguments::read_text;
use crate::reproduce::check_seed;
use crate::shared::{message, plural, shell};
use crate::slurm::Submitted;
use crate::slurm::script::absolute;

/// Whether a task is complete: it has an output.
pub fn finished(folder: &Path, task: usize) -> bool {
    std::fs::metadata(folder.join(format!("{task}.out"))).is_ok_and(|file| file.len() > 0)
}

pub fn submit_file(arguments: &SlurmArguments, file: &Path) -> anyhow::Result<()> {
    let lines = read(file).with_context(|| file.display().to_string())?;
    let file = absolute("lines", file)?;
    let folder = arguments.places.out.clone().unwrap_or_else(|| file.with_extension("out"));
    let place = file.with_extension("slurm.sh");
    let may_use_gpu = |words: &Vec<String>| {
        let line = words.join(" ").replace('=', " ");
        line.contains("--device cuda") || line.contains("--device auto")
    };
    if lines.iter().any(may_use_gpu) && !requests_gpu(&arguments.extra) {
        message(
            "hint: some lines have --device cuda or auto, but the tasks request no GPU; add -- --gres=gpu:1",
        );
    }
    submit(arguments, &file, &absolute("out", &folder)?, &place, &lines)
}

pub fn submit_study(arguments: &SlurmArguments, scale: Scale) -> anyhow::Result<()> {
    let folder = arguments.places.out.clone().unwrap_or_else(|| "superpose-study".into());
    let folder = absolute("out", &folder)?;
    let seed = check_seed(arguments.seed)?.to_string();
    // A study that was gathered early still belongs to these tasks.
    if folder.join("manifest.json").exists() && Submitted::read(&folder)?.is_none() {
        bail!("out = {}: holds a study already; give another folder", folder.display());
    }
    let scale = scale.word();
    let line = |part: &Part| {
        let (part, out) = (part.word(), folder.join(part.word()).display().to_string());
        let words = ["reproduce", "--scale", scale, "--seed", &seed, "--only", part, "--out", &out];
        words.map(str::to_owned).to_vec()
    };
    let lines: Vec<Vec<String>> = Part::ALL.iter().map(line).collect();
    submit(arguments, &folder, &folder, &folder.join("study.slurm.sh"), &lines)
}

/// Reads the words of each line. A line that this program would reject is an error, and so are two lines that write one file.
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
                "line {number}: words are separated by spaces and not read by a shell: no quotation marks, $, >, | or *"
            );
        }
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        if matches!(words[0].as_str(), "superpose" | "submit" | "status" | "bench" | "serve" | "completions")
        {
            bail!("line {number}: {}: a line begins with run, threshold, phase or the like", words[0]);
        }
        let of_line = || format!("line {number}");
        let command = crate::parse(&words).map_err(reason).with_context(of_line)?;
        command.check_device().with_context(of_line)?;
        for place in places(&command, &words) {
            if let Some(other) = written.insert(resolved(&place), number) {
                bail!(
                    "line {number}: {} is also written by line {other}; every task needs its own files",
                    place.display()
                );
            }
        }
        lines.push(words);
    }
    match lines.len() as u64 {
        0 => bail!("it has no command line"),
        1..=MAX_TASKS => Ok(lines),
        many => bail!("{many} lines; at most {MAX_TASKS} are allowed"),
    }
}

/// Returns a path with links, `.` and `..` resolved as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    path.canonicalize().unwrap_or_else(|_| match path.file_name() {
        Some(name) => resolved(parent).join(name),
        None => path.to_owned(),
    })
}

/// Returns the files and folders that a command writes.
fn places(command: &Command, words: &[String]) -> Vec<PathBuf> {
    match command {
        // Its store is only read if it runs a share.
        Command::Sweep(sweep) => return vec![sweep.written()],
        Command::Reproduce(study) => return vec![study.written().to_owned()],
        _ => {}
    }
    let mut places = Vec::new();
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

/// Returns the first paragraph of a parser error as one line.
fn reason(error: clap::Error) -> anyhow::Error {
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    anyhow::Error::msg(lines.join(" ").trim_start_matches("error: ").to_owned())
}

/// The shell lines that run the words of a task. The output appears only when complete, signals are passed to the program, and the
/// variables of the job array are unset so that a sweep among the lines runs all of its cells.
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
    let fingerprint = fingerprint(lines.iter().map(|line| line.join("\n")));
    let plan = Plan::new(arguments, file, folder, tasks, fingerprint)?;
    let missing: Vec<usize> = (1..=tasks).filter(|&task| !finished(folder, task)).collect();
    if !plan.continues() && missing.len() < tasks {
        bail!("out = {}: holds outputs of other command lines; give another folder", folder.display());
    }
    let here = absolute("folder", &std::env::current_dir().context("cannot find the working folder")?)?;
    let mut body = format!("cd {} || exit 1\ncase $SLURM_ARRAY_TASK_ID in\n", shell(&here));
    for (i, words) in lines.iter().enumerate() {
        let threads = [&words[..], &["--threads".into(), plan.now.cpus.to_string()]].concat();
        let words = if crate::parse(&threads).is_ok() { &threads } else { words };
        let words: Vec<String> = words.iter().map(|word| shell(Path::new(word))).collect();
        body += &format!("{}) set -- {} ;;\n", i + 1, words.join(" "));
    }
    body += &format!("esac\nout={}/\"$SLURM_ARRAY_TASK_ID\".out\n", shell(folder));
    body += &TASK.replace("superpose", &shell(&program()?));
    let log = format!("{}/%a.log", folder.display());
    let title = format!("{}: {}", file.display(), plural(tasks, "command line", "command lines"));
    let status = format!("superpose status {}", shell(folder));
    plan.send(arguments, &Task { title: &title, log: &log, body: &body, place, status: &status }, &missing)
}
