//! Bringing shards into a store.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::shard::{LineProblem, ShardError, read};
use crate::cell::Key;
use crate::store::{Batch, Store, StoreError};

/// What a merge did.
#[derive(Debug, Default)]
pub struct Merged {
    /// Shards brought in whole.
    pub shards: usize,
    /// Cells that the store did not have, or had as failed.
    pub added: usize,
    /// Cells that it had already.
    pub known: usize,
    /// Shards whose last line has no end, and its number: their writers are at work or were killed.
    pub torn: Vec<(PathBuf, usize)>,
    /// Shards that were left out, each with the line at fault.
    pub refused: Vec<ShardError>,
    /// Shards that begin with the same cell as another: most likely copies. Each cell is counted once.
    pub copies: Vec<(PathBuf, PathBuf)>,
}

/// Why a merge could not go on.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A file or folder cannot be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// Something is wrong with the store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The shards in the given files and folders, each once.
pub fn shards_in(paths: &[PathBuf]) -> Result<Vec<PathBuf>, MergeError> {
    let mut shards = BTreeSet::new();
    for path in paths {
        let failed = |error| MergeError::Io { path: path.clone(), error };
        if !std::fs::metadata(path).map_err(failed)?.is_dir() {
            shards.insert(path.clone());
            continue;
        }
        for entry in std::fs::read_dir(path).map_err(failed)? {
            let file = entry.map_err(failed)?.path();
            if file.extension().is_some_and(|extension| extension == "jsonl") {
                shards.insert(file);
            }
        }
    }
    Ok(shards.into_iter().collect())
}

/// Brings shards into the store, each as a whole or not at all. It may be done again and again, also while shards are being
/// written. `each` hears of every shard before it is read.
pub fn merge(
    shards: &[PathBuf],
    store: &mut Store,
    each: &mut dyn FnMut(&Path),
) -> Result<Merged, MergeError> {
    let mut merged = Merged::default();
    let mut firsts = HashMap::new();
    // Keys come in no order, so that every commit writes pages all over the index: few large commits. Not too large, since
    // other writers wait.
    for lot in shards.chunks(LOT) {
        let mut batch = store.batch()?;
        for path in lot {
            each(path);
            if let Some(first) = bring(path, &mut batch, &mut merged)?
                && let Some(other) = firsts.insert(first, path)
            {
                merged.copies.push((path.clone(), other.clone()));
            }
        }
        batch.commit()?;
    }
    Ok(merged)
}

/// Shards of one commit.
const LOT: usize = 50;

/// Brings one shard in, or notes why not. Gives its first cell.
fn bring(path: &Path, batch: &mut Batch<'_>, merged: &mut Merged) -> Result<Option<Key>, StoreError> {
    let content = match read(path) {
        Ok(content) => content,
        Err(error) => {
            merged.refused.push(error);
            return Ok(None);
        }
    };
    let entries = &content.entries;
    let (mut added, mut known) = (0, 0);
    let taken = batch.take(entries, |i, there| {
        let (now, there) = (&entries[i].result, there.map(|there| &there.result));
        match (now, there) {
            (Ok(now), Some(Ok(there))) if !now.agrees(there) => return Err(Refused::Line(i + 1)),
            (_, Some(Ok(_))) | (Err(_), Some(Err(_))) => known += 1,
            _ => added += 1,
        }
        Ok(())
    });
    match taken {
        Ok(()) => {
            merged.shards += 1;
            merged.added += added;
            merged.known += known;
            if content.torn {
                merged.torn.push((path.into(), entries.len() + 1));
            }
        }
        Err(Refused::Line(line)) => {
            let problem = LineProblem::Conflict;
            merged.refused.push(ShardError::Line { path: path.into(), line, problem });
        }
        Err(Refused::Store(error)) => return Err(error),
    }
    Ok(entries.first().map(|entry| entry.key))
}

/// Why a shard was not taken.
enum Refused {
    Line(usize),
    Store(StoreError),
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Refused {
        Refused::Store(error)
    }
}
