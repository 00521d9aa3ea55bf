//! Datasets: samples that are drawn on demand, or stored in memory.

use crate::backend::{Backend, Result};
use crate::random::{Stream, Words, below};

use super::{Distribution, Task};

/// A block of samples.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Tokens, a row of [`Samples::length`] per sample.
    pub tokens: Vec<u32>,
    /// The informative position of each sample.
    pub position: Vec<u32>,
    /// The label of each sample.
    pub labels: Vec<u32>,
    words: Vec<u32>,
}

impl Block {
    /// Number of samples held.
    pub fn len(&self) -> usize {
        self.position.len()
    }

    /// Whether the block holds no sample.
    pub fn is_empty(&self) -> bool {
        self.position.is_empty()
    }

    fn resize(&mut self, samples: usize, length: usize) {
        self.tokens.resize(samples * length, 0);
        self.position.resize(samples, 0);
        self.labels.resize(samples, 0);
    }

    /// The informative token of sample `b`.
    pub fn informative(&self, b: usize) -> usize {
        let length = self.tokens.len() / self.position.len();
        self.tokens[b * length + self.position[b] as usize] as usize
    }
}

/// A dataset, read in blocks of any samples in any order.
pub trait Samples: Sync {
    /// Number of samples.
    fn count(&self) -> usize;

    /// Tokens in a sample.
    fn length(&self) -> usize;

    /// Fills the block with the given samples, in that order.
    fn fill(&self, ids: &[u32], block: &mut Block);

    /// The informative token and the label of one sample.
    fn fact(&self, id: u32) -> (u32, u32);
}

impl<S: Samples> Samples for &S {
    fn count(&self) -> usize {
        (**self).count()
    }

    fn length(&self) -> usize {
        (**self).length()
    }

    fn fill(&self, ids: &[u32], block: &mut Block) {
        (**self).fill(ids, block);
    }

    fn fact(&self, id: u32) -> (u32, u32) {
        (**self).fact(id)
    }
}

/// Samples that are drawn on demand. Sample n is a function of (seed, stream, n) alone and takes no memory.
///
/// Words 0 to 3 of a sample give its position and informative token, those from 4 on the noise tokens by
/// position; the one drawn for the informative position is not used.
#[derive(Clone, Copy, Debug)]
pub struct Drawn<'a> {
    task: &'a Task,
    seed: u64,
    stream: Stream,
    count: usize,
}

impl<'a> Drawn<'a> {
    /// `count` samples of the task.
    pub fn new(task: &'a Task, seed: u64, stream: Stream, count: usize) -> Self {
        Drawn { task, seed, stream, count }
    }

    fn head(&self, words: &Words) -> (u32, u32) {
        let head = words.block(0);
        (below(head[0], self.task.length as u32), self.task.informative.draw(&head[1..]))
    }
}

impl Samples for Drawn<'_> {
    fn count(&self) -> usize {
        self.count
    }

    fn length(&self) -> usize {
        self.task.length
    }

    fn fill(&self, ids: &[u32], block: &mut Block) {
        let length = self.task.length;
        block.resize(ids.len(), length);
        let (noise, start) = (&self.task.noise, self.task.noise_start);
        for (b, &id) in ids.iter().enumerate() {
            let words = Words::new(self.seed, self.stream, u64::from(id));
            let (position, token) = self.head(&words);
            let row = &mut block.tokens[b * length..][..length];
            match noise {
                Distribution::Uniform(size) => {
                    words.fill(1, row);
                    row.iter_mut().for_each(|word| *word = start + below(*word, *size));
                }
                Distribution::Weighted { .. } => {
                    block.words.resize(length * noise.words(), 0);
                    words.fill(1, &mut block.words);
                    for (token, words) in row.iter_mut().zip(block.words.chunks_exact(noise.words())) {
                        *token = start + noise.draw(words);
                    }
                }
            }
            row[position as usize] = token;
            block.position[b] = position;
            block.labels[b] = self.task.facts[token as usize];
        }
    }

    fn fact(&self, id: u32) -> (u32, u32) {
        let (_, token) = self.head(&Words::new(self.seed, self.stream, u64::from(id)));
        (token, self.task.facts[token as usize])
    }
}

/// Samples in memory, such as an imported dataset.
#[derive(Clone, Debug)]
pub struct Stored {
    length: usize,
    tokens: Vec<u32>,
    position: Vec<u32>,
    labels: Vec<u32>,
}

impl Stored {
    /// The samples with the given rows of `length` tokens, informative positions and labels.
    ///
    /// # Panics
    ///
    /// When the sizes disagree or a position is outside its row.
    pub fn new(length: usize, tokens: Vec<u32>, position: Vec<u32>, labels: Vec<u32>) -> Stored {
        assert!(tokens.len() == length * position.len() && labels.len() == position.len());
        assert!(position.iter().all(|&p| (p as usize) < length));
        Stored { length, tokens, position, labels }
    }

    /// A copy of all `samples`, read block by block.
    pub fn copy(samples: &dyn Samples, backend: &Backend) -> Result<Stored> {
        const BLOCK: usize = 1 << 14;
        let (count, length) = (samples.count(), samples.length());
        let mut tokens = Vec::with_capacity(count * length);
        let (mut position, mut labels) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut block = Block::default();
        for first in (0..count).step_by(BLOCK) {
            backend.check_cancelled()?;
            let ids: Vec<u32> = (first as u32..(first + BLOCK).min(count) as u32).collect();
            samples.fill(&ids, &mut block);
            tokens.extend_from_slice(&block.tokens);
            position.extend_from_slice(&block.position);
            labels.extend_from_slice(&block.labels);
        }
        Ok(Stored::new(length, tokens, position, labels))
    }

    /// All tokens, row by row.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// All informative positions.
    pub fn position(&self) -> &[u32] {
        &self.position
    }

    /// All labels.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }
}

impl Samples for Stored {
    fn count(&self) -> usize {
        self.position.len()
    }

    fn length(&self) -> usize {
        self.length
    }

    fn fill(&self, ids: &[u32], block: &mut Block) {
        block.resize(ids.len(), self.length);
        for (b, &id) in ids.iter().enumerate() {
            let id = id as usize;
            block.tokens[b * self.length..][..self.length]
                .copy_from_slice(&self.tokens[id * self.length..][..self.length]);
            block.position[b] = self.position[id];
            block.labels[b] = self.labels[id];
        }
    }

    fn fact(&self, id: u32) -> (u32, u32) {
        let id = id as usize;
        (self.tokens[id * self.length + self.position[id] as usize], self.labels[id])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn sample_does_not_depend_on_the_block() {
        for (zipf, noise_vocab) in [(None, None), (Some(1.1), None), (None, Some(9)), (Some(0.7), Some(9))] {
            let settings = Settings { vocab: 20, length: 37, zipf, noise_vocab, ..Settings::default() };
            let task = Task::new(&settings.check().unwrap());
            let drawn = Drawn::new(&task, 4, Stream::Train, 50);
            let stored = Stored::copy(&drawn, &Backend::single()).unwrap();
            let (mut a, mut b) = (Block::default(), Block::default());
            for ids in [vec![3], vec![49, 0, 7], (10..40).collect()] {
                drawn.fill(&ids, &mut a);
                stored.fill(&ids, &mut b);
                assert_eq!((&a.tokens, &a.position, &a.labels), (&b.tokens, &b.position, &b.labels));
                for (i, &id) in ids.iter().enumerate() {
                    assert_eq!(drawn.fact(id), (a.informative(i) as u32, a.labels[i]));
                    assert_eq!(task.facts()[a.informative(i)], a.labels[i]);
                    let noise = |&(place, _): &(usize, &u32)| place != a.position[i] as usize;
                    let row = &a.tokens[i * 37..][..37];
                    let start = task.noise_start() as u32;
                    assert!(row.iter().enumerate().filter(noise).all(|(_, &token)| token >= start));
                }
            }
        }
    }

    #[test]
    fn tokens_and_positions_are_uniform() {
        let settings = Settings { vocab: 10, length: 5, ..Settings::default() };
        let task = Task::new(&settings.check().unwrap());
        let drawn = Drawn::new(&task, 0, Stream::Train, 20_000);
        let stored = Stored::copy(&drawn, &Backend::single()).unwrap();
        let chi2 = |values: &[u32], bins: usize| {
            let mut counts = vec![0.0; bins];
            values.iter().for_each(|&v| counts[v as usize] += 1.0);
            let mean = values.len() as f64 / bins as f64;
            counts.iter().map(|c| (c - mean) * (c - mean) / mean).sum::<f64>()
        };
        assert!(chi2(stored.tokens(), 10) < 33.7); // 9 degrees of freedom, 1e-4
        assert!(chi2(stored.position(), 5) < 23.5); // 4 degrees of freedom, 1e-4
    }
}
