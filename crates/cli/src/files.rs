//! Files that are there whole or not at all.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;

/// Writes a file: beside its place first and then into it, so that nobody sees half of one and what was there before stays until
/// there is something better. A pipe or device is written as it is.
pub fn whole_file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    whole_file_with(path, |out| Ok(out.write_all(bytes)?))
}

/// The same for what is written bit by bit.
pub fn whole_file_with(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let place = || format!("cannot write {}", path.display());
    if is_special(path) {
        let mut out = BufWriter::new(File::create(path).with_context(place)?);
        return write(&mut out).and_then(|()| Ok(out.flush()?)).with_context(place);
    }
    let (file, temporary) = beside(path)?.into_parts();
    let mut out = BufWriter::new(file);
    write(&mut out).and_then(|()| Ok(out.flush()?)).with_context(place)?;
    // Through a link, not in its place.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    temporary.persist(target).with_context(place)
}

/// A pipe, a device: nothing that another file could take the place of.
fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// Checks that a file can be written, and leaves what is there as it is: for before the runs.
pub fn can_be_written(path: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(!path.is_dir(), "cannot write {}: it is a folder", path.display());
    if is_special(path) { Ok(()) } else { beside(path).map(drop) }
}

/// A temporary file in the folder of a path, as readable as the umask lets any new file be.
fn beside(path: &Path) -> anyhow::Result<tempfile::NamedTempFile> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // Temporary files are for their owner alone; a result is for whom the folder is.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    builder.tempfile_in(folder).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let names = || std::fs::read_dir(folder.path()).unwrap().count();
        can_be_written(&path).unwrap();
        assert_eq!(names(), 0);
        whole_file(&path, b"old").unwrap();
        can_be_written(&path).unwrap();
        let failed = whole_file_with(&path, |out| {
            out.write_all(b"half")?;
            anyhow::bail!("no more")
        });
        assert!(format!("{:#}", failed.unwrap_err()).contains("a.csv: no more"));
        assert_eq!((std::fs::read(&path).unwrap(), names()), (b"old".to_vec(), 1));
        whole_file(&path, b"new").unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), names()), (b"new".to_vec(), 1));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o600, 0o600);
            assert_eq!(mode & 0o133, 0);
        }
        assert!(can_be_written(folder.path()).is_err());
        assert!(can_be_written(&folder.path().join("absent/a.csv")).is_err());
    }
}
