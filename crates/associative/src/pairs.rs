//! The facts of a memory: keys, values, the label of each key, and the frequency of each fact.

use super::MemoryConfig;
use superpose_core::backend::{Backend, Real, Result, View};
use superpose_core::embedding::table;
use superpose_core::random::{Stream, shuffle};
use superpose_core::task::Distribution;

/// Keys and values. Tables are row-major.
pub struct Pairs<T> {
    /// Entries of a vector.
    pub dim: usize,
    /// A row for each fact.
    pub keys: Vec<T>,
    /// A row for each label.
    pub values: Vec<T>,
    /// The label of each fact.
    pub labels: Vec<u32>,
    /// Labels of the list that must contain the right one; none: the right label must have the largest logit.
    pub list: Option<usize>,
    /// The frequency of facts in queries and mini-batches.
    pub asked: Distribution,
}

impl<T: Real> Pairs<T> {
    /// Draws the facts of a configuration's seed. Values are independent of keys, so fact `i` may have label `i`.
    pub fn draw(config: &MemoryConfig, backend: &Backend) -> Result<Pairs<T>> {
        let draw = |stream, rows| table(config.embedding, config.seed, stream, rows, config.dim, backend);
        Ok(Pairs {
            dim: config.dim,
            keys: match config.keys() {
                Some(rows) => {
                    let mut chosen: Vec<usize> = (0..rows.count).collect();
                    shuffle(config.seed, Stream::FileRows, &mut chosen);
                    let row = |row: &usize| &rows.data[row * config.dim..][..config.dim];
                    chosen[..config.facts].iter().flat_map(row).map(|&x| T::from_f64(f64::from(x))).collect()
                }
                None => draw(Stream::InputEmbedding, config.facts)?,
            },
            values: draw(Stream::OutputEmbedding, config.label_count())?,
            labels: (0..config.facts).map(|fact| (fact % config.label_count()) as u32).collect(),
            list: config.list(),
            asked: Distribution::new(config.facts, config.zipf),
        })
    }

    pub fn facts(&self) -> usize {
        self.labels.len()
    }

    pub fn keys(&self) -> View<'_, T> {
        View::new(&self.keys, self.facts(), self.dim)
    }

    pub fn values(&self) -> View<'_, T> {
        View::new(&self.values, self.values.len() / self.dim, self.dim)
    }

    /// Copies the keys and labels of some facts into buffers, and returns them.
    pub fn gather<'b>(
        &self,
        facts: &[u32],
        keys: &'b mut Vec<T>,
        labels: &'b mut Vec<u32>,
    ) -> (View<'b, T>, &'b [u32]) {
        keys.clear();
        keys.extend(facts.iter().flat_map(|&fact| &self.keys[fact as usize * self.dim..][..self.dim]));
        labels.clear();
        labels.extend(facts.iter().map(|&fact| self.labels[fact as usize]));
        (View::new(keys, facts.len(), self.dim), labels)
    }

    /// The value of each fact, a row for each fact.
    pub fn targets(&self) -> Vec<T> {
        let row = |&label: &u32| &self.values[label as usize * self.dim..][..self.dim];
        self.labels.iter().flat_map(row).copied().collect()
    }
}
