//! Slurm: the batch script, the record of what was submitted, and the state of its tasks.

pub mod flags;
pub mod queue;
pub mod script;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use crate::files::{read_json, write_json};

/// The record of a submission, kept as `slurm.json` beside the shards.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submitted {
    /// The sweep, or the file of command lines, or the folder of the study.
    pub file: PathBuf,
    /// Number of shares.
    pub tasks: usize,
    /// Hash of the cells or command lines, because other cells are other shares.
    pub fingerprint: String,
    /// Cores of each task.
    pub cpus: usize,
    /// Whether each task computes on a GPU.
    #[serde(default)]
    pub gpu: bool,
    /// Jobs, the latest last.
    pub jobs: Vec<Job>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Slurm's number.
    pub id: String,
    /// The cluster's name, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The tasks, as in `1-4,7`.
    pub array: String,
}

impl Job {
    /// Parses the output of `sbatch --parsable`: a number, and the cluster where there are several.
    pub fn parse(text: &str, array: &str) -> Option<Job> {
        // Some sites print their own notes before it.
        let line = text.lines().rev().find(|line| !line.trim().is_empty())?.trim();
        let (id, cluster) = match line.split_once(';') {
            Some((id, cluster)) => (id, Some(cluster.to_owned())),
            None => (line, None),
        };
        let number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
        number.then(|| Job { id: id.into(), cluster, array: array.into() })
    }
}

impl Submitted {
    pub fn path(folder: &Path) -> PathBuf {
        folder.join("slurm.json")
    }

    /// Returns what was submitted from this folder; `None` if nothing was.
    pub fn read(folder: &Path) -> anyhow::Result<Option<Submitted>> {
        read_json(&Submitted::path(folder))
    }

    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        write_json(&Submitted::path(folder), self)
    }
}

/// A lock on a folder while a submission is under way: a file that only one process can create, also over a network. If the
/// submission is killed, the file stays, and the user must look whether its job is in the queue.
pub struct SubmissionLock(PathBuf);

impl SubmissionLock {
    /// Takes the lock, or fails if another process has it.
    pub fn take(folder: &Path) -> anyhow::Result<SubmissionLock> {
        let path = folder.join("submitting");
        match std::fs::File::create_new(&path) {
            Ok(_) => Ok(SubmissionLock(path)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => bail!(
                "another submission from this folder is under way. If none is running, one was killed: \
                 see with squeue whether its job is there, scancel it, and remove {}",
                path.display()
            ),
            Err(error) => Err(error).with_context(|| format!("cannot write {}", path.display())),
        }
    }

    /// Releases the lock, after the job is recorded or none was submitted.
    pub fn release(&self) -> anyhow::Result<()> {
        std::fs::remove_file(&self.0).with_context(|| format!("cannot remove {}", self.0.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::unwrap_used)]
    fn job_numbers() {
        let job = Job::parse("a note of the site\n123;north\n", "1-4").unwrap();
        assert_eq!((job.id.as_str(), job.cluster.as_deref()), ("123", Some("north")));
        assert_eq!(Job::parse("7\n", "1").unwrap().cluster, None);
        assert!(Job::parse("", "1").is_none() && Job::parse("Submitted", "1").is_none());
    }
}
