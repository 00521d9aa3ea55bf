//! Atomic writing: a complete file appears under its name, or none.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use safetensors::{Dtype, View};

use crate::{CHECKSUM, TensorError, checksum};

/// One tensor to write.
pub struct Entry<'a> {
    name: String,
    shape: Vec<usize>,
    data: Data<'a>,
}

/// A floating-point type that a tensor can hold.
pub trait Element: Sized {
    /// A tensor of this type.
    fn entry(name: &str, shape: &[usize], data: Vec<Self>) -> Entry<'static>;
}

impl Element for f32 {
    fn entry(name: &str, shape: &[usize], data: Vec<f32>) -> Entry<'static> {
        Entry::f32(name, shape, data)
    }
}

impl Element for f64 {
    fn entry(name: &str, shape: &[usize], data: Vec<f64>) -> Entry<'static> {
        Entry::f64(name, shape, data)
    }
}

enum Data<'a> {
    F32(Vec<f32>),
    F64(Vec<f64>),
    Whole(&'a [u32]),
}

impl<'a> Entry<'a> {
    /// Single-precision numbers.
    pub fn f32(name: &str, shape: &[usize], data: Vec<f32>) -> Self {
        Entry { name: name.into(), shape: shape.to_vec(), data: Data::F32(data) }
    }

    /// Double-precision numbers.
    pub fn f64(name: &str, shape: &[usize], data: Vec<f64>) -> Self {
        Entry { name: name.into(), shape: shape.to_vec(), data: Data::F64(data) }
    }

    /// Whole numbers, written with 64 bits, the usual type of indices in tensor libraries.
    pub fn whole(name: &str, shape: &[usize], data: &'a [u32]) -> Self {
        Entry { name: name.into(), shape: shape.to_vec(), data: Data::Whole(data) }
    }
}

impl View for &Entry<'_> {
    fn dtype(&self) -> Dtype {
        match self.data {
            Data::F32(_) => Dtype::F32,
            Data::F64(_) => Dtype::F64,
            Data::Whole(_) => Dtype::I64,
        }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Owned(match &self.data {
            Data::F32(data) => data.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Data::F64(data) => data.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Data::Whole(data) => data.iter().flat_map(|&x| i64::from(x).to_le_bytes()).collect(),
        })
    }

    fn data_len(&self) -> usize {
        match &self.data {
            Data::F32(data) => 4 * data.len(),
            Data::F64(data) => 8 * data.len(),
            Data::Whole(data) => 8 * data.len(),
        }
    }
}

/// The path that a file would be written to, with symbolic links resolved.
///
/// # Errors
/// When the folder does not exist or the path is something other than an ordinary file.
pub fn target(path: &Path) -> Result<PathBuf, TensorError> {
    let failed = |source| TensorError::File { path: path.to_owned(), source };
    let other = |reason: &str| failed(std::io::Error::new(std::io::ErrorKind::InvalidInput, reason));
    match std::fs::canonicalize(path) {
        Ok(path) if path.is_file() => Ok(path),
        Ok(_) => Err(other("exists and is not an ordinary file")),
        Err(_) => {
            let folder = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
            let folder = std::fs::canonicalize(folder).map_err(failed)?;
            let name = path.file_name().ok_or_else(|| other("has no file name"))?;
            Ok(folder.join(name))
        }
    }
}

/// Writes the tensors to a temporary file in the folder of `path` and renames it.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, entries: &[Entry<'_>]) -> Result<(), TensorError> {
    write_all(path, entries, None)
}

/// The same with named texts in the header of the file, and a checksum that [`TensorFile::verify`](crate::TensorFile::verify) checks.
///
/// # Errors
/// When the file cannot be written.
pub fn write_with(
    path: &Path,
    entries: &[Entry<'_>],
    mut metadata: HashMap<String, String>,
) -> Result<(), TensorError> {
    let by_name: HashMap<&str, &Entry<'_>> = entries.iter().map(|entry| (&*entry.name, entry)).collect();
    let mut names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    names.sort();
    let hash = checksum(&metadata, &names, |name| {
        let entry = &by_name[name];
        Ok((entry.dtype(), entry.shape.clone(), entry.data()))
    })?;
    metadata.insert(CHECKSUM.into(), hash);
    write_all(path, entries, Some(metadata))
}

/// Removes temporary files that killed processes left behind when they wrote this file.
pub fn remove_leftovers(path: &Path) {
    let Ok(path) = target(path) else { return };
    let (Some(folder), Some(prefix)) = (path.parent(), temporary_prefix(&path)) else { return };
    for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if file.file_name().to_string_lossy().starts_with(&prefix) {
            // One that cannot be removed does no harm.
            let _ = std::fs::remove_file(file.path());
        }
    }
}

fn temporary_prefix(path: &Path) -> Option<String> {
    Some(format!(".{}.superpose-", path.file_name()?.to_string_lossy()))
}

fn write_all(
    path: &Path,
    entries: &[Entry<'_>],
    metadata: Option<HashMap<String, String>>,
) -> Result<(), TensorError> {
    let failed = |source| TensorError::File { path: path.to_owned(), source };
    let path = &target(path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let prefix = temporary_prefix(path).unwrap_or_default();
    // Opened here, since tempfile would make it readable by its owner alone and name it in errors.
    let create = |temporary: &Path| std::fs::File::create_new(temporary);
    let file = tempfile::Builder::new().prefix(&prefix).make_in(folder, create).map_err(failed)?;
    let permissions = file.as_file().metadata().map_err(failed)?.permissions();
    safetensors::serialize_to_file(entries.iter().map(|entry| (&entry.name, entry)), metadata, file.path())
        .map_err(|error| match error {
        safetensors::SafeTensorError::IoError(source) => failed(source),
        other => TensorError::Format(other.to_string()),
    })?;
    // The library has replaced the temporary file by another one, which its owner alone may read.
    let written = std::fs::OpenOptions::new().write(true).open(file.path()).map_err(failed)?;
    written.set_permissions(permissions).map_err(failed)?;
    // On disk before it replaces the old file, so that a power cut leaves one of the two.
    written.sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    #[cfg(unix)]
    std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    Ok(())
}
