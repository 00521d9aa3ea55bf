//! Accuracy between measured cells, interpolated by kriging of the difference from the closed form.
//!
//! The probit (normal quantile) of accuracy is modelled as the prediction, if any, plus a smooth difference, plus column and row
//! terms. The latter exist because cells with the same seed share embeddings or samples along a line, which correlates their
//! errors. Each term is a Gaussian process, whose correlation length and amplitude are chosen among a few candidates by
//! likelihood.

use superpose_core::numeric::{Cholesky, dot};

use crate::normal;

/// Probits are limited to this size: accuracies closer to 0 or 1 than 0.6% need not be distinguished.
const MAX_PROBIT: f64 = 2.5;

/// Maximum number of cells from which the kernel is chosen. More would not improve the choice, and the cost grows with their cube.
const MAX_CHOICE_CELLS: usize = 400;

fn probit(share: f64) -> f64 {
    normal::probit(share, 1e-9).clamp(-MAX_PROBIT, MAX_PROBIT)
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub column: usize,
    pub row: usize,
    pub accuracy: f64,
    /// Number of independent answers in the accuracy.
    pub items: f64,
}

/// Sizes of the parts of the distance, in probits, and their lengths, in cells.
#[derive(Clone, Copy, Debug)]
struct Kernel {
    smooth: f64,
    length: f64,
    lines: f64,
    along: f64,
}

impl Kernel {
    /// Returns the candidates. Without a prediction the smooth part is the whole map, so its amplitudes are larger.
    fn candidates(predicted: bool) -> Vec<Kernel> {
        let smooth: &[f64] = if predicted { &[0.1, 0.3, 0.9] } else { &[1.0, 2.5] };
        let kernel = |smooth, length, lines| Kernel { smooth, length, lines, along: 7.0 };
        let lengths = smooth.iter().flat_map(|&smooth| [4.0, 9.0].map(|length| (smooth, length)));
        lengths
            .flat_map(|(smooth, length)| [0.05, 0.15, 0.4].map(|lines| kernel(smooth, length, lines)))
            .collect()
    }

    fn between(&self, a: (usize, usize), b: (usize, usize)) -> f64 {
        let square = |p: usize, q: usize| (p as f64 - q as f64).powi(2);
        let (dx, dy) = (square(a.0, b.0), square(a.1, b.1));
        let mut sum = self.smooth.powi(2) * libm::exp(-0.5 * (dx + dy) / self.length.powi(2));
        let line = self.lines.powi(2);
        if dx == 0.0 {
            sum += line * libm::exp(-0.5 * dy / self.along.powi(2));
        }
        if dy == 0.0 {
            sum += 0.25 * line * libm::exp(-0.5 * dx / self.along.powi(2));
        }
        // The last term is an offset of the whole map.
        sum + 0.04
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Belief {
    pub accuracy: f64,
    /// Expected size of its error.
    pub error: f64,
}

/// Interpolates a grid of `columns` by `rows`, with cell (c, r) at `r * columns + c`. `predicted` has the predicted accuracies or is empty.
pub(super) fn fill(columns: usize, rows: usize, predicted: &[f64], measured: &[Measured]) -> Vec<Belief> {
    let base = |c: usize, r: usize| predicted.get(r * columns + c).map_or(0.0, |&share| probit(share));
    let mean = match (predicted.is_empty(), measured.len()) {
        (true, count @ 1..) => measured.iter().map(|m| probit(m.accuracy)).sum::<f64>() / count as f64,
        _ => 0.0,
    };
    let distance: Vec<f64> =
        measured.iter().map(|m| probit(m.accuracy) - base(m.column, m.row) - mean).collect();
    let places: Vec<(usize, usize)> = measured.iter().map(|m| (m.column, m.row)).collect();
    let noise: Vec<f64> = measured.iter().map(error_of_probit).collect();
    // A subset evenly spaced in the order measured, which starts with a coarse grid and then follows the boundary.
    let stride = places.len().div_ceil(MAX_CHOICE_CELLS).max(1);
    let some = |all: &[f64]| all.iter().step_by(stride).copied().collect::<Vec<f64>>();
    let (few_places, few_noise, few_distance) =
        (places.iter().step_by(stride).copied().collect::<Vec<_>>(), some(&noise), some(&distance));
    let best = Kernel::candidates(!predicted.is_empty())
        .into_iter()
        .filter_map(|kernel| Some((Solved::new(kernel, &few_places, &few_noise, &few_distance)?, kernel)))
        .max_by(|a, b| a.0.likelihood.total_cmp(&b.0.likelihood));
    let best = match stride {
        1 => best,
        _ => best.and_then(|(_, kernel)| Some((Solved::new(kernel, &places, &noise, &distance)?, kernel))),
    };
    let Some((solved, kernel)) = best else {
        let belief = |i| Belief { accuracy: normal::cdf(base(i % columns, i / columns) + mean), error: 0.5 };
        return (0..columns * rows).map(belief).collect();
    };
    let belief = |i| {
        let cell = (i % columns, i / columns);
        let mut across: Vec<f64> = places.iter().map(|&place| kernel.between(place, cell)).collect();
        let z = base(cell.0, cell.1) + mean + dot(&across, &solved.weights);
        solved.cholesky.solve_lower(&mut across);
        let variance = (kernel.between(cell, cell) - dot(&across, &across)).max(0.0);
        // The chord over one standard deviation: where the CDF is flat, its slope would underestimate the error.
        let sd = variance.sqrt();
        let error = 0.5 * (normal::cdf(z + sd) - normal::cdf(z - sd));
        Belief { accuracy: normal::cdf(z), error }
    };
    (0..columns * rows).map(belief).collect()
}

/// Returns the variance of the probit of a measured accuracy due to its finite number of test items.
fn error_of_probit(m: &Measured) -> f64 {
    let share = ((m.accuracy * m.items + 0.5) / (m.items + 1.0)).clamp(0.006, 0.994);
    let height = normal::density(normal::probit(share, 0.0));
    share * (1.0 - share) / (m.items.max(1.0) * height * height) + 4e-4
}

struct Solved {
    /// Of the covariance of the measured probits.
    cholesky: Cholesky,
    weights: Vec<f64>,
    likelihood: f64,
}

impl Solved {
    fn new(kernel: Kernel, places: &[(usize, usize)], noise: &[f64], distance: &[f64]) -> Option<Solved> {
        let count = places.len();
        let mut covariance = vec![0.0; count * count];
        for i in 0..count {
            for j in 0..=i {
                covariance[i * count + j] = kernel.between(places[i], places[j]);
            }
            covariance[i * count + i] += noise[i];
        }
        let cholesky = Cholesky::new(covariance, count, 0.0)?;
        let mut weights = distance.to_vec();
        cholesky.solve_lower(&mut weights);
        let likelihood = -0.5 * dot(&weights, &weights) - cholesky.log_root_determinant();
        cholesky.solve_upper(&mut weights);
        likelihood.is_finite().then_some(Solved { cholesky, weights, likelihood })
    }
}
