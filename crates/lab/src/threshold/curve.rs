//! Accuracy along an axis near its crossing with a target, and how sure one can be of the crossing.
//!
//! With `x` the logarithm of the size (its negative where more hurts), F the normal CDF and `u = b (x - x*)`,
//!
//! ```text
//! mean accuracy  F(F^-1(target) + u + k u^2 / 2)       variance of one run  phi p (1 - p)
//! ```
//!
//! The crossing `x*`, the slope `b` and the spread `phi` follow from the data alone. Curves are not normal CDFs: they have
//! floors, ceilings and skews. So the bend `k` is free within [`BEND`] and [`CHANGE`], which widens the interval by what an unknown bend can do, and runs
//! count less the farther they are from the crossing ([`nearness`]). The spread holds test noise and seed-to-seed spread in
//! one number, up to runs that recall all or nothing (`phi` = 1); it is never taken to be less than what the test items allow.
//!
//! The interval is Fieller's: all `x` at which the fitted curve is within Student's quantile times its standard error of the
//! target. It is unbounded where the slope could be zero.

use superpose_core::numeric::{Cholesky, dot};

use crate::interval::student;
use crate::normal::{self, cdf, density};

/// One run, as the search sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Where: the logarithm of the size, its negative where more hurts.
    pub x: f64,
    /// The share of right answers.
    pub y: f64,
    /// Independent answers behind that share.
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
    /// Runs that count, those far away in part.
    pub runs: f64,
    /// Lower end of the 95% interval; `None` when there is none.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// How strongly curves bend, beyond a normal CDF: standard deviation of `k` for steep curves.
pub const BEND: f64 = 0.4;
/// How much the slope of a gentle curve changes over a factor of e: standard deviation of `k b`. A curve that comes close to its
/// ceiling loses its slope at its own pace, however little of it is left.
pub const CHANGE: f64 = 1.0;

/// The slopes that are considered, per unit of `x`.
const SLOPES: (f64, f64) = (0.02, 400.0);

/// How far from the crossing an interval is followed, in units of `x`: a factor of 50.
const FARTHEST: f64 = 4.0;

/// Newton's steps at most.
const ROUNDS: usize = 60;

/// The share's place under a normal CDF. Shares of 0 and 1 are somewhere beyond three.
pub(super) fn probit(share: f64) -> f64 {
    normal::probit(share, 1e-3)
}

/// Beyond so many standard deviations a run counts less than half.
const NEAR: f64 = 1.5;
/// Runs that always count, however far away they are.
const FEW: usize = 6;

/// How much a run counts: fully near the crossing, by half at the distance `near`, hardly beyond twice that.
fn nearness(distance: f64, near: f64) -> f64 {
    1.0 / (1.0 + (distance / near).powi(6))
}

impl Curve {
    /// Fits the curve to runs on both sides of the crossing, which is thought to be near `start`; `slope` is a first guess.
    /// Nothing when there are fewer than two places, or the fit runs away.
    /// Runs beyond `reach` count less.
    pub fn fit(data: &[Observation], target: f64, start: f64, slope: f64, reach: f64) -> Option<Curve> {
        let first = data.first()?;
        if data.iter().all(|run| run.x == first.x) {
            return None;
        }
        let (least, most) =
            data.iter().fold((f64::MAX, f64::MIN), |(low, high), run| (low.min(run.x), high.max(run.x)));
        let goal = probit(target);
        // Height at the origin, slope and bend; the origin follows the crossing.
        let mut origin = start.clamp(least, most);
        let mut theta = [goal, slope.clamp(SLOPES.0, SLOPES.1), 0.0];
        let mut spread = 0.02;
        let mut scale = theta[1];
        let (mut done, mut settled) = (None, false);
        for round in 0..ROUNDS {
            let fit = Sums::new(data, origin, scale, theta, spread, reach);
            let Some(hessian) = factor(fit.hessian) else { break };
            let mut step = fit.gradient;
            hessian.solve(&mut step);
            // Full steps near the end, short ones before: far from the answer the curve is not what it will be.
            let size =
                (step[0].abs() / 0.7).max((step[1] / theta[1]).abs() / 0.5).max(step[2].abs()).max(1.0);
            // What counts as near moves with the crossing: should they chase each other, slow down.
            let size = size * if round > ROUNDS / 2 { 4.0 } else { 1.0 };
            for (t, s) in theta.iter_mut().zip(step) {
                *t += s / size;
            }
            theta[1] = theta[1].clamp(SLOPES.0, SLOPES.1);
            spread = fit.spread;
            // Move the origin to the crossing, the curve as it is.
            let shift = ((goal - theta[0]) / theta[1]).clamp(-1.0, 1.0);
            let (left, right) = (least - 1.0 - origin, most + 1.0 - origin);
            let shift = shift.clamp(left.min(0.0), right.max(0.0));
            let bend = theta[2] * scale * scale;
            theta[0] += theta[1] * shift + 0.5 * bend * shift * shift;
            theta[1] = (theta[1] + bend * shift).clamp(SLOPES.0, SLOPES.1);
            origin += shift;
            let most = 3.0 * bend_variance(theta[1]).sqrt();
            theta[2] = (bend / theta[1].powi(2)).clamp(-most, most);
            scale = theta[1];
            let moved = step.iter().map(|s| s.abs()).fold(shift.abs() * theta[1], f64::max);
            if size <= 4.0 && moved < 1e-6 || round == ROUNDS - 1 {
                settled = moved < 0.01;
                let fit = Sums::new(data, origin, scale, theta, spread, reach);
                done = Some((fit, theta));
                break;
            }
        }
        let (fit, theta) = done?;
        let hessian = factor(fit.hessian)?;
        let degrees = fit.runs - 2.0;
        let mut curve = Curve {
            crossing: origin,
            slope: theta[1],
            spread: fit.spread,
            runs: fit.runs,
            low: None,
            high: None,
        };
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

/// The end of the interval in one direction.
fn end(origin: f64, direction: f64, inside: impl Fn(f64) -> bool) -> Option<f64> {
    let mut near = 0.0;
    let mut far = 1e-4;
    while inside(origin + direction * far) {
        near = far;
        far *= 1.1;
        if far > FARTHEST {
            return None;
        }
    }
    for _ in 0..30 {
        let middle = 0.5 * (near + far);
        if inside(origin + direction * middle) { near = middle } else { far = middle }
    }
    Some(origin + direction * near)
}

/// Variance of `k`.
fn bend_variance(slope: f64) -> f64 {
    BEND * BEND + (CHANGE / slope).powi(2)
}

/// What height, slope and bend contribute at a distance from the origin.
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
        let (mut squares, mut least) = (0.0, 0.0);
        let mut distances: Vec<f64> = data.iter().map(|run| (run.x - origin).abs()).collect();
        let few = FEW.min(data.len()) - 1;
        let (_, &mut nearest, _) = distances.select_nth_unstable_by(few, f64::total_cmp);
        let near = reach.min(NEAR / scale).max(1.2 * nearest);
        for run in data {
            let row = row(run.x - origin, scale);
            let eta: f64 = row.iter().zip(theta).map(|(r, t)| r * t).sum();
            let eta = eta.clamp(-4.0, 4.0);
            let mean = cdf(eta);
            let (height, variance) = (density(eta), mean * (1.0 - mean));
            let weight = nearness(run.x - origin, near);
            for i in 0..3 {
                sums.gradient[i] += weight * height * (run.y - mean) / variance * row[i];
                for j in 0..3 {
                    sums.hessian[i][j] += weight * height * height / variance * row[i] * row[j];
                }
            }
            squares += weight * (run.y - mean).powi(2) / variance;
            least += weight / run.items;
            sums.runs += weight;
        }
        let prior = spread / bend_variance(scale);
        sums.hessian[2][2] += prior;
        sums.gradient[2] -= prior * theta[2];
        // A whisper on the slope, for data that any steep curve fits.
        sums.hessian[1][1] *= 1.0 + 1e-6;
        sums.hessian[1][1] += 1e-9;
        let degrees = (sums.runs - 2.0).max(0.5);
        sums.spread = (squares / degrees).max(least / sums.runs).clamp(1e-9, 2.0);
        sums
    }
}

/// The Cholesky factorisation; `None` when the determinant is too small beside the product of the diagonal.
fn factor(hessian: [[f64; 3]; 3]) -> Option<Cholesky> {
    let size: f64 = (0..3).map(|i| hessian[i][i]).product();
    let cholesky = Cholesky::new(hessian.concat(), 3, 0.0)?;
    (2.0 * cholesky.log_root_determinant() > (1e-14 * size).ln()).then_some(cholesky)
}
