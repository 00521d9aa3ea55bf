//! A shard: the results of one share of a sweep, one JSON object per line, appended by one process.
//!
//! For shared file systems, where a database's locks do not hold: no lock, no header, nothing is ever rewritten. Each line ends
//! with a checksum of itself. A process that is killed while it writes leaves a line without its end; that line
//! is recognised, and cut off when the shard is continued.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::cell::{Entry, Key, Known, Results, learn};
use crate::store::{Store, StoreError};

/// What comes between a line's content and its checksum.
const MARK: &str = ",\"checksum\":\"";

/// A shard that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ShardError {
    /// The file cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A line is not what a sweep writes.
    #[error("{}, line {line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// What is wrong with it.
        problem: LineProblem,
    },
}

/// What is wrong with a line of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineProblem {
    /// It is something else.
    #[error("not a record of superpose sweep")]
    Foreign,
    /// It was changed after it had been written.
    #[error("the checksum does not fit: the line was edited or damaged")]
    Checksum,
    /// Its checksum fits, but its content does not.
    #[error("a record that this version cannot read")]
    Unreadable,
    /// Its key is not that of its configuration.
    #[error("the key does not fit the configuration")]
    Key,
    /// Its numbers are not those of any run.
    #[error("numbers that no run can give")]
    Impossible,
    /// Another result for the same cell is in the store.
    #[error(
        "the store has another result for this cell: one of the two was not made by this program as it is"
    )]
    Conflict,
}

/// A shard's content.
#[derive(Debug)]
pub(super) struct Content {
    /// The entries, a line each.
    pub entries: Vec<Entry>,
    /// Bytes up to the end of the last whole line.
    pub whole: u64,
    /// Whether there is something after it.
    pub torn: bool,
}

/// Reads a whole shard. A last line without its end is not an error.
pub(super) fn read(path: &Path) -> Result<Content, ShardError> {
    let failed = |error| ShardError::Io { path: path.into(), error };
    // A pipe would be waited for, for ever.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(failed(std::io::Error::new(ErrorKind::InvalidInput, "not a file")));
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let mut entries = Vec::new();
    for (i, line) in bytes[..whole].split_inclusive(|&byte| byte == b'\n').enumerate() {
        let entry = read_line(&line[..line.len() - 1]).map_err(|problem| ShardError::Line {
            path: path.into(),
            line: i + 1,
            problem,
        })?;
        entries.push(entry);
    }
    // A file that is one long line of something else was not torn, it was never ours.
    if entries.is_empty() && !bytes.is_empty() && !b"{\"key\":\"".starts_with(&bytes[..bytes.len().min(8)]) {
        return Err(ShardError::Line { path: path.into(), line: 1, problem: LineProblem::Foreign });
    }
    Ok(Content { entries, whole: whole as u64, torn: whole < bytes.len() })
}

/// The same, and nothing where there is no file.
fn read_if_there(path: &Path) -> Result<Content, ShardError> {
    match read(path) {
        Err(ShardError::Io { error, .. }) if error.kind() == ErrorKind::NotFound => {
            Ok(Content { entries: Vec::new(), whole: 0, torn: false })
        }
        content => content,
    }
}

fn checksum(content: &str) -> String {
    let hash = blake3::hash(content.as_bytes()).to_hex();
    hash[..16].into()
}

/// An entry as a line.
fn write_line(entry: &Entry) -> String {
    let mut line = serde_json::to_string(entry).expect("an entry is plain values");
    line.pop();
    let checksum = checksum(&line);
    line + MARK + &checksum + "\"}\n"
}

fn read_line(line: &[u8]) -> Result<Entry, LineProblem> {
    let line = std::str::from_utf8(line).map_err(|_| LineProblem::Foreign)?;
    let (content, rest) = line.rsplit_once(MARK).ok_or(LineProblem::Foreign)?;
    if rest.strip_suffix("\"}") != Some(&checksum(content)) {
        return Err(LineProblem::Checksum);
    }
    let entry: Entry = serde_json::from_str(&format!("{content}}}")).map_err(|_| LineProblem::Unreadable)?;
    if Key::at(&entry.config, entry.numerics_revision) != entry.key {
        return Err(LineProblem::Key);
    }
    if entry.result.as_ref().is_ok_and(|outcome| !outcome.is_possible()) {
        return Err(LineProblem::Impossible);
    }
    Ok(entry)
}

/// A shard that is being written, or one that is looked at.
#[derive(Debug)]
pub struct Shard {
    path: PathBuf,
    /// Nothing where it is only looked at.
    file: Option<File>,
    length: u64,
    known: HashMap<Key, Known>,
    store: Option<Store>,
}

impl Shard {
    /// The file of share `share` of `shares`, counted from 1, in the given folder.
    pub fn path(folder: &Path, share: usize, shares: usize) -> PathBuf {
        folder.join(format!("{share}-of-{shares}.jsonl"))
    }

    /// Opens a shard or begins one, with its folder. A torn last line is cut off. What `store` has is known, too, if it is
    /// there and can be read.
    pub fn open(path: &Path, store: Option<&Path>) -> Result<Shard, ShardError> {
        let failed = |error| ShardError::Io { path: path.into(), error };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let content = read_if_there(path)?;
        let file = OpenOptions::new().append(true).create(true).open(path).map_err(failed)?;
        if content.torn {
            file.set_len(content.whole).map_err(failed)?;
        }
        Ok(Shard::with(path, Some(file), content, store))
    }

    /// Looks at a shard, of which there may be none yet, and writes nothing: another process may be writing it, and what looks
    /// like a torn line may be one that it is writing at this moment. Nothing can be kept in it.
    pub fn peek(path: &Path, store: Option<&Path>) -> Result<Shard, ShardError> {
        Ok(Shard::with(path, None, read_if_there(path)?, store))
    }

    fn with(path: &Path, file: Option<File>, content: Content, store: Option<&Path>) -> Shard {
        let mut known = HashMap::new();
        // A later line may be better: an outcome after a failure, a noise budget.
        content.entries.iter().for_each(|entry| learn(&mut known, entry.key, &entry.result));
        let store = store.and_then(|path| Store::peek(path).ok());
        Shard { path: path.into(), file, length: content.whole, known, store }
    }

    /// Whether the shard has this cell.
    pub fn has(&self, key: &Key) -> bool {
        self.known.contains_key(key)
    }

    /// Cells that the shard has.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

impl Results for Shard {
    fn find(&mut self, keys: &[Key]) -> Result<HashMap<Key, Known>, StoreError> {
        // The store may be written at this moment, and a page seen half: what cannot be read is run again.
        let stored = self.store.as_mut().and_then(|store| store.find(keys).ok());
        let mut known = stored.unwrap_or_default();
        for key in keys {
            if let Some(result) = self.known.get(key) {
                learn(&mut known, *key, result);
            }
        }
        Ok(known)
    }

    fn keep(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        let Some(file) = &mut self.file else {
            let error = std::io::Error::new(ErrorKind::PermissionDenied, "opened to look at only");
            return Err(StoreError::io(&self.path, error));
        };
        let text: String = entries.iter().map(write_line).collect();
        if let Err(error) = file.write_all(text.as_bytes()) {
            // All or nothing; where even this fails the torn line is found on the next start.
            let _ = file.set_len(self.length);
            return Err(StoreError::io(&self.path, error));
        }
        self.length += text.len() as u64;
        entries.iter().for_each(|entry| learn(&mut self.known, entry.key, &entry.result));
        Ok(())
    }
}
