//! The store: results in one SQLite file.
//!
//! Write-ahead logging, so that readers and a writer do not stop each other and a process that is killed leaves a whole
//! file. Commits are not synced to disk one by one (`synchronous = NORMAL`): a crash of the program loses nothing
//! that was committed, a power cut may lose the last moments, and neither damages the file.
//! Not for network file systems, where SQLite's locks do not hold: machines of a cluster write shards, and a merge brings
//! them here.

mod columns;
mod export;
mod rows;
mod schema;
mod summary;
mod trajectory;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Row, Transaction, TransactionBehavior};
use superpose_core::backend::Numerics;

pub use crate::cell::StoreError;
pub use columns::{COLUMNS, Column, ColumnType, cell_settings, values};
#[cfg(feature = "parquet")]
pub use export::parquet;
pub use export::{ExportError, csv, json_lines};
pub use summary::{Group, Summary};

use crate::cell::{Entry, FileId, INPUT_SETTINGS, InputFile, InputFiles, Key, Known, Results, replaces};

/// How long to wait for another process that writes.
const BUSY: Duration = Duration::from_secs(60);

/// Files up to this size are checked for damage when opened, which takes two seconds per gigabyte or so.
const CHECKED: u64 = 256 << 20;

/// An open store.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    id: FileId,
}

impl Store {
    /// Opens the store, or makes a new one where there is no file or an empty one.
    ///
    /// # Errors
    /// Fails if the file cannot be written, is damaged, newer or something else; it is then not touched.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::metadata(folder).map_err(|error| StoreError::io(path, error))?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        Store::connect(path, flags, schema::recognise(path)?)
    }

    /// Opens a store that must be there.
    ///
    /// # Errors
    /// As for [`Store::open`], and if there is no file or an empty one.
    pub fn open_existing(path: &Path) -> Result<Store, StoreError> {
        std::fs::metadata(path).map_err(|error| StoreError::io(path, error))?;
        Store::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, not_empty(path)?)
    }

    /// Opens a file that this process has opened as a store before, without checking it again. Other connections to it may be
    /// open: a check would close the file once, and with that the system would drop their locks.
    ///
    /// # Errors
    /// Fails if the file cannot be written, or is no longer a store.
    pub fn reopen(path: &Path) -> Result<Store, StoreError> {
        Store::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, 0)
    }

    /// Connects, and checks the pages of a file of that many bytes.
    fn connect(path: &Path, flags: OpenFlags, size: u64) -> Result<Store, StoreError> {
        let failed = |error| StoreError::sqlite(path, error);
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(BUSY).map_err(failed)?;
        let mut store = Store { connection, path: path.into(), id: FileId::of(path) };
        if (1..=CHECKED).contains(&size) {
            store.check_pages().inspect_err(|_| store.leave_alone())?;
        }
        store.prepare().inspect_err(|_| store.leave_alone())?;
        store.id = FileId::of(path);
        Ok(store)
    }

    /// Opens a store to look things up in while others may write it, over a network, too: without locks, and without
    /// anything but the file itself. Something written a moment ago may not be seen.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is empty or not a store of this version.
    pub fn peek(path: &Path) -> Result<Store, StoreError> {
        not_empty(path)?;
        let failed = |error| StoreError::sqlite(path, error);
        let whole = std::path::absolute(path).map_err(|error| StoreError::io(path, error))?;
        let escape = |c| match c {
            '%' | '?' | '#' => format!("%{:02x}", c as u32),
            c => c.to_string(),
        };
        let escaped: String = whole.to_string_lossy().chars().map(escape).collect();
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let uri = format!("file:{escaped}?immutable=1");
        let connection = Connection::open_with_flags(uri, flags).map_err(failed)?;
        schema::check_version(&connection, path)?;
        Ok(Store { connection, path: path.into(), id: FileId::of(path) })
    }

    /// Opens a store for reading, also on a read-only medium.
    ///
    /// # Errors
    /// As for [`Store::open_existing`], and if results in a write-ahead log could only be read by writing.
    pub fn open_to_read(path: &Path) -> Result<Store, StoreError> {
        match Store::open_existing(path) {
            Err(error @ (StoreError::ReadOnly { .. } | StoreError::NoLog { .. })) => {
                // Results in a write-ahead log can only be read by writing.
                let log = std::fs::metadata(log_of(path)).map_or(0, |log| log.len());
                if log > 0 {
                    return Err(error);
                }
                let store = Store::peek(path)?;
                store.check_pages()?;
                Ok(store)
            }
            opened => opened,
        }
    }

    /// Fails if the path names another file than the one that is open. The log of that file must not be applied to another one, so
    /// it is emptied.
    pub(crate) fn check_file(&self) -> Result<(), StoreError> {
        self.id.check(&self.path).inspect_err(|_| {
            let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            self.leave_alone();
        })
    }

    /// Finds damaged pages, and indexes that differ from their tables: a key that is not found would be run and written again.
    fn check_pages(&self) -> Result<(), StoreError> {
        let answer = self.connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0));
        match answer.map_err(|error| self.failed(error))? {
            answer if answer == "ok" => Ok(()),
            answer => Err(self.damaged(answer)),
        }
    }

    /// Brings the file to this program's schema.
    fn prepare(&mut self) -> Result<(), StoreError> {
        let failed = |error| StoreError::sqlite(&self.path, error);
        schema::prepare(&mut self.connection, &self.path)?;
        let is_log = |sql| -> Result<bool, StoreError> {
            let mode: String = self.connection.query_row(sql, [], |row| row.get(0)).map_err(failed)?;
            Ok(mode == "wal")
        };
        if !is_log("PRAGMA journal_mode")? && !is_log("PRAGMA journal_mode = WAL")? {
            return Err(StoreError::NoLog { path: self.path.clone() });
        }
        let options = "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;";
        self.connection.execute_batch(options).map_err(failed)?;
        self.connection.set_prepared_statement_cache_capacity(32);
        Ok(())
    }

    /// Closing must not write into a file that is not understood.
    fn leave_alone(&self) {
        let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
    }

    fn failed(&self, error: rusqlite::Error) -> StoreError {
        StoreError::sqlite(&self.path, error)
    }

    /// Number of cells with an outcome, and of those that failed.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn counts(&self) -> Result<(usize, usize), StoreError> {
        let sql = "SELECT count(outcome), count(*) - count(outcome) FROM cells";
        let counts = self.connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
        counts.map_err(|error| self.failed(error))
    }

    /// The arithmetic of all cells, each once.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is damaged.
    pub fn numerics(&self) -> Result<Vec<Numerics>, StoreError> {
        let failed = |error| self.failed(error);
        let mut statement = self.connection.prepare("SELECT DISTINCT numerics FROM cells").map_err(failed)?;
        let words = statement.query_map([], |row| row.get::<_, String>(0)).map_err(failed)?;
        let read = |word: rusqlite::Result<String>| {
            Numerics::try_from(word.map_err(failed)?).map_err(|what| self.damaged(what.into()))
        };
        words.map(read).collect()
    }

    /// Everything, in the order of keys.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is damaged, or `each` fails.
    pub fn entries<E: From<StoreError>>(
        &self,
        each: &mut dyn FnMut(Entry) -> Result<(), E>,
    ) -> Result<(), E> {
        let failed = |error| self.failed(error);
        let mut statement = self.connection.prepare(rows::SELECT_ALL).map_err(failed)?;
        let mut rows = statement.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            each(rows::read(row).map_err(|what| self.damaged(what))?)?;
        }
        Ok(())
    }

    /// Takes everything that another store has; what is here already stays.
    ///
    /// # Errors
    /// Fails if the other store cannot be read or this one cannot be written.
    pub fn take_from(&mut self, other: &Store) -> Result<(), StoreError> {
        let mut lot: Vec<Entry> = Vec::new();
        other.entries::<StoreError>(&mut |entry| {
            lot.push(entry);
            if lot.len() == 10_000 {
                self.keep(&std::mem::take(&mut lot))?;
            }
            Ok(())
        })?;
        self.keep(&lot)
    }

    fn damaged(&self, what: String) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), what }
    }

    /// The entry of a cell.
    ///
    /// # Errors
    /// Fails if the file cannot be read or the row is damaged.
    pub fn get(&self, key: Key) -> Result<Option<Entry>, StoreError> {
        row(&self.connection, &self.path, key, rows::read)
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// Fails if the file was removed or replaced, or cannot be written.
    pub fn batch(&mut self) -> Result<Batch<'_>, StoreError> {
        self.check_file()?;
        let failed = |error| StoreError::sqlite(&self.path, error);
        // Rolled back when dropped before the commit.
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        Ok(Batch { transaction: begun.map_err(failed)?, path: &self.path })
    }
}

/// The write-ahead log of a store.
fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// Returns the size of a file that must not be empty.
fn not_empty(path: &Path) -> Result<u64, StoreError> {
    match schema::recognise(path)? {
        0 => Err(StoreError::Foreign { path: path.into(), what: "it is empty" }),
        size => Ok(size),
    }
}

/// Returns what `read` makes of the row of a cell.
fn row<R>(
    connection: &Connection,
    path: &Path,
    key: Key,
    read: impl FnOnce(&Row<'_>) -> Result<R, String>,
) -> Result<Option<R>, StoreError> {
    let failed = |error| StoreError::sqlite(path, error);
    let mut statement = connection.prepare_cached(rows::SELECT).map_err(failed)?;
    let mut rows = statement.query([key.to_string()]).map_err(failed)?;
    let row = rows.next().map_err(failed)?;
    row.map(read).transpose().map_err(|what| StoreError::Damaged { path: path.into(), what })
}

/// A transaction that takes several batches of entries. Lost unless committed.
pub struct Batch<'a> {
    transaction: Transaction<'a>,
    path: &'a Path,
}

impl Batch<'_> {
    /// Takes all entries or, when `check` refuses one, none; returns whether it took them. `check` receives the number of each
    /// entry and what the store has for its key.
    ///
    /// # Errors
    /// Fails if the store cannot be read or written, or a row is damaged.
    pub fn take(
        &mut self,
        entries: &[Entry],
        mut check: impl FnMut(usize, Option<&Known>) -> bool,
    ) -> Result<bool, StoreError> {
        let failed = |error| StoreError::sqlite(self.path, error);
        // Rolled back when dropped before the commit.
        let lot = self.transaction.savepoint().map_err(failed)?;
        for (i, entry) in entries.iter().enumerate() {
            let there = row(&lot, self.path, entry.key, |row| rows::read_like(row, entry))?;
            if !check(i, there.as_ref()) {
                return Ok(false);
            }
            if there.is_none_or(|there| replaces(&there, &entry.result)) {
                let mut insert = lot.prepare_cached(rows::INSERT).map_err(failed)?;
                rows::write(&mut insert, entry).map_err(failed)?;
            }
        }
        lot.commit().map_err(failed)?;
        Ok(true)
    }

    /// Commits the transaction.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    pub fn commit(self) -> Result<(), StoreError> {
        self.transaction.commit().map_err(|error| StoreError::sqlite(self.path, error))
    }
}

impl Results for Store {
    fn input_files(&mut self) -> Result<InputFiles, StoreError> {
        let failed = |error| self.failed(error);
        let values = INPUT_SETTINGS.map(|name| format!("json_extract(config, '$.{name}')")).join(", ");
        // Looking for the name first is faster than parsing every configuration.
        let sql = format!("SELECT DISTINCT {values} FROM cells WHERE instr(config, '\"input_digest\"') > 0");
        let mut statement = self.connection.prepare(&sql).map_err(failed)?;
        let value = |row: &Row<'_>, i: usize| row.get::<_, Option<String>>(i);
        let read = |row: &Row<'_>| {
            Ok([value(row, 0)?, value(row, 1)?, value(row, 2)?, value(row, 3)?, value(row, 4)?])
        };
        let rows = statement.query_map([], read).map_err(failed)?;
        let files = rows.filter_map(|row| row.map(InputFile::new).transpose());
        files.collect::<rusqlite::Result<_>>().map_err(failed)
    }

    fn find(&mut self, keys: &[Key]) -> Result<HashMap<Key, Known>, StoreError> {
        self.check_file()?;
        let mut known = HashMap::new();
        for &key in keys {
            let found = row(&self.connection, &self.path, key, rows::read)?;
            known.extend(found.map(|entry| (key, entry.result)));
        }
        Ok(known)
    }

    fn keep(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        let mut batch = self.batch()?;
        batch.take(entries, |_, _| true)?;
        batch.commit()?;
        self.check_file()
    }
}
