//! What is known of Slurm: the batch script, what was submitted, and what the queue says of it.

pub mod flags;
pub mod queue;
pub mod script;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use crate::files::whole_file;

/// What has been submitted, kept as `slurm.json` beside the shards.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submitted {
    /// The sweep, or whatever else was submitted.
    pub file: PathBuf,
    /// Number of shares.
    pub tasks: usize,
    /// Hash of what was shared out: other cells are other shares.
    pub fingerprint: String,
    /// Cores of each task.
    pub cpus: usize,
    /// Jobs, the latest last.
    pub jobs: Vec<Job>,
}

/// A job array.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Slurm's number.
    pub id: String,
    /// Slurm's name for the cluster, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The tasks, as in `1-4,7`.
    pub array: String,
}

impl Job {
    /// What `sbatch --parsable` prints: a number, and the cluster where there are several.
    pub fn parse(text: &str, array: &str) -> Option<Job> {
        // A site's own notes may stand before it.
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
    fn path(folder: &Path) -> PathBuf {
        folder.join("slurm.json")
    }

    /// What was submitted from this folder, if anything.
    pub fn read(folder: &Path) -> anyhow::Result<Option<Submitted>> {
        let path = Submitted::path(folder);
        match std::fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).map(Some).with_context(|| {
                format!("{} is not what this version of superpose writes; move it away", path.display())
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| path.display().to_string()),
        }
    }

    /// Keeps it, whole or not at all.
    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        whole_file(&Submitted::path(folder), (serde_json::to_string_pretty(self)? + "\n").as_bytes())
    }
}

/// A submission that has begun and is not noted yet: a file that only one process can make, also over a network. Where a submission is
/// killed half way it stays, and a person must look whether its job is in the queue.
#[derive(Debug)]
pub struct Submitting {
    path: PathBuf,
}

impl Submitting {
    /// Begins, unless another process has.
    pub fn begin(folder: &Path) -> anyhow::Result<Submitting> {
        let path = folder.join("submitting");
        match std::fs::File::create_new(&path) {
            Ok(_) => Ok(Submitting { path }),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => bail!(
                "another submission from this folder has begun and not ended. If none is at work, one was killed: \
                 see with squeue whether its job is there, scancel it, and remove {}",
                path.display()
            ),
            Err(error) => Err(error).with_context(|| format!("cannot write {}", path.display())),
        }
    }

    /// Ends it: the job is noted, or there is none.
    pub fn end(self) -> anyhow::Result<()> {
        std::fs::remove_file(&self.path).with_context(|| format!("cannot remove {}", self.path.display()))
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
