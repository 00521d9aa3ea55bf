//! How the rows of an embedding matrix overlap: the statistics that decide its capacity (theory section 5.1).
//!
//! Over V rows there are V^2 pairs; the sum of their squared overlaps is the squared Frobenius norm of the d x d matrix
//! `X^T X`, so one pass of `V d^2` suffices, with rows read in blocks.

use crate::backend::{Backend, View};

/// A matrix that is read in blocks of rows.
pub trait Rows: Sync {
    /// Number of rows.
    fn count(&self) -> usize;

    /// Entries of a row.
    fn dim(&self) -> usize;

    /// Fills `out` with the rows `first..end`, one after the other.
    fn read(&self, first: usize, end: usize, out: &mut Vec<f32>);
}

/// Statistics of the rows of a matrix, over pairs of distinct rows where it is about overlaps.
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

    /// Statistics of the rows minus `centre`, which is all zero for the rows as they are. `progress` hears of every block of rows read.
    pub fn measure(
        rows: &dyn Rows,
        centre: &[f64],
        backend: &Backend,
        progress: &mut dyn FnMut(usize),
    ) -> Coherence {
        let (count, dim) = (rows.count(), rows.dim());
        let mut gram = Gram::new(dim);
        let mut unit_gram = Gram::new(dim);
        let (mut norms, mut squares, mut fourths) = (0.0, 0.0, 0.0);
        let mut block = Vec::new();
        each_block(rows, &mut block, |block| {
            for row in block.chunks_exact_mut(dim) {
                row.iter_mut().zip(centre).for_each(|(x, c)| *x = (f64::from(*x) - c) as f32);
                let square = crate::model::dot(row, row);
                norms += square.sqrt();
                squares += square;
                fourths += square * square;
            }
            gram.add(block, backend);
            for row in block.chunks_exact_mut(dim) {
                let norm = crate::model::dot(row, row).sqrt();
                let scale = if norm > 0.0 { 1.0 / norm } else { 0.0 };
                row.iter_mut().for_each(|x| *x = (f64::from(*x) * scale) as f32);
            }
            unit_gram.add(block, backend);
            progress(block.len() / dim);
        });
        let n = count as f64;
        let pairs = n * (n - 1.0);
        let norm_mean = norms / n;
        let units = unit_gram.trace();
        Coherence {
            mean_square_cosine: (unit_gram.square() - units) / pairs,
            mean_cosine: (unit_gram.sum_square() - units) / pairs,
            norm_mean,
            norm_cv: (squares / n - norm_mean * norm_mean).max(0.0).sqrt() / norm_mean,
            mean_square_norm: squares / n,
            mean_fourth_norm: fourths / n,
            mean_dot: (gram.sum_square() - squares) / pairs,
            mean_square_dot: (gram.square() - fourths) / pairs,
        }
    }
}

/// The mean row.
pub fn mean_row(rows: &dyn Rows) -> Vec<f64> {
    let mut sum = vec![0.0; rows.dim()];
    each_block(rows, &mut Vec::new(), |block| {
        for row in block.chunks_exact(rows.dim()) {
            sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
        }
    });
    sum.iter_mut().for_each(|x| *x /= rows.count() as f64);
    sum
}

fn each_block(rows: &dyn Rows, block: &mut Vec<f32>, mut visit: impl FnMut(&mut [f32])) {
    const ROWS: usize = 512;
    for first in (0..rows.count()).step_by(ROWS) {
        rows.read(first, (first + ROWS).min(rows.count()), block);
        visit(block);
    }
}

/// `X^T X` and the sum of the rows of X, as rows come in. Products in single precision, sums in double.
struct Gram {
    dim: usize,
    matrix: Vec<f64>,
    sum: Vec<f64>,
    part: Vec<f32>,
}

impl Gram {
    fn new(dim: usize) -> Gram {
        Gram { dim, matrix: vec![0.0; dim * dim], sum: vec![0.0; dim], part: vec![0.0; dim * dim] }
    }

    fn add(&mut self, block: &[f32], backend: &Backend) {
        let x = View::new(block, block.len() / self.dim, self.dim);
        backend.product(&mut self.part, x.t(), x);
        self.matrix.iter_mut().zip(&self.part).for_each(|(sum, x)| *sum += f64::from(*x));
        for row in block.chunks_exact(self.dim) {
            self.sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
        }
    }

    /// Sum of the squared inner products of all pairs, each row with itself included.
    fn square(&self) -> f64 {
        self.matrix.iter().map(|x| x * x).sum()
    }

    /// Sum of the inner products of all pairs, each row with itself included.
    fn sum_square(&self) -> f64 {
        self.sum.iter().map(|x| x * x).sum()
    }

    fn trace(&self) -> f64 {
        self.matrix.iter().step_by(self.dim + 1).sum()
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
        let (count, dim) = (700, 9);
        let table = Table((0..count * dim).map(|i| (i as f32 * 0.731).sin() + 0.2).collect(), dim);
        let mean = mean_row(&table);
        for centre in [vec![0.0; dim], mean] {
            let found = Coherence::measure(&table, &centre, &Backend::single(), &mut |_| {});
            let rows: Vec<Vec<f64>> = table
                .0
                .chunks(dim)
                .map(|row| row.iter().zip(&centre).map(|(x, c)| f64::from(*x) - c).collect())
                .collect();
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
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
            for (found, expected) in [
                (found.mean_cosine, cosines / pairs),
                (found.mean_square_cosine, squares / pairs),
                (found.mean_dot, dots / pairs),
                (found.mean_square_dot, square_dots / pairs),
                (found.norm_mean, rows.iter().map(|r| norm(r)).sum::<f64>() / count as f64),
            ] {
                assert!((found - expected).abs() < 1e-5, "{found} {expected}");
            }
        }
    }
}
