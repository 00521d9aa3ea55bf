//! Structured embeddings: low-rank, clustered and power-law rows. Input and output tables draw their subspaces or centres
//! independently; the trigger and end-of-sequence vectors are Gaussian.

use crate::backend::{Backend, Real, Result, View};
use crate::config::{Config, EmbeddingSettings};
use crate::random::Stream;

use super::fill_rows;

/// The number of the first basis row or centre of the output table, so that it shares none with the input table.
const OUTPUTS: u64 = 1 << 32;

/// A table of rows with the structure of the configuration; entries have mean square `1/d`. `None` for kinds of
/// embeddings whose rows are independent.
pub fn table<T: Real>(
    config: &Config,
    stream: Stream,
    rows: usize,
    backend: &Backend,
) -> Result<Option<Vec<T>>> {
    let first = if stream == Stream::OutputEmbedding { OUTPUTS } else { 0 };
    let dim = config.dim;
    let draw = |stream, first, rows, columns: usize, scale: f64| {
        let mut table = vec![T::ZERO; rows * columns];
        fill_rows(&mut table, columns, config.seed, stream, first, backend, |_| scale)?;
        Ok(table)
    };
    let usual = 1.0 / (dim as f64).sqrt();
    Ok(match config.embedding {
        EmbeddingSettings::LowRank { rank } => {
            let basis: Vec<T> = draw(Stream::Structure, first, rank, dim, usual)?;
            let shares: Vec<T> = draw(stream, 0, rows, rank, 1.0 / (rank as f64).sqrt())?;
            let mut table = vec![T::ZERO; rows * dim];
            backend.product(&mut table, View::new(&shares, rows, rank), View::new(&basis, rank, dim))?;
            Some(table)
        }
        EmbeddingSettings::Clustered { clusters: count, spread } => {
            let centres: Vec<T> =
                draw(Stream::Structure, first, count, dim, usual * (1.0 - spread * spread).sqrt())?;
            let mut table: Vec<T> = draw(stream, 0, rows, dim, usual * spread)?;
            for (v, row) in table.chunks_exact_mut(dim).enumerate() {
                let centre = &centres[v % count * dim..][..dim];
                row.iter_mut().zip(centre).for_each(|(x, &c)| *x += c);
            }
            Some(table)
        }
        EmbeddingSettings::PowerLaw { decay } => {
            let variances: Vec<f64> = (1..=dim).map(|j| libm::pow(j as f64, -decay)).collect();
            let total: f64 = variances.iter().sum();
            let scales: Vec<f64> = variances.iter().map(|v| (v / total).sqrt()).collect();
            let mut table: Vec<T> = draw(stream, 0, rows, dim, 1.0)?;
            for row in table.chunks_exact_mut(dim) {
                row.iter_mut().zip(&scales).for_each(|(x, scale)| *x = T::from_f64(x.to_f64() * scale));
            }
            Some(table)
        }
        EmbeddingSettings::Gaussian
        | EmbeddingSettings::Sphere
        | EmbeddingSettings::Orthonormal
        | EmbeddingSettings::Rademacher
        | EmbeddingSettings::File { .. } => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use crate::embedding::Embeddings;
    use crate::numeric::dot;

    fn draw(embedding: EmbeddingSettings, vocab: usize, dim: usize) -> Embeddings<f64> {
        let settings = Settings { embedding, vocab, dim, ..Settings::default() };
        Embeddings::draw(&settings.check().unwrap(), &Backend::single()).unwrap()
    }

    /// Mean of `|row|^2`, and of the squared cosine of rows `apart` from each other.
    fn geometry(rows: &[f64], dim: usize, apart: usize) -> (f64, f64) {
        let rows: Vec<&[f64]> = rows.chunks(dim).collect();
        let square = rows.iter().map(|r| dot(r, r)).sum::<f64>() / rows.len() as f64;
        let pairs: Vec<f64> = rows.iter().zip(&rows[apart..]).map(|(a, b)| dot(a, b).powi(2)).collect();
        (square, pairs.iter().sum::<f64>() / pairs.len() as f64)
    }

    #[test]
    fn low_rank_rows_overlap_by_their_rank() {
        let (dim, rank) = (200, 10);
        let e = draw(EmbeddingSettings::LowRank { rank }, 2000, dim);
        for rows in [&e.z_in, &e.z_out] {
            let (square, overlap) = geometry(rows, dim, 1);
            assert!((square - 1.0).abs() < 0.15, "{square}");
            assert!((overlap * rank as f64 - 1.0).abs() < 0.35, "{overlap}");
        }
        let (_, across) = geometry(&[&e.z_in[..dim], &e.z_out[..dim]].concat(), dim, 1);
        assert!(across < 0.1, "input and output rows lie in other subspaces: {across}");
    }

    #[test]
    fn clustered_rows_share_their_centre() {
        let (dim, clusters) = (300, 7);
        let e = draw(EmbeddingSettings::Clustered { clusters, spread: 0.6 }, 700, dim);
        let (square, same) = geometry(&e.z_in, dim, clusters);
        let (_, other) = geometry(&e.z_in, dim, 1);
        assert!((square - 1.0).abs() < 0.1, "{square}");
        // Rows of one cluster overlap by 1 - 0.6^2.
        assert!((same.sqrt() - 0.64).abs() < 0.1, "{same}");
        assert!(other < 0.05, "{other}");
    }

    #[test]
    fn power_law_rows_overlap_by_their_participation_ratio() {
        let (dim, decay) = (100, 1.0);
        let e = draw(EmbeddingSettings::PowerLaw { decay }, 2000, dim);
        let (square, overlap) = geometry(&e.z_in, dim, 1);
        assert!((square - 1.0).abs() < 0.1, "{square}");
        // The sum of squared variances over the square of their sum.
        let sum = |power: i32| (1..=dim).map(|j| (j as f64).powi(-power)).sum::<f64>();
        let expected = sum(2) / (sum(1) * sum(1));
        assert!((overlap / expected - 1.0).abs() < 0.2, "{overlap} {expected}");
    }
}
