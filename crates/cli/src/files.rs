//! Files that are written completely or not at all.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

use anyhow::Context;
use serde::{Serialize, de::DeserializeOwned};

use crate::shared::pretty;

/// Writes a file through a temporary file beside it, so that readers never see a partial file and an existing file stays until the
/// new one is complete. A pipe or device is written directly.
pub fn write_file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    write_file_with(path, |out| Ok(out.write_all(bytes)?))
}

/// The same for content that is written in pieces.
pub fn write_file_with(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let place = || format!("cannot write {}", path.display());
    if is_special(path) {
        let mut out = BufWriter::new(File::create(path).with_context(place)?);
        return write(&mut out).and_then(|()| Ok(out.flush()?)).with_context(place);
    }
    let (file, temporary) = temporary_beside(path)?.into_parts();
    let mut out = BufWriter::new(file);
    // On the disk before it replaces the existing file, so that a power failure leaves one of the two.
    let written = write(&mut out).and_then(|()| Ok(out.flush()?));
    written.and_then(|()| Ok(out.get_ref().sync_all()?)).with_context(place)?;
    // A symbolic link is followed, not replaced.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    temporary.persist(target).with_context(place)
}

/// Writes a value as indented JSON.
pub fn write_json(path: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    write_file(path, pretty(value)?.as_bytes())
}

/// Reads a JSON file that this program wrote; `None` if there is no such file.
pub fn read_json<X: DeserializeOwned>(path: &Path) -> anyhow::Result<Option<X>> {
    match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map(Some).with_context(|| {
            format!("{} was not written by this version of superpose; move it away", path.display())
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Creates a folder and its parents.
pub fn create_folder(path: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(path).with_context(|| format!("cannot create the folder {}", path.display()))
}

/// Whether a path is a pipe or a device, which a temporary file cannot replace.
fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// Fails if a file cannot be written, before the runs that would produce it. An existing file is not changed.
pub fn check_writable(path: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(!path.is_dir(), "cannot write {}: it is a folder", path.display());
    if is_special(path) { Ok(()) } else { temporary_beside(path).map(drop) }
}

/// Creates a temporary file in the folder of a path, with the permissions of a new file.
fn temporary_beside(path: &Path) -> anyhow::Result<tempfile::NamedTempFile> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Opened here, since tempfile would make it readable by its owner alone and name it in errors.
    tempfile::Builder::new()
        .make_in(folder, |temporary| File::create_new(temporary))
        .with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_replaced_completely_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let names = || std::fs::read_dir(folder.path()).unwrap().count();
        check_writable(&path).unwrap();
        assert_eq!(names(), 0);
        write_file(&path, b"old").unwrap();
        check_writable(&path).unwrap();
        let failed = write_file_with(&path, |out| {
            out.write_all(b"half")?;
            anyhow::bail!("no more")
        });
        assert!(format!("{:#}", failed.unwrap_err()).contains("a.csv: no more"));
        assert_eq!((std::fs::read(&path).unwrap(), names()), (b"old".to_vec(), 1));
        write_file(&path, b"new").unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), names()), (b"new".to_vec(), 1));
        #[cfg(unix)]
        {
            let other = folder.path().join("other");
            std::fs::write(&other, b"").unwrap();
            let permissions = |path: &Path| std::fs::metadata(path).unwrap().permissions();
            assert_eq!(permissions(&path), permissions(&other));
        }
        assert!(check_writable(folder.path()).is_err());
        let absent = folder.path().join("absent/a.csv");
        let error = format!("{:#}", check_writable(&absent).unwrap_err());
        assert!(error.contains("absent/a.csv: ") && !error.contains("at path"), "{error}");
    }
}
