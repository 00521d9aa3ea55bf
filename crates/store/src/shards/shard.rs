//! Shards: the results of one share of a sweep, one JSON object per line, appended by one process.
//!
//! They are for shared file systems, where the locks of a database are unreliable: there is no lock and no header, and nothing is
//! rewritten. Each line ends with its own checksum. A process that is killed while writing leaves an incomplete line, which is
//! recognised and truncated when the shard is continued.

use std::collections::{BTreeSet, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use superpose_core::backend::Numerics;
use superpose_core::config::Config;

use crate::cell::{Entry, FileId, InputFile, InputFiles, Key, Known, Results, learn};
use crate::store::{Store, StoreError};

/// The text between the content of a line and its checksum.
const MARK: &str = ",\"checksum\":\"";

/// Why a shard cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages explain variants and fields.
pub enum ShardError {
    /// The file cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: std::io::Error },
    #[error("{}, line {line}: {problem}", path.display())]
    Line { path: PathBuf, line: usize, problem: &'static str },
    /// A cell was run with other contents of an input file.
    #[error("{}, line {line}: {error}", path.display())]
    Input { path: PathBuf, line: usize, error: Box<StoreError> },
}

const FOREIGN: &str = "not a record of superpose sweep";
const UNREADABLE: &str = "a record that this version cannot read";

#[derive(Debug)]
pub(super) struct Content {
    pub entries: Vec<Entry>,
    /// Number of bytes to the end of the last complete line.
    pub whole: u64,
    /// Whether an incomplete line follows.
    pub torn: bool,
}

/// Reads a shard. An incomplete last line is not an error.
pub(super) fn read(path: &Path) -> Result<Content, ShardError> {
    let failed = |error| ShardError::Io { path: path.into(), error };
    // Reading a pipe would block.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(failed(std::io::Error::new(ErrorKind::InvalidInput, "not a file")));
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let mut entries = Vec::new();
    for (i, line) in bytes[..whole].split_inclusive(|&byte| byte == b'\n').enumerate() {
        let failed = |problem| ShardError::Line { path: path.into(), line: i + 1, problem };
        entries.push(read_line(&line[..line.len() - 1]).map_err(failed)?);
    }
    // A file that is one incomplete line of something else is not a shard.
    if entries.is_empty() && !bytes.is_empty() && !b"{\"key\":\"".starts_with(&bytes[..bytes.len().min(8)]) {
        return Err(ShardError::Line { path: path.into(), line: 1, problem: FOREIGN });
    }
    Ok(Content { entries, whole: whole as u64, torn: whole < bytes.len() })
}

/// The same; empty if there is no file.
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

fn write_line(entry: &Entry) -> String {
    let mut line = serde_json::to_string(entry).expect("an entry is plain values");
    line.pop();
    let checksum = checksum(&line);
    line + MARK + &checksum + "\"}\n"
}

/// Reads and validates a line. The error is the problem of the line.
fn read_line(line: &[u8]) -> Result<Entry, &'static str> {
    let line = std::str::from_utf8(line).map_err(|_| FOREIGN)?;
    let (content, rest) = line.rsplit_once(MARK).ok_or(FOREIGN)?;
    if rest.strip_suffix("\"}") != Some(&checksum(content)) {
        return Err("the checksum does not fit: the line was edited or damaged");
    }
    let entry: Entry = serde_json::from_str(&format!("{content}}}")).map_err(|_| UNREADABLE)?;
    if entry.format != Entry::FORMAT {
        return Err(UNREADABLE);
    }
    entry.check()?;
    Ok(entry)
}

/// A shard that is open for appending or only for reading.
#[derive(Debug)]
pub struct Shard {
    path: PathBuf,
    /// `None` if it is open only for reading.
    file: Option<File>,
    id: FileId,
    length: u64,
    known: HashMap<Key, Known>,
    /// The words `numerics` of its results.
    numerics: BTreeSet<Numerics>,
    inputs: InputFiles,
    store: Option<Store>,
}

impl Shard {
    /// Returns the file of share `share` of `shares`, counted from 1, in a folder.
    pub fn path(folder: &Path, share: usize, shares: usize) -> PathBuf {
        folder.join(format!("{share}-of-{shares}.jsonl"))
    }

    /// Opens or creates a shard and its folder. An incomplete last line is truncated. Results in `store` are known too, if it can be
    /// read.
    ///
    /// # Errors
    /// Fails if the file cannot be written or is not a shard.
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

    /// Opens a shard for reading; it need not exist. Nothing is truncated, because an incomplete line may be one that another
    /// process is writing.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is not a shard.
    pub fn peek(path: &Path, store: Option<&Path>) -> Result<Shard, ShardError> {
        Ok(Shard::with(path, None, read_if_there(path)?, store))
    }

    fn with(path: &Path, file: Option<File>, content: Content, store: Option<&Path>) -> Shard {
        let mut known = HashMap::new();
        // A later line may add an outcome after a failure, or a noise budget.
        content.entries.iter().for_each(|entry| learn(&mut known, entry.key, &entry.result));
        let numerics = content.entries.iter().map(|entry| entry.numerics.clone()).collect();
        let inputs = content.entries.iter().filter_map(|entry| InputFile::of(&entry.config)).collect();
        let store = store.and_then(|path| Store::peek(path).ok());
        let (id, path, length) = (FileId::of(path), path.into(), content.whole);
        Shard { path, file, id, length, known, numerics, inputs, store }
    }

    /// The keys of the results that the shard has of a cell, one for each word `numerics` in the shard.
    pub fn keys_of(&self, cell: &Config) -> Vec<Key> {
        let keys = self.numerics.iter().map(|numerics| Key::new(cell, numerics));
        keys.filter(|key| self.known.contains_key(key)).collect()
    }

    /// Whether it has results, and none of these cells.
    pub fn has_only_other_cells(&self, cells: &[Config]) -> bool {
        !self.known.is_empty() && cells.iter().all(|cell| self.keys_of(cell).is_empty())
    }
}

impl Results for Shard {
    fn input_files(&mut self) -> Result<InputFiles, StoreError> {
        let stored = self.store.as_mut().and_then(|store| store.input_files().ok());
        Ok(stored.unwrap_or_default().into_iter().chain(self.inputs.iter().cloned()).collect())
    }

    fn find(&mut self, keys: &[Key]) -> Result<HashMap<Key, Known>, StoreError> {
        // While another process writes the store, a read may fail; the cells are then run again.
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
            let error = std::io::Error::new(ErrorKind::PermissionDenied, "opened for reading only");
            return Err(StoreError::io(&self.path, error));
        };
        FileId::check(self.id, &self.path)?;
        let text: String = entries.iter().map(write_line).collect();
        if let Err(error) = file.write_all(text.as_bytes()) {
            // Remove the partial write; if this fails too, the next start truncates it.
            let _ = file.set_len(self.length);
            return Err(StoreError::io(&self.path, error));
        }
        FileId::check(self.id, &self.path)?;
        self.length += text.len() as u64;
        for entry in entries {
            learn(&mut self.known, entry.key, &entry.result);
            self.numerics.insert(entry.numerics.clone());
        }
        Ok(())
    }
}
