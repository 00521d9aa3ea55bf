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
use crate::cell::{Entry, Key, Known, Results, deal, estimated_seconds, fingerprint};
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
    /// Number of results in shards whose arithmetic is not counted.
    pub uncounted: usize,
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
    /// Reads the store and the shards in `folder`, if it exists. The cells, each once, are distributed over `shares`. Results count
    /// whose arithmetic is `counted`, as there may be GPUs of several architectures. With `retry_failed`, failed cells count as
    /// missing.
    ///
    /// # Errors
    /// Fails if the store or the folder cannot be read.
    pub fn take(
        cells: &[Config],
        counted: impl Fn(&Numerics) -> bool,
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
            let stored = store.numerics().or_else(|_| store.numerics())?;
            for numerics in stored.iter().filter(|numerics| counted(numerics)) {
                let places = places(cells, numerics);
                let keys: Vec<Key> = places.keys().copied().collect();
                for (key, result) in store.find(&keys).or_else(|_| store.find(&keys))? {
                    let cell = places[&key];
                    found[cell].seen |= learn(cell, &result, &mut found[cell]);
                    found[cell].stored = found[cell].done;
                }
            }
        }
        // Of the cells alone: which GPU computes is not known before its first result.
        let words = cells.iter().map(|cell| Key::new(cell, &Numerics::default()).to_string());
        let mut survey = Survey { fingerprint: fingerprint(words), ..Survey::default() };
        let own: HashMap<PathBuf, usize> =
            (0..shares).map(|share| (Shard::path(folder, share + 1, shares), share)).collect();
        let shards = if folder.is_dir() { shards_in(&[folder.to_owned()])? } else { Vec::new() };
        let mut keys: HashMap<Numerics, HashMap<Key, usize>> = HashMap::new();
        for path in shards {
            let entries = match read(&path) {
                Ok(content) => content.entries,
                Err(error) => {
                    survey.damaged.push(error);
                    continue;
                }
            };
            let own = own.get(&path);
            let mut foreign = None;
            for (line, Entry { key, numerics, result, .. }) in (1..).zip(&entries) {
                let places = keys.entry(numerics.clone()).or_insert_with(|| places(cells, numerics));
                let Some(&cell) = places.get(key) else {
                    foreign = foreign.or(Some(line));
                    continue;
                };
                if !counted(numerics) {
                    survey.uncounted += 1;
                    continue;
                }
                if !learn(cell, result, &mut found[cell]) {
                    continue;
                }
                if own == Some(&share_of[cell]) {
                    found[cell].seen = true;
                } else if shares > 0 && result.is_ok() {
                    found[cell].astray = true;
                    survey.astray_in.get_or_insert_with(|| path.clone());
                }
            }
            survey.foreign.extend(foreign.map(|line| (path, line)));
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

/// Returns the place of each cell by its key under an arithmetic.
fn places(cells: &[Config], numerics: &Numerics) -> HashMap<Key, usize> {
    cells.iter().enumerate().map(|(place, cell)| (Key::new(cell, numerics), place)).collect()
}
