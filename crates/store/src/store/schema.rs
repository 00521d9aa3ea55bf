//! The layout of the file: its tables, its view and its version.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::{StoreError, columns};

/// Tells our SQLite files from others: "SPos" in ASCII.
pub const APPLICATION_ID: i32 = 0x5350_6f73;

/// Version of the layout of the file, its `user_version`. Settings and measures that are added do not change it.
const FORMAT: usize = 4;

/// Looks at the head of the file without SQLite, which might write into it. Returns its size; 0 if there is none.
pub fn recognise(path: &Path) -> Result<u64, StoreError> {
    let failed = |error| StoreError::io(path, error);
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(failed(error)),
    };
    let kind = file.metadata().map_err(failed)?;
    let foreign = |what| Err(StoreError::Foreign { path: path.into(), what });
    if !kind.is_file() {
        return foreign("it is not a file");
    }
    if kind.len() == 0 {
        return Ok(0);
    }
    let mut head = [0; 100];
    match file.read_exact(&mut head) {
        Ok(()) if head.starts_with(b"SQLite format 3\0") => {}
        Err(error) if error.kind() != ErrorKind::UnexpectedEof => return Err(failed(error)),
        _ => return foreign("it is not a SQLite file"),
    }
    let id = i32::from_be_bytes([head[68], head[69], head[70], head[71]]);
    if id != APPLICATION_ID {
        return foreign("it is a SQLite file of another program");
    }
    Ok(kind.len())
}

/// Makes the tables of a new file, and the view of results where it is not that of this program.
pub fn prepare(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::sqlite(path, error);
    if is_ready(connection, path)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Another process may have been faster.
    if !is_ready(&transaction, path)? {
        let tables = "SELECT count(*) FROM sqlite_master";
        let tables: usize = transaction.query_row(tables, [], |row| row.get(0)).map_err(failed)?;
        if version(&transaction).map_err(failed)? == 0 {
            if tables > 0 {
                return Err(StoreError::Damaged {
                    path: path.into(),
                    what: "its layout version is 0".into(),
                });
            }
            transaction.execute_batch(include_str!("schema.sql")).map_err(failed)?;
        }
        let [results, trajectory] = [columns::view(), columns::trajectory_view()];
        let drop = "DROP VIEW IF EXISTS results; DROP VIEW IF EXISTS trajectory";
        transaction.execute_batch(&format!("{drop}; {results}; {trajectory}")).map_err(failed)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
        transaction.pragma_update(None, "user_version", FORMAT).map_err(failed)?;
    }
    transaction.commit().map_err(failed)
}

fn version(connection: &Connection) -> rusqlite::Result<usize> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Checks that the file has the layout of this program.
pub fn check_version(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    match version(connection).map_err(|error| StoreError::sqlite(path, error))? {
        FORMAT => Ok(()),
        found => Err(StoreError::Format { path: path.into(), found, known: FORMAT }),
    }
}

/// Whether the file has the tables and the view of this program.
fn is_ready(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    let failed = |error| StoreError::sqlite(path, error);
    if version(connection).map_err(failed)? == 0 {
        return Ok(false);
    }
    check_version(connection, path)?;
    let sql = "SELECT count(*) FROM sqlite_master WHERE type = 'view' AND sql IN (?1, ?2)";
    let views = [columns::view(), columns::trajectory_view()];
    let known: usize = connection.query_row(sql, views, |row| row.get(0)).map_err(failed)?;
    Ok(known == 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        prepare(&mut connection, Path::new("memory")).unwrap();
        connection
    }

    #[test]
    fn views_of_another_version_are_replaced() {
        for (view, column) in [("results", "vocab"), ("trajectory", "loss")] {
            let mut connection = ready();
            let other = format!("DROP VIEW {view}; CREATE VIEW {view} AS SELECT id FROM cells");
            connection.execute_batch(&other).unwrap();
            prepare(&mut connection, Path::new("memory")).unwrap();
            assert!(is_ready(&connection, Path::new("memory")).unwrap());
            let sql = format!("SELECT count({column}) FROM {view}");
            connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap();
        }
    }

    #[test]
    fn other_layouts_are_refused() {
        for found in [1, 3, FORMAT + 1] {
            let mut connection = ready();
            connection.pragma_update(None, "user_version", found).unwrap();
            let error = prepare(&mut connection, Path::new("memory")).unwrap_err();
            assert!(matches!(error, StoreError::Format { known: FORMAT, .. }), "{error}");
        }
    }
}
