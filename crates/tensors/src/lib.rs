//! Tensor files in the safetensors format. Files are validated on read and written atomically.

mod export;
mod file;
mod tensor;

pub use export::{Element, Entry, remove_leftovers, target, write, write_with};
pub use file::{TensorFile, Tensors};
pub use tensor::Tensor;

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;

use safetensors::Dtype;

/// The name of the checksum among the texts of a header.
const CHECKSUM: &str = "checksum";

/// The hash of the texts of a header, without the checksum, and of tensors, by their sorted names.
fn checksum<'a>(
    metadata: &HashMap<String, String>,
    names: &[String],
    tensor: impl Fn(&str) -> Result<(Dtype, Vec<usize>, Cow<'a, [u8]>), TensorError>,
) -> Result<String, TensorError> {
    let mut hasher = blake3::Hasher::new();
    let mut update = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    let mut texts: Vec<_> = metadata.iter().filter(|(name, _)| *name != CHECKSUM).collect();
    texts.sort();
    for (name, text) in texts {
        update(name.as_bytes());
        update(text.as_bytes());
    }
    for name in names {
        let (dtype, shape, data) = tensor(name)?;
        update(name.as_bytes());
        update(format!("{dtype:?} {shape:?}").as_bytes());
        update(&data);
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// The error of a file or tensor that cannot be used. The message names the tensor and what is allowed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages explain variants and fields.
pub enum TensorError {
    /// The file cannot be opened, read or written.
    #[error("{}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("not a valid safetensors file: {0}")]
    Format(String),
    /// An error inside a file.
    #[error("{}", path.display())]
    Inside { path: PathBuf, source: Box<TensorError> },
    #[error("tensor {name} is missing (not in the file, or not given); there is {present}")]
    Missing { name: String, present: String },
    #[error("tensor {name} has shape {got:?}: {expected}")]
    Shape { name: String, got: Vec<usize>, expected: String },
    #[error("tensor {name} holds {got}: {expected}")]
    Type { name: String, got: String, expected: &'static str },
    #[error("tensor {name} cannot be read; was the file changed meanwhile?")]
    Read { name: String, source: std::io::Error },
    #[error("it has no checksum: an earlier version of superpose or another program wrote it")]
    NoChecksum,
    #[error("its checksum does not fit: the file is damaged or was edited")]
    Damaged,
    #[error("tensor {name} has {rows} rows: there is no row {row}")]
    Row { name: String, rows: usize, row: usize },
    /// A tensor with a value that is not allowed, at an index of the flattened tensor.
    #[error("tensor {name} holds {value} at index {index}: {expected}")]
    Value { name: String, value: String, index: usize, expected: String },
}
