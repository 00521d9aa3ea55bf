//! The token-retrieval task (theory: setting): sequences of tokens and their labels.

mod distribution;
mod samples;

pub use distribution::Distribution;
pub use samples::{Block, Drawn, Samples, Stored};

use crate::config::{Config, Labels};
use crate::random::{Stream, shuffle};

/// A token, its label, and its weight in a mean over facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fact {
    /// The informative token.
    pub token: usize,
    /// Its label.
    pub label: u32,
    /// Its weight.
    pub weight: f64,
}

/// The facts and the token distributions of one seed.
#[derive(Clone, Debug)]
pub struct Task {
    length: usize,
    facts: Vec<u32>,
    informative: Distribution,
    noise: Distribution,
    /// Number of the first noise token: 0 when noise shares the facts' vocabulary.
    noise_start: u32,
    /// Tokens and labels of the training samples with their shares, if labels are not those of `facts`.
    seen: Option<Vec<Fact>>,
    /// Tokens and labels of the test samples; absent: they are drawn.
    test: Option<Vec<Fact>>,
}

impl Task {
    /// The task of a configuration.
    pub fn new(config: &Config) -> Task {
        let facts = match config.labels {
            Labels::Permutation => {
                let mut facts: Vec<u32> = (0..config.vocab as u32).collect();
                shuffle(config.seed, Stream::Permutation, &mut facts);
                facts
            }
            Labels::Mod(classes) => (0..config.vocab).map(|token| (token % classes) as u32).collect(),
        };
        let informative = Distribution::new(config.vocab, config.zipf);
        let (size, noise_start) =
            config.noise_vocab.map_or((config.vocab, 0), |size| (size, config.vocab as u32));
        let noise = Distribution::new(size, config.noise_zipf.or(config.zipf));
        Task { length: config.length, facts, informative, noise, noise_start, seen: None, test: None }
    }

    /// The same task with other facts: `facts[token]` is the token's label.
    pub fn with_facts(self, facts: Vec<u32>) -> Task {
        assert_eq!(facts.len(), self.facts.len());
        Task { facts, ..self }
    }

    /// The same task for given samples: tokens and labels of those of training, if a label is not that of the informative token, and of
    /// those of the test, if they are not drawn.
    pub fn with_samples(self, seen: Option<Vec<Fact>>, test: Option<Vec<Fact>>) -> Task {
        Task { seen, test, ..self }
    }

    /// Whether every sample has the label of its informative token, so that the facts describe the data.
    pub fn by_token(&self) -> bool {
        let holds = |fact: &Fact| self.facts.get(fact.token) == Some(&fact.label);
        self.seen.is_none() && self.test.iter().flatten().all(holds)
    }

    /// Tokens and labels of the training samples with their shares, given the frequency of each fact's token.
    pub fn seen(&self, frequency: &[f64]) -> Vec<Fact> {
        let fact = |(token, (&label, &weight))| Fact { token, label, weight };
        match &self.seen {
            Some(seen) => seen.clone(),
            None => {
                let facts = self.facts.iter().zip(frequency).enumerate().map(fact);
                facts.filter(|fact| fact.weight > 0.0).collect()
            }
        }
    }

    /// Tokens and labels of given test samples; absent: they are drawn.
    pub fn given_test(&self) -> Option<&[Fact]> {
        self.test.as_deref()
    }

    /// Sequence length.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The label of every token of the facts' vocabulary.
    pub fn facts(&self) -> &[u32] {
        &self.facts
    }

    /// Distribution of the informative token.
    pub fn informative(&self) -> &Distribution {
        &self.informative
    }

    /// Distribution of the other tokens, numbered from [`Task::noise_start`] on.
    pub fn noise(&self) -> &Distribution {
        &self.noise
    }

    /// The number of the first noise token.
    pub fn noise_start(&self) -> usize {
        self.noise_start as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn noise_tokens_have_their_own_exponent() {
        let task = |zipf, noise_zipf, noise_vocab| {
            Task::new(&Settings { zipf, noise_zipf, noise_vocab, ..Settings::default() }.check().unwrap())
        };
        let ratio = |distribution: &Distribution| distribution.probability(0) / distribution.probability(1);
        let other = task(Some(1.0), Some(2.0), None);
        assert!(
            (ratio(other.informative()) - 2.0).abs() < 1e-12 && (ratio(other.noise()) - 4.0).abs() < 1e-12
        );
        let same = task(Some(1.0), None, Some(30));
        assert!((ratio(same.noise()) - 2.0).abs() < 1e-12 && same.noise().size() == 30);
        assert!((ratio(task(Some(1.0), Some(0.0), None).noise()) - 1.0).abs() < 1e-12);
    }
}
