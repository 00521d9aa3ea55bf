//! A model of accuracy along an axis near its crossing with a target, and the interval of the crossing.
//!
//! With `x` the logarithm of the size (its negative where larger sizes hurt), F the normal CDF and `u = b (x - x*)`,
//!
//! ```text
//! mean accuracy  F(F^-1(target) + u + k u^2 / 2)       variance of one run  phi p (1 - p)
//! ```
//!
//! The crossing `x*`, the slope `b` and the spread `phi` are fitted. Real curves are not normal CDFs: they have floors, ceilings
//! and skews. The bend `k` therefore has a prior with the standard deviations [`BEND`] and [`CHANGE`], which widens the interval,
//! and runs far from the crossing have less weight. `phi` combines test noise and variation between seeds: it is at least what
//! the finite number of test items implies, and 1 if runs recall all or nothing.
//!
//! The interval is Fieller's: all `x` at which the fitted curve is within Student's quantile times its standard error of the
//! target. It is unbounded if the slope could be zero.

use superpose_core::numeric::{Cholesky, dot};

use crate::interval::student;
use crate::normal::{self, cdf, density};

/// The result of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The logarithm of the size, or its negative where larger sizes hurt.
    pub x: f64,
    /// The share of right answers.
    pub y: f64,
    /// Number of independent answers in the share.
    pub items: f64,
}

/// The curve near its crossing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// Where it crosses the target.
    pub crossing: f64,
    /// Its slope there, in standard deviations of a normal CDF per unit of `x`.
    pub slope: f64,
    /// Variance of one run over `p (1 - p)`.
    pub spread: f64,
    /// Effective number of runs: distant runs count in part.
    pub runs: f64,
    /// Lower end of the 95% interval; `None` if it is unbounded.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// Prior standard deviation of the bend `k` of steep curves.
pub const BEND: f64 = 0.4;
/// Prior standard deviation of `k b`, by which the slope of a gentle curve changes over a factor of e. Near its ceiling a curve
/// flattens at a rate that does not depend on its slope.
pub const CHANGE: f64 = 1.0;

/// Range of slopes per unit of `x`.
const SLOPES: (f64, f64) = (0.02, 400.0);

/// Maximum distance of an end of the interval from the crossing in units of `x`: a factor of 50.
const MAX_DISTANCE: f64 = 4.0;

const MAX_ROUNDS: usize = 60;

/// Returns the normal quantile of a share, limited to about three in size.
pub(super) fn probit(share: f64) -> f64 {
    normal::probit(share, 1e-3)
}

/// Distance in standard deviations beyond which a run counts less than half.
const NEAR: f64 = 1.5;
const ALWAYS_COUNTED: usize = 6;

impl Curve {
    /// Fits the curve to runs on both sides of the crossing, from initial guesses of the crossing (`start`) and the slope. Runs
    /// beyond `reach` count less. Returns `None` if there are fewer than two sizes or the fit diverges.
    pub fn fit(data: &[Observation], target: f64, start: f64, slope: f64, reach: f64) -> Option<Curve> {
        let first = data.first()?;
        if data.iter().all(|run| run.x == first.x) {
            return None;
        }
        let (min, max) =
            data.iter().fold((f64::MAX, f64::MIN), |(low, high), run| (low.min(run.x), high.max(run.x)));
        let goal = probit(target);
        // Height at the origin, slope and bend; the origin follows the crossing.
        let mut origin = start.clamp(min, max);
        let mut theta = [goal, slope.clamp(SLOPES.0, SLOPES.1), 0.0];
        let mut spread = 0.02;
        let mut scale = theta[1];
        let (mut done, mut settled) = (None, false);
        for round in 0..MAX_ROUNDS {
            let fit = Sums::new(data, origin, scale, theta, spread, reach);
            let Some(hessian) = factor(fit.hessian) else { break };
            let mut step = fit.gradient;
            hessian.solve(&mut step);
            // Short steps far from the solution, where the quadratic approximation is poor; full steps near it.
            let size =
                (step[0].abs() / 0.7).max((step[1] / theta[1]).abs() / 0.5).max(step[2].abs()).max(1.0);
            // The weights move with the crossing. Shorter steps stop a cycle between the two.
            let size = size * if round > MAX_ROUNDS / 2 { 4.0 } else { 1.0 };
            for (t, s) in theta.iter_mut().zip(step) {
                *t += s / size;
            }
            theta[1] = theta[1].clamp(SLOPES.0, SLOPES.1);
            spread = fit.spread;
            // Move the origin to the crossing without changing the curve.
            let shift = ((goal - theta[0]) / theta[1]).clamp(-1.0, 1.0);
            let (left, right) = (min - 1.0 - origin, max + 1.0 - origin);
            let shift = shift.clamp(left.min(0.0), right.max(0.0));
            let bend = theta[2] * scale * scale;
            theta[0] += theta[1] * shift + 0.5 * bend * shift * shift;
            theta[1] = (theta[1] + bend * shift).clamp(SLOPES.0, SLOPES.1);
            origin += shift;
            let max = 3.0 * bend_variance(theta[1]).sqrt();
            theta[2] = (bend / theta[1].powi(2)).clamp(-max, max);
            scale = theta[1];
            let moved = step.iter().map(|s| s.abs()).fold(shift.abs() * theta[1], f64::max);
            if size <= 4.0 && moved < 1e-6 || round == MAX_ROUNDS - 1 {
                settled = moved < 0.01;
                done = Some(Sums::new(data, origin, scale, theta, spread, reach));
                break;
            }
        }
        let fit = done?;
        let hessian = factor(fit.hessian)?;
        let degrees = fit.runs - 2.0;
        let (slope, spread, runs) = (theta[1], fit.spread, fit.runs);
        let mut curve = Curve { crossing: origin, slope, spread, runs, low: None, high: None };
        if degrees < 1.0 || !settled {
            return Some(curve);
        }
        let quantile = student(degrees)?;
        let inside = |x: f64| {
            let mut row = row(x - origin, scale);
            let height = dot(&row, &theta) - goal;
            // The variance is `row^T H^-1 row` in units of the spread.
            hessian.solve_lower(&mut row);
            height * height <= quantile * quantile * dot(&row, &row) * fit.spread
        };
        curve.low = end(origin, -1.0, inside);
        curve.high = end(origin, 1.0, inside);
        Some(curve)
    }
}

/// Returns the end of the interval in one direction; `None` if it is too far away.
fn end(origin: f64, direction: f64, inside: impl Fn(f64) -> bool) -> Option<f64> {
    let mut near = 0.0;
    let mut far = 1e-4;
    while inside(origin + direction * far) {
        near = far;
        far *= 1.1;
        if far > MAX_DISTANCE {
            return None;
        }
    }
    for _ in 0..30 {
        let middle = 0.5 * (near + far);
        if inside(origin + direction * middle) { near = middle } else { far = middle }
    }
    Some(origin + direction * near)
}

fn bend_variance(slope: f64) -> f64 {
    BEND * BEND + (CHANGE / slope).powi(2)
}

/// Returns the factors of height, slope and bend at a distance from the origin.
fn row(distance: f64, scale: f64) -> [f64; 3] {
    [1.0, distance, 0.5 * (scale * distance).powi(2)]
}

/// Gradient and curvature of the quasi-likelihood, and the spread of runs about the curve.
struct Sums {
    gradient: [f64; 3],
    hessian: [[f64; 3]; 3],
    spread: f64,
    runs: f64,
}

impl Sums {
    fn new(data: &[Observation], origin: f64, scale: f64, theta: [f64; 3], spread: f64, reach: f64) -> Sums {
        let mut sums = Sums { gradient: [0.0; 3], hessian: [[0.0; 3]; 3], spread: 0.0, runs: 0.0 };
        let (mut squares, mut min) = (0.0, 0.0);
        let mut distances: Vec<f64> = data.iter().map(|run| (run.x - origin).abs()).collect();
        let few = ALWAYS_COUNTED.min(data.len()) - 1;
        let (_, &mut nearest, _) = distances.select_nth_unstable_by(few, f64::total_cmp);
        let near = reach.min(NEAR / scale).max(1.2 * nearest);
        for run in data {
            let row = row(run.x - origin, scale);
            let eta: f64 = row.iter().zip(theta).map(|(r, t)| r * t).sum();
            let eta = eta.clamp(-4.0, 4.0);
            let mean = cdf(eta);
            let (height, variance) = (density(eta), mean * (1.0 - mean));
            // 1 near the crossing, a half at the distance `near`, almost 0 beyond twice that.
            let weight = 1.0 / (1.0 + ((run.x - origin) / near).powi(6));
            for i in 0..3 {
                sums.gradient[i] += weight * height * (run.y - mean) / variance * row[i];
                for j in 0..3 {
                    sums.hessian[i][j] += weight * height * height / variance * row[i] * row[j];
                }
            }
            squares += weight * (run.y - mean).powi(2) / variance;
            min += weight / run.items;
            sums.runs += weight;
        }
        let prior = spread / bend_variance(scale);
        sums.hessian[2][2] += prior;
        sums.gradient[2] -= prior * theta[2];
        // A tiny regularisation of the slope, for data that any steep curve fits.
        sums.hessian[1][1] *= 1.0 + 1e-6;
        sums.hessian[1][1] += 1e-9;
        let degrees = (sums.runs - 2.0).max(0.5);
        sums.spread = (squares / degrees).max(min / sums.runs).clamp(1e-9, 2.0);
        sums
    }
}

/// The Cholesky factorisation; `None` when the determinant is too small beside the product of the diagonal.
fn factor(hessian: [[f64; 3]; 3]) -> Option<Cholesky> {
    let size: f64 = (0..3).map(|i| hessian[i][i]).product();
    let cholesky = Cholesky::new(hessian.concat(), 3, 0.0)?;
    (2.0 * cholesky.log_root_determinant() > libm::log(1e-14 * size)).then_some(cholesky)
}
