//! Sequences that take the place of drawn ones, in training or in the test.

use superpose_core::backend::Backend;
use superpose_core::config::Config;
use superpose_core::random::Stream;
use superpose_core::task::{Drawn, Fact, Samples, Stored, Task};
use superpose_tensors::{Tensor, TensorError};

use super::RunError;
use super::import::{Shared, below};

/// The use of sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// The model is trained on them.
    Train,
    /// The model is tested on them.
    Test,
}

/// The tensors of some sequences: tokens and positions, or none. Labels may be missing.
#[derive(Clone, Debug, Default)]
pub struct Sequences {
    /// `[n, L]`
    tokens: Option<Tensor<u32>>,
    /// `[n]`
    position: Option<Tensor<u32>>,
    /// `[n]`
    labels: Option<Tensor<u32>>,
}

impl Sequences {
    /// Gets the tensors by their names: tokens, positions, labels.
    ///
    /// # Errors
    /// Fails if the source fails, or some come without tokens and positions.
    pub fn gather<E: From<TensorError>>(
        [tokens, position, labels]: [&'static str; 3],
        whole: impl Fn(&'static str) -> Result<Option<Tensor<u32>>, E>,
    ) -> Result<Sequences, E> {
        let found = Sequences { tokens: whole(tokens)?, position: whole(position)?, labels: whole(labels)? };
        if found.is_empty() || (found.tokens.is_some() && found.position.is_some()) {
            return Ok(found);
        }
        let missing = if found.tokens.is_none() { tokens } else { position };
        let present: Vec<&str> = found.tensors().map(|tensor| &tensor.name[..]).collect();
        let present = present.join(", ");
        let name = format!("{missing} (needed with {present}: a label belongs to the token at a position)");
        Err(TensorError::Missing { name, present }.into())
    }

    /// Returns the tensors that are there.
    pub fn tensors(&self) -> impl Iterator<Item = &Tensor<u32>> {
        [&self.tokens, &self.position, &self.labels].into_iter().flatten()
    }

    /// Whether labels are given.
    pub fn has_labels(&self) -> bool {
        self.labels.is_some()
    }

    /// Whether none is there.
    pub fn is_empty(&self) -> bool {
        self.tensors().next().is_none()
    }

    /// Returns the number of sequences, which the tensors must share, and adds their length to `length`.
    ///
    /// # Errors
    /// Fails if a shape is wrong or two disagree.
    pub fn count(&self, parameter: &'static str, length: &mut Shared) -> Result<Option<usize>, TensorError> {
        let mut samples = Shared { parameter, first: None };
        if let Some(tokens) = &self.tokens {
            let [count, columns] = tokens.shape[..] else {
                return Err(tokens.shaped("must be a matrix, a row per sample"));
            };
            if count == 0 || columns == 0 {
                return Err(tokens.shaped("must have at least one sample and one position"));
            }
            length.agree(tokens, columns)?;
            samples.agree(tokens, count)?;
        }
        for tensor in [&self.position, &self.labels].into_iter().flatten() {
            let [count] = tensor.shape[..] else {
                return Err(tensor.shaped("must be a vector, an entry per sample"));
            };
            if count == 0 {
                return Err(tensor.shaped("must have at least one entry"));
            }
            samples.agree(tensor, count)?;
        }
        Ok(samples.first.map(|(_, size)| size))
    }

    /// Returns the sequences with labels, those of the task if none are given. Without tensors the task draws them.
    ///
    /// # Errors
    /// Fails if an entry is out of range.
    pub fn complete(
        &self,
        config: &Config,
        task: &Task,
        split: Split,
        backend: &Backend,
    ) -> Result<Stored, RunError> {
        let (prefix, stream, count) = match split {
            Split::Train => ("", Stream::Train, config.samples),
            Split::Test => ("test_", Stream::Test, config.test_samples),
        };
        let (Some(tokens), Some(position)) = (&self.tokens, &self.position) else {
            return Ok(Stored::copy(&Drawn::new(task, config.seed, stream, count), backend)?);
        };
        let (tokens, position) = (tokens.data.clone(), position.data.clone());
        let within =
            |name: &str, values: &[u32], bound, what| below(&format!("{prefix}{name}"), values, bound, what);
        within("tokens", &tokens, config.token_count(), "vocab + noise_vocab")?;
        within("position", &position, config.length, "length")?;
        let labels = match &self.labels {
            Some(labels) => labels.data.clone(),
            None => {
                let informative = |n: usize| tokens[n * config.length + position[n] as usize];
                let points: Vec<u32> = (0..position.len()).map(informative).collect();
                within("tokens (at the informative position)", &points, config.vocab, "vocab")?;
                points.iter().map(|&token| task.facts()[token as usize]).collect()
            }
        };
        within("labels", &labels, config.label_count(), "the number of labels")?;
        Ok(Stored::new(config.length, tokens, position, labels))
    }
}

/// The token and the label of every sequence.
pub fn facts_of(stored: &Stored) -> Vec<Fact> {
    let fact = |(token, label)| Fact { token: token as usize, label, weight: 1.0 };
    (0..stored.count() as u32).map(|id| fact(stored.fact(id))).collect()
}

/// Returns each pair of token and label once, in order, with its share of the facts.
pub fn shares(facts: &[Fact]) -> Vec<Fact> {
    let mut pairs: Vec<(usize, u32)> = facts.iter().map(|fact| (fact.token, fact.label)).collect();
    pairs.sort_unstable();
    let share = |run: &[(usize, u32)]| Fact {
        token: run[0].0,
        label: run[0].1,
        weight: run.len() as f64 / facts.len() as f64,
    };
    pairs.chunk_by(|a, b| a == b).map(share).collect()
}

/// Returns the label of each token: the most frequent one, the smallest of equally frequent ones; for a token that never occurs, an
/// unused label or, if there is none, that of the task.
pub fn facts(config: &Config, task: &Task, shares: &[Fact]) -> Vec<u32> {
    let mut best: Vec<Option<(f64, u32)>> = vec![None; config.vocab];
    for fact in shares.iter().filter(|fact| fact.token < config.vocab) {
        let best = &mut best[fact.token];
        if best.is_none_or(|(weight, _)| fact.weight > weight) {
            *best = Some((fact.weight, fact.label));
        }
    }
    let mut used = vec![false; config.label_count()];
    best.iter().flatten().for_each(|&(_, label)| used[label as usize] = true);
    let mut free = (0..config.label_count() as u32).filter(|&label| !used[label as usize]);
    let mut label = |best: &Option<(f64, u32)>, own| best.map_or_else(|| free.next().unwrap_or(own), |b| b.1);
    best.iter().zip(task.facts()).map(|(best, &own)| label(best, own)).collect()
}
