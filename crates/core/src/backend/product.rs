//! Matrix products, and the strided views that they read.

use super::real::Real;

/// The longest inner sum that is passed to gemm at once. gemm splits longer sums by the size of the machine's caches, so that the
/// last bits would differ between machines.
pub const INNER: usize = 512;

/// A borrowed matrix: row-major with a row stride, or the transpose of one.
#[derive(Clone, Copy)]
pub struct View<'a, T> {
    data: &'a [T],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a, T> View<'a, T> {
    /// A row-major matrix without gaps.
    pub fn new(data: &'a [T], rows: usize, columns: usize) -> Self {
        assert_eq!(data.len(), rows * columns, "a {rows} x {columns} matrix");
        View { data, rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The entries, for a view made by [`View::new`].
    pub fn data(&self) -> &'a [T] {
        self.data
    }

    /// The transposed matrix, in place.
    pub fn t(self) -> Self {
        View {
            data: self.data,
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
        }
    }

    /// Rows `first..end`.
    pub fn rows_in(self, first: usize, end: usize) -> Self {
        assert!(first <= end && end <= self.rows, "rows {first}..{end} of {}", self.rows);
        // An empty part may begin past the end of the data; it is never read.
        let data = self.data.get(first * self.row_stride..).unwrap_or(&[]);
        View { data, rows: end - first, ..self }
    }

    /// Columns `first..end`.
    pub fn columns_in(self, first: usize, end: usize) -> Self {
        self.t().rows_in(first, end).t()
    }

    /// The last element's offset is inside the data, so reading the whole view is in bounds.
    fn in_bounds(&self) -> bool {
        self.rows == 0
            || self.columns == 0
            || (self.rows - 1) * self.row_stride + (self.columns - 1) * self.column_stride < self.data.len()
    }
}

/// `out = a b`, or `out += a b` if `add`, on the caller's thread; `out` is row-major without gaps.
#[allow(unsafe_code)]
pub fn product<T: Real>(out: &mut [T], a: View<'_, T>, b: View<'_, T>, add: bool) {
    let (m, k, n) = (a.rows, a.columns, b.columns);
    assert_eq!(k, b.rows, "inner sizes");
    assert_eq!(out.len(), m * n, "a {m} x {n} result");
    assert!(a.in_bounds() && b.in_bounds());
    if k == 0 && !add {
        out.fill(T::ZERO);
    }
    for first in (0..k).step_by(INNER) {
        let part = INNER.min(k - first);
        let (a, b) = (a.columns_in(first, first + part), b.rows_in(first, first + part));
        // SAFETY: the shapes agree and each view's last element is inside its slice (asserted above);
        // `out` is exclusive and of m * n elements; T is f32 or f64, the types that gemm takes.
        unsafe {
            gemm::gemm(
                m,
                n,
                part,
                out.as_mut_ptr(),
                1,
                n as isize,
                add || first > 0,
                a.data.as_ptr(),
                a.column_stride as isize,
                a.row_stride as isize,
                b.data.as_ptr(),
                b.column_stride as isize,
                b.row_stride as isize,
                T::ONE,
                T::ONE,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;

    fn numbers(count: usize, salt: usize) -> Vec<f64> {
        (0..count).map(|i| ((i * 7919 + salt * 104_729) % 1009) as f64 / 500.0 - 1.0).collect()
    }

    fn naive(a: View<'_, f64>, b: View<'_, f64>) -> Vec<f64> {
        let at = |v: &View<'_, f64>, i: usize, j: usize| v.data[i * v.row_stride + j * v.column_stride];
        let entry = |i, j| (0..a.columns).map(|k| at(&a, i, k) * at(&b, k, j)).sum();
        (0..a.rows).flat_map(|i| (0..b.columns).map(move |j| (i, j))).map(|(i, j)| entry(i, j)).collect()
    }

    #[test]
    fn agrees_with_the_definition() {
        for (m, k, n) in [
            (1, 1, 1),
            (3, 5, 7),
            (17, 600, 9),
            (2, 0, 3),
            (300, 33, 40),
            (1, 700, 31),
            (0, 600, 5),
            (4, 600, 0),
        ] {
            let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
            let views = [
                (View::new(&a, m, k), View::new(&b, k, n)),
                (View::new(&a, k, m).t(), View::new(&b, n, k).t()),
            ];
            for (a, b) in views {
                let expected = naive(a, b);
                let mut out = vec![f64::NAN; m * n];
                product(&mut out, a, b, false);
                for (x, y) in out.iter().zip(&expected) {
                    assert!((x - y).abs() < 1e-10);
                }
                let mut panels = vec![f64::NAN; m * n];
                Backend::cpu(3).unwrap().product(&mut panels, a, b).unwrap();
                for (x, y) in panels.iter().zip(&expected) {
                    assert!((x - y).abs() < 1e-10);
                }
                product(&mut out, a, b, true);
                for (x, y) in out.iter().zip(&expected) {
                    assert!((x - 2.0 * y).abs() < 1e-10);
                }
            }
        }
    }
}
