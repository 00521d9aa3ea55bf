//! Keys of a memory from a matrix in a file.

use std::sync::Arc;

use superpose_associative::{KeyRows, MemorySettings};
use superpose_core::config::ConfigError;
use superpose_tensors::TensorFile;

use super::MemoryError;
use crate::run::{EmbeddingRows, check_digest, narrow};

/// Reads the matrix that the settings name, if they do, and takes the dimension from it. A dimension that was `given` must agree. Sets the
/// digest of the matrix.
///
/// # Errors
/// Fails if the matrix cannot be read, or has another dimension or digest.
pub fn open_keys(
    settings: &mut MemorySettings,
    given: impl Fn(&str) -> bool,
) -> Result<Option<Arc<KeyRows>>, MemoryError> {
    let (Some(file), Some(tensor)) = (&settings.embedding_file, &settings.embedding_tensor) else {
        return Ok(None);
    };
    let source = EmbeddingRows { file: TensorFile::open(file.as_ref())?, tensor: tensor.clone() };
    let (count, dim) = source.size(tensor)?;
    if given("dim") && settings.dim != dim {
        let have = format!("tensor {tensor} has {dim} columns; omit dim");
        return Err(ConfigError::value("dim", settings.dim, have).into());
    }
    let mut hasher = blake3::Hasher::new();
    source.digest(&mut hasher, tensor)?;
    let found = hasher.finalize().to_hex().to_string();
    check_digest("embedding_file", file, settings.input_digest.as_deref(), &found)?;
    let rows = source.file.tensors().floats(tensor).map_err(|error| source.file.inside(error))?;
    let data = narrow(&rows).map_err(|error| source.file.inside(error))?;
    (settings.dim, settings.input_digest) = (dim, Some(found));
    Ok(Some(Arc::new(KeyRows { count, data })))
}
