//! Statistics of the inner products (overlaps) of embedding rows, which determine capacity (theory: memory).
//!
//! The sum of the squared inner products of all V^2 pairs is the squared Frobenius norm of `X^T X`. One pass of `V d^2`
//! operations over blocks of rows therefore suffices.

use crate::backend::{Backend, Result, View, product};
use crate::numeric::dot;

/// A matrix that is read in blocks of rows.
pub trait Rows: Sync {
    /// Number of rows.
    fn count(&self) -> usize;

    /// Entries of a row.
    fn dim(&self) -> usize;

    /// Fills `out` with the rows `first..end`, one after the other.
    fn read(&self, first: usize, end: usize, out: &mut Vec<f32>);
}

/// Statistics of the rows of a matrix. Those of overlaps are over pairs of distinct rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coherence {
    /// Mean of the squared cosine.
    pub mean_square_cosine: f64,
    /// Mean of the cosine.
    pub mean_cosine: f64,
    /// Mean of the rows' lengths.
    pub norm_mean: f64,
    /// Standard deviation of the lengths over their mean.
    pub norm_cv: f64,
    /// Mean of the squared length.
    pub mean_square_norm: f64,
    /// Mean of the fourth power of the length.
    pub mean_fourth_norm: f64,
    /// Mean of the inner product.
    pub mean_dot: f64,
    /// Mean of the squared inner product.
    pub mean_square_dot: f64,
}

impl Coherence {
    /// The dimension of isotropic random vectors that would overlap as much.
    pub fn effective_dimension(&self) -> f64 {
        1.0 / self.mean_square_cosine
    }

    /// Statistics of the rows as they are and of the rows minus their mean `mean`, in one pass. `progress` is called with the number of
    /// rows of every block.
    ///
    /// The Gram matrix of the rows as they are is computed as that of the centred rows plus `V mean mean^T`, since the difference the
    /// other way round would lose digits. Rows scaled to length 1 have no such relation and take a matrix each.
    pub fn measure(
        rows: &dyn Rows,
        mean: &[f64],
        backend: &Backend,
        progress: &mut dyn FnMut(usize),
    ) -> Result<[Coherence; 2]> {
        const ROWS: usize = 512;
        let (count, dim) = (rows.count() as f64, rows.dim());
        let mut centred_gram = Gram::new(dim);
        let mut unit_grams = [Gram::new(dim), Gram::new(dim)];
        let mut lengths = [Lengths::default(); 2];
        let mut block = Vec::new();
        let mut centred = Vec::new();
        for first in (0..rows.count()).step_by(ROWS) {
            let end = (first + ROWS).min(rows.count());
            rows.read(first, end, &mut block);
            centred.clear();
            for row in block.chunks_exact(dim) {
                centred.extend(row.iter().zip(mean).map(|(x, c)| (f64::from(*x) - c) as f32));
            }
            centred_gram.add(&centred, backend)?;
            for ((block, gram), lengths) in
                [&mut block[..], &mut centred[..]].into_iter().zip(&mut unit_grams).zip(&mut lengths)
            {
                lengths.normalise(block, dim);
                gram.add(block, backend)?;
            }
            progress(end - first);
        }
        let size = dot(mean, mean);
        let with_mean = centred_gram.form(mean);
        let centred_square = centred_gram.square();
        let raw_square = centred_square + 2.0 * count * with_mean + (count * size).powi(2);
        Ok([
            lengths[0].coherence(count, &unit_grams[0], (count * count * size, raw_square)),
            lengths[1].coherence(count, &unit_grams[1], (centred_gram.sum_square(), centred_square)),
        ])
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Lengths {
    norms: f64,
    squares: f64,
    fourths: f64,
}

impl Lengths {
    /// Adds the lengths of rows and scales each to length 1.
    fn normalise(&mut self, rows: &mut [f32], dim: usize) {
        for row in rows.chunks_exact_mut(dim) {
            let square = dot(row, row);
            self.norms += square.sqrt();
            self.squares += square;
            self.fourths += square * square;
            let scale = if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 };
            row.iter_mut().for_each(|x| *x = (f64::from(*x) * scale) as f32);
        }
    }

    /// Statistics, given the Gram matrix of the rows scaled to length 1 and, over all pairs of rows, the sums of their
    /// inner products and of the squares of these.
    fn coherence(&self, n: f64, units: &Gram, (dots, square_dots): (f64, f64)) -> Coherence {
        let pairs = n * (n - 1.0);
        let norm_mean = self.norms / n;
        let own = units.trace();
        Coherence {
            mean_square_cosine: (units.square() - own) / pairs,
            mean_cosine: (units.sum_square() - own) / pairs,
            norm_mean,
            norm_cv: (self.squares / n - norm_mean * norm_mean).max(0.0).sqrt() / norm_mean,
            mean_square_norm: self.squares / n,
            mean_fourth_norm: self.fourths / n,
            mean_dot: (dots - self.squares) / pairs,
            mean_square_dot: (square_dots - self.fourths) / pairs,
        }
    }
}

/// `X^T X` and the sum of the rows of X, accumulated over blocks of rows with products in single and sums in double precision. Since
/// the matrix is symmetric, each panel holds only the columns from its diagonal on.
struct Gram {
    dim: usize,
    panels: Vec<Panel>,
    sum: Vec<f64>,
}

/// Some rows of the matrix, from the column of the first of them on.
struct Panel {
    first: usize,
    rows: usize,
    columns: usize,
    matrix: Vec<f64>,
    part: Vec<f32>,
}

impl Gram {
    fn new(dim: usize) -> Gram {
        const ROWS: usize = 256;
        let panel = |first: usize| {
            let (rows, columns) = (ROWS.min(dim - first), dim - first);
            let size = rows * columns;
            Panel { first, rows, columns, matrix: vec![0.0; size], part: vec![0.0; size] }
        };
        Gram { dim, panels: (0..dim).step_by(ROWS).map(panel).collect(), sum: vec![0.0; dim] }
    }

    fn add(&mut self, block: &[f32], backend: &Backend) -> Result<()> {
        let x = View::new(block, block.len() / self.dim, self.dim);
        let dim = self.dim;
        backend.for_chunks(&mut self.panels, 1, |_, panel| {
            for Panel { first, rows, matrix, part, .. } in panel {
                let own = x.columns_in(*first, *first + *rows);
                product(part, own.t(), x.columns_in(*first, dim), false);
                matrix.iter_mut().zip(&*part).for_each(|(sum, x)| *sum += f64::from(*x));
            }
        })?;
        for row in block.chunks_exact(self.dim) {
            self.sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
        }
        Ok(())
    }

    /// The sum over all entries of a function of row, column and entry; entries off the diagonal count twice.
    fn over(&self, f: impl Fn(usize, usize, f64) -> f64) -> f64 {
        let mut sum = 0.0;
        for Panel { first, columns, matrix, .. } in &self.panels {
            for (i, row) in matrix.chunks_exact(*columns).enumerate() {
                // The diagonal square of a panel is stored in full.
                for (j, &x) in row.iter().enumerate().skip(i) {
                    let twice = if i == j { 1.0 } else { 2.0 };
                    sum += twice * f(first + i, first + j, x);
                }
            }
        }
        sum
    }

    /// Sum of the squared inner products of all pairs, each row with itself included.
    fn square(&self) -> f64 {
        self.over(|_, _, x| x * x)
    }

    /// `a^T X^T X a`
    fn form(&self, a: &[f64]) -> f64 {
        self.over(|i, j, x| a[i] * x * a[j])
    }

    /// Sum of the inner products of all pairs, each row with itself included.
    fn sum_square(&self) -> f64 {
        self.sum.iter().map(|x| x * x).sum()
    }

    fn trace(&self) -> f64 {
        self.over(|i, j, x| if i == j { x } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Table(Vec<f32>, usize);

    impl Rows for Table {
        fn count(&self) -> usize {
            self.0.len() / self.1
        }
        fn dim(&self) -> usize {
            self.1
        }
        fn read(&self, first: usize, end: usize, out: &mut Vec<f32>) {
            out.clear();
            out.extend_from_slice(&self.0[first * self.1..end * self.1]);
        }
    }

    #[test]
    fn agrees_with_the_sums_over_pairs() {
        // More columns than a panel has rows.
        let (count, dim) = (700, 300);
        // Rows of unequal length.
        let scale = |i: usize| 1.0 + 0.3 * ((i / dim) as f32).cos();
        let entry = |i: usize| scale(i) * ((i as f32 * 0.731).sin() * 0.05 + 0.01);
        let table = Table((0..count * dim).map(entry).collect(), dim);
        let mean: Vec<f64> = (0..dim)
            .map(|c| table.0.iter().skip(c).step_by(dim).map(|&x| f64::from(x)).sum::<f64>() / count as f64)
            .collect();
        let both = Coherence::measure(&table, &mean, &Backend::single(), &mut |_| {}).unwrap();
        for (centre, found) in [vec![0.0; dim], mean].into_iter().zip(both) {
            let moved = |row: &[f32]| row.iter().zip(&centre).map(|(x, c)| f64::from(*x) - c).collect();
            let rows: Vec<Vec<f64>> = table.0.chunks(dim).map(moved).collect();
            let norm = |a: &[f64]| dot(a, a).sqrt();
            let (mut cosines, mut squares, mut dots, mut square_dots) = (0.0, 0.0, 0.0, 0.0);
            for (i, a) in rows.iter().enumerate() {
                for b in rows.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, b)| b) {
                    let (inner, cosine) = (dot(a, b), dot(a, b) / (norm(a) * norm(b)));
                    cosines += cosine;
                    squares += cosine * cosine;
                    dots += inner;
                    square_dots += inner * inner;
                }
            }
            let pairs = (count * (count - 1)) as f64;
            let lengths: Vec<f64> = rows.iter().map(|r| norm(r)).collect();
            let mean_length = lengths.iter().sum::<f64>() / count as f64;
            let deviations: f64 = lengths.iter().map(|x| (x - mean_length).powi(2)).sum();
            for (found, expected) in [
                (found.mean_cosine, cosines / pairs),
                (found.mean_square_cosine, squares / pairs),
                (found.mean_dot, dots / pairs),
                (found.mean_square_dot, square_dots / pairs),
                (found.norm_mean, mean_length),
                (found.norm_cv, (deviations / count as f64).sqrt() / mean_length),
            ] {
                assert!((found - expected).abs() < 1e-5, "{found} {expected}");
            }
        }
    }
}
