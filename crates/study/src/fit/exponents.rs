//! Exponents of a critical value, by least squares of its logarithm on the logarithms of the sizes.
//!
//! Every point is weighted by its own interval and by a common scatter, the deviation beyond the intervals (Paule and Mandel 1982),
//! because a power law holds only locally. Intervals come from a parametric bootstrap: critical values are redrawn about the fit with
//! both kinds of error, the scatter is estimated again, and the spread of the refitted exponents is multiplied by Student's quantile
//! for the degrees of freedom.
//!
//! Where there is a closed form, its exponents are those of the same fit with the same weights over the same sizes. The difference is
//! fitted directly, as exponents of the ratio, so that a curvature common to both cancels.

use serde::{Deserialize, Serialize};
use superpose_core::numeric::{Cholesky, dot};
use superpose_core::random::{Stream, Words, normals};

use superpose_store::interval::{Interval, student};

/// A critical value at given sizes.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Sizes, in the order of the names.
    pub sizes: Vec<f64>,
    /// The critical value with its 95% interval, whose ends are the value itself where it is exact.
    pub value: Interval,
}

/// An exponent with its 95% interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exponent {
    /// The estimate.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A fitted power law: `constant * product of sizes^exponent`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exponents {
    /// Names of the sizes.
    pub names: Vec<String>,
    /// The constant.
    pub constant: f64,
    /// Exponents, in the order of the names.
    pub exponents: Vec<Exponent>,
    /// Standard deviation of the logarithm beyond the intervals of the points.
    pub scatter: f64,
    /// Number of points fitted.
    pub points: usize,
}

/// Observed exponents beside those of the closed form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The fit of the observed critical values.
    pub observed: Exponents,
    /// The exponents of the closed form, by the same fit. They have no intervals because the closed form has no noise.
    pub predicted: Vec<f64>,
    /// Observed minus predicted.
    pub difference: Vec<Exponent>,
}

/// Why points cannot be fitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)] // The messages explain the fields.
pub enum FitError {
    /// There are not more points than unknowns, the exponents and the constant.
    #[error("{points} points for {unknowns} unknowns: at least {} are needed", unknowns + 1)]
    TooFew { points: usize, unknowns: usize },
    /// A size does not vary, or two sizes vary together.
    #[error("the sizes do not vary independently: {names} cannot be separated")]
    Degenerate { names: String },
    /// A number is not positive and finite, or the interval is out of order.
    #[error("point {point}: sizes, value and interval must be positive numbers, in order")]
    Point { point: usize },
}

/// Number of refits in the bootstrap.
const REFITS: u64 = 1000;

/// The design matrix: rows of 1 and the logarithms of the sizes.
struct Design<'a> {
    names: &'a [&'a str],
    rows: Vec<Vec<f64>>,
    /// Standard errors of the logarithms.
    errors: Vec<f64>,
}

impl<'a> Design<'a> {
    fn new(names: &'a [&'a str], samples: &[Sample]) -> Result<Design<'a>, FitError> {
        let unknowns = names.len() + 1;
        if samples.len() <= unknowns {
            return Err(FitError::TooFew { points: samples.len(), unknowns });
        }
        let good = |x: f64| x > 0.0 && x.is_finite();
        for (point, Sample { sizes, value: Interval { mean, low, high } }) in samples.iter().enumerate() {
            let numbers = sizes.iter().chain([low, mean, high]).all(|&x| good(x));
            if !numbers || sizes.len() != names.len() || low > mean || mean > high {
                return Err(FitError::Point { point });
            }
        }
        let row = |s: &Sample| [1.0].into_iter().chain(s.sizes.iter().map(|x| libm::log(*x))).collect();
        let error = |s: &Sample| (libm::log(s.value.high / s.value.low) / (2.0 * 1.96)).max(1e-6);
        let (rows, errors) = samples.iter().map(|s| (row(s), error(s))).unzip();
        Ok(Design { names, rows, errors })
    }

    /// Solves weighted least squares; `None` if the system is singular.
    fn solve(&self, y: &[f64], scatter: f64) -> Option<Vec<f64>> {
        let p = self.names.len() + 1;
        let (mut matrix, mut theta) = (vec![0.0; p * p], vec![0.0; p]);
        for ((row, y), error) in self.rows.iter().zip(y).zip(&self.errors) {
            let weight = 1.0 / (error * error + scatter * scatter);
            for i in 0..p {
                for j in 0..p {
                    matrix[i * p + j] += weight * row[i] * row[j];
                }
                theta[i] += weight * row[i] * y;
            }
        }
        Cholesky::new(matrix, p, 1e-10)?.solve(&mut theta);
        Some(theta)
    }

    /// Returns the scatter at which the weighted squares equal the degrees of freedom, and the fit with it.
    fn fit(&self, y: &[f64]) -> Option<(f64, Vec<f64>)> {
        let degrees = (y.len() - self.names.len() - 1) as f64;
        let excess = |scatter: f64| {
            let theta = self.solve(y, scatter)?;
            let points = self.rows.iter().zip(y).zip(&self.errors);
            let square = |((row, y), e): ((&Vec<f64>, &f64), &f64)| {
                (y - dot(row, &theta)).powi(2) / (e * e + scatter * scatter)
            };
            Some(points.map(square).sum::<f64>() - degrees)
        };
        let (mut low, mut high) = (0.0, 8.0);
        if excess(0.0)? > 0.0 {
            for _ in 0..40 {
                let middle = 0.5 * (low + high);
                if excess(middle)? > 0.0 { low = middle } else { high = middle }
            }
        }
        Some((low, self.solve(y, low)?))
    }

    fn exponents(&self, y: &[f64], seed: u64) -> Result<Exponents, FitError> {
        let degenerate = || FitError::Degenerate { names: self.names.join(", ") };
        let (scatter, theta) = self.fit(y).ok_or_else(degenerate)?;
        let fitted: Vec<f64> = self.rows.iter().map(|row| dot(row, &theta)).collect();
        let mut squares = vec![0.0; theta.len()];
        for refit in 0..REFITS {
            let mut noise = vec![0.0; y.len()];
            normals(&Words::new(seed, Stream::Test, refit), &mut noise);
            let drawn: Vec<f64> =
                (0..y.len()).map(|i| fitted[i] + noise[i] * libm::hypot(self.errors[i], scatter)).collect();
            let (_, again) = self.fit(&drawn).ok_or_else(degenerate)?;
            for (sum, (a, b)) in squares.iter_mut().zip(again.iter().zip(&theta)) {
                *sum += (a - b).powi(2);
            }
        }
        let quantile = student((y.len() - theta.len()) as f64).unwrap_or(1.96);
        let exponent = |i: usize| {
            let half = quantile * (squares[i] / REFITS as f64).sqrt();
            Exponent { estimate: theta[i], low: theta[i] - half, high: theta[i] + half }
        };
        Ok(Exponents {
            names: self.names.iter().map(ToString::to_string).collect(),
            constant: libm::exp(theta[0]),
            exponents: (1..theta.len()).map(exponent).collect(),
            scatter,
            points: y.len(),
        })
    }
}

fn logs(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|s| libm::log(s.value.mean)).collect()
}

/// Fits `value = constant * product of sizes^exponent`. The seed is that of the bootstrap.
///
/// # Errors
/// Fails if there are too few points, a point is invalid or the sizes do not vary independently.
pub fn exponents(names: &[&str], samples: &[Sample], seed: u64) -> Result<Exponents, FitError> {
    Design::new(names, samples)?.exponents(&logs(samples), seed)
}

/// Fits the observed and the predicted critical values of the same points, and their ratio.
///
/// # Errors
/// As for [`exponents`]; predictions must be positive.
pub fn compare(
    names: &[&str],
    samples: &[Sample],
    predicted: &[f64],
    seed: u64,
) -> Result<Comparison, FitError> {
    let design = Design::new(names, samples)?;
    let bad = |&i: &usize| !predicted.get(i).is_some_and(|&p| p > 0.0 && p.is_finite());
    if let Some(point) = (0..samples.len()).find(bad) {
        return Err(FitError::Point { point });
    }
    let measured = logs(samples);
    let observed = design.exponents(&measured, seed)?;
    let predicted: Vec<f64> = predicted[..samples.len()].iter().map(|p| libm::log(*p)).collect();
    let degenerate = || FitError::Degenerate { names: names.join(", ") };
    let own = design.solve(&predicted, observed.scatter).ok_or_else(degenerate)?;
    let ratios: Vec<f64> = measured.iter().zip(&predicted).map(|(m, p)| m - p).collect();
    let difference = design.exponents(&ratios, seed)?.exponents;
    Ok(Comparison { observed, predicted: own[1..].to_vec(), difference })
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Exponent {
        fn holds(&self, number: f64) -> bool {
            self.low <= number && number <= self.high
        }
    }

    /// Returns critical values that follow a power law with known errors, and their predictions.
    fn drawn(trial: u64, bend: f64) -> (Vec<Sample>, Vec<f64>) {
        let mut noise = vec![0.0; 12];
        normals(&Words::new(9, Stream::Train, trial), &mut noise);
        let point = |(i, noise): (usize, &f64)| {
            let (d, l) = (32.0 * 2_f64.powi((i % 4) as i32), 8.0 * 2_f64.powi((i / 4) as i32));
            let predicted = 5e4 * l / (d * d) * (bend * (d / 90.0).ln().powi(2)).exp();
            let mean = predicted * (0.03 * noise).exp();
            let (low, high) = (mean * (-0.0588_f64).exp(), mean * 0.0588_f64.exp());
            (Sample { sizes: vec![d, l], value: Interval { mean, low, high } }, 0.9 * predicted)
        };
        noise.iter().enumerate().map(point).unzip()
    }

    #[test]
    fn intervals_have_their_nominal_coverage() {
        let trials = 200;
        let (mut d, mut l) = (0, 0);
        for trial in 0..trials {
            let fit = exponents(&["d", "L"], &drawn(trial, 0.0).0, trial).unwrap();
            d += usize::from(fit.exponents[0].holds(-2.0));
            l += usize::from(fit.exponents[1].holds(1.0));
        }
        // 95% of 200 within four standard errors, and some room above for Student's quantile.
        assert!((177..=199).contains(&d) && (177..=199).contains(&l), "{d} {l} of {trials}");
    }

    #[test]
    fn common_curvature_cancels() {
        let (samples, predicted) = drawn(3, 0.2);
        let both = compare(&["d", "L"], &samples, &predicted, 1).unwrap();
        assert!(both.observed.scatter > 0.02);
        assert!(both.difference.iter().all(|exponent| exponent.holds(0.0)), "{both:?}");
        let width = |exponent: &Exponent| exponent.high - exponent.low;
        assert!(width(&both.difference[0]) < width(&both.observed.exponents[0]));
        let wrong: Vec<f64> = predicted.iter().zip(&samples).map(|(p, s)| p * s.sizes[0].powf(0.5)).collect();
        assert!(!compare(&["d", "L"], &samples, &wrong, 1).unwrap().difference[0].holds(0.0));
    }

    #[test]
    fn invalid_points_are_rejected() {
        let (samples, _) = drawn(1, 0.0);
        let error = |samples: &[Sample]| exponents(&["d", "L"], samples, 1).unwrap_err();
        assert_eq!(error(&samples[..3]), FitError::TooFew { points: 3, unknowns: 3 });
        let same = samples.iter().map(|s| Sample { sizes: vec![s.sizes[0]; 2], ..s.clone() });
        assert!(matches!(error(&same.collect::<Vec<_>>()), FitError::Degenerate { .. }));
        let mut bad = samples;
        bad[4].value.low = f64::NAN;
        assert_eq!(error(&bad), FitError::Point { point: 4 });
    }
}
