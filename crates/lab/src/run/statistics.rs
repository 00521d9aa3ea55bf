//! Statistics of real input embeddings, from which predictions follow (theory: attention, memory).
//!
//! One pass over the rows gives their mean, a second one their covariance and the overlaps with the mean. Mean overlaps of all pairs
//! follow from the covariance, so the cost is `R d^2` for R rows, and `d^3` for its powers.

use superpose_core::backend::{Backend, Cancelled, View};
use superpose_core::numeric::dot;
use superpose_theory::Measured;
use superpose_theory::rows::Rows;

use super::kinds::kinds;
use super::{Inputs, RunError};
use crate::overlaps::{BLOCK, Outputs};

impl Inputs {
    /// Measures the statistics of the input embeddings that predictions need, if they are from a file or imported without other tensors.
    ///
    /// # Errors
    /// Fails if a file cannot be read or the caller cancels.
    pub fn measure(&mut self, backend: &Backend) -> Result<(), RunError> {
        let z_in = self.import.as_ref().filter(|import| import.names() == ["z_in"]);
        self.statistics = match (&self.rows, z_in.and_then(|import| import.z_in.as_ref())) {
            (Some(source), None) if self.import.is_none() => {
                let read = |first, end| -> Result<_, RunError> {
                    let rows = source.file.tensors().row_range(&source.tensor, first, end);
                    Ok(rows.map_err(|error| source.file.inside(error))?.data)
                };
                measure(source.size(&source.tensor)?, read, backend)?
            }
            (None, Some(rows)) => {
                let (count, dim) = rows.matrix()?;
                let read =
                    |first: usize, end: usize| Ok::<_, RunError>(rows.data[first * dim..end * dim].to_vec());
                measure((count, dim), read, backend)?
            }
            _ => None,
        };
        Ok(())
    }
}

/// Measures a matrix. `read` returns the rows from the first to before the second number. `None` if all rows are 0 or the squares of
/// their lengths are not finite.
///
/// # Errors
/// Fails if a row cannot be read or the caller cancels.
pub(crate) fn measure<E: From<Cancelled>>(
    (count, dim): (usize, usize),
    read: impl Fn(usize, usize) -> Result<Vec<f64>, E>,
    backend: &Backend,
) -> Result<Option<Rows>, E> {
    let n = count as f64;
    let blocks = || (0..count).step_by(BLOCK).map(|first| (first, (first + BLOCK).min(count)));
    let mut mean = vec![0.0; dim];
    for (first, end) in blocks() {
        for row in read(first, end)?.chunks_exact(dim) {
            mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += x / n);
        }
    }
    let mut gram = vec![0.0; dim * dim];
    let mut part = vec![0.0; dim * dim];
    let mut sums = Sums::default();
    for (first, end) in blocks() {
        backend.check_cancelled()?;
        let mut block = read(first, end)?;
        for row in block.chunks_exact_mut(dim) {
            sums.add(dot(row, row), dot(row, &mean), n);
            row.iter_mut().zip(&mean).for_each(|(x, mean)| *x -= mean);
        }
        let rows = View::new(&block, end - first, dim);
        backend.product(&mut part, rows.t(), rows)?;
        gram.iter_mut().zip(&part).for_each(|(sum, x)| *sum += x);
    }
    let square = sums.own / n;
    if !(square.is_normal() && sums.own2.is_finite()) {
        return Ok(None);
    }
    // The covariance in units of the mean squared length, and the mean in units of its root.
    let covariance: Vec<f64> = gram.iter().map(|x| x / (n * square)).collect();
    mean.iter_mut().for_each(|x| *x /= square.sqrt());
    let product = |a: &[f64], b: &[f64]| -> Result<Vec<f64>, E> {
        let mut out = vec![0.0; dim * dim];
        backend.product(&mut out, View::new(a, dim, dim), View::new(b, dim, dim))?;
        Ok(out)
    };
    let second = product(&covariance, &covariance)?;
    let third = product(&second, &covariance)?;
    let trace = |matrix: &[f64]| matrix.iter().step_by(dim + 1).sum::<f64>();
    // The matrices are symmetric, so the trace of a product is the sum over entries.
    let traces = [
        trace(&covariance),
        trace(&second),
        dot(&second, &covariance),
        dot(&second, &second),
        dot(&third, &second),
        dot(&third, &third),
    ];
    // Rounding may turn a form of 0 negative.
    let form = |matrix: &[f64]| {
        let rows = matrix.chunks_exact(dim).zip(&mean);
        rows.map(|(row, x)| x * dot(row, &mean)).sum::<f64>().max(0.0)
    };
    let along_mean = [dot(&mean, &mean), form(&covariance), form(&second), form(&third)];
    let all_pairs = n * n * (traces[1] + 2.0 * along_mean[1] + along_mean[0].powi(2));
    let unit = square * square;
    let square_dot = (all_pairs - sums.own2 / unit) / (n * (n - 1.0)).max(1.0);
    let kernel = sums.kernel(n, square, square_dot * unit, Outputs::gaussian(dim));
    let length_variance = (sums.own2 / n / unit - 1.0).max(0.0);
    let (kinds, shares) = kinds((count, dim), square, read, backend)?;
    Ok(Some(Rows { count: n, square, length_variance, traces, along_mean, kernel, kinds, shares }))
}

/// Sums over rows of the squared length, of `kappa_v`, the mean overlap with the others, of `xi_v` and of squares.
#[derive(Default)]
pub(crate) struct Sums {
    own: f64,
    own2: f64,
    kappa: f64,
    kappa2: f64,
    xi: f64,
    xi2: f64,
}

impl Sums {
    /// Adds one of `count` rows by its squared length and its overlap with the mean of all.
    pub fn add(&mut self, own: f64, with_mean: f64, count: f64) {
        let kappa = (count * with_mean - own) / (count - 1.0).max(1.0);
        let xi = own - kappa;
        self.own += own;
        self.own2 += own * own;
        self.kappa += kappa;
        self.kappa2 += kappa * kappa;
        self.xi += xi;
        self.xi2 += xi * xi;
    }

    /// The kernel of `count` rows in units of their mean squared length, given the mean squared overlap of pairs and the output
    /// embeddings.
    pub fn kernel(&self, count: f64, square: f64, square_dot: f64, outputs: Outputs) -> Measured {
        let [kappa, kappa2, xi, xi2] = [self.kappa, self.kappa2, self.xi, self.xi2].map(|sum| sum / count);
        Measured {
            kappa: kappa / square,
            xi: xi / square,
            xi_spread: (xi2 - xi * xi).max(0.0).sqrt() / square,
            s2: (square_dot - kappa2).max(0.0) / (square * square),
            output_coherence: outputs.coherence,
            output_spread: outputs.spread,
        }
    }
}

#[cfg(test)]
mod tests {
    use superpose_core::Measure;
    use superpose_core::config::{Settings, Trigger};
    use superpose_core::random::{Stream, Words, normals};
    use superpose_tensors::Tensor;
    use superpose_theory::rows::Kind;
    use superpose_theory::{Point, predict_at};

    use super::super::kinds::mean;
    use super::*;
    use crate::run::{Import, evaluation};

    /// Gaussian rows with a common mean along the first axis.
    fn rows(count: usize, dim: usize, shift: f64) -> Vec<f64> {
        let mut data = vec![0.0; count * dim];
        for (v, row) in data.chunks_mut(dim).enumerate() {
            normals(&Words::new(5, Stream::InputEmbedding, v as u64), row);
            row.iter_mut().for_each(|x| *x *= 2.0 / (dim as f64).sqrt());
            row[0] += 2.0 * shift;
        }
        data
    }

    fn measured(data: &[f64], dim: usize) -> Rows {
        let read = |first: usize, end: usize| Ok::<_, Cancelled>(data[first * dim..end * dim].to_vec());
        measure((data.len() / dim, dim), read, &Backend::single()).unwrap().unwrap()
    }

    #[test]
    fn gaussian_rows_have_the_statistics_of_random_vectors() {
        let dim = 32;
        let found = measured(&rows(4000, dim, 0.0), dim);
        assert!((found.square / 4.0 - 1.0).abs() < 0.02, "{found:?}");
        for (k, &trace) in found.traces.iter().enumerate() {
            // All rows: c = d/R.
            let c = dim as f64 / 4000.0;
            let moment = [1.0, 1.0 + c, 1.0 + 3.0 * c, 1.0 + 6.0 * c, 1.0 + 10.0 * c, 1.0 + 15.0 * c][k];
            assert!((trace * (dim as f64).powi(k as i32) / moment - 1.0).abs() < 0.02, "{k}: {found:?}");
        }
        assert!((found.kernel.s2 * dim as f64 - 1.0).abs() < 0.02 && found.kernel.kappa.abs() < 1e-3);
        assert!((found.length_variance * dim as f64 / 2.0 - 1.0).abs() < 0.1, "{found:?}");
    }

    /// Mean overlaps of pairs, pair by pair.
    #[test]
    fn overlaps_are_those_of_all_pairs() {
        let dim = 6;
        let data = rows(50, dim, 0.7);
        let found = measured(&data, dim);
        let rows: Vec<&[f64]> = data.chunks(dim).collect();
        let (mut kappa, mut s2) = (0.0, 0.0);
        for (v, a) in rows.iter().enumerate() {
            let dots: Vec<f64> =
                rows.iter().enumerate().filter(|(w, _)| *w != v).map(|(_, b)| dot(a, b)).collect();
            let mean = dots.iter().sum::<f64>() / 49.0;
            kappa += mean / 50.0;
            s2 += dots.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 49.0 / 50.0;
        }
        assert!((found.kernel.kappa * found.square / kappa - 1.0).abs() < 1e-9, "{found:?}");
        assert!((found.kernel.s2 * found.square.powi(2) / s2 - 1.0).abs() < 1e-9, "{found:?}");
        assert!((found.along_mean[0] + found.traces[0] - 1.0).abs() < 1e-12);
    }

    /// A measure of runs on 150 given rows whose columns have variances of a power law: the mean over seeds, the prediction from their
    /// statistics and that for Gaussian vectors.
    fn power_law(settings: &Settings, seeds: u64, measure: Measure) -> [f64; 3] {
        let (count, dim) = (150, 64);
        let mut data = rows(count, dim, 0.0);
        for row in data.chunks_exact_mut(dim) {
            row.iter_mut().enumerate().for_each(|(j, x)| *x *= 1.85 / ((j + 1) as f64).sqrt());
        }
        let statistics = measured(&data, dim);
        let mut import = Import::default();
        import.z_in = Some(Tensor { name: "z_in".into(), shape: vec![count, dim], data });
        let (mut inputs, mut settings) = (Inputs::default(), settings.clone());
        inputs.add_import(import, &mut settings, |_| false).unwrap();
        let simulated = mean((0..seeds).map(|seed| {
            let config = Settings { seed, ..settings.clone() }.check().unwrap();
            evaluation(&config, &inputs, &Backend::single()).unwrap()[measure].mean()
        }));
        let predicted =
            |rows| predict_at(&Point { rows, ..Point::from(&settings) }).measures[measure].unwrap();
        [simulated, predicted(Some(statistics)), predicted(None)]
    }

    /// Rows with a spectrum of a power law overlap unequally.
    #[test]
    fn memory_with_unequal_overlaps_is_predicted() {
        let settings = Settings { samples: 15_000, trigger: Trigger::Keys, ..Settings::default() };
        let [simulated, predicted, _] = power_law(&settings, 6, Measure::MemoryAccuracy);
        assert!(
            (0.2..0.8).contains(&simulated) && (predicted - simulated).abs() < 0.05,
            "{predicted} {simulated}"
        );
    }

    /// In step 2 the measured spectrum takes the place of Marchenko and Pastur's law, with which attention would find the trigger.
    #[test]
    fn lock_rate_follows_the_spectrum() {
        let settings = Settings { samples: 3000, length: 64, trigger: Trigger::Keys, ..Settings::default() };
        let settings = Settings { test_samples: 256, ..settings };
        let [simulated, predicted, gaussian] = power_law(&settings, 24, Measure::LockRate);
        assert!(gaussian > 0.98, "{gaussian}");
        assert!(
            (0.2..0.8).contains(&simulated) && (predicted - simulated).abs() < 0.15,
            "{predicted} {simulated}"
        );
    }

    /// Orthonormal rows recall everything, rows of length 0 nothing, and the scale of all rows has no effect, however large.
    #[test]
    fn extreme_rows_are_predicted() {
        let accuracy = |data: &[f64], dim: usize| {
            let settings =
                Settings { vocab: data.len() / dim, dim, trigger: Trigger::Keys, ..Settings::default() };
            let rows = measured(data, dim);
            let square = 1.0;
            let rows = Some(Rows { square, ..rows });
            let point = Point { rows, samples: 100.0 * settings.vocab as f64, ..Point::from(&settings) };
            predict_at(&point).measures[Measure::Accuracy].unwrap()
        };
        let mut unit = vec![0.0; 100 * 100];
        unit.iter_mut().step_by(101).for_each(|x| *x = 1.0);
        assert!(accuracy(&unit, 100) > 0.99, "{}", accuracy(&unit, 100));
        let random = rows(100, 100, 0.0);
        let mut half = random.clone();
        half[50 * 100..].fill(0.0);
        assert!((0.4..0.55).contains(&accuracy(&half, 100)), "{}", accuracy(&half, 100));
        for few in [2, 5] {
            let accuracy = accuracy(&random[..few * 100], 100);
            assert!((0.5..=1.0).contains(&accuracy), "{few} rows: {accuracy}");
        }
        let large: Vec<f64> = random.iter().map(|x| 1e20 * x).collect();
        assert!((accuracy(&large, 100) - accuracy(&random, 100)).abs() < 1e-6);
    }

    /// Kinds average to the statistics of all rows, also if one row is short and the others share a mean.
    #[test]
    fn kinds_average_to_the_statistics_of_all_rows() {
        for scale in [1.0, 1e-3, 1e-6, 0.0] {
            let mut data = rows(400, 32, 0.5);
            data[..32].iter_mut().for_each(|x| *x *= scale);
            let Rows { kinds, kernel, .. } = measured(&data, 32);
            let mean = |of: fn(&Kind) -> f64| kinds.iter().map(|kind| kind.weight * of(kind)).sum::<f64>();
            for (mean, all) in [
                (mean(|kind| kind.own), 1.0),
                (mean(|kind| kind.kappa), kernel.kappa),
                (mean(|kind| kind.s2), kernel.s2),
            ] {
                assert!((mean / all - 1.0).abs() < 1e-9, "{scale}: {mean} {all}");
            }
        }
    }

    /// Twenty rows, each a hundred times: one of the copies of a query's row wins as often as its own fact.
    #[test]
    fn copies_are_counted() {
        let (dim, one) = (64, rows(20, 64, 0.0));
        let data: Vec<f64> = (0..2000).flat_map(|row| one[row % 20 * dim..][..dim].iter().copied()).collect();
        let found = measured(&data, dim);
        let copies = |kind: &Kind| {
            let near = kind
                .overlaps
                .iter()
                .zip(&found.shares)
                .filter(|(delta, _)| kind.kappa + **delta > 0.7 * kind.own);
            near.map(|(_, share)| share).sum::<f64>() * 1999.0
        };
        assert!((found.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{:?}", found.shares);
        let mean = mean(found.kinds.iter().map(copies));
        assert!((85.0..125.0).contains(&mean), "{mean}");
    }

    /// Random rows have about the prediction of random vectors; rows that come in pairs have one neighbour each.
    #[test]
    fn overlaps_of_rows_are_found() {
        let dim = 32;
        let random = measured(&rows(400, dim, 0.0), dim);
        let nearest =
            |found: &Rows| mean(found.kinds.iter().map(|kind| (kind.kappa + kind.overlaps[0]) / kind.own));
        assert!((random.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{:?}", random.shares);
        assert!(nearest(&random) < 0.65, "{}", nearest(&random));
        let (own, other) = (rows(800, dim, 0.0), rows(200, dim, 0.0));
        let pair = |i: usize| 2.0 * other[i / (2 * dim) * dim + i % dim] + own[400 * dim + i];
        let pairs = measured(&(0..400 * dim).map(pair).collect::<Vec<_>>(), dim);
        assert!((0.75..0.85).contains(&nearest(&pairs)), "{}", nearest(&pairs));
        let settings = Settings { vocab: 100, dim, trigger: Trigger::Keys, ..Settings::default() };
        let accuracy = |rows| {
            let point = Point { rows, samples: 3000.0, ..Point::from(&settings) };
            predict_at(&point).measures[Measure::MemoryAccuracy].unwrap()
        };
        let (gaussian, random) = (accuracy(None), accuracy(Some(random)));
        assert!((random - gaussian).abs() < 0.04, "{random} {gaussian}");
    }
}
