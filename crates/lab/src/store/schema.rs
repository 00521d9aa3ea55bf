//! The schema of the store, its version, and how older files are brought to it.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::StoreError;

/// Tells our SQLite files from others: "SPos" in ASCII.
pub const APPLICATION_ID: i32 = 0x5350_6f73;

/// Step n brings a file of version n to version n + 1. A step is never changed once released; a test keeps a file of every
/// version.
pub const MIGRATIONS: &[&str] = &[include_str!("version_1.sql"), include_str!("version_2.sql")];

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

/// Applies the steps that the file has not seen, all in one transaction.
pub fn migrate(connection: &mut Connection, path: &Path, steps: &[&str]) -> Result<(), StoreError> {
    let failed = |error| StoreError::sqlite(path, error);
    let version = |connection: &Connection| {
        connection.query_row("PRAGMA user_version", [], |row| row.get::<_, usize>(0)).map_err(failed)
    };
    let newer = |found| StoreError::Newer { path: path.into(), found, known: steps.len() };
    match version(connection)? {
        current if current == steps.len() => return Ok(()),
        found if found > steps.len() => return Err(newer(found)),
        _ => {}
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Another process may have been faster.
    let current = version(&transaction)?;
    if current > steps.len() {
        return Err(newer(current));
    }
    for step in &steps[current..] {
        transaction.execute_batch(step).map_err(failed)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    transaction.pragma_update(None, "user_version", steps.len()).map_err(failed)?;
    transaction.commit().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_applied_once_and_in_order() {
        let mut connection = Connection::open_in_memory().unwrap();
        let path = Path::new("memory");
        let steps = ["CREATE TABLE a (x); INSERT INTO a VALUES (1)", "ALTER TABLE a ADD COLUMN y DEFAULT 7"];
        migrate(&mut connection, path, &steps[..1]).unwrap();
        migrate(&mut connection, path, &steps).unwrap();
        migrate(&mut connection, path, &steps).unwrap();
        let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
        assert_eq!(connection.query_row("SELECT x, y FROM a", [], row).unwrap(), (1, 7));
        let error = migrate(&mut connection, path, &steps[..1]).unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 2, known: 1, .. }));
    }

    #[test]
    fn a_failing_step_changes_nothing() {
        let mut connection = Connection::open_in_memory().unwrap();
        let steps = ["CREATE TABLE a (x)", "CREATE TABLE b (x); nonsense"];
        assert!(migrate(&mut connection, Path::new("memory"), &steps).is_err());
        let tables =
            connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get::<_, i64>(0));
        assert_eq!(tables.unwrap(), 0);
    }
}
