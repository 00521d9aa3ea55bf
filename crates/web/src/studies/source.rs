//! The file of a store, followed by its name: opened for every look and closed again.
//!
//! A connection that stayed open would go on reading a file that was removed or replaced, and would keep SQLite's log (`-wal`)
//! from being written into the file when a sweep ends. The log goes by the store's name, not by its file: after a replacement
//! the log of the file before may still be there, and SQLite would take it for that of the new one, read its pages and write
//! them into the new file. So what is beside the file is remembered, and a log that was seen beside the file before is not read.

use std::fs::Metadata;
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use superpose_lab::store::Store;

use super::folder;

/// The head of a log, which has numbers drawn anew whenever it is begun.
type Log = [u8; 32];

/// Which file the store is, and whose log is beside it.
#[derive(Default)]
struct Trail {
    file: Option<Metadata>,
    log: Option<(Log, Metadata)>,
    /// The log of a file that was here before.
    left: Option<Log>,
    replaced: u64,
    /// Whether this very file has been opened before, and found whole.
    known: bool,
}

impl Trail {
    fn follow(&mut self, file: Option<Metadata>, log: Option<(Log, Metadata)>) {
        let same = match (&self.file, &file) {
            (Some(before), Some(now)) => folder::same(before, now),
            (before, now) => before.is_none() && now.is_none(),
        };
        if !same {
            self.replaced += 1;
            // The old file's writer may have begun its log anew since the last look, in the same file.
            let old = |(head, now): &&(Log, Metadata)| {
                self.log.as_ref().is_some_and(|(before, was)| head == before || folder::same(was, now))
            };
            self.left = log.as_ref().filter(old).map(|(head, _)| *head);
            self.known = false;
        }
        (self.file, self.log) = (file, log);
    }
}

/// The store's file.
#[derive(Default)]
pub struct Source {
    trail: Mutex<Trail>,
}

impl Source {
    /// A connection to what is there now.
    pub fn open(&self, root: &Path, name: &str) -> Result<Store, String> {
        let mut trail = self.trail.lock().unwrap_or_else(PoisonError::into_inner);
        let (found, log) = (folder::look(root, name), log(root, name));
        let head = log.as_ref().map(|(head, _)| *head);
        trail.follow(found.as_ref().ok().cloned(), log);
        let file = found.map_err(|error| error.to_string())?;
        let path = root.join(name);
        // Where the folder cannot be written its log cannot be read: then what the file alone says must do.
        let alone = |error: String| Store::peek(&path).map(|store| (store, false)).map_err(|_| error);
        let whole = |store: Store| (store, true);
        let (store, known) = match (trail.left.is_some() && trail.left == head, trail.known) {
            (true, _) => alone("the log beside it is that of another file".into()),
            (false, true) => Store::reopen(&path).map(whole).or_else(|error| alone(error.to_string())),
            (false, false) => {
                Store::open_existing(&path).map(whole).or_else(|error| alone(error.to_string()))
            }
        }?;
        // Somebody may have replaced it between the look and the opening.
        let now = folder::look(root, name).map_err(|error| error.to_string())?;
        if !folder::same(&file, &now) {
            return Err("it is being replaced".into());
        }
        trail.known = known;
        Ok(store)
    }

    /// How often it was found to be another file, or gone.
    pub fn replaced(&self) -> u64 {
        self.trail.lock().unwrap_or_else(PoisonError::into_inner).replaced
    }
}

/// The name of a store's log.
pub fn log_name(name: &str) -> String {
    format!("{name}-wal")
}

fn log(root: &Path, name: &str) -> Option<(Log, Metadata)> {
    let mut head = [0; 32];
    let (mut file, metadata) = folder::open(root, &log_name(name)).ok()?;
    file.read_exact(&mut head).ok()?;
    Some((head, metadata))
}
