//! Merging shards into a store.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::shard::{ShardError, read};
use crate::cell::{InputFile, InputFiles, Key, Results, check_input};
use crate::store::{Batch, Store, StoreError};

/// The result of a merge.
#[derive(Debug, Default)]
pub struct Merged {
    /// Number of shards merged.
    pub shards: usize,
    /// Number of cells that the store did not have, or had as failed.
    pub added: usize,
    /// Number of cells that it had already.
    pub known: usize,
    /// Shards whose last line is incomplete, with its number, because their writers still run or were killed.
    pub torn: Vec<(PathBuf, usize)>,
    /// The errors of shards that were not merged.
    pub refused: Vec<ShardError>,
    /// Pairs of shards that begin with the same cell and are probably copies. Each cell is counted once.
    pub copies: Vec<(PathBuf, PathBuf)>,
}

/// Returns the shards in the given files and folders, each once.
///
/// # Errors
/// Fails if a file or folder cannot be read.
pub fn shards_in(paths: &[PathBuf]) -> Result<Vec<PathBuf>, StoreError> {
    let mut shards = BTreeSet::new();
    for path in paths {
        let failed = |error| StoreError::io(path, error);
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

/// Merges shards into the store, each completely or not at all. It can be repeated, also while shards are being written. `each`
/// receives every shard before it is read.
///
/// # Errors
/// Fails if the store fails; an invalid shard is reported in the result.
pub fn merge(
    shards: &[PathBuf],
    store: &mut Store,
    each: &mut dyn FnMut(&Path),
) -> Result<Merged, StoreError> {
    let mut merged = Merged::default();
    let mut firsts = HashMap::new();
    let mut inputs = store.input_files()?;
    // Keys are in random order, so every commit writes pages all over the index. Hence few large commits, but not so large that
    // other writers wait long.
    for group in shards.chunks(SHARDS_PER_COMMIT) {
        let mut batch = store.batch()?;
        for path in group {
            each(path);
            if let Some(first) = merge_one(path, &mut batch, &mut inputs, &mut merged)?
                && let Some(other) = firsts.insert(first, path)
            {
                merged.copies.push((path.clone(), other.clone()));
            }
        }
        batch.commit()?;
    }
    store.check_file()?;
    Ok(merged)
}

const SHARDS_PER_COMMIT: usize = 50;

/// Merges one shard or records why not. Returns its first cell.
fn merge_one(
    path: &Path,
    batch: &mut Batch<'_>,
    inputs: &mut InputFiles,
    merged: &mut Merged,
) -> Result<Option<Key>, StoreError> {
    let content = match read(path) {
        Ok(content) => content,
        Err(error) => {
            merged.refused.push(error);
            return Ok(None);
        }
    };
    let entries = &content.entries;
    // With those of the shard's earlier lines.
    let mut extended = inputs.clone();
    for (i, entry) in entries.iter().enumerate() {
        if let Err(error) = check_input(&extended, &entry.config) {
            merged.refused.push(ShardError::Input { path: path.into(), line: i + 1, error: error.into() });
            return Ok(None);
        }
        extended.extend(InputFile::of(&entry.config));
    }
    let (mut added, mut known) = (0, 0);
    let mut conflict = None;
    let taken = batch.take(entries, |i, there| {
        match (&entries[i].result, there) {
            (Ok(now), Some(Ok(there))) if !now.agrees(there) => conflict = Some(i + 1),
            (_, Some(Ok(_))) | (Err(_), Some(Err(_))) => known += 1,
            _ => added += 1,
        }
        conflict.is_none()
    })?;
    if let Some(line) = conflict {
        let problem = "the store has another result for this cell: one of the two was made by a different program, model of GPU, or version of cuBLAS or NVRTC";
        merged.refused.push(ShardError::Line { path: path.into(), line, problem });
    }
    if taken {
        *inputs = extended;
        merged.shards += 1;
        merged.added += added;
        merged.known += known;
        if content.torn {
            merged.torn.push((path.into(), entries.len() + 1));
        }
    }
    Ok(entries.first().map(|entry| entry.key))
}
