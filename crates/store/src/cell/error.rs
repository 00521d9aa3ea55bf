//! The error of a place for results. The messages say what to do.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// A store that cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages explain variants and fields.
pub enum StoreError {
    /// The file or its folder cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: std::io::Error },
    #[error("{}: not a store of superpose ({what}); the file was not changed", path.display())]
    Foreign { path: PathBuf, what: &'static str },
    #[error("{}: the store is damaged ({what}); the file was not changed", path.display())]
    Damaged { path: PathBuf, what: String },
    #[error("{}: the store has layout version {found}, this program reads version {known}: {}; the file was not changed", path.display(), if found > known { "use a newer superpose" } else { "it was written before the first release; run its cells again into a new file" })]
    Format { path: PathBuf, found: usize, known: usize },
    #[error("{}: the file system does not allow a write-ahead log; put the store on a local disk", path.display())]
    NoLog { path: PathBuf },
    #[error("{}: the disk or the quota is full; everything committed before is safe, and a second run continues there", path.display())]
    Full { path: PathBuf },
    #[error("{}: disk error ({error}); committed results are safe, and a second run continues", path.display())]
    Disk { path: PathBuf, error: rusqlite::Error },
    #[error("{}: cannot be written: {error}", path.display())]
    ReadOnly { path: PathBuf, error: rusqlite::Error },
    /// Another process has been writing for a minute.
    #[error("{}: another process keeps the store locked; try again when it has finished", path.display())]
    Busy { path: PathBuf },
    #[error("{}: the file was removed or replaced while it was in use; results since then are not in it, and a second run runs their cells again", path.display())]
    Replaced { path: PathBuf },
    #[error(
        "{file}: its tensors have the digest {now}..., and results that are kept under this name were made with {recorded}...; restore the file, give it another name, or use another store"
    )]
    OtherInput { file: String, now: String, recorded: String },
    /// Any other error of the database.
    #[error("{}: {error}", path.display())]
    Sqlite { path: PathBuf, error: rusqlite::Error },
}

/// Which file a path names, to notice that it was removed or replaced. On systems other than Unix open files cannot be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileId(Option<(u64, u64)>);

impl FileId {
    /// The file that the path names now.
    pub fn of(path: &Path) -> FileId {
        #[cfg(unix)]
        let id = |found: std::fs::Metadata| {
            use std::os::unix::fs::MetadataExt;
            (found.dev(), found.ino())
        };
        #[cfg(not(unix))]
        let id = |_| (0, 0);
        FileId(std::fs::metadata(path).ok().map(id))
    }

    /// Fails if the path names another file now, or none.
    pub fn check(self, path: &Path) -> Result<(), StoreError> {
        let now = FileId::of(path);
        if now.0.is_some() && now == self { Ok(()) } else { Err(StoreError::Replaced { path: path.into() }) }
    }
}

impl StoreError {
    /// An error of the file system; a full disk or quota is named.
    pub fn io(path: &Path, error: std::io::Error) -> StoreError {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::Full { path: path.into() },
            _ => StoreError::Io { path: path.into(), error },
        }
    }

    pub(crate) fn sqlite(path: &Path, error: rusqlite::Error) -> StoreError {
        let path = path.into();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => {
                StoreError::Damaged { path, what: "it is no longer a SQLite file".into() }
            }
            Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged { path, what: error.to_string() },
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            Some(ErrorCode::SystemIoFailure) => StoreError::Disk { path, error },
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                StoreError::ReadOnly { path, error }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path },
            _ => StoreError::Sqlite { path, error },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_size_limit_is_no_full_disk() {
        let error = |kind: ErrorKind| StoreError::io("a".as_ref(), kind.into());
        assert!(matches!(error(ErrorKind::StorageFull), StoreError::Full { .. }));
        assert!(matches!(error(ErrorKind::QuotaExceeded), StoreError::Full { .. }));
        assert!(matches!(error(ErrorKind::FileTooLarge), StoreError::Io { .. }));
    }
}
