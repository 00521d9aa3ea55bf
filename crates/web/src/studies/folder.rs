//! Reading from a folder without ever leaving it: names are plain, and what a name stands for is a file or folder itself, not a link.

use std::fs::{File, Metadata};
use std::io::{Error, ErrorKind, Read};
use std::path::Path;
use std::time::SystemTime;

/// Largest file that is read whole.
const MOST_BYTES: u64 = 64 << 20;

fn refused() -> Error {
    Error::new(ErrorKind::PermissionDenied, "it is not a plain file of the folder")
}

/// Opens a file of the folder; `name` may lead through folders in it.
pub fn open(root: &Path, name: &str) -> std::io::Result<(File, Metadata)> {
    let named = look(root, name)?;
    let file = File::open(root.join(name))?;
    let opened = file.metadata()?;
    // Between the look and the opening somebody may have put a link there.
    if !same(&named, &opened) {
        return Err(refused());
    }
    Ok((file, opened))
}

/// Looks at a file of the folder without opening it.
pub fn look(root: &Path, name: &str) -> std::io::Result<Metadata> {
    let mut path = root.to_owned();
    let mut found: Option<Metadata> = None;
    for part in name.split('/') {
        let plain = !part.is_empty() && !part.starts_with('.') && !part.contains(['\\', ':', '\0']);
        if !plain || found.is_some_and(|folder| !folder.is_dir()) {
            return Err(refused());
        }
        path.push(part);
        found = Some(path.symlink_metadata()?);
    }
    found.filter(Metadata::is_file).ok_or_else(refused)
}

/// Which file it is, whatever its name.
pub type Identity = (u64, u64, Option<SystemTime>);

/// Which file it is. A number is given again when its file is gone; not so the time when the file was made, where that is known.
#[cfg(unix)]
pub fn identity(file: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (file.dev(), file.ino(), file.created().ok())
}

/// The same where files have no numbers: as far as it can be told.
#[cfg(not(unix))]
pub fn identity(file: &Metadata) -> Identity {
    (file.len(), 0, file.modified().ok())
}

/// Whether both are of one file, not of two that had the same name one after the other.
pub fn same(a: &Metadata, b: &Metadata) -> bool {
    identity(a) == identity(b)
}

/// A whole file of the folder.
pub fn read(root: &Path, name: &str) -> std::io::Result<Vec<u8>> {
    let (file, metadata) = open(root, name)?;
    if metadata.len() > MOST_BYTES {
        let what = format!("{name} has {} bytes, and {MOST_BYTES} are read at most", metadata.len());
        return Err(Error::new(ErrorKind::FileTooLarge, what));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Names of plain files in the folder itself that end so, sorted.
pub fn files(root: &Path, ending: &str) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let ends = name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && end == ending);
        if ends && !name.starts_with('.') && entry.file_type()?.is_file() {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn nothing_leads_out() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret.csv"), "secret").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir(root.join("tables")).unwrap();
        std::fs::write(root.join("tables/a.csv"), "a").unwrap();
        std::os::unix::fs::symlink(outside.path(), root.join("link")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret.csv"), root.join("tables/b.csv")).unwrap();
        assert_eq!(read(root, "tables/a.csv").unwrap(), b"a");
        let up = format!("../{}/secret.csv", outside.path().file_name().unwrap().to_string_lossy());
        let whole = outside.path().join("secret.csv");
        for name in [
            "link/secret.csv",
            "tables/b.csv",
            "tables",
            "",
            "/",
            "tables//a.csv",
            &up,
            whole.to_str().unwrap(),
            "./tables/a.csv",
        ] {
            assert!(read(root, name).is_err(), "{name}");
        }
        assert_eq!(files(&root.join("tables"), "csv").unwrap(), ["a.csv"]);
    }
}
