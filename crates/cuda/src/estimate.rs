//! Estimates of the device memory of a run.

use superpose_core::config::{Config, Regime};
use superpose_core::early_phase::worth_grouping;
use superpose_core::model::worth_folding;
use superpose_core::with_precision;

use crate::geometry::{BLOCK_SAMPLES, Way, batch, block_rows, copies, fused, part, small};

/// An estimate of the device memory of a run in bytes, slightly too high.
pub fn bytes(config: &Config, stored: bool, tensor_cores: bool) -> f64 {
    let total = entries_bytes(config, stored, tensor_cores);
    // A batch takes pieces of this size, rarely more than three: a freed buffer is used again only for one of the same size, and
    // training and evaluation have blocks of different sizes. Otherwise small buffers are rounded up to powers of two. The rest is for
    // cuBLAS.
    let spare = if batch(config) > 1 { 2.0 * total } else { total.min(5e8) };
    64e6 + total + spare
}

/// Whether cells like this one may run as a batch. Copies step from one cell's memory to the next by a pitch, which has at most 31 bits.
pub fn fits_pitch(config: &Config, tensor_cores: bool) -> bool {
    entries_bytes(config, false, tensor_cores) < f64::from(i32::MAX) - f64::from(1 << 20)
}

/// An estimate of the bytes of all buffers that a run has at a time.
pub fn entries_bytes(config: &Config, stored: bool, tensor_cores: bool) -> f64 {
    let real = with_precision!(config.precision, T => size_of::<T>()) as f64;
    let count = |size: usize| size as f64;
    let (tokens, labels) = (count(config.token_count()), count(config.label_count()));
    let (d, p, l, n) =
        (count(config.dim), count(config.inputs()), count(config.length), count(config.samples));
    let width = config.width.map_or(0.0, count);
    let embeddings = (tokens + 2.0 * labels + width) * d * real;
    let dataset = if stored { n * (4.0 * l + 8.0) } else { 0.0 };
    let matrices = d * p * (32.0 + 5.0 * real) + 2.0 * d * d * real;
    let test = config.test_samples;
    let parts = if small(config) {
        n.min(BLOCK_SAMPLES as f64) / part(config.dim, config.inputs()) as f64
    } else {
        0.0
    };
    let block = |columns: usize, count: usize, logits: bool| {
        let rows = block_rows(columns, count) as f64;
        let logits = if logits { labels } else { 0.0 };
        rows * (real * (logits + 3.0 * p + 3.0 * d + l + 2.0) + 48.0)
    };
    let widest = config.inputs().max(config.dim);
    let table = match Way::choose(config) {
        Way::Tables if config.width.is_none() => labels * tokens * (8.0 + real) + labels * d * real,
        _ => 2.0 * labels * p * real + 2.0 * n * real,
    };
    // Samples sorted by label are kept for all steps.
    let sorted = if Way::choose(config) == Way::Rows { 4.0 * n + 8.0 * labels } else { 0.0 };
    let mut train: f64 = table + block(widest, config.samples, false);
    if config.regime == Regime::Exact {
        let softmax = config.label_count().max(widest);
        // Per fact: the 64-bit sum of its group, two limits, the number of members and an index. Per sample of a block: its head output
        // and three 32-bit integers, beside the rows that need a softmax.
        let groups = match config.width.is_none() && worth_grouping(config.samples, config.vocab) {
            true => {
                count(config.vocab) * (8.0 * d + 24.0)
                    + block_rows(softmax, config.samples) as f64 * (d * real + 12.0)
            }
            false => 0.0,
        };
        let folds = worth_folding(config.samples, config.label_count(), config.dim, config.inputs());
        let logits = !(fused(config, tensor_cores) && folds);
        train = train.max(2.0 * labels * p * real + block(softmax, config.samples, logits) + groups);
    }
    let evaluate = labels * p * real + block(config.label_count().max(widest).max(config.length), test, true);
    let asked = block(config.label_count().max(widest), config.vocab, true) + 2.0 * labels * p * real;
    // What comes back of every sequence and of every token that is asked, by index where not all are.
    let answers = 64.0 * count(test) + 40.0 * count(test.max(config.vocab));
    let largest = train.max(evaluate.max(asked) + answers);
    embeddings
        + dataset
        + sorted
        + matrices
        + parts * d * p * real
        + (8.0 * copies(config.token_count()) as f64 + 16.0) * tokens
        + largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use superpose_core::config::{Precision, Settings};

    fn config(vocab: usize, dim: usize, length: usize, samples: usize) -> Config {
        Settings { vocab, dim, length, samples, ..Settings::default() }.check().unwrap()
    }

    #[test]
    fn groups_and_logits_count_where_they_are_used() {
        let exact = |settings: Settings| Settings { regime: Regime::Exact, ..settings }.check().unwrap();
        let settings =
            |vocab, dim, samples| Settings { vocab, dim, samples, length: 16, ..Settings::default() };
        // Without tensor cores, the logits of all samples of a block and all labels.
        let small = exact(Settings { test_samples: 10, ..settings(512, 64, 8192) });
        let without = entries_bytes(&small, false, false) - entries_bytes(&small, false, true);
        let logits = 8192.0 * 512.0 * 4.0;
        assert!((0.9 * logits..=logits).contains(&without), "{without} of {logits}");
        // From two samples per fact on, the sums of groups as 64-bit integers.
        let few = entries_bytes(&exact(settings(100_000, 1024, 199_999)), false, true);
        let many = entries_bytes(&exact(settings(100_000, 1024, 200_000)), false, true);
        let sums = 100_000.0 * 1024.0 * 8.0;
        assert!((0.5 * sums..1.1 * sums).contains(&(many - few)), "{few} {many}");
    }

    /// The memory of a cell in a batch must hold its largest buffer.
    #[test]
    fn memory_holds_the_answers_of_all_test_samples() {
        let config = Settings { test_samples: 1_000_000, ..(*config(50, 16, 16, 8192)).clone() };
        let bytes = entries_bytes(&config.check().unwrap(), false, true);
        assert!(bytes >= 64e6, "{bytes}");
    }

    #[test]
    fn cells_beyond_the_largest_pitch_share_no_launches() {
        let settings = |labels| Settings {
            vocab: labels,
            dim: 8,
            length: 8192,
            samples: 64,
            test_samples: 16_384,
            regime: Regime::Exact,
            precision: Precision::F64,
            ..Settings::default()
        };
        let [small, large] = [512, 8192].map(|labels| settings(labels).check().unwrap());
        assert!(batch(&small) > 1 && fits_pitch(&small, true), "{}", entries_bytes(&small, false, true));
        assert!(batch(&large) > 1 && !fits_pitch(&large, true), "{}", entries_bytes(&large, false, true));
    }

    #[test]
    fn memory_grows_with_the_sizes_and_has_no_square_of_a_large_vocabulary() {
        let small = bytes(&config(1024, 128, 64, 65_536), false, true);
        assert!(small < 0.6 * 1024.0_f64.powi(3), "{small}");
        let large = bytes(&config(1_000_000, 2048, 64, 100_000_000), false, true);
        assert!((3e10..8e10).contains(&large), "{large}");
        let by_dim = [64, 256, 1024].map(|dim| bytes(&config(100_000, dim, 16, 1_000_000), false, true));
        assert!(by_dim.is_sorted() && by_dim[2] < 4e9, "{by_dim:?}");
        assert!(
            bytes(&config(1000, 64, 64, 1_000_000), true, true)
                - bytes(&config(1000, 64, 64, 1_000_000), false, true)
                >= 2.6e8
        );
    }
}
