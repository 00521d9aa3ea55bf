//! Tensors and buffers in device memory, and an estimate of their size.

use superpose_core::backend::Problem;
use superpose_core::config::{Config, Optimiser, Positions, Training, Trigger};
use superpose_core::train::{State, Tensor, turns};
use superpose_core::with_precision;

use crate::data::{Source, source};
use crate::geometry::NEAR_LOGITS;
use crate::lane::{Buffer, Done, Element, Lane};

use super::optimiser::{Parameters, Span};

/// Samples of a block.
const MIN_BLOCK: usize = 1024;
const MAX_BLOCK: usize = 1 << 14;

/// The sizes of a training.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub dim: usize,
    /// Inputs of a head's value matrix.
    pub inputs: usize,
    pub heads: usize,
    pub labels: usize,
    pub tokens: usize,
    pub length: usize,
    /// Queries of a head: 1, or one per position.
    pub queries: usize,
    /// Entries of a head's query before the key matrix.
    pub asked: usize,
    /// Samples of a block.
    pub block: usize,
    pub mlp: bool,
    /// Whether vectors are added at positions.
    pub positions: bool,
    /// Whether they are added to the values, too.
    pub value_positions: bool,
    /// Whether embeddings are trained.
    pub embeddings: bool,
}

impl Sizes {
    pub fn new(config: &Config, training: &Training) -> Sizes {
        let (heads, dim, inputs) = (training.heads, config.dim, config.inputs());
        let (labels, tokens, length) = (config.label_count(), config.token_count(), config.length);
        let positions = matches!(training.positions, Positions::Sinusoidal | Positions::Learned);
        let embeddings = training.train_embeddings;
        let spread = if embeddings { heads * tokens } else { 0 };
        let widest = [labels, heads * inputs, heads * dim, heads * length, spread];
        let most = training.batch_size(config.samples).max(config.test_samples);
        let block = NEAR_LOGITS / widest.into_iter().fold(1, usize::max);
        Sizes {
            dim,
            inputs,
            heads,
            labels,
            tokens,
            length,
            queries: if training.positions == Positions::Rotary { length } else { 1 },
            asked: if training.factored { (dim / heads).max(1) } else { dim },
            block: block.clamp(MIN_BLOCK, MAX_BLOCK).min(most.max(1)),
            mlp: config.width.is_some(),
            positions,
            value_positions: positions && config.trigger == Trigger::Values,
            embeddings,
        }
    }

    /// Queries of all heads.
    pub fn all_queries(&self) -> usize {
        self.heads * self.queries
    }

    /// Columns of the value matrix.
    pub fn features(&self) -> usize {
        self.heads * self.inputs
    }

    /// Sums of coefficients: by query and token, then by query.
    pub fn sums(&self) -> usize {
        self.all_queries() * (self.tokens + 1)
    }
}

/// The network and the data.
pub struct Tensors<T> {
    pub trained: Vec<Tensor>,
    /// Those of the trained tensors, in the same order.
    pub parameters: Parameters<T>,
    /// Tensors that are not trained.
    fixed: Vec<(Tensor, Buffer<T>)>,
    /// Cosines and sines of rotary positions.
    pub turns: Buffer<f64>,
    pub source: Source,
    _data: (Vec<Buffer<u32>>, Vec<Buffer<f64>>),
}

impl<T: Element> Tensors<T> {
    pub fn new(lane: &Lane, problem: &Problem<'_, T>, state: &State<T>, sizes: &Sizes) -> Done<Self> {
        let network = &state.network;
        let trained = network.trained().to_vec();
        let parts: Vec<_> =
            trained.iter().map(|&tensor| (network.tensor(tensor), network.columns(tensor))).collect();
        let parameters = Parameters::new(lane, &parts, &state.moments)?;
        let not_trained = Tensor::ALL.iter().filter(|tensor| !network.trained().contains(tensor));
        let fixed = not_trained.map(|&tensor| Ok((tensor, lane.upload(network.tensor(tensor))?)));
        let turns = if sizes.queries > 1 { turns(sizes.length, sizes.asked) } else { Vec::new() };
        let (mut whole, mut real) = (Vec::new(), Vec::new());
        let source = source(lane, std::slice::from_ref(problem), &mut whole, &mut real)?;
        Ok(Tensors {
            parameters,
            fixed: fixed.collect::<Done<_>>()?,
            turns: lane.upload(turns.as_flattened())?,
            trained,
            source,
            _data: (whole, real),
        })
    }

    /// The address of a tensor.
    pub fn at(&self, tensor: Tensor) -> u64 {
        let fixed = || self.fixed.iter().find(|(fixed, _)| *fixed == tensor).map_or(0, |(_, at)| at.start());
        self.span(tensor).map_or_else(fixed, |span| self.parameters.values.at(span.start))
    }

    /// Where a tensor is among the parameters, if it is trained.
    pub fn span(&self, tensor: Tensor) -> Option<Span> {
        let place = self.trained.iter().position(|&trained| trained == tensor)?;
        Some(self.parameters.spans[place])
    }

    /// The address of the gradient of a tensor, if it is trained.
    pub fn gradient(&self, tensor: Tensor) -> Option<u64> {
        self.span(tensor).map(|span| self.parameters.gradients.at(span.start))
    }
}

/// Memory for a block of samples, with a row per sample or per head of a sample, and for sums.
pub struct Work<T> {
    pub tokens: Buffer<u32>,
    /// By row.
    pub position: Buffer<u32>,
    pub labels: Buffer<u32>,
    pub weights: Buffer<T>,
    pub head: Buffer<T>,
    /// `W_in h` and `psi(h)` with an MLP.
    pub before: Buffer<T>,
    pub after: Buffer<T>,
    /// `M psi(h)`.
    pub between: Buffer<T>,
    /// Logits, then residuals.
    pub logits: Buffer<T>,
    pub losses: Buffer<f64>,
    /// `Z_out^T r`.
    pub output: Buffer<T>,
    pub by_features: Buffer<T>,
    pub by_head: Buffer<T>,
    pub coefficients: Buffer<T>,
    /// What positions add to head outputs or to their products with gradients.
    pub extra: Buffer<T>,
    /// Attention weights by token.
    pub spread: Buffer<T>,
    /// The product of one block.
    pub step: Buffer<T>,
    /// Sums of coefficients of a block as integers, and of all blocks.
    pub sums: Buffer<i64>,
    pub totals: Buffer<f64>,
    /// Sums of coefficients by head and position.
    pub by_position: Buffer<f64>,
    /// The largest sum of sizes of a row's coefficients.
    pub largest: Buffer<f64>,
    /// The sum of losses, and a number that is not 0 if a parameter is not finite.
    pub numbers: Buffer<f64>,
}

impl<T: Element> Work<T> {
    pub fn new(lane: &Lane, sizes: &Sizes) -> Done<Self> {
        let Sizes { dim, inputs, heads, labels, tokens, length, block, .. } = *sizes;
        let rows = block * heads;
        let real = |size: usize, needed: bool| lane.alloc::<T>(if needed { size } else { 0 });
        Ok(Work {
            tokens: lane.alloc(block * length)?,
            position: lane.alloc(rows)?,
            labels: lane.alloc(block)?,
            weights: lane.alloc(rows * length)?,
            head: lane.alloc(rows * dim)?,
            before: real(rows * inputs, sizes.mlp)?,
            after: real(rows * inputs, sizes.mlp)?,
            between: lane.alloc(block * dim)?,
            logits: lane.alloc(block * labels)?,
            losses: lane.alloc(block)?,
            output: lane.alloc(block * dim)?,
            by_features: lane.alloc(rows * inputs)?,
            by_head: real(rows * dim, sizes.mlp)?,
            coefficients: lane.alloc(rows * length)?,
            extra: real(rows * dim.max(length), sizes.value_positions)?,
            spread: real(rows * tokens, sizes.embeddings)?,
            step: lane.alloc(largest_product(sizes))?,
            sums: lane.zeros(sizes.sums())?,
            totals: lane.alloc(sizes.sums())?,
            by_position: lane.alloc(heads * length)?,
            largest: lane.alloc(1)?,
            numbers: lane.alloc(2)?,
        })
    }
}

/// Entries of the largest gradient that is a product of a block.
fn largest_product(sizes: &Sizes) -> usize {
    let Sizes { dim, labels, tokens, length, embeddings, .. } = *sizes;
    let tables = if embeddings { labels.max(tokens) } else { 0 };
    dim * [sizes.features(), length, tables].into_iter().fold(0, usize::max)
}

/// An estimate of the device memory of a training in bytes, slightly too high; 0 without steps.
pub fn bytes(config: &Config, stored: bool) -> f64 {
    let Some(training) = &config.training else { return 0.0 };
    let real = with_precision!(config.precision, T => size_of::<T>()) as f64;
    let sizes = Sizes::new(config, training);
    let count = |size: usize| size as f64;
    let [d, p, h] = [sizes.dim, sizes.inputs, sizes.heads].map(count);
    let [labels, tokens, l] = [sizes.labels, sizes.tokens, sizes.length].map(count);
    let tables = (labels + tokens) * d;
    let attention = h * d * if training.factored { 2.0 * count(sizes.asked) } else { d };
    let mut trained = h * d * p + attention;
    trained += if sizes.embeddings { tables } else { 0.0 };
    trained += if training.train_first_layer { p * d } else { 0.0 };
    let fixed = tables + p * d + l * d;
    let mlp = if sizes.mlp { 2.0 * p + d } else { 0.0 };
    let row = d
        + p
        + mlp
        + 2.0 * l
        + if sizes.value_positions { d.max(l) } else { 0.0 }
        + if sizes.embeddings { tokens } else { 0.0 };
    let block = count(sizes.block) * (real * (h * row + labels + 2.0 * d) + 4.0 * (l + h) + 12.0);
    let sums = count(sizes.sums()) * (16.0 + 2.0 * real) + count(sizes.all_queries()) * d * (16.0 + real);
    let muon = if training.optimiser == Optimiser::Muon { 4.0 * trained * real } else { 0.0 };
    let dataset = if stored { count(config.samples) * (4.0 * l + 8.0) } else { 0.0 };
    let total = trained * (24.0 + real)
        + fixed * real
        + block
        + count(largest_product(&sizes)) * real
        + sums
        + muon
        + dataset
        + 4.0 * count(config.samples)
        + 48.0 * (1.0 + h) * count(config.test_samples);
    // Small pieces of memory are rounded up to powers of two; the rest is for the library of matrix products.
    64e6 + total + total.min(5e8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use superpose_core::Settings;

    fn config(vocab: usize, training: Training) -> Config {
        let settings = Settings { vocab, dim: 128, length: 64, samples: 65_536, ..Settings::default() };
        Settings { training: Some(training), ..settings }.check().unwrap()
    }

    #[test]
    fn memory_grows_with_what_is_trained() {
        let plain = bytes(&config(1024, Training::new(10)), false);
        assert!((1e8..6e8).contains(&plain), "{plain}");
        let embeddings = Training { train_embeddings: true, ..Training::new(10) };
        let rotary = Training { positions: Positions::Rotary, heads: 4, ..Training::new(10) };
        for larger in [embeddings, rotary, Training { heads: 8, ..Training::new(10) }] {
            assert!(bytes(&config(1024, larger.clone()), false) > plain, "{larger:?}");
        }
        assert!(bytes(&config(100_000, Training::new(10)), false) > 2.0 * plain);
        assert_eq!(bytes(&Settings::default().check().unwrap(), false), 0.0);
    }

    #[test]
    fn blocks_bound_the_widest_matrix() {
        let block = |vocab, training: Training| Sizes::new(&config(vocab, training.clone()), &training).block;
        assert_eq!(block(1024, Training::new(1)), NEAR_LOGITS / 1024);
        assert_eq!(block(1_000_000, Training::new(1)), MIN_BLOCK);
        assert_eq!(block(64, Training::new(1)), MAX_BLOCK);
        let embeddings = Training { heads: 8, train_embeddings: true, ..Training::new(1) };
        assert_eq!(block(1024, embeddings), NEAR_LOGITS / (8 * 1024));
    }
}
