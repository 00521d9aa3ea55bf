//! The batch script. It is as readable as one written by hand, so that users can keep it and submit it themselves.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};

/// The values in the head of a script.
#[derive(Debug)]
pub struct Head<'a> {
    /// A comment that describes the job.
    pub title: &'a str,
    /// The job's name.
    pub name: &'a str,
    /// The tasks.
    pub array: &'a str,
    /// The log file of a task; `%a` is the task's number.
    pub log: &'a str,
    /// Cores of a task.
    pub cpus: usize,
    /// The partition.
    pub partition: Option<&'a str>,
    /// The time limit in Slurm's format.
    pub time: Option<&'a str>,
    /// Further flags of sbatch.
    pub extra: &'a [String],
}

/// Returns the script: the head, then the shell lines of a task.
///
/// The worker replaces the shell (`exec`), so that it receives the signals that Slurm sends a minute before the time limit and at
/// preemption; it then commits its results and ends. A task that is put back into the queue appends to its log.
///
/// # Errors
/// Fails if a value contains a character that would end its line or its quotation.
pub fn script(head: &Head<'_>, body: &str) -> anyhow::Result<String> {
    let mut text = format!(
        "#!/bin/bash\n# {}\n# Written by superpose submit, which submits it and records the job. Submitted by hand (sbatch this file) it skips finished work,\n# but superpose does not know of the job: never do this while another one runs.\n",
        plain("title", head.title)?
    );
    let mut line = |flag: &str, value: Option<&str>| -> anyhow::Result<()> {
        let value = match value {
            Some(value) => format!("={}", quoted(flag, value)?),
            None => String::new(),
        };
        writeln!(text, "#SBATCH --{flag}{value}")?;
        Ok(())
    };
    line("job-name", Some(head.name))?;
    line("array", Some(head.array))?;
    line("output", Some(head.log))?;
    line("open-mode", Some("append"))?;
    line("requeue", None)?;
    line("signal", Some("B:TERM@60"))?;
    line("ntasks", Some("1"))?;
    line("cpus-per-task", Some(&head.cpus.to_string()))?;
    if let Some(partition) = head.partition {
        line("partition", Some(partition))?;
    }
    if let Some(time) = head.time {
        line("time", Some(time))?;
    }
    if !head.extra.is_empty() {
        let words: Result<Vec<String>, _> =
            head.extra.iter().map(|word| quoted("sbatch flag", word)).collect();
        writeln!(text, "#SBATCH {}", words?.join(" "))?;
    }
    text += body;
    Ok(text)
}

/// Rejects characters that would end the line.
fn plain<'a>(name: &str, text: &'a str) -> anyhow::Result<&'a str> {
    if text.chars().any(char::is_control) {
        bail!(
            "{name} = {text:?}: must have no control characters, because it is written into a batch script"
        );
    }
    Ok(text)
}

/// Returns a word quoted for a line of sbatch flags.
fn quoted(name: &str, word: &str) -> anyhow::Result<String> {
    plain(name, word)?;
    if word.contains(['"', '\\']) {
        bail!(
            "{name} = {word}: must have no quotation marks and no backslashes, because it is written into a batch script"
        );
    }
    let simple = |c: char| c.is_alphanumeric() || "/._-+=:@,%".contains(c);
    Ok(if !word.is_empty() && word.chars().all(simple) { word.into() } else { format!("\"{word}\"") })
}

/// Returns an absolute path that can be written into a script.
pub fn absolute(name: &str, path: &Path) -> anyhow::Result<PathBuf> {
    let path = std::path::absolute(path).map_err(|error| anyhow!("{name} = {}: {error}", path.display()))?;
    match path.to_str() {
        Some(text) if !text.chars().any(|c| c.is_control() || "%\"\\".contains(c)) => Ok(path),
        _ => bail!(
            "{name} = {}: Slurm does not take a path with control characters, quotation marks, backslashes or percent signs",
            path.display()
        ),
    }
}

/// Formats tasks, which are given in order, as Slurm does: `1-4,7`.
pub fn array(tasks: &[usize]) -> String {
    let mut text = String::new();
    let mut place = 0;
    while place < tasks.len() {
        let first = tasks[place];
        while place + 1 < tasks.len() && tasks[place + 1] == tasks[place] + 1 {
            place += 1;
        }
        let comma = if text.is_empty() { "" } else { "," };
        let _ = match tasks[place] {
            last if last == first => write!(text, "{comma}{first}"),
            last => write!(text, "{comma}{first}-{last}"),
        };
        place += 1;
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn consecutive_tasks_are_joined() {
        assert_eq!(array(&[1, 2, 3, 5, 7, 8]), "1-3,5,7-8");
        assert_eq!(array(&[4]), "4");
        assert_eq!(array(&[]), "");
    }

    #[test]
    fn values_cannot_leave_their_line() {
        let head = Head {
            title: "a sweep",
            name: "a b",
            array: "1-2",
            log: "/a b/%a.log",
            cpus: 2,
            partition: Some("long"),
            time: Some("1-00:00"),
            extra: &["--comment".into(), "two words".into()],
        };
        let text = script(&head, "exec true\n").unwrap();
        assert!(text.starts_with("#!/bin/bash\n# a sweep\n") && text.ends_with("\nexec true\n"), "{text}");
        for line in [
            "--job-name=\"a b\"",
            "--output=\"/a b/%a.log\"",
            "--time=1-00:00",
            "--comment \"two words\"",
            "--requeue",
        ] {
            assert!(text.contains(&format!("#SBATCH {line}\n")), "{line} is not in {text}");
        }
        for bad in ["x\nrm -r /", "a\"b", "a\\b"] {
            assert!(script(&Head { partition: Some(bad), ..head }, "").is_err(), "{bad:?}");
        }
        assert!(absolute("file", Path::new("/a/50%/x.toml")).is_err());
        assert!(absolute("file", Path::new("/a b/it's.toml")).is_ok());
    }
}
