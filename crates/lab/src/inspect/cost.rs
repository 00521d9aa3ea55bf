//! Estimates of the duration of an inspection.

use crate::overlaps::QUERIES;

/// Seconds per multiply-add in the products of an inspection on one thread, measured on a matrix of 150,000 x 4,096.
const FMA: f64 = 3.6e-11;
/// Number of columns whose overlaps take as long as those of the chosen rows with all others.
const PAIRS: f64 = 2048.0;
/// Seconds of one prediction for one of the chosen rows.
const PREDICTION: f64 = 1.2e-4;
/// Number of predictions of a search and a trace to about a hundred thousand facts, for raw and centred rows.
const PREDICTIONS: f64 = 100.0;

/// Returns the seconds that the inspection of a matrix takes on one thread, slightly too many: overlaps of all columns, of some rows
/// with all others, and the predictions.
pub fn seconds(rows: usize, columns: usize) -> f64 {
    let chosen = rows.min(QUERIES) as f64;
    let (rows, columns) = (rows as f64, columns as f64);
    FMA * rows * columns * (columns + PAIRS) + PREDICTIONS * PREDICTION * chosen
}

/// Returns the seconds that an output matrix adds, for the overlaps of its columns.
pub fn output_seconds(rows: usize, columns: usize) -> f64 {
    FMA * rows as f64 * (columns as f64).powi(2)
}

#[cfg(test)]
mod tests {
    use superpose_core::backend::Backend;
    use superpose_tensors::Tensors;

    use super::super::{inspect, tests::file, trace};
    use super::*;

    /// The time of a prediction depends on the machine, so the test counts predictions.
    #[test]
    fn number_of_predictions_is_not_underestimated() {
        let (bytes, backend) = (file(400, 32, 1.0, 0.0), Backend::single());
        let tensors = Tensors::parse(&bytes).unwrap();
        // Every prediction is reported as a step without work.
        let (mut predictions, mut before) = (0.0, 0);
        let mut observe = |done, _| {
            predictions += f64::from(u8::from(done == before));
            before = done;
        };
        let (found, pairs) = inspect(&tensors, None, None, 0.9, &backend, &mut observe).unwrap();
        // A point of the trace is predicted for raw and centred rows.
        trace(found.dim, &pairs, &backend, &mut || predictions += 2.0).unwrap();
        assert!((0.3 * PREDICTIONS..=PREDICTIONS).contains(&predictions), "{predictions}");
    }
}
