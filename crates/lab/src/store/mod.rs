//! The store: results in one SQLite file that a person can open.
//!
//! Write-ahead logging, so that readers and a writer do not stop each other and a process that is killed leaves a whole
//! file. Commits are not forced to the platter one by one (`synchronous = NORMAL`): a crash of the program loses nothing
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

pub use crate::cell::StoreError;
pub use columns::{COLUMNS, Column, ColumnType, cell_settings, values};
#[cfg(feature = "parquet")]
pub use export::parquet;
pub use export::{ExportError, csv, json_lines};
pub use summary::{Group, Summary};

use crate::cell::{Entry, Key, Known, Results, replaces};

/// How long to wait for another process that writes.
const BUSY: Duration = Duration::from_secs(60);

/// Files up to this size are checked for damage when opened, which takes a second per gigabyte or so.
const CHECKED: u64 = 256 << 20;

/// An open store.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the store, or makes a new one where there is no file or an empty one. A file of something else, a damaged
    /// or a newer one is an error and is not touched.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        Store::open_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens a store that must be there.
    pub fn open_existing(path: &Path) -> Result<Store, StoreError> {
        let size = std::fs::metadata(path).map_err(|error| StoreError::io(path, error))?.len();
        if size == 0 {
            return Err(StoreError::Foreign { path: path.into(), what: "it is empty" });
        }
        Store::open_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// Opens a file that this process has opened as a store before, without looking it over again. Other connections to it may be
    /// open: looking it over would close the file once, and with that the system would drop their locks.
    pub fn reopen(path: &Path) -> Result<Store, StoreError> {
        Store::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, 0)
    }

    fn open_with(path: &Path, flags: OpenFlags) -> Result<Store, StoreError> {
        let size = schema::recognise(path)?;
        Store::connect(path, flags, size)
    }

    /// Connects, and checks the pages of a file of that many bytes.
    fn connect(path: &Path, flags: OpenFlags, size: u64) -> Result<Store, StoreError> {
        let failed = |error| StoreError::sqlite(path, error);
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(BUSY).map_err(failed)?;
        let mut store = Store { connection, path: path.into() };
        if (1..=CHECKED).contains(&size) {
            store.check_pages().inspect_err(|_| store.leave_alone())?;
        }
        store.prepare().inspect_err(|_| store.leave_alone())?;
        Ok(store)
    }

    /// Opens a store to look things up in while others may write it, over a network, too: without locks, and without
    /// anything but the file itself. Something written a moment ago may not be seen.
    pub fn peek(path: &Path) -> Result<Store, StoreError> {
        let size = schema::recognise(path)?;
        if size == 0 {
            return Err(StoreError::Foreign { path: path.into(), what: "it is empty" });
        }
        let failed = |error| StoreError::sqlite(path, error);
        let whole = std::path::absolute(path).map_err(|error| StoreError::io(path, error))?;
        let escaped: String = whole
            .to_string_lossy()
            .chars()
            .map(|c| match c {
                '%' | '?' | '#' => format!("%{:02x}", c as u32),
                c => c.to_string(),
            })
            .collect();
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let uri = format!("file:{escaped}?immutable=1");
        let connection = Connection::open_with_flags(uri, flags).map_err(failed)?;
        schema::check_version(&connection, path)?;
        Ok(Store { connection, path: path.into() })
    }

    /// Finds pages that are not what they should be.
    fn check_pages(&self) -> Result<(), StoreError> {
        let answer: Result<String, _> =
            self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
        match answer {
            Ok(answer) if answer == "ok" => Ok(()),
            Ok(answer) => Err(self.damaged(answer)),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Brings the file to this program's schema.
    fn prepare(&mut self) -> Result<(), StoreError> {
        let path = self.path.clone();
        let failed = |error| StoreError::sqlite(&path, error);
        schema::prepare(&mut self.connection, &path)?;
        let mode: String =
            self.connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).map_err(failed)?;
        if mode != "wal" {
            let mode: String = self
                .connection
                .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
                .map_err(failed)?;
            if mode != "wal" {
                return Err(StoreError::NoLog { path });
            }
        }
        self.connection
            .execute_batch("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;")
            .map_err(failed)?;
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

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of cells with an outcome, and of those that failed.
    pub fn counts(&self) -> Result<(usize, usize), StoreError> {
        let sql = "SELECT count(outcome), count(*) - count(outcome) FROM cells";
        self.connection
            .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
            .map_err(|error| self.failed(error))
    }

    /// Everything, in the order of keys.
    pub fn entries<E: From<StoreError>>(
        &self,
        each: &mut dyn FnMut(Entry) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut statement = self.connection.prepare(rows::SELECT_ALL).map_err(|error| self.failed(error))?;
        let mut rows = statement.query([]).map_err(|error| self.failed(error))?;
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            each(rows::read(row).map_err(|what| self.damaged(what))?)?;
        }
        Ok(())
    }

    /// Takes everything that another store has; what is here already stays.
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
    pub fn get(&self, key: Key) -> Result<Option<Entry>, StoreError> {
        self.row(key, rows::read)
    }

    /// What `read` makes of the row of a cell.
    fn row<R>(&self, key: Key, read: fn(&Row<'_>) -> Result<R, String>) -> Result<Option<R>, StoreError> {
        let mut statement =
            self.connection.prepare_cached(rows::SELECT).map_err(|error| self.failed(error))?;
        let mut rows = statement.query([key.to_string()]).map_err(|error| self.failed(error))?;
        match rows.next().map_err(|error| self.failed(error))? {
            Some(row) => read(row).map(Some).map_err(|what| self.damaged(what)),
            None => Ok(None),
        }
    }

    /// Takes all entries or, when `check` refuses one, none, in one transaction. `check` sees each entry beside what the store
    /// has for its key.
    pub fn take<E: From<StoreError>>(
        &mut self,
        entries: &[Entry],
        check: impl FnMut(usize, Option<&Entry>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut batch = self.batch()?;
        batch.take(entries, check)?;
        Ok(batch.commit()?)
    }

    /// Begins a transaction.
    pub fn batch(&mut self) -> Result<Batch<'_>, StoreError> {
        let path = self.path.clone();
        // Rolled back when dropped before the commit.
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| StoreError::sqlite(&path, error))?;
        Ok(Batch { transaction, path })
    }
}

/// A transaction that takes several lots of entries. Lost unless committed.
pub struct Batch<'a> {
    transaction: Transaction<'a>,
    path: PathBuf,
}

impl Batch<'_> {
    /// Takes all entries or, when `check` refuses one, none. `check` sees each entry beside what the store has for its key.
    pub fn take<E: From<StoreError>>(
        &mut self,
        entries: &[Entry],
        mut check: impl FnMut(usize, Option<&Entry>) -> Result<(), E>,
    ) -> Result<(), E> {
        let path = self.path.clone();
        let failed = |error| E::from(StoreError::sqlite(&path, error));
        // Rolled back when dropped before the commit.
        let lot = self.transaction.savepoint().map_err(failed)?;
        {
            let mut select = lot.prepare_cached(rows::SELECT).map_err(failed)?;
            let mut insert = lot.prepare_cached(rows::INSERT).map_err(failed)?;
            for (i, entry) in entries.iter().enumerate() {
                let mut rows = select.query([entry.key.to_string()]).map_err(failed)?;
                let there = match rows.next().map_err(failed)? {
                    Some(row) => Some(
                        rows::read(row)
                            .map_err(|what| E::from(StoreError::Damaged { path: path.clone(), what }))?,
                    ),
                    None => None,
                };
                drop(rows);
                check(i, there.as_ref())?;
                if there.is_none_or(|there| replaces(&there.result, &entry.result)) {
                    rows::write(&mut insert, entry).map_err(failed)?;
                }
            }
        }
        lot.commit().map_err(failed)
    }

    /// Makes it last.
    pub fn commit(self) -> Result<(), StoreError> {
        self.transaction.commit().map_err(|error| StoreError::sqlite(&self.path, error))
    }
}

impl Results for Store {
    fn find(&mut self, keys: &[Key]) -> Result<HashMap<Key, Known>, StoreError> {
        let mut known = HashMap::new();
        for &key in keys {
            if let Some(result) = self.row(key, rows::read_known)? {
                known.insert(key, result);
            }
        }
        Ok(known)
    }

    fn keep(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        self.take(entries, |_, _| Ok(()))
    }
}
