//! The progress of a sweep: which of its cells are in its store and its shards, and what every share has yet to run.
//!
//! A worker reads only the store and its own shard, because thousands of workers that read each other's files would overload a file
//! system. So a finished cell is run again if it is in a shard that its worker does not read, after the file or the number of shares
//! has changed. Such cells are counted as astray.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use superpose_core::backend::Numerics;
use superpose_core::config::Config;

use super::merge::shards_in;
use super::shard::{Shard, ShardError, read};
use crate::cell::{Key, Known, Results, deal, estimated_seconds};
use crate::store::{Store, StoreError};

/// One share of the cells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShareSurvey {
    /// Number of cells.
    pub cells: usize,
    /// Number of cells that are neither in the store nor in its own shard.
    pub missing: usize,
    /// Estimated seconds of one thread for the missing cells.
    pub seconds: f64,
}

/// The progress of a sweep.
#[derive(Debug, Default)]
pub struct Survey {
    /// A hash of the cells in their order. The same fingerprint and number of shares mean the same shares.
    pub fingerprint: String,
    /// Number of different cells.
    pub cells: usize,
    /// Number of cells with an outcome, in the store or a shard.
    pub done: usize,
    /// Number of these that are only in shards.
    pub in_shards: usize,
    /// Number of cells that failed and have no outcome.
    pub failed: usize,
    /// Estimated seconds of one thread for the other cells.
    pub seconds: f64,
    /// Measured over estimated seconds of the finished cells; 1 if there are none.
    pub pace: f64,
    /// The shares, if there are any.
    pub shares: Vec<ShareSurvey>,
    /// Number of cells that are done in a shard that their worker does not read.
    pub astray: usize,
    /// One of the shards that contain them.
    pub astray_in: Option<PathBuf>,
    /// The errors of shards that cannot be read.
    pub damaged: Vec<ShardError>,
    /// Shards with cells of another sweep, or of an earlier version of this one, each with its first such line.
    pub foreign: Vec<(PathBuf, usize)>,
}

/// Where the result of a cell was found.
#[derive(Clone, Copy, Default)]
struct Found {
    done: bool,
    failed: bool,
    /// In the store or in the shard of its worker.
    seen: bool,
    /// Done in the store.
    stored: bool,
    astray: bool,
}

impl Survey {
    /// Reads the store and the shards in `folder`, if it exists. The cells, each once, are distributed over `shares`; results of other numerics do not count. With
    /// `retry_failed`, failed cells count as missing.
    ///
    /// # Errors
    /// Fails if the store or the folder cannot be read.
    pub fn take(
        cells: &[Config],
        numerics: &Numerics,
        noise: bool,
        retry_failed: bool,
        store: Option<&mut Store>,
        folder: &Path,
        shares: usize,
    ) -> Result<Survey, StoreError> {
        let seconds: Vec<f64> = cells.iter().map(|cell| estimated_seconds(cell, noise)).collect();
        let dealt = if shares == 0 { Vec::new() } else { deal(&seconds, shares) };
        let mut share_of = vec![usize::MAX; cells.len()];
        for (share, mine) in dealt.iter().enumerate() {
            mine.iter().for_each(|&cell| share_of[cell] = share);
        }
        let keys: Vec<Key> = cells.iter().map(|cell| Key::new(cell, numerics)).collect();
        let places: HashMap<Key, usize> = keys.iter().enumerate().map(|(i, key)| (*key, i)).collect();

        let mut found = vec![Found::default(); cells.len()];
        let (mut measured, mut estimated) = (0.0, 0.0);
        let mut learn = |cell: usize, result: &Known, found: &mut Found| match result {
            Ok(outcome) if noise && outcome.noise.is_none() => false,
            Ok(outcome) => {
                if !found.done {
                    measured += outcome.seconds;
                    estimated += seconds[cell];
                }
                found.done = true;
                true
            }
            Err(_) => {
                found.failed = true;
                !retry_failed
            }
        };
        if let Some(store) = store {
            // While another process writes the store, a read may fail on a half-written page, so it is tried twice.
            for (key, result) in store.find(&keys).or_else(|_| store.find(&keys))? {
                let cell = places[&key];
                found[cell].seen |= learn(cell, &result, &mut found[cell]);
                found[cell].stored = found[cell].done;
            }
        }
        // Of the cells alone: which GPU computes is not known before its first result.
        let words = cells.iter().map(|cell| Key::new(cell, &Numerics::default()).to_string());
        let mut survey = Survey { fingerprint: fingerprint(words), ..Survey::default() };
        let own: HashMap<PathBuf, usize> =
            (0..shares).map(|share| (Shard::path(folder, share + 1, shares), share)).collect();
        let shards = if folder.is_dir() { shards_in(&[folder.to_owned()])? } else { Vec::new() };
        for path in shards {
            let entries = match read(&path) {
                Ok(content) => content.entries,
                Err(error) => {
                    survey.damaged.push(error);
                    continue;
                }
            };
            let own = own.get(&path);
            let strange = entries.iter().position(|entry| !places.contains_key(&entry.key));
            survey.foreign.extend(strange.map(|line| (path.clone(), line + 1)));
            for entry in entries {
                let Some(&cell) = places.get(&entry.key) else { continue };
                if !learn(cell, &entry.result, &mut found[cell]) {
                    continue;
                }
                if own == Some(&share_of[cell]) {
                    found[cell].seen = true;
                } else if shares > 0 && entry.result.is_ok() {
                    found[cell].astray = true;
                    survey.astray_in.get_or_insert_with(|| path.clone());
                }
            }
        }

        survey.shares = vec![ShareSurvey::default(); shares];
        survey.cells = cells.len();
        for (cell, found) in found.iter().enumerate() {
            survey.done += usize::from(found.done);
            survey.in_shards += usize::from(found.done && !found.stored);
            survey.failed += usize::from(found.failed && !found.done);
            if !found.done && !found.failed {
                survey.seconds += seconds[cell];
            }
            survey.astray += usize::from(found.astray && !found.seen);
            if let Some(share) = survey.shares.get_mut(share_of[cell]) {
                share.cells += 1;
                if !found.seen {
                    share.missing += 1;
                    share.seconds += seconds[cell];
                }
            }
        }
        if survey.astray == 0 {
            survey.astray_in = None;
        }
        survey.pace = if measured > 0.0 && estimated > 0.0 { measured / estimated } else { 1.0 };
        Ok(survey)
    }

    /// Returns the number of cells that are neither done nor failed.
    pub fn left(&self) -> usize {
        self.cells - self.done - self.failed
    }
}

/// Returns the arithmetic of the GPU that computed the first such result in the shards of a folder. Without one it is the word `cuda`, which
/// no result has.
///
/// # Errors
/// Fails if the folder cannot be read.
pub fn gpu_numerics(folder: &Path) -> Result<Numerics, StoreError> {
    let shards = if folder.is_dir() { shards_in(&[folder.to_owned()])? } else { Vec::new() };
    let of_gpu = |path: &PathBuf| {
        let entries = read(path).ok()?.entries.into_iter();
        entries.map(|entry| entry.numerics).find(|numerics| numerics.word().starts_with(GPU))
    };
    Ok(shards
        .iter()
        .find_map(of_gpu)
        .unwrap_or_else(|| Numerics::try_from(GPU.to_string()).unwrap_or_default()))
}

/// How the arithmetic of GPUs is named.
const GPU: &str = "cuda";

/// Returns a short hash of words in their order.
pub fn fingerprint(words: impl Iterator<Item = String>) -> String {
    let mut hasher = blake3::Hasher::new();
    for word in words {
        hasher.update(&(word.len() as u64).to_le_bytes());
        hasher.update(word.as_bytes());
    }
    hasher.finalize().to_hex()[..16].into()
}
