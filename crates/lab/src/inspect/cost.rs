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
/// and predictions from these. Beside an output matrix both take their time.
pub fn seconds(rows: usize, columns: usize) -> f64 {
    let chosen = rows.min(QUERIES) as f64;
    let (rows, columns) = (rows as f64, columns as f64);
    FMA * rows * columns * (columns + PAIRS) + PREDICTIONS * PREDICTION * chosen
}

#[cfg(test)]
mod tests {
    use superpose_core::backend::Backend;
    use superpose_core::random::{Stream, Words, normals};
    use superpose_tensors::Tensors;

    use super::*;

    /// Seconds of processor time of this thread, where the system tells: other programs do not change it.
    fn processor_seconds() -> Option<f64> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        Some(text.split_whitespace().next()?.parse::<f64>().ok()? * 1e-9)
    }

    /// Small matrices take their time with predictions, not with products.
    #[test]
    fn a_small_matrix_takes_no_longer_than_estimated() {
        let (rows, dim) = (400, 32);
        let mut data = vec![0.0; rows * dim];
        normals(&Words::new(3, Stream::InputEmbedding, 0), &mut data);
        let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
        let view =
            safetensors::tensor::TensorView::new(safetensors::Dtype::F64, vec![rows, dim], &bytes).unwrap();
        let bytes = safetensors::serialize([("rows", view)], None).unwrap();
        let tensors = Tensors::parse(&bytes).unwrap();
        let Some(before) = processor_seconds() else { return };
        super::super::inspect_and_trace(&tensors, None, None, 0.9, &Backend::single(), &mut |_, _| {})
            .unwrap();
        let ratio = (processor_seconds().unwrap() - before) / seconds(rows, dim);
        assert!((0.05..1.5).contains(&ratio), "{ratio}");
    }
}
