//! The fixed random vectors of the model (theory: setting). Independent rows are functions of (seed, stream, row).

mod coherence;
mod orthonormal;
mod structured;

pub use coherence::{Coherence, Rows};

use crate::backend::{Backend, Real, Result, narrow};
use crate::config::{Config, Embedding, EmbeddingSettings};
use crate::random::{Stream, Words, normals};

/// All fixed vectors of a model. Tables are row-major.
#[derive(Clone, Debug)]
pub struct Embeddings<T> {
    /// Entries of a vector.
    pub dim: usize,
    /// Input embeddings, facts' tokens first, then noise tokens.
    pub z_in: Vec<T>,
    /// Output embeddings, a row per label.
    pub z_out: Vec<T>,
    /// The trigger.
    pub z_trig: Vec<T>,
    /// The end-of-sequence vector.
    pub z_eos: Vec<T>,
    /// First layer of the MLP, `width` rows; absent for the attention-only model.
    pub w_in: Option<Vec<T>>,
}

impl<T: Real> Embeddings<T> {
    /// Draws the embeddings of a configuration. With [`Embedding::File`] everything is Gaussian, and the caller replaces rows by
    /// those of the file.
    ///
    /// # Errors
    /// When the backend's token was cancelled.
    pub fn draw(config: &Config, backend: &Backend) -> Result<Embeddings<T>> {
        let (dim, seed) = (config.dim, config.seed);
        let (tokens, labels) = (config.token_count(), config.label_count());
        let (z_in, z_out, z_trig, z_eos) = if config.embedding == EmbeddingSettings::Orthonormal {
            let mut inputs = table(Embedding::Gaussian, seed, Stream::InputEmbedding, tokens, dim, backend)?;
            inputs.extend(table::<f64>(Embedding::Gaussian, seed, Stream::Markers, 2, dim, backend)?);
            orthonormal::orthonormalise(&mut inputs, dim, backend)?;
            let mut outputs =
                table(Embedding::Gaussian, seed, Stream::OutputEmbedding, labels, dim, backend)?;
            orthonormal::orthonormalise(&mut outputs, dim, backend)?;
            let (z_in, markers) = inputs.split_at(tokens * dim);
            (narrow(z_in), narrow(&outputs), narrow(&markers[..dim]), narrow(&markers[dim..]))
        } else {
            let draw = |stream, rows| {
                let structured = match stream {
                    Stream::InputEmbedding | Stream::OutputEmbedding => {
                        structured::table(config, stream, rows, backend)?
                    }
                    _ => None,
                };
                let kind = config.embedding.kind();
                structured.map_or_else(|| table(kind, seed, stream, rows, dim, backend), Ok)
            };
            let mut z_trig: Vec<T> = draw(Stream::Markers, 2)?;
            let z_eos = z_trig.split_off(dim);
            (draw(Stream::InputEmbedding, tokens)?, draw(Stream::OutputEmbedding, labels)?, z_trig, z_eos)
        };
        let first_layer = |width: usize| {
            let mut rows = vec![T::ZERO; width * dim];
            fill_rows(&mut rows, dim, seed, Stream::FirstLayer, 0, backend, |_| 1.0)?;
            Ok(rows)
        };
        let w_in = config.width.map(first_layer).transpose()?;
        Ok(Embeddings { dim, z_in, z_out, z_trig, z_eos, w_in })
    }
}

/// Rows of a table, each a function of (seed, stream, row).
pub fn table<T: Real>(
    kind: Embedding,
    seed: u64,
    stream: Stream,
    rows: usize,
    dim: usize,
    backend: &Backend,
) -> Result<Vec<T>> {
    let mut table = vec![T::ZERO; rows * dim];
    let scale = 1.0 / (dim as f64).sqrt();
    match kind {
        Embedding::Sphere => fill_rows(&mut table, dim, seed, stream, 0, backend, |row| {
            1.0 / row.iter().map(|x| x * x).sum::<f64>().sqrt()
        })?,
        Embedding::Rademacher => backend.for_chunks(&mut table, dim, |v, row| {
            let words = Words::new(seed, stream, v as u64);
            for (block, part) in row.chunks_mut(128).enumerate() {
                let bits = words.block(block as u32);
                for (i, x) in part.iter_mut().enumerate() {
                    let up = bits[i / 32] >> (i % 32) & 1 == 1;
                    *x = T::from_f64(if up { scale } else { -scale });
                }
            }
        })?,
        // Gaussian rows, also of the markers of kinds whose other rows have structure.
        Embedding::Gaussian
        | Embedding::Orthonormal
        | Embedding::LowRank
        | Embedding::Clustered
        | Embedding::PowerLaw
        | Embedding::File => fill_rows(&mut table, dim, seed, stream, 0, backend, |_| scale)?,
    }
    Ok(table)
}

/// Fills rows, numbered from `first` on, with normal numbers times a scale that may depend on the row.
fn fill_rows<T: Real>(
    table: &mut [T],
    dim: usize,
    seed: u64,
    stream: Stream,
    first: u64,
    backend: &Backend,
    scale: impl Fn(&[f64]) -> f64 + Sync,
) -> Result<()> {
    const ROWS: usize = 64;
    backend.for_chunks(table, ROWS * dim, |i, part| {
        let mut wide = vec![0.0; dim];
        for (v, row) in part.chunks_exact_mut(dim).enumerate() {
            normals(&Words::new(seed, stream, first + (i * ROWS + v) as u64), &mut wide);
            let scale = scale(&wide);
            row.iter_mut().zip(&wide).for_each(|(x, &wide)| *x = T::from_f64(scale * wide));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use crate::numeric::dot;

    fn draw(embedding: Embedding, vocab: usize, dim: usize) -> Embeddings<f64> {
        let embedding = EmbeddingSettings::plain(embedding).unwrap();
        let config = Settings { embedding, vocab, dim, ..Settings::default() }.check().unwrap();
        Embeddings::draw(&config, &Backend::single()).unwrap()
    }

    #[test]
    fn rows_have_the_stated_geometry() {
        let dim = 130;
        for embedding in [Embedding::Sphere, Embedding::Rademacher, Embedding::Orthonormal] {
            let e = draw(embedding, 100, dim);
            for row in e.z_in.chunks(dim).chain(e.z_out.chunks(dim)).chain([&e.z_trig[..], &e.z_eos]) {
                assert!((dot(row, row) - 1.0).abs() < 1e-12, "{embedding}");
            }
        }
        let e = draw(Embedding::Orthonormal, 100, dim);
        let rows: Vec<&[f64]> = e.z_in.chunks(dim).chain([&e.z_trig[..], &e.z_eos]).collect();
        for (i, a) in rows.iter().enumerate() {
            assert!(rows[..i].iter().all(|b| dot(a, b).abs() < 1e-12));
        }
    }

    #[test]
    fn gaussian_overlaps_are_of_order_one_over_dim() {
        let dim = 64;
        let e = draw(Embedding::Gaussian, 300, dim);
        let rows: Vec<&[f64]> = e.z_in.chunks(dim).collect();
        let mut sum = 0.0;
        for (i, a) in rows.iter().enumerate() {
            sum += rows[..i].iter().map(|b| dot(a, b).powi(2)).sum::<f64>();
        }
        let mean = sum / (300.0 * 299.0 / 2.0);
        assert!((mean * dim as f64 - 1.0).abs() < 0.1, "{mean}");
    }

    #[test]
    fn row_does_not_depend_on_the_size_of_the_table() {
        let (small, large) = (draw(Embedding::Gaussian, 10, 7), draw(Embedding::Gaussian, 300, 7));
        assert_eq!(small.z_in, large.z_in[..70]);
        assert_eq!(small.z_trig, large.z_trig);
    }
}
