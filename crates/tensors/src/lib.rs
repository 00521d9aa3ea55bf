//! Tensor files in the safetensors format: reading them with distrust, writing them whole or not at all.

mod export;
mod file;

pub use export::{Element, Entry, target, write, write_with};
pub use file::{Tensor, TensorFile, Tensors};

use std::path::PathBuf;

/// A file or tensor that cannot be used. The message names the file's tensor and what is allowed.
#[derive(Debug, thiserror::Error)]
pub enum TensorError {
    /// The file cannot be opened, read or written.
    #[error("{}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Not a safetensors file, or a damaged one.
    #[error("not a valid safetensors file: {0}")]
    Format(String),
    /// Something is wrong inside a file.
    #[error("{}", path.display())]
    Inside {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: Box<TensorError>,
    },
    /// No tensor of that name.
    #[error("tensor {name} is missing (not in the file, or not given); there is {present}")]
    Missing {
        /// The name looked for.
        name: String,
        /// The names there are.
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
    /// A row that is not there.
    #[error("tensor {name} has {rows} rows: there is no row {row}")]
    Row {
        /// The tensor.
        name: String,
        /// Its rows.
        rows: usize,
        /// The row asked for.
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
