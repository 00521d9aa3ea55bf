//! Tensor files in the safetensors format. Files are validated on read and written atomically.

mod export;
mod file;

pub use export::{Element, Entry, target, write, write_with};
pub use file::{Tensor, TensorFile, Tensors};

use std::path::PathBuf;

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
    #[error("tensor {name} has {rows} rows: there is no row {row}")]
    Row { name: String, rows: usize, row: usize },
    /// A tensor with a value that is not allowed, at an index of the flattened tensor.
    #[error("tensor {name} holds {value} at index {index}: {expected}")]
    Value { name: String, value: String, index: usize, expected: String },
}
