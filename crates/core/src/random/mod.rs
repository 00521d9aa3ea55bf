//! Counter-based random numbers: every value is a pure function of (seed, stream, index, place).
//!
//! Samples and rows can be generated in any order on any number of threads. Code changes must not alter the numbers of a seed.

mod normal;
mod philox;

pub use normal::normal_quantile;
pub use philox::philox4x32;

/// The purpose of a sequence of random words. Streams of one seed are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Stream {
    /// Training samples.
    Train = 1,
    /// Test samples.
    Test = 2,
    /// The permutation from tokens to labels.
    Permutation = 3,
    /// Rows of `z_in`.
    InputEmbedding = 4,
    /// Rows of `z_out`.
    OutputEmbedding = 5,
    /// Row 0: `z_trig`; row 1: `z_eos`.
    Markers = 6,
    /// Rows of `W_in`.
    FirstLayer = 7,
    /// Which rows of a file become embeddings.
    FileRows = 8,
    /// Tokens to test on when testing all of them would take too long.
    TestTokens = 9,
    /// Rows that span a low-rank table and centres of a clustered one; those of `z_out` from 2^32 on.
    Structure = 10,
    /// Rows of learned positions.
    Positions = 11,
    /// Rows of the matrices of attention that do not start at zero.
    Attention = 12,
    /// The order of samples in the epochs of training.
    Batches = 13,
    /// Where the weights of an associative memory start.
    MemoryWeights = 20,
    /// Patterns of a Hopfield network.
    Patterns = 21,
}

/// The words of one (seed, stream, index), in order.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    key: [u32; 2],
    stream: u32,
    index: u64,
}

impl Words {
    /// The words of row, sample or object `index`.
    pub fn new(seed: u64, stream: Stream, index: u64) -> Words {
        Words { key: Words::key(seed), stream: stream as u32, index }
    }

    /// The key of a seed.
    pub fn key(seed: u64) -> [u32; 2] {
        [seed as u32, (seed >> 32) as u32]
    }

    /// Words `4 block .. 4 block + 4`.
    #[inline]
    pub fn block(&self, block: u32) -> [u32; 4] {
        philox4x32([self.index as u32, (self.index >> 32) as u32, block, self.stream], self.key)
    }

    /// Fills `out` with the words from `4 first_block` on.
    pub fn fill(&self, first_block: u32, out: &mut [u32]) {
        // The vectorised fill is slower for few blocks; short sequences have one or two.
        const FEW: usize = 16;
        if out.len() <= FEW {
            for (block, part) in out.chunks_mut(4).enumerate() {
                part.copy_from_slice(&self.block(first_block.wrapping_add(block as u32))[..part.len()]);
            }
            return;
        }
        philox::fill(self.index, self.stream, self.key, first_block, out);
    }
}

/// A whole number in `0..bound` from one word. Values differ in probability by at most `bound / 2^32` relative: for
/// a million tokens 2e-4, which takes more than 10^7 samples of every token to detect.
#[inline(always)]
pub fn below(word: u32, bound: u32) -> u32 {
    ((u64::from(word) * u64::from(bound)) >> 32) as u32
}

/// A number strictly between 0 and 1 from two words.
#[inline(always)]
pub fn unit(low: u32, high: u32) -> f64 {
    let bits = (u64::from(high) << 32 | u64::from(low)) >> 12;
    (bits as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
}

/// Fills `out` with standard normal numbers, the first from words 0 and 1.
pub fn normals(words: &Words, out: &mut [f64]) {
    const BLOCK: usize = 256;
    let mut block = [0; BLOCK];
    for (i, part) in out.chunks_mut(BLOCK / 2).enumerate() {
        let block = &mut block[..2 * part.len()];
        words.fill((i * BLOCK / 4) as u32, block);
        for (x, pair) in part.iter_mut().zip(block.chunks_exact(2)) {
            *x = normal_quantile(unit(pair[0], pair[1]));
        }
    }
}

/// The Fisher-Yates shuffle of `items`.
pub fn shuffle<T>(seed: u64, stream: Stream, items: &mut [T]) {
    shuffle_round(seed, stream, 0, items);
}

/// The shuffle number `round` of a stream; the first is that of [`shuffle`].
pub fn shuffle_round<T>(seed: u64, stream: Stream, round: u32, items: &mut [T]) {
    for i in (1..items.len()).rev() {
        let words = Words::new(seed, stream, u64::from(round) << 32 | i as u64).block(0);
        // 64 random bits for a bound of 32 bits: the bias is negligible even for millions of items.
        let wide = u64::from(words[1]) << 32 | u64::from(words[0]);
        let j = ((u128::from(wide) * (i as u128 + 1)) >> 64) as usize;
        items.swap(i, j);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_have_the_right_moments() {
        let mut x = vec![0.0; 200_000];
        normals(&Words::new(1, Stream::InputEmbedding, 7), &mut x);
        let moment = |q: i32| x.iter().map(|x| x.powi(q)).sum::<f64>() / x.len() as f64;
        // Five standard errors: sqrt(1, 2, 15, 96 / n).
        let error = |variance: f64| 5.0 * (variance / x.len() as f64).sqrt();
        assert!(moment(1).abs() < error(1.0));
        assert!((moment(2) - 1.0).abs() < error(2.0));
        assert!(moment(3).abs() < error(15.0));
        assert!((moment(4) - 3.0).abs() < error(96.0));
    }

    #[test]
    fn prefix_does_not_depend_on_the_length() {
        let words = Words::new(3, Stream::Train, 11);
        let (mut short, mut long) = (vec![0; 13], vec![0; 1000]);
        words.fill(2, &mut short);
        words.fill(2, &mut long);
        assert_eq!(short, long[..13]);
        assert_eq!(long[..4], words.block(2));
    }

    #[test]
    fn shuffle_is_a_uniform_permutation() {
        let mut counts = [0u32; 6];
        for seed in 0..6000 {
            let mut items = [0, 1, 2];
            shuffle(seed, Stream::Permutation, &mut items);
            counts[match items {
                [0, 1, 2] => 0,
                [0, 2, 1] => 1,
                [1, 0, 2] => 2,
                [1, 2, 0] => 3,
                [2, 0, 1] => 4,
                _ => 5,
            }] += 1;
        }
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi2 < 25.7, "chi-square with 5 degrees of freedom: {chi2}"); // 1e-4
    }
}
