//! First-order expansion of the softmax for logits so small that the error is below rounding.
//!
//! With `A = Z_out M` minus its mean row, the logits `l = A h` sum to zero and `q = (1 + l + e) / V` with a remainder e of second
//! order. Then `Z_out^T r = Z[y] - Q h` and `A^T r = A[y] - C h`, with Z the centred output embedding, `Q = Z^T A / V` and
//! `C = A^T A / V`: `N d^2` operations instead of `N V d`.
//!
//! The remainder has a rigorous bound. With `|h| <= H` and `b = H max_j |A_j|`, so that every `|l_j| <= b`:
//! `|e|_2 <= e^b b (1 + b/2) |A| H` (operator norm), and its contribution to `Z_out^T r` is at most `|Z| |e|_2 / V`, to `A^T r`
//! at most `|A| |e|_2 / V`. [`LinearResponse`] is used only if both contributions are below the rounding error of the type. In
//! `f32` this holds for `eta` of order 1; for larger `eta`, and in `f64`, the softmax is computed.

use crate::backend::{Backend, Real, Result, View, product};

use crate::numeric::dot;

/// The first-order form at one value matrix, for features of bounded length.
pub struct LinearResponse<T> {
    /// Centred output embedding, Z.
    outputs: Vec<T>,
    /// Centred `Z_out M`, A.
    readout: Vec<T>,
    /// Q
    coupling: Vec<T>,
    /// C
    curvature: Vec<T>,
    log_labels: f64,
}

impl<T: Real> LinearResponse<T> {
    /// The form for value matrix `m`, if it is exact to rounding for every row of features up to the length `head`.
    pub fn new(
        z_out: View<'_, T>,
        m: View<'_, T>,
        head: f64,
        samples: usize,
        backend: &Backend,
    ) -> Result<Option<Self>> {
        let (dim, columns, labels) = (m.rows(), m.columns(), z_out.rows());
        if !worth_a_bound(columns, labels, samples) {
            return Ok(None);
        }
        let outputs = centred(z_out.data(), dim, backend)?;
        let z = View::new(&outputs, labels, dim);
        let mut readout = vec![T::ZERO; labels * columns];
        backend.product(&mut readout, z, m)?;
        let a = View::new(&readout, labels, columns);

        // Both matrices at once: either alone has too little work for many threads.
        let mut norms = backend.try_map(2, |i| -> Result<_> {
            let x = [z, a][i];
            let gram = gram(x, backend)?;
            let norm = operator_norm(&gram, x.columns(), backend)?;
            Ok((gram, (norm, dot(x.data(), x.data()))))
        })?;
        let bound = Bound { head, longest: longest(&readout, columns), labels, z: norms[0].1, a: norms[1].1 };
        if !bound.below_rounding(T::EPSILON) {
            return Ok(None);
        }

        let mut curvature = norms.swap_remove(1).0;
        let mut coupling = vec![T::ZERO; dim * columns];
        backend.product(&mut coupling, z.t(), a)?;
        let scale = T::from_f64(1.0 / labels as f64);
        coupling.iter_mut().chain(&mut curvature).for_each(|x| *x *= scale);
        Ok(Some(LinearResponse {
            outputs,
            readout,
            coupling,
            curvature,
            log_labels: libm::log(labels as f64),
        }))
    }

    /// Centred `Z_out M`, a row per label.
    pub fn readout(&self) -> &[T] {
        &self.readout
    }

    /// `Z_out^T r` of every row of features.
    pub fn output(&self, features: View<'_, T>, labels: &[u32], out: &mut [T]) {
        self.respond(&self.outputs, &self.coupling, features, labels, out);
    }

    /// `(Z_out M)^T r` of every row of features.
    pub fn by_features(&self, features: View<'_, T>, labels: &[u32], out: &mut [T]) {
        self.respond(&self.readout, &self.curvature, features, labels, out);
    }

    /// Row y of `rows` minus `matrix` times the features.
    fn respond(&self, rows: &[T], matrix: &[T], features: View<'_, T>, labels: &[u32], out: &mut [T]) {
        let columns = features.columns();
        let dim = matrix.len() / columns;
        product(out, features, View::new(matrix, dim, columns).t(), false);
        for (out, &y) in out.chunks_exact_mut(dim).zip(labels) {
            let row = &rows[y as usize * dim..][..dim];
            out.iter_mut().zip(row).for_each(|(x, &row)| *x = row - *x);
        }
    }

    /// The sum of the cross-entropies, `ln V - l_y + |l|^2 / 2V` each, given [`LinearResponse::by_features`].
    pub fn loss(&self, features: View<'_, T>, labels: &[u32], by_features: &[T]) -> f64 {
        let dim = features.columns();
        let rows = features.data().chunks_exact(dim).zip(by_features.chunks_exact(dim)).zip(labels);
        rows.map(|((h, g), &y)| {
            let own = dot(h, &self.readout[y as usize * dim..][..dim]);
            self.log_labels - 0.5 * (own + dot(h, g))
        })
        .sum()
    }
}

/// Whether the form is worth its bound, which takes some d^3 and V d^2; the softmax takes N V d.
pub fn worth_a_bound(columns: usize, labels: usize, samples: usize) -> bool {
    columns * columns <= samples.saturating_mul(labels) / 16 && labels >= 2
}

/// What the bound on the remainder is made of.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// Length of the longest row of features, `H`.
    pub head: f64,
    /// Length of the longest row of `A`.
    pub longest: f64,
    /// Number of labels.
    pub labels: usize,
    /// Operator norm of `Z`, and the sum of squares of its entries.
    pub z: (f64, f64),
    /// The same of `A`.
    pub a: (f64, f64),
}

impl Bound {
    /// Whether both contributions of the remainder are below the rounding error of a type.
    pub fn below_rounding(&self, rounding: f64) -> bool {
        let (b, labels) = (self.head * self.longest, self.labels as f64);
        let remainder = libm::exp(b) * b * (1.0 + 0.5 * b) * self.a.0 * self.head / labels;
        // Written so that a NaN bound fails.
        [self.z, self.a]
            .iter()
            .all(|(norm, squares)| norm * remainder <= rounding * (squares / labels).sqrt())
    }
}

/// The operator norm of X from the Frobenius norms of `X^T X` and of its first two squarings, each scaled to norm 1 before it is
/// squared; 0 when the first is 0.
pub fn norm_of_squarings(sizes: [f64; 3]) -> f64 {
    if sizes[0] == 0.0 {
        0.0
    } else {
        libm::exp(0.5 * libm::log(sizes[0]) + 0.25 * libm::log(sizes[1]) + 0.125 * libm::log(sizes[2]))
    }
}

pub(crate) fn longest<T: Real>(rows: &[T], columns: usize) -> f64 {
    rows.chunks_exact(columns).map(|r| dot(r, r)).fold(0.0, f64::max).sqrt()
}

/// The rows minus their mean.
pub(crate) fn centred<T: Real>(rows: &[T], dim: usize, backend: &Backend) -> Result<Vec<T>> {
    const COLUMNS: usize = 16;
    const ROWS: usize = 256;
    let scale = dim as f64 / rows.len() as f64;
    let mut mean = vec![0.0; dim];
    backend.for_chunks(&mut mean, COLUMNS, |i, mean| {
        for row in rows.chunks_exact(dim) {
            let row = &row[i * COLUMNS..][..mean.len()];
            mean.iter_mut().zip(row).for_each(|(sum, x)| *sum += x.to_f64());
        }
        mean.iter_mut().for_each(|x| *x *= scale);
    })?;
    let mut out = vec![T::ZERO; rows.len()];
    backend.for_chunks(&mut out, ROWS * dim, |i, out| {
        let rows = rows[i * ROWS * dim..].chunks_exact(dim);
        for (out, row) in out.chunks_exact_mut(dim).zip(rows) {
            let pairs = row.iter().zip(&mean);
            out.iter_mut().zip(pairs).for_each(|(out, (x, mean))| *out = T::from_f64(x.to_f64() - mean));
        }
    })?;
    Ok(out)
}

/// `X^T X`
fn gram<T: Real>(x: View<'_, T>, backend: &Backend) -> Result<Vec<T>> {
    let mut gram = vec![T::ZERO; x.columns() * x.columns()];
    backend.product(&mut gram, x.t(), x)?;
    Ok(gram)
}

/// An upper bound of the operator norm of a matrix with the given `X^T X`, too large by a factor of at most `d^(1/16)`: the eighth
/// root of the Frobenius norm of `(X^T X)^4`. Rounding may reduce it by a few units in the last place, which the bound on the
/// remainder tolerates.
fn operator_norm<T: Real>(gram: &[T], dim: usize, backend: &Backend) -> Result<f64> {
    let mut power = gram.to_vec();
    let mut sizes = [dot(&power, &power).sqrt(), 0.0, 0.0];
    for i in 1..3 {
        if sizes[0] == 0.0 {
            return Ok(0.0);
        }
        // Scaled to norm 1 before each squaring, so that no power underflows or overflows.
        power.iter_mut().for_each(|x| *x = T::from_f64(x.to_f64() / sizes[i - 1]));
        let before = power.clone();
        backend.product(&mut power, View::new(&before, dim, dim), View::new(&before, dim, dim))?;
        sizes[i] = dot(&power, &power).sqrt();
    }
    Ok(norm_of_squarings(sizes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use crate::embedding::Embeddings;
    use crate::model::Model;

    #[test]
    fn form_is_used_only_where_it_is_exact() {
        let config = Settings { vocab: 200, dim: 24, ..Settings::default() }.check().unwrap();
        let backend = Backend::single();
        let embeddings = Embeddings::<f32>::draw(&config, &backend).unwrap();
        let model = Model::new(&config, &embeddings);
        let applies = |scale: f32| {
            let m: Vec<f32> = embeddings.z_in[..24 * 24].iter().map(|x| x * scale).collect();
            let (m, head) = (View::new(&m, 24, 24), model.longest_head());
            LinearResponse::new(model.z_out(), m, head, 10_000, &backend).unwrap().is_some()
        };
        assert!(applies(0.0) && applies(1e-5));
        assert!(!applies(1e-1) && !applies(f32::NAN));
    }

    #[test]
    fn operator_norm_is_an_upper_bound_and_close() {
        // Singular values 3, 2, 1 after rotations that do not matter.
        let (c, s) = (0.6, 0.8);
        let x = [3.0 * c, -2.0 * s, 0.0, 3.0 * s, 2.0 * c, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
        let backend = Backend::single();
        let norm = |x: &[f64], rows: usize| {
            operator_norm(&gram(View::new(x, rows, 3), &backend).unwrap(), 3, &backend).unwrap()
        };
        let (norm, zero) = (norm(&x, 4), norm(&[0.0; 6], 2));
        assert!((3.0..3.0 * 3.0_f64.powf(1.0 / 16.0)).contains(&norm), "{norm}");
        assert_eq!(zero, 0.0);
    }
}
