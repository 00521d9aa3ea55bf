//! Tensor files in the safetensors format. Files are validated on read and written atomically.

mod export;
mod file;

pub use export::{Element, Entry, target, write, write_with};
pub use file::{Tensor, TensorFile, Tensors};

use std::path::PathBuf;

/// The error of a file or tensor that cannot be used. The message names the tensor and what is allowed.
#[derive(Debug, thiserror::Error)]
pub enum TensorError {
    /// The file cannot be opened, read or written.
    #[error("{}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// Not a safetensors file, or a damaged one.
    #[error("not a valid safetensors file: {0}")]
    Format(String),
    /// An error inside a file.
    #[error("{}", path.display())]
    Inside {
        /// The file.
        path: PathBuf,
        /// The error.
        source: Box<TensorError>,
    },
    /// No tensor of that name.
    #[error("tensor {name} is missing (not in the file, or not given); there is {present}")]
    Missing {
        /// The requested name.
        name: String,
        /// The names in the file.
        present: String,
    },
    /// A tensor with the wrong shape.
    #[error("tensor {name} has shape {got:?}: {expected}")]
    Shape {
        /// The tensor.
        name: String,
        /// Its shape.
        got: Vec<usize>,
        /// What is allowed.
        expected: String,
    },
    /// A tensor with the wrong element type.
    #[error("tensor {name} holds {got}: {expected}")]
    Type {
        /// The tensor.
        name: String,
        /// Its element type.
        got: String,
        /// What is allowed.
        expected: &'static str,
    },
    /// A row that does not exist.
    #[error("tensor {name} has {rows} rows: there is no row {row}")]
    Row {
        /// The tensor.
        name: String,
        /// Its rows.
        rows: usize,
        /// The requested row.
        row: usize,
    },
    /// A tensor with a value that is not allowed.
    #[error("tensor {name} holds {value} at index {index}: {expected}")]
    Value {
        /// The tensor.
        name: String,
        /// The offending value.
        value: String,
        /// Its place in the flattened tensor.
        index: usize,
        /// What is allowed.
        expected: String,
    },
}
