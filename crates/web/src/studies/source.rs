//! Opens the file of a store by its name, for every read anew.
//!
//! A connection that stayed open would continue to read a file that was removed or replaced, and would keep SQLite's log (`-wal`)
//! from being written into the file when a sweep ends. The log belongs to the name of the store, not to its file: after a
//! replacement the old file's log may still be there, and SQLite would read its pages as those of the new file and write them
//! into it. So the log beside each file is remembered, and a log of a previous file is not read.

use std::fs::Metadata;
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use superpose_lab::store::Store;

use super::folder;

/// The head of a log, which has new random numbers whenever the log is restarted.
type LogHead = [u8; 32];

/// The file last seen, and the log beside it.
#[derive(Default)]
struct History {
    file: Option<Metadata>,
    log: Option<(LogHead, Metadata)>,
    /// The log of a previous file.
    stale: Option<LogHead>,
    replaced: u64,
    /// Whether this file has been opened and checked before.
    known: bool,
}

impl History {
    fn follow(&mut self, file: Option<Metadata>, log: Option<(LogHead, Metadata)>) {
        let same = match (&self.file, &file) {
            (Some(before), Some(now)) => folder::same(before, now),
            (before, now) => before.is_none() && now.is_none(),
        };
        if !same {
            self.replaced += 1;
            // The old file's writer may have restarted its log, in the same log file, since it was last seen.
            let old = |(head, now): &&(LogHead, Metadata)| {
                self.log.as_ref().is_some_and(|(before, was)| head == before || folder::same(was, now))
            };
            self.stale = log.as_ref().filter(old).map(|(head, _)| *head);
            self.known = false;
        }
        (self.file, self.log) = (file, log);
    }
}

/// The store's file.
#[derive(Default)]
pub struct Source(Mutex<History>);

impl Source {
    /// A connection to the present file.
    pub fn open(&self, root: &Path, name: &str) -> Result<Store, String> {
        let mut history = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (found, log) = (folder::metadata(root, name), log(root, name));
        let head = log.as_ref().map(|(head, _)| *head);
        history.follow(found.as_ref().ok().cloned(), log);
        let file = found.map_err(|error| error.to_string())?;
        let path = root.join(name);
        // SQLite cannot read the log of a read-only folder: then the file is read without it.
        let alone = |error: String| Store::peek(&path).map(|store| (store, false)).map_err(|_| error);
        let open = if history.known { Store::reopen } else { Store::open_existing };
        let (store, known) = match history.stale.is_some() && history.stale == head {
            true => alone("the log beside it is that of another file".into()),
            false => open(&path).map(|store| (store, true)).or_else(|error| alone(error.to_string())),
        }?;
        // The file may have been replaced since it was checked.
        let now = folder::metadata(root, name).map_err(|error| error.to_string())?;
        if !folder::same(&file, &now) {
            return Err("it is being replaced".into());
        }
        history.known = known;
        Ok(store)
    }

    /// How often the file was replaced or removed.
    pub fn replaced(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).replaced
    }
}

/// The name of a store's log.
pub fn log_name(name: &str) -> String {
    format!("{name}-wal")
}

fn log(root: &Path, name: &str) -> Option<(LogHead, Metadata)> {
    let mut head = [0; 32];
    let (mut file, metadata) = folder::open(root, &log_name(name)).ok()?;
    file.read_exact(&mut head).ok()?;
    Some((head, metadata))
}
