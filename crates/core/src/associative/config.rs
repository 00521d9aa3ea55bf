//! What makes a memory: settings as they were typed, and a configuration that cannot be wrong.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::config::{ConfigError, Embedding, Labels, Optimiser, whole};
use crate::words;

words! {
    /// How the weights of a memory are made.
    Rule {
        /// The sum of value times key over the facts.
        Hebbian = "hebbian",
        /// Least squares: the values from the keys, as closely as a matrix can.
        LeastSquares = "least-squares",
        /// Training by cross-entropy.
        Trained = "trained",
        /// A Hopfield network: Hebbian weights without a diagonal, patterns that recall themselves.
        Hopfield = "hopfield",
    }
}

/// Everything that decides what a memory recalls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MemorySettings {
    /// Number of facts (`p`); of patterns in a Hopfield network.
    pub facts: usize,
    /// Dimension of keys and values (`d`); neurons of a Hopfield network.
    pub dim: usize,
    /// How the weights are made.
    pub rule: Rule,
    /// Width of an MLP (`m`), trained; absent for a linear memory.
    pub width: Option<usize>,
    /// How keys and values are made.
    pub embedding: Embedding,
    /// Labels: each fact its own, or `fact mod M`.
    pub labels: Labels,
    /// Zipf exponent of how often facts are asked, and shown in mini-batches; absent: all alike.
    pub zipf: Option<f64>,
    /// How a trained memory takes its steps, without weight decay.
    pub optimiser: Optimiser,
    /// Its rate; absent: 1000, and 0.03 with a width.
    pub rate: Option<f64>,
    /// Its steps, at most; absent: 4,096, and 32,768 with a width.
    pub steps: Option<usize>,
    /// Facts drawn for a step; absent: all of them at every step.
    pub batch: Option<usize>,
    /// The share of right answers that is success. Full-batch training ends there.
    pub accuracy: f64,
    /// Memories with consecutive seeds.
    pub repeats: usize,
    /// Seed of the first.
    pub seed: u64,
}

impl Default for MemorySettings {
    fn default() -> Self {
        MemorySettings {
            facts: 100,
            dim: 64,
            rule: Rule::Hebbian,
            width: None,
            embedding: Embedding::Sphere,
            labels: Labels::Permutation,
            zipf: None,
            optimiser: Optimiser::AdamW,
            rate: None,
            steps: None,
            batch: None,
            accuracy: 1.0,
            repeats: 20,
            seed: 0,
        }
    }
}

/// Facts at most.
const MOST: usize = 1 << 20;
/// Numbers in a table of keys at most: 1 GB.
const LARGEST: usize = 1 << 28;
/// Neurons times patterns at most: whole numbers up to here are exact in 32-bit floats, and fields are such numbers.
const EXACT: usize = 1 << 24;

impl MemorySettings {
    /// Number of labels: rows of values.
    pub fn label_count(&self) -> usize {
        match self.labels {
            Labels::Permutation => self.facts,
            Labels::Mod(classes) => classes,
        }
    }

    /// Features of a key.
    pub fn inputs(&self) -> usize {
        self.width.unwrap_or(self.dim)
    }

    /// The training rate.
    pub fn training_rate(&self) -> f64 {
        self.rate.unwrap_or(if self.width.is_some() { 0.03 } else { 1000.0 })
    }

    /// The training steps.
    pub fn training_steps(&self) -> usize {
        self.steps.unwrap_or(if self.width.is_some() { 1 << 15 } else { 1 << 12 })
    }

    /// The most facts that a memory of this dimension and width may have.
    pub fn most_facts(&self) -> usize {
        let numbers = if self.rule == Rule::Hopfield { EXACT } else { LARGEST };
        (numbers / self.dim.max(self.inputs()).max(1)).min(MOST)
    }

    /// Checks every value, alone and beside the others.
    pub fn check(self) -> Result<MemoryConfig, ConfigError> {
        whole("facts", self.facts, 2, MOST)?;
        whole("dim", self.dim, 1, 1 << 14)?;
        whole("repeats", self.repeats, 1, 1_000_000)?;
        whole("width", self.inputs(), 1, 1 << 14)?;
        whole("steps", self.training_steps(), 1, 1 << 24)?;
        whole("batch", self.batch.unwrap_or(1), 1, 1 << 20)?;
        let real = |parameter, value: f64, allowed: bool, range: &str| match allowed {
            true => Ok(()),
            false => Err(ConfigError::value(parameter, value, format!("must be {range}"))),
        };
        let rate = self.training_rate();
        real("rate", rate, (1e-12..=1e6).contains(&rate), "from 1e-12 to 1e6")?;
        let zipf = self.zipf.unwrap_or(0.0);
        real("zipf", zipf, (0.0..=10.0).contains(&zipf), "from 0 to 10")?;
        let level = self.accuracy;
        real("accuracy", level, level > 0.0 && level <= 1.0, "above 0 and at most 1")?;
        if self.seed > u64::MAX - self.repeats as u64 {
            let allowed = format!("at most 2^64 - 1 - repeats, with repeats = {}", self.repeats);
            return Err(ConfigError::value("seed", self.seed, allowed));
        }
        if self.facts > self.most_facts() {
            let allowed = format!("at these sizes a memory may have at most {} facts", self.most_facts());
            return Err(ConfigError::value("facts", self.facts, allowed));
        }
        if !(2..=self.facts).contains(&self.label_count()) {
            let allowed = format!("mod:M needs M from 2 to facts = {}", self.facts);
            return Err(ConfigError::value("labels", self.labels, allowed));
        }
        if !matches!(self.embedding, Embedding::Gaussian | Embedding::Sphere | Embedding::Rademacher) {
            let allowed = "must be gaussian, sphere or rademacher: a memory's vectors overlap";
            return Err(ConfigError::value("embedding", self.embedding, allowed));
        }
        if self.rule == Rule::Hopfield {
            let unknown = "a Hopfield network's patterns have no labels and no frequencies";
            if self.labels != Labels::Permutation {
                return Err(ConfigError::value("labels", self.labels, unknown));
            }
            if let Some(zipf) = self.zipf {
                return Err(ConfigError::value("zipf", zipf, unknown));
            }
        }
        let given = [
            ("width", self.width.map(|width| width as f64)),
            ("batch", self.batch.map(|batch| batch as f64)),
            ("rate", self.rate),
            ("steps", self.steps.map(|steps| steps as f64)),
        ];
        for (parameter, value) in given {
            if let Some(value) = value.filter(|_| self.rule != Rule::Trained) {
                let allowed = format!("only with rule = trained, not {}", self.rule);
                return Err(ConfigError::value(parameter, value, allowed));
            }
        }
        Ok(MemoryConfig(self))
    }
}

/// Checked settings. Read like [`MemorySettings`]; only [`MemorySettings::check`] makes one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct MemoryConfig(MemorySettings);

impl MemoryConfig {
    /// One repeat: the same with the repeat's seed and no further repeats.
    pub fn repeat(&self, repeat: usize) -> MemoryConfig {
        MemoryConfig(MemorySettings { seed: self.seed + repeat as u64, repeats: 1, ..self.0.clone() })
    }
}

impl Deref for MemoryConfig {
    type Target = MemorySettings;
    fn deref(&self) -> &MemorySettings {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(settings: MemorySettings) -> String {
        settings.check().unwrap_err().to_string()
    }

    #[test]
    fn errors_name_the_parameter() {
        let default = MemorySettings::default;
        assert!(default().check().is_ok());
        assert!(refusal(MemorySettings { facts: 1, ..default() }).starts_with("facts = 1: "));
        assert!(refusal(MemorySettings { accuracy: f64::NAN, ..default() }).starts_with("accuracy = NaN"));
        assert!(refusal(MemorySettings { width: Some(9), ..default() }).contains("only with rule = trained"));
        assert!(refusal(MemorySettings { labels: Labels::Mod(101), ..default() }).starts_with("labels"));
        let trained = || MemorySettings { rule: Rule::Trained, ..default() };
        assert!(refusal(MemorySettings { rate: Some(f64::INFINITY), ..trained() }).starts_with("rate"));
        assert!(refusal(MemorySettings { facts: 1 << 20, dim: 1 << 14, ..trained() }).contains("at most"));
        let hopfield = || MemorySettings { rule: Rule::Hopfield, ..default() };
        assert!(refusal(MemorySettings { zipf: Some(1.0), ..hopfield() }).starts_with("zipf"));
        assert!(refusal(MemorySettings { facts: 5000, dim: 5000, ..hopfield() }).contains("at most 3355"));
    }
}
