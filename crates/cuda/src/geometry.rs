//! Shapes of launches, rows of a block, and the choice of algorithm. All but [`fused`] depend on the problem alone. The last bits of
//! results may still differ between GPUs: cuBLAS and tensor cores add in different orders, and GPUs without suitable tensor cores
//! take another path.

use superpose_core::backend::DeviceError;
use superpose_core::config::{Config, Precision, Regime, Settings};
use superpose_core::early_phase::worth_grouping;
use superpose_core::with_precision;

use crate::lane::{Done, Shape};

/// Threads of a block of most kernels.
pub const THREADS: u32 = 256;
/// Threads of the one block of [`scan`].
pub const SCAN_THREADS: usize = 1024;
/// The largest number of warps that share the rows of a matrix.
const MAX_WARPS: usize = 1 << 13;
/// The longest sequence, whose tokens and dot products must fit in the shared memory of a block.
pub const MAX_LENGTH: usize = 8192;
/// The largest dimension, for the same reason.
pub const MAX_DIM: usize = 16_384;
/// Entries of the widest matrix of a block of samples, and samples of a block: enough for efficient products.
const BLOCK_ENTRIES: usize = 1 << 27;
pub const BLOCK_SAMPLES: usize = 1 << 15;
/// Entries of a table over labels and tokens.
const TABLE_ENTRIES: usize = 1 << 30;
/// Logits of one product, most of which are still in the cache of the GPU when they become residuals.
pub const NEAR_LOGITS: usize = 1 << 24;
/// Samples times labels times inputs up to which the softmax takes less time than the bound of its first-order form.
pub const FEW_LOGITS: usize = 1 << 29;
/// Samples up to which sums by rows are taken in their own order rather than by label.
pub const UNSORTED: usize = 1 << 15;
/// Numbers read or multiplied after which a pass waits for the device, so that a cancellation takes effect. Reading them takes about a
/// third of a second.
pub const WAIT: usize = 1 << 38;
/// The largest number of sums by token, of all copies together.
const MAX_COPIED_SUMS: usize = 1 << 12;
/// The largest number of copies of the sums by token.
const MAX_COPIES: usize = 8;
/// The longest inner sum of one product; longer ones are added in 64 bits.
pub const INNER: usize = 1 << 14;

/// The work up to which a cell counts as small, in multiply-adds of a product: some 0.2 ms. Small cells share launches, and own kernels
/// compute their products, whose bits do not depend on the number of cells; cuBLAS chooses other algorithms for more cells.
const SMALL: f64 = 5e9;
/// The work of a batch, which keeps a GPU busy.
const BATCH: f64 = 1.4e11;
/// Cells of a batch.
const MAX_BATCH: f64 = 128.0;

/// A thread per item; many items share a thread.
pub fn linear(items: usize) -> Shape {
    let blocks = items.div_ceil(THREADS as usize).min(1 << 14);
    Shape { grid: (blocks as u32, 1), block: THREADS, shared: 0 }
}

/// `width` neighbouring threads per item.
pub fn groups(items: usize, width: u32) -> Shape {
    let blocks = (items * width as usize).div_ceil(THREADS as usize);
    Shape { grid: (blocks as u32, 1), block: THREADS, shared: 0 }
}

/// A block per row, whose threads take sixteen entries at least where the row has as many.
pub fn rows(rows: usize, columns: usize) -> Shape {
    let block = columns.div_ceil(16).next_multiple_of(32).clamp(32, THREADS as usize);
    Shape { grid: (rows as u32, 1), block: block as u32, shared: 0 }
}

/// A warp per row, up to [`MAX_WARPS`], each of which then takes several rows.
pub fn warps(rows: usize) -> Shape {
    linear(rows.min(MAX_WARPS) * 32)
}

/// One block, of which every thread takes neighbouring items.
pub fn scan() -> Shape {
    Shape { grid: (1, 1), block: SCAN_THREADS as u32, shared: 0 }
}

/// The lanes that share a sample: one for every four positions or columns, at most 32.
pub fn lanes(size: usize) -> u32 {
    size.div_ceil(4).next_power_of_two().min(32) as u32
}

/// The lanes that share a sample of a short sequence with short rows: each takes four columns and four positions.
pub fn short_lanes(dim: usize, length: usize) -> Option<u32> {
    let short = dim.is_multiple_of(4) && dim <= 128 && length <= 128;
    short.then(|| dim.max(length).div_ceil(4).next_power_of_two().max(4) as u32)
}

/// The largest number of tokens of a block for short sequences. Each thread draws four, and has memory for four products beside them.
pub const SHORT_TOKENS: usize = 4 * THREADS as usize;
/// The largest number of samples of such a block.
pub const SHORT_SAMPLES: usize = 32;

/// Blocks for samples of short sequences, and the samples of a block, whose tokens it holds.
pub fn short_blocks(samples: usize, length: usize) -> (Shape, u32) {
    let each = (SHORT_TOKENS / length.next_multiple_of(4)).min(SHORT_SAMPLES);
    (Shape { grid: (samples.div_ceil(each) as u32, 1), block: THREADS, shared: 0 }, each as u32)
}

/// Copies of the sums by token: blocks add to different ones, so that fewer atomic additions collide.
pub fn copies(tokens: usize) -> usize {
    (MAX_COPIED_SUMS / (tokens + 1)).clamp(1, MAX_COPIES)
}

/// Bytes of shared memory for the dot products of one sample.
pub fn dots_bytes(dim: usize, length: usize, real: usize) -> usize {
    dim * real + length * (real + 4)
}

/// Bytes of shared memory that the largest block of a run needs: for dot products of samples, which runs by tables do not compute.
pub fn shared_bytes(config: &Config, real: usize) -> usize {
    let trains = config.training.is_some();
    let by_rows =
        config.regime == Regime::Exact || config.width.is_some() || Way::choose(config) == Way::Rows;
    let by_blocks = by_rows && short_lanes(config.dim, config.length).is_none();
    if trains || by_blocks { dots_bytes(config.dim, config.length, real) } else { 0 }
}

/// Fails for a configuration that the kernels cannot run, or whose samples do not fit in the shared memory of a block of this GPU.
pub fn check(config: &Config, shared: usize) -> Done {
    let Settings { dim, length, rounds, accumulate, .. } = **config;
    if rounds > 1 && accumulate {
        return Err(DeviceError::unsupported("accumulate = true"));
    }
    if length > MAX_LENGTH {
        return Err(DeviceError::unsupported(format!("length = {length} above {MAX_LENGTH}")));
    }
    if dim > MAX_DIM {
        return Err(DeviceError::unsupported(format!("dim = {dim} above {MAX_DIM}")));
    }
    let needed = shared_bytes(config, with_precision!(config.precision, T => size_of::<T>()));
    match needed > shared {
        true => Err(DeviceError::TooWide { dim, length, needed, available: shared }),
        false => Ok(()),
    }
}

/// Samples of a block whose widest matrix has this many columns.
pub fn block_rows(columns: usize, count: usize) -> usize {
    (BLOCK_ENTRIES / columns.max(1)).clamp(128, BLOCK_SAMPLES).min(count.max(1))
}

/// Samples of one launch that reads `dim` numbers per token.
pub fn launch_samples(length: usize, dim: usize) -> usize {
    (WAIT / (length * dim)).max(1)
}

/// How label-wise sums over tokens are computed, without an MLP: from a table over labels and tokens, or from rows of embeddings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Tables,
    Rows,
}

impl Way {
    /// The faster way. A table access takes about 10 ps, a multiply-add of a product 0.04 ps, an entry of a row 1.2 ps.
    pub fn choose(config: &Config) -> Way {
        let tokens = config.samples as f64 * config.length as f64;
        let table = config.label_count() as f64 * config.token_count() as f64;
        let tables = tokens * 10.0 + table * config.dim as f64 * 0.04;
        let rows = tokens * config.dim as f64 * 1.2;
        // All tokens may have one label and one token, whose counter has 32 bits.
        let countable = tokens <= f64::from(u32::MAX);
        if countable && table <= TABLE_ENTRIES as f64 && tables < rows { Way::Tables } else { Way::Rows }
    }
}

/// The work of a run in multiply-adds of a product, whose cost is that of [`Way::choose`].
fn work(config: &Config) -> f64 {
    let count = |size: usize| size as f64;
    let (tokens, labels) = (count(config.token_count()), count(config.label_count()));
    let (d, p, n) = (count(config.dim), count(config.inputs()), count(config.samples));
    let (exact, mlp) = (config.regime == Regime::Exact, config.width.is_some());
    let read = n * count(config.length) * 3.0;
    let sums = match Way::choose(config) {
        Way::Tables if !exact && !mlp => 250.0 * read + 3.0 * labels * tokens * d,
        _ => 10.0 * read * d + 2.0 * n * d * p,
    };
    // Step 3 without an MLP computes one softmax for a group of samples, where groups are used.
    let products = if !mlp && worth_grouping(config.samples, config.vocab) { 2.0 } else { 4.0 };
    let softmax = if exact { products * n * labels * p } else { 0.0 };
    let layer = if mlp { 6.0 * n * d * p } else { 0.0 };
    sums + softmax + layer + (count(config.test_samples) + 3.0 * count(config.vocab)) * labels * p
}

/// Whether a cell is small.
pub fn small(config: &Config) -> bool {
    let sorted = Way::choose(config) == Way::Rows && config.samples > UNSORTED;
    !sorted && work(config) <= SMALL
}

/// Cells like this one that share launches.
pub fn batch(config: &Config) -> usize {
    if small(config) { (BATCH / work(config)).min(MAX_BATCH) as usize } else { 1 }
}

/// Whether one kernel computes the softmax of a cell and its product. It needs tensor cores, 32-bit numbers and short rows of features,
/// and leaves the right label out of its sums, so that there must be others.
pub fn fused(config: &Config, tensor_cores: bool) -> bool {
    let short = config.width.is_none() && config.dim.is_multiple_of(4) && config.dim <= SOFTMAX_COLUMNS;
    let single = config.precision == Precision::F32;
    tensor_cores && single && short && small(config) && config.label_count() > 1
}

/// Samples that a block of the kernel for the softmax takes.
pub const SOFTMAX_SAMPLES: usize = 128;
/// Labels that it takes at a time.
pub const SOFTMAX_LABELS: usize = 32;
/// The largest number of columns of its rows.
pub const SOFTMAX_COLUMNS: usize = 64;
/// Elements of 16 bytes that a row, and a group of four labels, take in its shared memory, with padding against bank conflicts.
const SOFTMAX_ROW: usize = SOFTMAX_COLUMNS / 4 + 4;
const SOFTMAX_LABEL: usize = SOFTMAX_COLUMNS + 2;
/// Bytes of its shared memory: rows of features and of the readout, the matrix in groups of four labels, and the right labels.
pub const SOFTMAX_BYTES: usize = 16
    * (SOFTMAX_ROW * (SOFTMAX_SAMPLES + SOFTMAX_LABELS) + SOFTMAX_LABEL * SOFTMAX_LABELS / 4)
    + 4 * SOFTMAX_SAMPLES;

/// Blocks of that kernel, which have a thread for each sample.
pub fn softmax_blocks(samples: usize) -> Shape {
    let blocks = samples.div_ceil(SOFTMAX_SAMPLES);
    Shape { grid: (blocks as u32, 1), block: SOFTMAX_SAMPLES as u32, shared: SOFTMAX_BYTES as u32 }
}

/// The kernel of a product of m x n entries, and its launch for this many parts of the inner sum.
pub fn tiles(m: usize, n: usize, parts: usize) -> (&'static str, Shape) {
    let (kernel, rows, columns) = match (m > 64, n > 64) {
        (true, true) => ("product_large", 128, 128),
        (true, false) => ("product_narrow", 128, 64),
        (false, _) => ("product_small", 64, 64),
    };
    let grid = ((m.div_ceil(rows) * n.div_ceil(columns)) as u32, parts as u32);
    (kernel, Shape { grid, block: THREADS, shared: 0 })
}

/// Terms of a part of the inner sum of a long product with few entries.
pub fn part(m: usize, n: usize) -> usize {
    if m * n <= 1 << 14 { 256 } else { 1024 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use superpose_core::config::Training;

    #[test]
    fn launches_cover_all_items() {
        for items in [1, 31, 256, 257, 5_000_000_000] {
            let shape = linear(items);
            assert!(shape.grid.0 >= 1 && shape.grid.0 <= 1 << 14);
            assert!((shape.grid.0 as usize * 256 >= items) || shape.grid.0 == 1 << 14);
        }
        for length in [1, 4, 5, 16, 64, 100, 129, 8192] {
            let width = lanes(length);
            assert!(width.is_power_of_two() && width <= 32 && (width as usize * 4 >= length || width == 32));
            let shape = groups(1000, width);
            // Whole warps, because lanes exchange values.
            assert!(shape.block.is_multiple_of(32) && shape.grid.0 as usize * 256 >= 1000 * width as usize);
        }
        assert_eq!(
            [(64, 16), (24, 9), (128, 128), (8, 65), (4, 2)].map(|(dim, length)| short_lanes(dim, length)),
            [Some(16), Some(8), Some(32), Some(32), Some(4)]
        );
        assert_eq!([(132, 16), (7, 9), (64, 129)].map(|(dim, length)| short_lanes(dim, length)), [None; 3]);
        assert_eq!([warps(1), warps(8), warps(1 << 20)].map(|shape| shape.grid.0), [1, 1, 1 << 10]);
        assert_eq!(rows(7, 3), Shape { grid: (7, 1), block: 32, shared: 0 });
        assert_eq!(rows(7, 10_000).block, THREADS);
        assert!(dots_bytes(MAX_DIM, MAX_LENGTH, 8) < 226 * 1024, "more than a block of an H100 has");
    }

    #[test]
    fn blocks_share_memory_where_they_compute_dot_products() {
        let tables = config(512, 64, 16, 8192);
        assert_eq!(shared_bytes(&tables, 4), 0);
        let exact = Settings { regime: Regime::Exact, ..(*tables).clone() };
        assert_eq!(
            shared_bytes(&exact.clone().check().unwrap(), 4),
            0,
            "short rows need no dynamic shared memory"
        );
        let wide = Settings { dim: 1000, length: 300, ..exact.clone() };
        assert_eq!(shared_bytes(&wide.check().unwrap(), 8), dots_bytes(1000, 300, 8));
        let trained = Settings { training: Some(Training::new(1)), ..exact };
        assert_eq!(shared_bytes(&trained.check().unwrap(), 4), dots_bytes(64, 16, 4));
    }

    #[test]
    fn blocks_hold_their_samples() {
        assert_eq!(
            [(8192, 16), (1, 128), (100, 1)].map(|(samples, length)| {
                let (shape, each) = short_blocks(samples, length);
                (shape.grid.0, each)
            }),
            [(256, 32), (1, 8), (4, 32)]
        );
        assert_eq!([1, 1024, 1 << 20].map(copies), [8, 3, 1]);
        assert_eq!([softmax_blocks(1), softmax_blocks(129)].map(|shape| shape.grid.0), [1, 2]);
    }

    #[test]
    fn small_cells_share_launches() {
        let exact = |size: (usize, usize, usize, usize)| {
            let (vocab, samples, dim, length) = size;
            Settings { vocab, samples, dim, length, regime: Regime::Exact, ..Settings::default() }
                .check()
                .unwrap()
        };
        assert_eq!(batch(&exact((512, 8192, 64, 16))), 128);
        assert_eq!(batch(&exact((4096, 131_072, 256, 64))), 1);
        assert_eq!(batch(&config(180, 32, 16, 8192)), 128);
        assert_eq!(batch(&config(100_000, 1024, 64, 2_000_000)), 1);
        // Samples sorted by label.
        assert!(!small(&config(3000, 6, 9, 40_000)));
        assert_eq!(tiles(129, 65, 3), ("product_large", Shape { grid: (2, 3), block: 256, shared: 0 }));
        assert_eq!(tiles(129, 64, 1), ("product_narrow", Shape { grid: (2, 1), block: 256, shared: 0 }));
        assert_eq!(tiles(64, 65, 1), ("product_small", Shape { grid: (2, 1), block: 256, shared: 0 }));
    }

    #[test]
    fn short_rows_have_a_kernel_for_the_softmax() {
        let exact = |vocab, dim, samples| Settings {
            regime: Regime::Exact,
            vocab,
            dim,
            samples,
            length: 9,
            ..Settings::default()
        };
        let chosen = |settings: Settings| fused(&settings.check().unwrap(), true);
        assert!(chosen(exact(37, 60, 333)) && chosen(exact(512, 64, 8192)));
        assert!(!chosen(exact(37, 68, 333)) && !chosen(exact(37, 62, 333)));
        assert!(!chosen(Settings { width: Some(20), ..exact(37, 60, 333) }));
        assert!(!chosen(Settings { precision: Precision::F64, ..exact(37, 60, 333) }));
        assert!(!fused(&exact(37, 60, 333).check().unwrap(), false));
    }

    #[test]
    fn blocks_bound_the_widest_matrix() {
        assert_eq!(block_rows(16_384, 1 << 20), 8192);
        assert_eq!(block_rows(1_000_000, 4096), 134);
        assert_eq!(block_rows(16, 100), 100);
        assert_eq!(launch_samples(64, 2048), 1 << 21);
        assert_eq!(launch_samples(8192, 1 << 30), 1);
    }

    fn config(vocab: usize, dim: usize, length: usize, samples: usize) -> Config {
        Settings { vocab, dim, length, samples, ..Settings::default() }.check().unwrap()
    }

    #[test]
    fn way_is_the_cheaper_one_and_tables_are_bounded() {
        assert_eq!(Way::choose(&config(1024, 128, 64, 65_536)), Way::Tables);
        assert_eq!(Way::choose(&config(100_000, 1024, 64, 2_000_000)), Way::Rows);
        assert_eq!(Way::choose(&config(1_000_000, 2048, 64, 100_000_000)), Way::Rows);
        assert_eq!(Way::choose(&config(10, 16, 512, 1 << 22)), Way::Tables);
        assert_eq!(Way::choose(&config(10, 16, 512, 1_000_000_000)), Way::Rows);
    }
}
