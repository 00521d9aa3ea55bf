//! Orthonormalises Gaussian rows by Gram-Schmidt.

use crate::backend::{Backend, Result, View, product};

/// Rows that are projected together, by one product.
const PANEL: usize = 32;

/// Gram-Schmidt orthonormalisation by panels, on the caller's thread. Each projection is done twice: a single one loses half of the
/// digits when rows are nearly dependent (Kahan; Parlett, The Symmetric Eigenvalue Problem, 6.9).
pub fn orthonormalise(rows: &mut [f64], dim: usize, backend: &Backend) -> Result<()> {
    let count = rows.len() / dim;
    for first in (0..count).step_by(PANEL) {
        backend.check_cancelled()?;
        let (done, rest) = rows.split_at_mut(first * dim);
        let size = PANEL.min(count - first);
        let panel = &mut rest[..size * dim];
        for _ in 0..2 {
            let mut overlap = vec![0.0; size * first];
            product(&mut overlap, View::new(panel, size, dim), View::new(done, first, dim).t(), false);
            overlap.iter_mut().for_each(|x| *x = -*x);
            product(panel, View::new(&overlap, size, first), View::new(done, first, dim), true);
            for i in 0..size {
                let (before, row) = panel.split_at_mut(i * dim);
                let row = &mut row[..dim];
                for other in before.chunks_exact(dim) {
                    let overlap: f64 = other.iter().zip(&*row).map(|(a, b)| a * b).sum();
                    row.iter_mut().zip(other).for_each(|(x, y)| *x -= overlap * y);
                }
                let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
                row.iter_mut().for_each(|x| *x /= norm);
            }
        }
    }
    Ok(())
}
