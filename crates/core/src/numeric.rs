//! Small numerical routines that several crates share: the dot product, the Cholesky factorisation, Gauss-Legendre
//! quadrature.
//!
//! Each routine adds numbers in an order that depends on the sizes alone, so that results have the same bits on every machine.

use crate::backend::{Backend, Real, Result, View, product, simd};

simd! {
    /// The dot product in 64 bits.
    pub fn dot<T: Real>(a: &[T], b: &[T]) -> f64 {
        sum_of_pairs(a, b, |a, b| a * b)
    }

    /// The square of the distance of two vectors in 64 bits.
    pub fn square_distance<T: Real>(a: &[T], b: &[T]) -> f64 {
        sum_of_pairs(a, b, |a, b| (a - b) * (a - b))
    }
}

/// The sum of a function of entries of two vectors. Eight running sums keep the processor from waiting for each addition.
#[inline(always)]
fn sum_of_pairs<T: Real>(a: &[T], b: &[T], term: impl Fn(f64, f64) -> f64) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (wide_a, rest_a) = a.as_chunks::<LANES>();
    let (wide_b, rest_b) = b.as_chunks::<LANES>();
    for (a, b) in wide_a.iter().zip(wide_b) {
        for lane in 0..LANES {
            sums[lane] += term(a[lane].to_f64(), b[lane].to_f64());
        }
    }
    let rest = rest_a.iter().zip(rest_b);
    sums.iter_mut().zip(rest).for_each(|(sum, (a, b))| *sum += term(a.to_f64(), b.to_f64()));
    sums.iter().sum()
}

/// The transpose of a row-major matrix.
pub fn transposed<T: Copy>(matrix: &[T], columns: usize) -> Vec<T> {
    let rows = matrix.len() / columns;
    (0..matrix.len()).map(|i| matrix[i % rows * columns + i / rows]).collect()
}

/// The factorisation `A = L L^T` of a symmetric positive definite matrix, with `L` lower triangular.
pub struct Cholesky {
    dim: usize,
    /// `L`, row-major; entries above the diagonal are not used.
    root: Vec<f64>,
}

impl Cholesky {
    /// Factors a row-major matrix, of which only the lower triangle is read.
    ///
    /// Returns `None` unless every pivot is above `tolerance` times its diagonal entry: the matrix is then singular to that
    /// tolerance.
    pub fn new(matrix: Vec<f64>, dim: usize, tolerance: f64) -> Option<Cholesky> {
        let pivot = |pivot: f64, diagonal: f64| (pivot > tolerance * diagonal).then_some(pivot).ok_or(());
        Cholesky::factor(matrix, dim, pivot).ok()
    }

    /// Factors a matrix that is positive definite up to rounding; pivots that rounding made negative become tiny positive ones.
    pub fn nearly_definite(matrix: Vec<f64>, dim: usize, backend: &Backend) -> Result<Cholesky> {
        Cholesky::factor(matrix, dim, |pivot, _| {
            backend.check_cancelled()?;
            Ok(pivot.max(f64::MIN_POSITIVE))
        })
    }

    /// Factors row by row. `pivot` maps each pivot and its diagonal entry to the pivot to use.
    fn factor<E>(
        mut root: Vec<f64>,
        dim: usize,
        pivot: impl Fn(f64, f64) -> Result<f64, E>,
    ) -> Result<Cholesky, E> {
        for i in 0..dim {
            let (done, row) = root.split_at_mut(i * dim);
            for j in 0..i {
                let other = &done[j * dim..][..=j];
                row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
            }
            row[i] = pivot(row[i] - dot(&row[..i], &row[..i]), row[i])?.sqrt();
        }
        Ok(Cholesky { dim, root })
    }

    /// The logarithm of the determinant of `L`, half that of `A`.
    pub fn log_root_determinant(&self) -> f64 {
        self.root.iter().step_by(self.dim + 1).map(|x| libm::log(*x)).sum()
    }

    /// Replaces `b` by the solution of `L x = b`.
    pub fn solve_lower(&self, b: &mut [f64]) {
        for (i, row) in self.root.chunks_exact(self.dim.max(1)).enumerate() {
            b[i] = (b[i] - dot(&row[..i], &b[..i])) / row[i];
        }
    }

    /// Replaces `b` by the solution of `L^T x = b`.
    pub fn solve_upper(&self, b: &mut [f64]) {
        for (i, row) in self.root.chunks_exact(self.dim.max(1)).enumerate().rev() {
            b[i] /= row[i];
            let x = b[i];
            b[..i].iter_mut().zip(row).for_each(|(b, l)| *b -= l * x);
        }
    }

    /// Replaces `b` by the solution of `A x = b`.
    pub fn solve(&self, b: &mut [f64]) {
        self.solve_lower(b);
        self.solve_upper(b);
    }

    /// The inverse of `A`, row-major.
    pub fn inverse(&self, backend: &Backend) -> Result<Vec<f64>> {
        let (dim, root) = (self.dim, &self.root);
        // Row i holds column i of the inverse of L, which is zero above the diagonal.
        let mut columns = vec![0.0; dim * dim];
        for (i, column) in columns.chunks_exact_mut(dim).enumerate() {
            backend.check_cancelled()?;
            column[i] = 1.0 / root[i * dim + i];
            for j in i + 1..dim {
                column[j] = -dot(&root[j * dim + i..j * dim + j], &column[i..j]) / root[j * dim + j];
            }
        }
        let mut inverse = vec![0.0; dim * dim];
        let columns = View::new(&columns, dim, dim);
        product(&mut inverse, columns, columns.t(), false);
        Ok(inverse)
    }
}

/// The share of the mean eigenvalue of a Gram matrix of 64-bit numbers that is added by [`ridge`].
pub(crate) const RIDGE: f64 = 1e-9;

/// Adds a share of the mean eigenvalue of a Gram matrix to each eigenvalue: against rounding, and for matrices that are singular
/// because there are fewer rows than columns.
pub(crate) fn ridge(gram: &mut [f64], dim: usize, share: f64) {
    let ridge = share * gram.iter().step_by(dim + 1).sum::<f64>() / dim as f64;
    gram.iter_mut().step_by(dim + 1).for_each(|x| *x += ridge);
}

/// `X (X^T X)^-1`, whose transpose is the pseudo-inverse of `X`, and `(X^T X)^-1`, up to a ridge of 1e-9 of the mean eigenvalue.
pub fn pseudo_inverse(rows: &[f64], dim: usize, backend: &Backend) -> Result<(Vec<f64>, Vec<f64>)> {
    let x = View::new(rows, rows.len() / dim, dim);
    let mut gram = vec![0.0; dim * dim];
    backend.product(&mut gram, x.t(), x)?;
    ridge(&mut gram, dim, RIDGE);
    let inverse = Cholesky::nearly_definite(gram, dim, backend)?.inverse(backend)?;
    let mut pseudo = vec![0.0; rows.len()];
    backend.product(&mut pseudo, x, View::new(&inverse, dim, dim))?;
    Ok((pseudo, inverse))
}

/// Nodes on (-1, 1), from the largest down, and weights of the Gauss-Legendre rule; the weights sum to 2.
///
/// Newton's method on the Legendre polynomial of that order, from the usual first guess (Press et al., Numerical Recipes, 4.6).
pub fn gauss_legendre(order: usize) -> Vec<(f64, f64)> {
    let node = |i: usize| {
        let mut x = libm::cos(std::f64::consts::PI * (i as f64 + 0.75) / (order as f64 + 0.5));
        let mut slope = 1.0;
        for _ in 0..20 {
            let (mut before, mut value) = (1.0, x);
            for n in 2..=order {
                let n = n as f64;
                (before, value) = (value, ((2.0 * n - 1.0) * x * value - (n - 1.0) * before) / n);
            }
            slope = order as f64 * (x * value - before) / (x * x - 1.0);
            x -= value / slope;
        }
        (x, 2.0 / ((1.0 - x * x) * slope * slope))
    };
    (0..order).map(node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cholesky_solves_and_inverts() {
        let dim = 11;
        let x: Vec<f64> = (0..dim * dim).map(|i| (i as f64 * 0.7).sin()).collect();
        let entry = |i: usize, j: usize| dot(&x[i * dim..][..dim], &x[j * dim..][..dim]) + f64::from(i == j);
        let a: Vec<f64> = (0..dim * dim).map(|k| entry(k / dim, k % dim)).collect();
        let times = |v: &[f64]| a.chunks_exact(dim).map(|row| dot(row, v)).collect::<Vec<f64>>();
        let cholesky = Cholesky::new(a.clone(), dim, 1e-10).unwrap();
        let inverse = cholesky.inverse(&Backend::single()).unwrap();
        for i in 0..dim {
            let unit: Vec<f64> = (0..dim).map(|j| f64::from(i == j)).collect();
            let mut solution = unit.clone();
            cholesky.solve(&mut solution);
            for (x, y) in times(&solution).iter().zip(&unit) {
                assert!((x - y).abs() < 1e-10);
            }
            for (x, y) in solution.iter().zip(&inverse[i * dim..]) {
                assert!((x - y).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn singular_matrix_has_no_factorisation() {
        assert!(Cholesky::new(vec![1.0, 1.0, 1.0, 1.0], 2, 1e-10).is_none());
        assert!(Cholesky::new(vec![f64::NAN], 1, 0.0).is_none());
        assert!(Cholesky::new(vec![1.0, 0.0, 2.0, 1.0], 2, 0.0).is_none());
    }

    #[test]
    fn pseudo_inverse_is_a_left_inverse() {
        let (rows, dim) = (40, 7);
        let x: Vec<f64> = (0..rows * dim).map(|i| ((i * i) as f64 * 0.37).sin()).collect();
        let (pseudo, inverse) = pseudo_inverse(&x, dim, &Backend::single()).unwrap();
        // X^T X (X^T X)^-1 = 1
        for i in 0..dim {
            for j in 0..dim {
                let entry: f64 = (0..rows).map(|r| x[r * dim + i] * pseudo[r * dim + j]).sum();
                assert!((entry - f64::from(u8::from(i == j))).abs() < 1e-6, "{i} {j} {entry}");
                assert!((inverse[i * dim + j] - inverse[j * dim + i]).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn gauss_legendre_integrates_polynomials() {
        for order in [1, 2, 8, 48] {
            let rule = gauss_legendre(order);
            for power in 0..2 * order {
                let sum: f64 = rule.iter().map(|(x, weight)| weight * x.powi(power as i32)).sum();
                let exact = if power % 2 == 0 { 2.0 / (power as f64 + 1.0) } else { 0.0 };
                assert!((sum - exact).abs() < 1e-13, "order {order}, power {power}: {sum}");
            }
        }
    }
}
