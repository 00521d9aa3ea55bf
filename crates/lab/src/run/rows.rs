//! Rows of a file as embeddings.

use superpose_core::config::{Config, Settings};
use superpose_core::random::{Stream, shuffle};
use superpose_tensors::{Tensor, TensorError, TensorFile};

use super::instance::digest;

/// A matrix whose rows become embeddings.
#[derive(Debug)]
pub struct EmbeddingRows {
    /// The file.
    pub file: TensorFile,
    /// The tensor's name.
    pub tensor: String,
}

/// Output embeddings that are the input embeddings; any other word is a tensor of the file.
pub(super) const TIED: &str = "tied";

/// The tensor of the file that gives the output embeddings, the same rows as for the input.
pub(super) fn output_tensor(settings: &Settings) -> Option<&str> {
    settings.output_embedding.as_deref().filter(|&name| name != TIED)
}

impl EmbeddingRows {
    /// Returns the rows and columns of a matrix.
    ///
    /// # Errors
    /// Fails if the tensor is missing or not a matrix.
    pub fn size(&self, tensor: &str) -> Result<(usize, usize), TensorError> {
        let shape = self.file.tensors().shape(tensor).map_err(|error| self.file.inside(error))?;
        match shape[..] {
            [rows, columns] if rows > 0 && columns > 0 => Ok((rows, columns)),
            _ => {
                let expected = "must be a matrix with at least one row and column".into();
                Err(self.file.inside(TensorError::Shape { name: tensor.into(), got: shape, expected }))
            }
        }
    }

    /// Reads the rows of the input embedding and, where a tensor gives it, of the output embedding.
    pub(super) fn read(&self, config: &Config) -> Result<Vec<Tensor<f64>>, TensorError> {
        let chosen = self.choose(config.seed, config.token_count())?;
        let mut names = vec![(self.tensor.as_str(), &chosen[..])];
        if let Some(name) = output_tensor(config) {
            names.push((name, &chosen[..config.label_count()]));
        }
        let read = |(name, rows): (&str, &[usize])| self.file.tensors().rows(name, rows);
        names.into_iter().map(read).collect::<Result<_, _>>().map_err(|error| self.file.inside(error))
    }

    /// Adds a whole matrix to a digest, in blocks of rows.
    pub(crate) fn digest(&self, hasher: &mut blake3::Hasher, name: &str) -> Result<(), TensorError> {
        const BLOCK: usize = 1024;
        let rows = self.size(name)?.0;
        for first in (0..rows).step_by(BLOCK) {
            let block = self.file.tensors().row_range(name, first, (first + BLOCK).min(rows));
            digest(hasher, &block.map_err(|error| self.file.inside(error))?, f64::to_le_bytes);
        }
        Ok(())
    }

    pub(super) fn choose(&self, seed: u64, count: usize) -> Result<Vec<usize>, TensorError> {
        let mut rows: Vec<usize> = (0..self.size(&self.tensor)?.0).collect();
        shuffle(seed, Stream::FileRows, &mut rows);
        rows.truncate(count);
        Ok(rows)
    }
}
