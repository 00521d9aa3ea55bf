//! Matrix products, and the strided views that they read.
//!
//! Each entry is a sum in an order that depends on the shapes alone. The main kernels of gemm add the terms one after another with
//! fused multiply-add, whatever the width of the vectors. Its other paths are not used: for one row or column, and for few entries,
//! it sums by vector lane; for an inner size of 1 or 2 it fuses on some machines only; and it splits an inner size above 512 by the
//! size of the caches.

use std::borrow::Cow;

use super::gather::dots_of;
use super::real::Real;

/// The longest inner sum that is passed to gemm at once.
const INNER: usize = 512;

/// Up to this many entries gemm computes dot products of rows that are contiguous in memory by vector lane.
const DOTS: usize = 256;

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

    fn at(&self, row: usize, column: usize) -> T
    where
        T: Copy,
    {
        self.data[row * self.row_stride + column * self.column_stride]
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
    match (m, k, n) {
        (0, ..) | (.., 0) => return,
        (1, ..) => return matrix_vector(out, b.t(), a, add),
        (.., 1) => return matrix_vector(out, a, b.t(), add),
        (_, 0..=2, _) => return few_terms(out, a, b, add),
        _ if m * n <= DOTS && a.column_stride == 1 && b.row_stride == 1 => {
            let rows = out.chunks_exact_mut(n).enumerate();
            return rows.for_each(|(i, out)| matrix_vector(out, b.t(), a.rows_in(i, i + 1), add));
        }
        _ => {}
    }
    let parts = k.div_ceil(INNER);
    for i in 0..parts {
        let (first, end) = (k * i / parts, k * (i + 1) / parts);
        let (a, b, part) = (a.columns_in(first, end), b.rows_in(first, end), end - first);
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
                add || i > 0,
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

/// `out = a x`, or `out += a x` if `add`, with `x` given as a row.
fn matrix_vector<T: Real>(out: &mut [T], a: View<'_, T>, x: View<'_, T>, add: bool) {
    let x: Cow<'_, [T]> = match x.column_stride {
        1 => x.data[..x.columns].into(),
        _ => (0..x.columns).map(|k| x.at(0, k)).collect(),
    };
    if !add {
        out.fill(T::ZERO);
    }
    if a.column_stride == 1 {
        add_dots(out, a.data, a.row_stride, &x);
    } else {
        add_columns(out, a.data, a.column_stride, &x);
    }
}

simd! {
    /// Adds to each entry the dot product of a row with `x`.
    fn add_dots<T: Real>(out: &mut [T], rows: &[T], stride: usize, x: &[T]) {
        // Several rows at a time, since each addition of one row's sum would wait for the last.
        const ROWS: usize = 4;
        let row = |i: usize| &rows[i * stride..][..x.len()];
        let (groups, rest) = out.as_chunks_mut::<ROWS>();
        let first = ROWS * groups.len();
        for (i, out) in groups.iter_mut().enumerate() {
            let sums = dots_of(std::array::from_fn::<_, ROWS, _>(|j| row(ROWS * i + j)), x);
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
        }
        for (i, out) in rest.iter_mut().enumerate() {
            let [sum] = dots_of([row(first + i)], x);
            *out += sum;
        }
    }

    /// Adds column after column, each times its entry of `x`.
    fn add_columns<T: Real>(out: &mut [T], columns: &[T], stride: usize, x: &[T]) {
        // Short enough to stay in the nearest cache.
        const ROWS: usize = 1024;
        for (part, out) in out.chunks_mut(ROWS).enumerate() {
            for (k, &x) in x.iter().enumerate() {
                let column = &columns[k * stride + part * ROWS..][..out.len()];
                out.iter_mut().zip(column).for_each(|(out, &entry)| *out += entry * x);
            }
        }
    }
}

/// `out = a b`, or `out += a b` if `add`, for an inner size so small that the result is written about as often as it is computed.
fn few_terms<T: Real>(out: &mut [T], a: View<'_, T>, b: View<'_, T>, add: bool) {
    for (i, out) in out.chunks_exact_mut(b.columns).enumerate() {
        for (j, out) in out.iter_mut().enumerate() {
            let sum = (0..a.columns).map(|k| a.at(i, k) * b.at(k, j)).sum();
            *out = if add { *out + sum } else { sum };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Backend, Numerics};

    fn numbers(count: usize, salt: usize) -> Vec<f64> {
        (0..count).map(|i| ((i * 7919 + salt * 104_729) % 1009) as f64 / 500.0 - 1.0).collect()
    }

    fn naive(a: View<'_, f64>, b: View<'_, f64>) -> Vec<f64> {
        let entry = |i, j| (0..a.columns).map(|k| a.at(i, k) * b.at(k, j)).sum();
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

    /// gemm adds the terms of every sum one after another, fused, in parts of equal length: the order depends on the shapes alone.
    #[test]
    fn sums_have_one_order_on_every_cpu() {
        if Numerics::this_cpu() != Numerics::CPU {
            return eprintln!("skipped: this CPU has no fused multiply-add");
        }
        for (m, k, n) in [2, 7, 16, 31, 65, 130].into_iter().flat_map(|m| {
            [3, 20, 511, 513, 1100].into_iter().flat_map(move |k| [2, 6, 33, 130].map(|n| (m, k, n)))
        }) {
            let narrow = |x: Vec<f64>| x.into_iter().map(|x| x as f32).collect::<Vec<f32>>();
            let (a, b) = (narrow(numbers(m * k, 1)), narrow(numbers(k * n, 2)));
            let parts = k.div_ceil(INNER);
            for (a, b) in [
                (View::new(&a, m, k), View::new(&b, k, n)),
                (View::new(&a, k, m).t(), View::new(&b, k, n)),
                (View::new(&a, m, k), View::new(&b, n, k).t()),
                (View::new(&a, k, m).t(), View::new(&b, n, k).t()),
            ] {
                let mut out = vec![f32::NAN; m * n];
                product(&mut out, a, b, false);
                if m * n <= DOTS && a.column_stride == 1 && b.row_stride == 1 {
                    continue;
                }
                for (i, x) in out.iter().enumerate() {
                    let sum = |p: usize| {
                        let terms = k * p / parts..k * (p + 1) / parts;
                        terms.fold(0.0, |sum: f32, t| a.at(i / n, t).mul_add(b.at(t, i % n), sum))
                    };
                    let expected = (1..parts).fold(sum(0), |total, p| total + sum(p));
                    assert_eq!(
                        x.to_bits(),
                        expected.to_bits(),
                        "{m} x {k} x {n}, strides {} {}",
                        a.row_stride,
                        b.row_stride
                    );
                }
            }
        }
    }
}
