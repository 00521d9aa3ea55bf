//! The rule that turns the gradient of a memory step into the step (theory: optimiser).
//!
//! The step of every rule has the Frobenius norm of the gradient, so that `eta` and `eta2` mean the same for all of them. In the
//! infinitesimal regime the norm has no effect. Everything is computed in 64 bits by the products of the backend, so that bits do not
//! depend on threads.

use crate::backend::{Backend, Real, Result, View, wide};
use crate::config::EarlyRule;
use crate::model::{Model, centred};
use crate::numeric::{Cholesky, RIDGE, dot, ridge, transposed};

/// What a rule treats as zero, relative to the root mean square of the singular values (Muon in 64 bits) or to the trace (Newton).
const FLOOR: f64 = 1e-6;
/// The same for Muon in rounding errors of the sums. With fewer facts than dimensions some singular values are 0 but for rounding: ten
/// such errors on the CPU, more on a GPU. They must not become 1.
const NOISE: f64 = 1024.0;

impl EarlyRule {
    /// The step of a negative gradient with respect to `M`, `dim` rows of `inputs`, which was summed in numbers with the rounding error
    /// `epsilon`. `hessian` computes the covariance of the output embeddings and the mean of `psi(h) psi(h)^T` over the samples of the
    /// gradient; only [`EarlyRule::Newton`] needs them.
    ///
    /// # Errors
    /// When the backend's token was cancelled.
    pub fn step(
        self,
        gradient: Vec<f64>,
        [dim, inputs]: [usize; 2],
        epsilon: f64,
        hessian: impl FnOnce() -> Result<[Vec<f64>; 2]>,
        backend: &Backend,
    ) -> Result<Vec<f64>> {
        let mut step = match self {
            EarlyRule::Gradient => return Ok(gradient),
            EarlyRule::Sign => gradient.iter().map(|x| if *x == 0.0 { 0.0 } else { x.signum() }).collect(),
            EarlyRule::Muon => polar(&gradient, dim, inputs, epsilon, backend)?,
            EarlyRule::Newton => {
                let [outputs, moment] = hessian()?;
                newton(&gradient, dim, inputs, moment, outputs, backend)?
            }
        };
        let norm = dot(&step, &step).sqrt();
        if norm > 0.0 {
            let scale = dot(&gradient, &gradient).sqrt() / norm;
            step.iter_mut().for_each(|x| *x *= scale);
        }
        Ok(step)
    }
}

/// The polar factor `U V^T` of `U S V^T`. Singular values below 1e-6 times their root mean square, or below 1024 rounding errors of the
/// entries times it if that is more, are mapped to less than 1, in proportion if they are small; all others to 1 with an error below 1e-12.
///
/// Newton-Schulz iterations `X <- a X (3 - a^2 X^T X) / 2` with the scale `a` that raises a lower bound of the singular values
/// fastest: it makes both ends of their interval equal.
///
/// # Reference
/// J. Chen and E. Chow, A stable scaling of Newton-Schulz for improving the sign function computation of a Hermitian matrix, 2014.
///
/// # Errors
/// When the backend's token was cancelled.
pub fn polar(
    matrix: &[f64],
    rows: usize,
    columns: usize,
    epsilon: f64,
    backend: &Backend,
) -> Result<Vec<f64>> {
    let norm = dot(matrix, matrix).sqrt();
    if norm == 0.0 {
        return Ok(matrix.to_vec());
    }
    let mut x: Vec<f64> = matrix.iter().map(|x| x / norm).collect();
    let short = rows.min(columns);
    let mut gram = vec![0.0; short * short];
    let mut next = vec![0.0; x.len()];
    // The largest singular value is between norm / sqrt(short) and norm.
    let mut low = FLOOR.max(NOISE * epsilon) / (short as f64).sqrt();
    while 1.0 - low > 1e-12 {
        let a = (3.0 / (1.0 + low + low * low)).sqrt();
        let view = View::new(&x, rows, columns);
        let small = |gram| View::new(gram, short, short);
        if rows > columns {
            backend.product(&mut gram, view.t(), view)?;
            backend.product(&mut next, view, small(&gram))?;
        } else {
            backend.product(&mut gram, view, view.t())?;
            backend.product(&mut next, small(&gram), view)?;
        }
        x.iter_mut().zip(&next).for_each(|(x, cube)| *x = 0.5 * a * (3.0 * *x - a * a * cube));
        low *= 0.5 * a * (3.0 - a * a * low * low);
    }
    Ok(x)
}

/// `C^-1 G H^-1`: the Newton step at a uniform softmax, where the Hessian is the Kronecker product of the covariance `C` of the output
/// embeddings and of the second moment `H` of the features. [`FLOOR`] times its trace is added to each eigenvalue of both. Directions
/// in which there are no output embeddings or no features have no gradient but rounding errors, and get no step.
fn newton(
    gradient: &[f64],
    dim: usize,
    inputs: usize,
    moment: Vec<f64>,
    outputs: Vec<f64>,
    backend: &Backend,
) -> Result<Vec<f64>> {
    let right = solve_rows(gradient, inputs, moment, backend)?;
    Ok(transposed(&solve_rows(&transposed(&right, inputs), dim, outputs, backend)?, dim))
}

/// `X A^-1` for the rows of `X` and a symmetric `A`, which gets the ridge [`FLOOR`]. Before that, the factor `A (A + RIDGE)^-1` removes
/// the components of rows in the null space of `A`, which the inverse of the ridge would enlarge.
fn solve_rows(rows: &[f64], size: usize, matrix: Vec<f64>, backend: &Backend) -> Result<Vec<f64>> {
    let solve = |rows: &mut [f64], share: f64| -> Result<()> {
        let mut matrix = matrix.clone();
        ridge(&mut matrix, size, share);
        let root = Cholesky::nearly_definite(matrix, size, backend)?;
        backend.for_chunks(rows, size, |_, row| root.solve(row))
    };
    let mut inside = rows.to_vec();
    solve(&mut inside, RIDGE)?;
    let mut rows = vec![0.0; inside.len()];
    let [inside, factor] = [&inside, &matrix].map(|entries| View::new(entries, entries.len() / size, size));
    backend.product(&mut rows, inside, factor)?;
    solve(&mut rows, FLOOR * size as f64)?;
    Ok(rows)
}

/// The covariance of the output embeddings over labels, `dim` rows of `dim`.
///
/// # Errors
/// When the backend's token was cancelled.
pub fn output_covariance<T: Real>(model: &Model<'_, T>, backend: &Backend) -> Result<Vec<f64>> {
    let (dim, labels) = (model.dim(), model.labels());
    let rows = wide(&centred(&model.embeddings.z_out, dim, backend)?);
    let mut covariance = vec![0.0; dim * dim];
    let view = View::new(&rows, labels, dim);
    backend.product(&mut covariance, view.t(), view)?;
    covariance.iter_mut().for_each(|x| *x /= labels as f64);
    Ok(covariance)
}
