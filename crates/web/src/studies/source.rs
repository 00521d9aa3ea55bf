//! The file of a store, followed by its name: opened for every look and closed again.
//!
//! A connection that stayed open would go on reading a file that was removed or replaced, and would keep SQLite's log (`-wal`)
//! from being written into the file when a sweep ends. The log goes by the store's name, not by its file: after a replacement
//! the log of the file before may still be there, and SQLite would take it for that of the new one, read its pages and write
//! them into the new file. So what is beside the file is remembered, and a log that was there before the file was is not read.

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
    log: Option<Log>,
    /// The log of a file that was here before.
    left: Option<Log>,
    replaced: u64,
    /// Whether this very file has been opened before.
    known: bool,
}

impl Trail {
    fn follow(&mut self, file: Option<Metadata>, log: Option<Log>) {
        let same = match (&self.file, &file) {
            (Some(before), Some(now)) => folder::same(before, now),
            (before, now) => before.is_none() && now.is_none(),
        };
        if !same {
            self.replaced += 1;
            self.left = log.filter(|_| log == self.log);
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
        trail.follow(found.as_ref().ok().cloned(), log);
        let file = found.map_err(|error| error.to_string())?;
        let path = root.join(name);
        // Where the folder cannot be written its log cannot be read: then what the file alone says must do.
        let alone = |error: String| Store::peek(&path).map_err(|_| error);
        let store = match (trail.left.is_some() && trail.left == log, trail.known) {
            (true, _) => alone("the log beside it is that of another file".into()),
            (false, true) => Store::reopen(&path).or_else(|error| alone(error.to_string())),
            (false, false) => Store::open_existing(&path).or_else(|error| alone(error.to_string())),
        }?;
        // Somebody may have replaced it between the look and the opening.
        let now = folder::look(root, name).map_err(|error| error.to_string())?;
        if !folder::same(&file, &now) {
            return Err("it is being replaced".into());
        }
        trail.known = true;
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

fn log(root: &Path, name: &str) -> Option<Log> {
    let mut head = [0; 32];
    folder::open(root, &log_name(name)).ok()?.0.read_exact(&mut head).ok()?;
    Some(head)
}
