//! Keys of a memory from a matrix in a file, or from an array of the caller.

use std::sync::Arc;

use superpose_associative::{KeyRows, MemorySettings};
use superpose_core::config::ConfigError;
use superpose_tensors::{Tensor, TensorError, TensorFile};

use super::MemoryError;
use crate::run::{EmbeddingRows, Import, check_digest, digest, narrow};

/// Reads the matrix that the settings name or the caller gives, if there is one, and takes the dimension from it. A dimension that was
/// `given` must agree. Sets the digest of the matrix and, of an array, its name where the settings would name the file.
///
/// # Errors
/// Fails if the matrix cannot be read, is given twice, or has another dimension or digest.
pub fn open_keys(
    settings: &mut MemorySettings,
    arrays: Option<Import>,
    given: impl Fn(&str) -> bool,
) -> Result<Option<Arc<KeyRows>>, MemoryError> {
    let mut hasher = blake3::Hasher::new();
    let files = (&settings.embedding_file, &settings.embedding_tensor);
    let (rows, data): (Tensor<f64>, Vec<f32>) = match (files, arrays.and_then(|arrays| arrays.z_in)) {
        ((Some(given), _) | (_, Some(given)), Some(_)) => {
            let parameter = if files.0.is_some() { "embedding_file" } else { "embedding_tensor" };
            let allowed = "z_in is given as well; give the keys once";
            return Err(ConfigError::value(parameter, given, allowed).into());
        }
        (_, Some(rows)) => {
            digest(&mut hasher, &rows, f64::to_le_bytes);
            settings.embedding_file = Some(format!("arrays {}", rows.name));
            settings.embedding_tensor = Some(rows.name.clone());
            let data = narrow(&rows)?;
            (rows, data)
        }
        ((Some(file), Some(tensor)), None) => {
            let source = EmbeddingRows { file: TensorFile::open(file.as_ref())?, tensor: tensor.clone() };
            source.digest(&mut hasher, tensor)?;
            let read = || -> Result<_, TensorError> {
                let rows = source.file.tensors().floats(tensor)?;
                let data = narrow(&rows)?;
                Ok((rows, data))
            };
            read().map_err(|error| source.file.inside(error))?
        }
        _ => return Ok(None),
    };
    let (count, dim) = rows.matrix()?;
    if given("dim") && settings.dim != dim {
        let have = format!("tensor {} has {dim} columns; omit dim", rows.name);
        return Err(ConfigError::value("dim", settings.dim, have).into());
    }
    let found = hasher.finalize().to_hex().to_string();
    let file = settings.embedding_file.as_deref().unwrap_or_default();
    check_digest("embedding_file", file, settings.input_digest.as_deref(), &found)?;
    (settings.dim, settings.input_digest) = (dim, Some(found));
    Ok(Some(Arc::new(KeyRows { count, data })))
}
