//! A matrix of a file, read in blocks of rows, and the statistics of its rows.

use std::sync::{Mutex, PoisonError};

use superpose_core::backend::{Backend, Result};
use superpose_core::embedding::{Coherence, Rows};
use superpose_tensors::{TensorError, Tensors};
use superpose_theory::Measured;

use super::{Geometry, InspectError};
use crate::overlaps::Outputs;
use crate::run::Sums;

/// A matrix of a file, scaled so that single precision neither overflows nor underflows.
pub(super) struct ScaledMatrix<'a> {
    tensors: &'a Tensors<'a>,
    pub name: &'a str,
    pub rows: usize,
    pub dim: usize,
    /// A power of two.
    scale: f64,
    /// The mean row, scaled.
    pub mean: Vec<f64>,
    /// The error of the first block that could not be read, because [`Rows::read`] cannot return it.
    failed: Mutex<Option<TensorError>>,
}

/// Work per row of the phases of an inspection, roughly proportional to their time for wide matrices: maximum and mean, ...
pub(super) const SCAN: usize = 1;
/// ... lengths and overlaps with the mean, ...
pub(super) const LENGTHS: usize = 2;
/// ... overlaps of the chosen rows with all others, ...
pub(super) const PAIRS: usize = 6;
/// ... and overlaps of all pairs.
pub(super) const OVERLAPS: usize = 18;

const BLOCK: usize = 512;

impl<'a> ScaledMatrix<'a> {
    /// Reads the shape, the largest entry and the mean row. `passed` receives the work done.
    pub fn new(
        tensors: &'a Tensors<'a>,
        name: &'a str,
        backend: &Backend,
        passed: &mut dyn FnMut(usize),
    ) -> Result<ScaledMatrix<'a>, InspectError> {
        let shape = tensors.shape(name)?;
        let (rows, dim) = match shape[..] {
            [rows, dim] if rows >= 2 && dim >= 1 => (rows, dim),
            _ => {
                let expected = "must be a matrix with at least two rows and one column".into();
                return Err(TensorError::Shape { name: name.into(), got: shape, expected }.into());
            }
        };
        let mut largest = 0.0_f64;
        let mut mean = vec![0.0; dim];
        for first in (0..rows).step_by(BLOCK) {
            backend.check_cancelled()?;
            let block = tensors.row_range(name, first, (first + BLOCK).min(rows))?;
            for row in block.data.chunks_exact(dim) {
                largest = row.iter().fold(largest, |largest, x| largest.max(x.abs()));
                mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += x / rows as f64);
            }
            passed(SCAN * block.data.len() / dim);
        }
        // Within 2^1000, so that neither the scale nor its inverse overflows.
        let exponent = if largest > 0.0 { libm::log2(largest).ceil().clamp(-1000.0, 1000.0) } else { 0.0 };
        let scale = libm::exp2(-exponent);
        mean.iter_mut().for_each(|x| *x *= scale);
        Ok(ScaledMatrix { tensors, name, rows, dim, scale, mean, failed: Mutex::new(None) })
    }

    pub fn measure(
        &self,
        backend: &Backend,
        passed: &mut dyn FnMut(usize),
    ) -> Result<[RowStatistics; 2], InspectError> {
        let weighed = &mut |rows: usize| passed(OVERLAPS * rows);
        let [raw, centred] = Coherence::measure(self, &self.mean, backend, weighed)?;
        let zero = vec![0.0; self.dim];
        let found = [self.statistics(&zero, raw, backend)?, self.statistics(&self.mean, centred, backend)?];
        passed(LENGTHS * self.rows);
        self.check()?;
        Ok(found)
    }

    /// Fails if a block could not be read.
    pub fn check(&self) -> Result<(), TensorError> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// Sums up the lengths and the overlaps with the mean of the rows minus `centre`.
    fn statistics(&self, centre: &[f64], coherence: Coherence, backend: &Backend) -> Result<RowStatistics> {
        let (count, scale, mut sums) = (self.rows as f64, self.scale, Sums::default());
        let mut block = Vec::new();
        for first in (0..self.rows).step_by(BLOCK) {
            backend.check_cancelled()?;
            self.read(first, (first + BLOCK).min(self.rows), &mut block);
            for row in block.chunks_exact(self.dim) {
                let (mut own, mut with_mean) = (0.0, 0.0);
                for ((x, centre), mean) in row.iter().zip(centre).zip(&self.mean) {
                    let x = f64::from(*x) - centre;
                    own += x * x;
                    with_mean += x * (mean - centre);
                }
                sums.add(own, with_mean, count);
            }
        }
        Ok(RowStatistics { coherence, scale, count, sums })
    }
}

impl Rows for ScaledMatrix<'_> {
    fn count(&self) -> usize {
        self.rows
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn read(&self, first: usize, end: usize, out: &mut Vec<f32>) {
        out.clear();
        match self.tensors.row_range(self.name, first, end) {
            Ok(block) => out.extend(block.data.iter().map(|x| (x * self.scale) as f32)),
            Err(error) => {
                out.resize((end - first) * self.dim, 0.0);
                self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        }
    }
}

/// Statistics of the rows of a matrix, in scaled units.
pub(super) struct RowStatistics {
    pub coherence: Coherence,
    scale: f64,
    count: f64,
    sums: Sums,
}

impl RowStatistics {
    pub fn geometry(&self) -> Geometry {
        let c = &self.coherence;
        Geometry {
            mean_square_cosine: c.mean_square_cosine,
            effective_dimension: c.effective_dimension(),
            mean_cosine: c.mean_cosine,
            norm_mean: c.norm_mean / self.scale,
            norm_cv: c.norm_cv,
        }
    }

    /// Returns the kernel of these rows.
    pub fn kernel(&self, outputs: Outputs) -> Measured {
        let Coherence { mean_square_norm, mean_square_dot, .. } = self.coherence;
        self.sums.kernel(self.count, mean_square_norm, mean_square_dot, outputs)
    }

    /// Returns the standard deviation of the squared length over its mean.
    pub fn length_spread(&self) -> f64 {
        let c = &self.coherence;
        (c.mean_fourth_norm / c.mean_square_norm.powi(2) - 1.0).max(0.0).sqrt()
    }
}
