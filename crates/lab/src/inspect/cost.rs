//! How long an inspection takes, before it is made.

use super::pairs::QUERIES;

/// A multiply-add inside the products of an inspection, in seconds of one thread; measured on a matrix of 150,000 x 4,096.
const FMA: f64 = 3.6e-11;
/// Columns whose overlaps take as long as those of the chosen rows with all others.
const PAIRS: f64 = 2048.0;
/// One prediction for one of the chosen rows.
const PREDICTION: f64 = 1.2e-4;
/// Predictions, at about a hundred thousand facts: of a search and of a trace, with the rows as they are and minus their mean.
const PREDICTIONS: f64 = 100.0;

/// Seconds that the inspection of a matrix takes on one thread, rather too many: overlaps of all columns, of some rows with all others,
/// and predictions from these.
pub fn seconds(rows: usize, columns: usize) -> f64 {
    let chosen = rows.min(QUERIES) as f64;
    let (rows, columns) = (rows as f64, columns as f64);
    FMA * rows * columns * (columns + PAIRS) + PREDICTIONS * PREDICTION * chosen
}

/// Seconds that an output matrix adds: overlaps of its columns.
pub fn output_seconds(rows: usize, columns: usize) -> f64 {
    FMA * rows as f64 * (columns as f64).powi(2)
}

#[cfg(test)]
mod tests {
    use superpose_core::backend::Backend;
    use superpose_core::random::{Stream, Words, normals};
    use superpose_tensors::Tensors;

    use super::*;

    /// What a prediction takes is the machine's; how many are made is counted.
    #[test]
    fn no_more_predictions_are_made_than_estimated() {
        let (rows, dim) = (400, 32);
        let mut data = vec![0.0; rows * dim];
        normals(&Words::new(3, Stream::InputEmbedding, 0), &mut data);
        let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
        let view =
            safetensors::tensor::TensorView::new(safetensors::Dtype::F64, vec![rows, dim], &bytes).unwrap();
        let bytes = safetensors::serialize([("rows", view)], None).unwrap();
        let tensors = Tensors::parse(&bytes).unwrap();
        // Every prediction is told, as a step that adds nothing to what has been done.
        let (mut predictions, mut before) = (0.0, 0);
        let mut told = |done, total| {
            // A place of the trace is predicted for the rows as they are and minus their mean.
            predictions += if total == 1 { 2.0 } else { f64::from(u8::from(done == before)) };
            before = done;
        };
        super::super::inspect_and_trace(&tensors, None, None, 0.9, &Backend::single(), &mut told).unwrap();
        assert!((0.3 * PREDICTIONS..=PREDICTIONS).contains(&predictions), "{predictions}");
    }
}
