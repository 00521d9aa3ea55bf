//! The batch script. It is as readable as one written by hand, so that users can keep it and submit it themselves.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};

/// Returns the script: a comment that describes the job, flags of sbatch, further words for sbatch, then the shell lines of a task.
/// In the name of the log file, `%a` is the task's number.
///
/// The worker replaces the shell (`exec`), so that it receives the signals that Slurm sends a minute before the time limit and at
/// preemption; it then commits its results and ends. A task that is put back into the queue appends to its log. A value with a
/// character that would end its line or its quotation is an error.
pub fn script(
    title: &str,
    flags: &[(&str, Option<&str>)],
    extra: &[String],
    body: &str,
) -> anyhow::Result<String> {
    let mut text = format!(
        "#!/bin/bash\n# {}\n# Written by superpose submit, which submits it and records the job. Submitted by hand (sbatch this file) it skips finished work,\n# but superpose does not know of the job: never do this while another one runs.\n",
        plain("title", title)?
    );
    text += "#SBATCH --open-mode=append\n#SBATCH --requeue\n#SBATCH --signal=B:TERM@60\n#SBATCH --ntasks=1\n";
    for (flag, value) in flags.iter().filter_map(|(flag, value)| Some((flag, (*value)?))) {
        writeln!(text, "#SBATCH --{flag}={}", quoted(flag, value)?)?;
    }
    if !extra.is_empty() {
        let words: Result<Vec<String>, _> = extra.iter().map(|word| quoted("sbatch flag", word)).collect();
        writeln!(text, "#SBATCH {}", words?.join(" "))?;
    }
    Ok(text + body)
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
    let range = |run: &[usize]| match *run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run[0].to_string(),
    };
    tasks.chunk_by(|one, next| *next == one + 1).map(range).collect::<Vec<_>>().join(",")
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
        let made = |partition: &str| {
            let flags = [
                ("job-name", "a b"),
                ("output", "/a b/%a.log"),
                ("partition", partition),
                ("time", "1-00:00"),
            ];
            let extra = ["--comment".to_string(), "two words".into()];
            script("a sweep", &flags.map(|(flag, value)| (flag, Some(value))), &extra, "exec true\n")
        };
        let text = made("long").unwrap();
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
            assert!(made(bad).is_err(), "{bad:?}");
        }
        assert!(absolute("file", Path::new("/a/50%/x.toml")).is_err());
        assert!(absolute("file", Path::new("/a b/it's.toml")).is_ok());
    }
}
