//! Reads files of a folder and nothing outside it: names have no `..`, and links are not followed.

use std::fs::{File, Metadata};
use std::io::{Error, ErrorKind, Read};
use std::path::Path;
use std::time::SystemTime;

/// Size of a file that is read whole at most.
const MAX_BYTES: u64 = 64 << 20;

fn not_plain() -> Error {
    Error::new(ErrorKind::PermissionDenied, "not a plain file of the folder")
}

/// Opens a file of the folder; `name` may have folders in it.
pub fn open(root: &Path, name: &str) -> std::io::Result<(File, Metadata)> {
    let named = metadata(root, name)?;
    let file = File::open(root.join(name))?;
    let opened = file.metadata()?;
    // The file may have been replaced by a link since it was checked.
    if !same(&named, &opened) {
        return Err(not_plain());
    }
    Ok((file, opened))
}

/// The metadata of a file of the folder.
pub fn metadata(root: &Path, name: &str) -> std::io::Result<Metadata> {
    let mut path = root.to_owned();
    let mut found: Option<Metadata> = None;
    for part in name.split('/') {
        let plain = !part.is_empty() && !part.starts_with('.') && !part.contains(['\\', ':', '\0']);
        if !plain || found.is_some_and(|folder| !folder.is_dir()) {
            return Err(not_plain());
        }
        path.push(part);
        found = Some(path.symlink_metadata()?);
    }
    found.filter(Metadata::is_file).ok_or_else(not_plain)
}

/// Which file it is, independent of its name.
pub type Identity = (u64, u64, Option<SystemTime>);

/// Which file it is. Inode numbers are reused, so the creation time is part of it where it is known.
#[cfg(unix)]
pub fn identity(file: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (file.dev(), file.ino(), file.created().ok())
}

/// The same on systems without inode numbers, by size and modification time.
#[cfg(not(unix))]
pub fn identity(file: &Metadata) -> Identity {
    (file.len(), 0, file.modified().ok())
}

/// Whether both are of the same file, not of a file and its replacement.
pub fn same(a: &Metadata, b: &Metadata) -> bool {
    identity(a) == identity(b)
}

/// The contents of a file of the folder.
pub fn read(root: &Path, name: &str) -> std::io::Result<Vec<u8>> {
    let (file, metadata) = open(root, name)?;
    if metadata.len() > MAX_BYTES {
        let what = format!("{name} has {} bytes: at most {MAX_BYTES} are read", metadata.len());
        return Err(Error::new(ErrorKind::FileTooLarge, what));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Sorted names of plain files in the folder itself that have this extension.
pub fn files(root: &Path, extension: &str) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let matches = name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && end == extension);
        if matches && !name.starts_with('.') && entry.file_type()?.is_file() {
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
    fn reads_nothing_outside_the_folder() {
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
        let inside =
            ["link/secret.csv", "tables/b.csv", "tables", "", "/", "tables//a.csv", "./tables/a.csv"];
        for name in inside.into_iter().chain([up.as_str(), whole.to_str().unwrap()]) {
            assert!(read(root, name).is_err(), "{name}");
        }
        assert_eq!(files(&root.join("tables"), "csv").unwrap(), ["a.csv"]);
    }
}
