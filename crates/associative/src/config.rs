//! The configuration of a memory: plain settings, and settings that were checked.

use std::ops::Deref;
use std::sync::Arc;

use serde::Serialize;

use superpose_core::config::{
    ConfigError, Embedding, Labels, MAX_REPEATS, Optimiser, above, between, check_ranges, check_seed, counts,
    within,
};
use superpose_core::{settings, words};

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

impl Rule {
    /// Whether a device computes memories of this rule, if there is one.
    pub fn runs_on_device(self) -> bool {
        self == Rule::Trained
    }
}

words! {
    /// How long a linear memory is trained by default.
    Convention {
        /// Rate 1: neither a smaller rate nor more steps store more facts.
        Converged = "converged",
        /// Rate 1000, as in the literature: training stops early, with fewer facts stored.
        Literature = "literature",
    }
}

settings! {
    /// Everything that decides what a memory recalls.
    pub struct MemorySettings in "" {
        /// Number of facts, or of patterns of a Hopfield network.
        facts: usize as "P" = 100, counts(2, MAX_FACTS);
        /// Dimension d of keys and values, or number of neurons of a Hopfield network.
        dim: usize as "D" = 64, counts(1, 1 << 14);
        /// Learning rule of the weights.
        rule: Rule = Rule::Hebbian;
        /// Width m of an MLP, with rule trained; absent: a linear memory.
        width: Option<usize> as "M" = None, counts(1, 1 << 14);
        /// Distribution of keys and values.
        embedding: Embedding where overlap = Embedding::Sphere;
        /// Safetensors file with keys, rows of a matrix; absent: keys are drawn like values.
        embedding_file: Option<String> as "FILE" = None;
        /// Name of the matrix of keys, a row each.
        embedding_tensor: Option<String> as "NAME" = None;
        /// BLAKE3 digest of that matrix, which must have it; absent: any.
        input_digest: Option<String> as "DIGEST" = None;
        /// Labels: permutation, a label for each fact, or mod:M for M classes.
        labels: Labels = Labels::Permutation;
        /// Exponent of the Zipf distribution of facts in the test and in mini-batches; absent: uniform.
        zipf: Option<f64> = None, within(0.0, 10.0);
        /// Optimiser, with rule trained, without weight decay.
        optimiser: Optimiser = Optimiser::AdamW;
        /// Learning rate, with rule trained; absent: that of the convention, or 0.03 with a width.
        rate: Option<f64> = None, within(1e-12, 1e6);
        /// Maximum number of training steps, with rule trained; absent: 4,096, or 32,768 with a width.
        steps: Option<usize> = None, counts(1, 1 << 24);
        /// Batch size; absent: all facts.
        batch: Option<usize> = None, counts(1, 1 << 20);
        /// Default rate of a trained linear memory: 1 (converged), or 1000 (literature).
        convention: Convention = Convention::Converged;
        /// Share of right answers that counts as success and ends full-batch training.
        accuracy: f64 = 1.0, above(0.0, 1.0);
        /// Share of the labels, those with the largest logits, among which the right one must be; a trained memory then learns to exceed their mean; absent: the right label must have the largest logit.
        top: Option<f64> as "SHARE" = None, between(0.0, 1.0);
        /// Number of memories, with consecutive seeds.
        repeats: usize = 20, counts(1, MAX_REPEATS);
        /// Seed of the first memory.
        seed: u64 as "SEED" = 0;
    }
}

/// The embeddings of a memory: independent rows, which overlap.
fn overlap(embedding: Embedding) -> bool {
    matches!(embedding, Embedding::Gaussian | Embedding::Sphere | Embedding::Rademacher)
}

const MAX_FACTS: usize = 1 << 20;
/// The largest number of entries in a table of keys: 1 GB.
const MAX_ENTRIES: usize = 1 << 28;
/// The largest product of neurons and patterns: whole numbers up to here are exact in 32-bit floats, and fields are such numbers.
const MAX_EXACT: usize = 1 << 24;

impl MemorySettings {
    /// Number of labels: rows of values.
    pub fn label_count(&self) -> usize {
        self.labels.count(self.facts)
    }

    /// Labels of the list that must contain the right one, if there is a list: at least one, and not all.
    pub fn list(&self) -> Option<usize> {
        let labels = self.label_count();
        self.top.map(|top| ((top * labels as f64 + 1e-9) as usize).clamp(1, labels - 1))
    }

    /// Features of a key.
    pub fn inputs(&self) -> usize {
        self.width.unwrap_or(self.dim)
    }

    /// The training rate.
    pub fn training_rate(&self) -> f64 {
        self.rate.unwrap_or(match (self.width, self.convention) {
            (Some(_), _) => 0.03,
            (None, Convention::Converged) => 1.0,
            (None, Convention::Literature) => 1000.0,
        })
    }

    /// The training steps.
    pub fn training_steps(&self) -> usize {
        self.steps.unwrap_or(if self.width.is_some() { 1 << 15 } else { 1 << 12 })
    }

    /// Trained numbers: the matrix, and with a width also the first layer and its bias.
    pub fn parameters(&self) -> usize {
        self.dim * self.inputs() + self.width.map_or(0, |width| width * (self.dim + 1))
    }

    /// The most facts that a memory of this dimension and width may have.
    pub fn max_facts(&self) -> usize {
        let numbers = if self.rule == Rule::Hopfield { MAX_EXACT } else { MAX_ENTRIES };
        (numbers / self.dim.max(self.inputs()).max(1)).min(MAX_FACTS)
    }

    /// Checks every value, alone and beside the others.
    ///
    /// # Errors
    /// A value is not allowed; the error names the parameter.
    pub fn check(self) -> Result<MemoryConfig, ConfigError> {
        check_ranges(&self, MemorySettings::settings())?;
        check_seed(self.seed, self.repeats)?;
        if self.facts > self.max_facts() {
            let allowed = format!("at these sizes a memory may have at most {} facts", self.max_facts());
            return Err(ConfigError::value("facts", self.facts, allowed));
        }
        if !(2..=self.facts).contains(&self.label_count()) {
            let allowed = format!("mod:M needs M from 2 to facts = {}", self.facts);
            return Err(ConfigError::value("labels", self.labels, allowed));
        }
        if self.rule == Rule::Hopfield {
            let unknown = "a Hopfield network's patterns have no labels and no frequencies";
            if self.labels != Labels::Permutation {
                return Err(ConfigError::value("labels", self.labels, unknown));
            }
            for (parameter, value) in [("zipf", self.zipf), ("top", self.top)] {
                if let Some(value) = value {
                    return Err(ConfigError::value(parameter, value, unknown));
                }
            }
        }
        let files = [("embedding_file", &self.embedding_file), ("embedding_tensor", &self.embedding_tensor)];
        for ((parameter, given), (other, missing)) in [(files[0], files[1]), (files[1], files[0])] {
            if let (Some(value), None) = (given, missing) {
                return Err(ConfigError::value(parameter, value, format!("{other} is missing; give both")));
            }
            if let Some(value) = given.as_ref().filter(|_| self.rule == Rule::Hopfield) {
                let allowed = "the patterns of a Hopfield network are +1 and -1, not rows of a matrix";
                return Err(ConfigError::value(parameter, value, allowed));
            }
        }
        if let (Some(digest), None) = (&self.input_digest, &self.embedding_file) {
            return Err(ConfigError::value("input_digest", digest, "belongs to embedding_file; give it"));
        }
        let given = [
            ("width", self.width.map(|width| width as f64)),
            ("batch", self.batch.map(|batch| batch as f64)),
            ("rate", self.rate),
            ("steps", self.steps.map(|steps| steps as f64)),
        ];
        let plain = self.rule == Rule::Trained && self.width.is_none() && self.rate.is_none();
        if self.convention == Convention::Literature && !plain {
            let allowed = "only with rule = trained, without width and rate";
            return Err(ConfigError::value("convention", self.convention, allowed));
        }
        for (parameter, value) in given {
            if let Some(value) = value.filter(|_| self.rule != Rule::Trained) {
                let allowed = format!("only with rule = trained, not {}", self.rule);
                return Err(ConfigError::value(parameter, value, allowed));
            }
        }
        Ok(MemoryConfig { settings: self, keys: None })
    }
}

/// Checked settings. Read like [`MemorySettings`]; only [`MemorySettings::check`] makes one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct MemoryConfig {
    settings: MemorySettings,
    #[serde(skip)]
    keys: Option<Arc<KeyRows>>,
}

/// A matrix of which each memory draws as many rows as it has facts, as their keys.
#[derive(Debug, PartialEq)]
pub struct KeyRows {
    /// Number of rows.
    pub count: usize,
    /// Row by row.
    pub data: Vec<f32>,
}

impl MemoryConfig {
    /// One repeat: the same with the repeat's seed and no further repeats.
    pub fn repeat(&self, repeat: usize) -> MemoryConfig {
        let settings =
            MemorySettings { seed: self.seed + repeat as u64, repeats: 1, ..self.settings.clone() };
        MemoryConfig { settings, keys: self.keys.clone() }
    }

    /// The same with keys from a matrix, as `embedding_file` says.
    ///
    /// # Errors
    /// Fails if the matrix has too few rows or another number of columns, or is missing although `embedding_file` names one.
    pub fn with_keys(self, keys: Option<Arc<KeyRows>>) -> Result<MemoryConfig, ConfigError> {
        if let (Some(file), None) = (&self.embedding_file, &keys) {
            return Err(ConfigError::value("embedding_file", file, "its rows were not read"));
        }
        if let Some(keys) = &keys {
            if self.facts > keys.count {
                let allowed = format!("the matrix of keys has {} rows", keys.count);
                return Err(ConfigError::value("facts", self.facts, allowed));
            }
            if keys.data.len() != keys.count * self.dim {
                let allowed =
                    format!("the matrix of keys has {} columns", keys.data.len() / keys.count.max(1));
                return Err(ConfigError::value("dim", self.dim, allowed));
            }
        }
        Ok(MemoryConfig { keys, ..self })
    }

    /// The matrix of keys; absent: keys are drawn.
    pub fn keys(&self) -> Option<&Arc<KeyRows>> {
        assert_eq!(self.keys.is_some(), self.embedding_file.is_some(), "keys are read where a file is given");
        self.keys.as_ref()
    }
}

impl Deref for MemoryConfig {
    type Target = MemorySettings;
    fn deref(&self) -> &MemorySettings {
        &self.settings
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
        let file = MemorySettings { embedding: Embedding::File, ..default() };
        assert!(refusal(file).ends_with("must be one of gaussian, sphere, rademacher"));
        assert!(refusal(MemorySettings { width: Some(9), ..default() }).contains("only with rule = trained"));
        assert!(refusal(MemorySettings { labels: Labels::Mod(101), ..default() }).starts_with("labels"));
        let trained = || MemorySettings { rule: Rule::Trained, ..default() };
        assert!(refusal(MemorySettings { rate: Some(f64::INFINITY), ..trained() }).starts_with("rate"));
        assert!(refusal(MemorySettings { facts: 1 << 20, dim: 1 << 14, ..trained() }).contains("at most"));
        let hopfield = || MemorySettings { rule: Rule::Hopfield, ..default() };
        assert!(refusal(MemorySettings { zipf: Some(1.0), ..hopfield() }).starts_with("zipf"));
        assert!(refusal(MemorySettings { top: Some(0.5), ..hopfield() }).starts_with("top = 0.5: "));
        assert!(refusal(MemorySettings { top: Some(1.0), ..default() }).starts_with("top = 1: "));
        assert!(refusal(MemorySettings { facts: 5000, dim: 5000, ..hopfield() }).contains("at most 3355"));
    }
}
