//! What makes a run: plain [`Settings`] as they were typed, and a [`Config`] that has been checked and
//! cannot be wrong.

mod activation;
mod choices;
mod optimiser;
mod training;

use std::fmt::Display;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

pub use activation::Activation;
pub use choices::{Embedding, Labels, Positions, Precision, Regime, Trigger};
pub use optimiser::{Optimiser, Schedule};
use training::{is_default, is_false};

/// Everything that decides the outcome of a run. Names are those of the command line; the symbols of the
/// theory stand in brackets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Number of facts, one per token (`V`).
    pub vocab: usize,
    /// Embedding dimension (`d`).
    pub dim: usize,
    /// Sequence length (`L`).
    pub length: usize,
    /// Training samples (`N`).
    pub samples: usize,
    /// Width of the MLP (`m`); absent for the attention-only model.
    pub width: Option<usize>,
    /// Activation of the MLP (`phi`).
    pub activation: Activation,
    /// How embeddings are made.
    pub embedding: Embedding,
    /// File that holds the embedding rows, with [`Embedding::File`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedding_file: Option<String>,
    /// Name of the tensor in that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedding_tensor: Option<String>,
    /// Output embeddings: `tied` to the input, or another tensor of the file; absent: of the input's kind, and
    /// Gaussian beside a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_embedding: Option<String>,
    /// File whose tensors take the place of generated ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import: Option<String>,
    /// Where the trigger is added.
    pub trigger: Trigger,
    /// How labels follow from tokens.
    pub labels: Labels,
    /// Zipf exponent of the token distribution; absent for uniform tokens.
    pub zipf: Option<f64>,
    /// Size of a separate vocabulary for the noise tokens; absent when they share the facts' vocabulary.
    pub noise_vocab: Option<usize>,
    /// Exact steps or their infinitesimal limit.
    pub regime: Regime,
    /// Rate of step 1.
    pub eta: f64,
    /// Rate of step 2; absent: set by the lead.
    pub gamma: Option<f64>,
    /// Rate of step 3; absent: the rate of step 2.
    pub eta2: Option<f64>,
    /// The trigger's lead over an average token, in units of ln(L + 1), when `gamma` is absent.
    pub lead: f64,
    /// Floating-point type.
    pub precision: Precision,
    /// Fresh sequences to test on.
    pub test_samples: usize,
    /// Runs with consecutive seeds.
    pub repeats: usize,
    /// Seed of the first repeat; repeat r has seed + r.
    pub seed: u64,

    /// Dimensions that the rows span, with [`Embedding::LowRank`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
    /// Number of centres, with [`Embedding::Clustered`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<usize>,
    /// Share of a row's length that is its own and not its centre's, with [`Embedding::Clustered`]; absent: one half.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,

    /// Training steps; 0: the three steps of the early phase. What follows matters only when there are some.
    #[serde(skip_serializing_if = "is_default")]
    pub steps: usize,
    /// How a gradient becomes a step.
    #[serde(skip_serializing_if = "is_default")]
    pub optimiser: Optimiser,
    /// Rate of a step, at the start of the schedule.
    #[serde(skip_serializing_if = "training::is_usual_rate")]
    pub rate: f64,
    /// The rate over the steps.
    #[serde(skip_serializing_if = "is_default")]
    pub schedule: Schedule,
    /// Samples in a step; absent: all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// Momentum of SGD and Muon; absent: the optimiser's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub momentum: Option<f64>,
    /// Weight decay.
    #[serde(skip_serializing_if = "is_default")]
    pub weight_decay: f64,
    /// Steps between two records of the trajectory; absent: a fiftieth of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<usize>,
    /// Stop after so many records without a smaller loss on the test samples; absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_stopping: Option<usize>,
    /// Start where the early phase ends, and not at zero.
    #[serde(skip_serializing_if = "is_false")]
    pub warm_start: bool,
    /// Attention heads, each with a `W` and an `M` of its own; their outputs are added.
    #[serde(skip_serializing_if = "training::is_one")]
    pub heads: usize,
    /// How positions are told apart.
    #[serde(skip_serializing_if = "is_default")]
    pub positions: Positions,
    /// Train `W` as the product of a key and a query matrix, `W = K^T Q`.
    #[serde(skip_serializing_if = "is_false")]
    pub factored: bool,
    /// Train `z_in`, `z_out`, `z_trig` and `z_eos`, too.
    #[serde(skip_serializing_if = "is_false")]
    pub train_embeddings: bool,
    /// Train the first layer of the MLP, too.
    #[serde(skip_serializing_if = "is_false")]
    pub train_first_layer: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            vocab: 512,
            dim: 128,
            length: 16,
            samples: 8192,
            width: None,
            activation: Activation::Relu,
            embedding: Embedding::Gaussian,
            embedding_file: None,
            embedding_tensor: None,
            output_embedding: None,
            import: None,
            trigger: Trigger::Values,
            labels: Labels::Permutation,
            zipf: None,
            noise_vocab: None,
            regime: Regime::Infinitesimal,
            eta: 1.0,
            gamma: None,
            eta2: None,
            lead: 4.0,
            precision: Precision::F32,
            test_samples: 4096,
            repeats: 1,
            seed: 0,
            rank: None,
            clusters: None,
            spread: None,
            steps: 0,
            optimiser: Optimiser::default(),
            rate: training::USUAL_RATE,
            schedule: Schedule::default(),
            batch: None,
            momentum: None,
            weight_decay: 0.0,
            every: None,
            early_stopping: None,
            warm_start: false,
            heads: 1,
            positions: Positions::default(),
            factored: false,
            train_embeddings: false,
            train_first_layer: false,
        }
    }
}

impl Settings {
    /// Number of labels: rows of `z_out`, classes of the softmax.
    pub fn label_count(&self) -> usize {
        match self.labels {
            Labels::Permutation => self.vocab,
            Labels::Mod(classes) => classes,
        }
    }

    /// Rows of the input embedding: the facts' tokens, then the noise tokens.
    pub fn token_count(&self) -> usize {
        self.vocab + self.noise_vocab.unwrap_or(0)
    }

    /// Inputs of the value matrix `M`: the width of the MLP, or the dimension (`p`).
    pub fn inputs(&self) -> usize {
        self.width.unwrap_or(self.dim)
    }

    /// Checks that every number is in its range, by itself. After this no sum of sizes can overflow.
    pub fn check_ranges(&self) -> Result<(), ConfigError> {
        whole("vocab", self.vocab, 2, MOST)?;
        whole("dim", self.dim, 1, MOST)?;
        whole("length", self.length, 1, MOST)?;
        whole("samples", self.samples, 1, MOST)?;
        whole("test_samples", self.test_samples, 2, MOST)?;
        whole("repeats", self.repeats, 1, MOST_REPEATS)?;
        if let Some(width) = self.width {
            whole("width", width, 1, MOST)?;
        }
        if let Some(size) = self.noise_vocab {
            whole("noise_vocab", size, 1, MOST)?;
        }
        if let Some(exponent) = self.zipf {
            real("zipf", exponent, (0.0..=10.0).contains(&exponent), "from 0 to 10")?;
        }
        real("eta", self.eta, (1e-20..=1e20).contains(&self.eta), "from 1e-20 to 1e20")?;
        real("lead", self.lead, self.lead > 0.0 && self.lead <= 1e6, "above 0, at most 1e6")?;
        if let Some(gamma) = self.gamma {
            real("gamma", gamma, gamma.abs() <= 1e30, "finite, at most 1e30 in size")?;
        }
        if let Some(eta2) = self.eta2 {
            real("eta2", eta2, eta2.abs() <= 1e30, "finite, at most 1e30 in size")?;
        }
        self.check_training_ranges()
    }

    /// Checks every value, alone and beside the others; the result can be run.
    pub fn check(self) -> Result<Config, ConfigError> {
        self.check_ranges()?;
        if !(2..=self.vocab).contains(&self.label_count()) {
            let allowed = format!("mod:M needs M from 2 to vocab = {}", self.vocab);
            return Err(ConfigError::value("labels", self.labels, allowed));
        }
        if self.seed > u64::MAX - self.repeats as u64 {
            let allowed = format!("at most 2^64 - 1 - repeats, with repeats = {}", self.repeats);
            return Err(ConfigError::value("seed", self.seed, allowed));
        }
        let from_file = self.embedding == Embedding::File;
        for (parameter, value) in
            [("embedding_file", &self.embedding_file), ("embedding_tensor", &self.embedding_tensor)]
        {
            if value.is_some() != from_file {
                let value = value.as_deref().unwrap_or("(none)");
                let allowed = "needed with embedding = file, and only there";
                return Err(ConfigError::value(parameter, value, allowed));
            }
        }
        if let Some(name) = self.output_embedding.as_deref().filter(|&name| name != "tied" && !from_file) {
            let allowed = "must be tied, or a tensor's name with embedding = file";
            return Err(ConfigError::value("output_embedding", name, allowed));
        }
        let needed = self.token_count() + 2;
        if self.embedding == Embedding::Orthonormal && self.dim < needed {
            let rows = if self.noise_vocab.is_some() { "vocab + noise_vocab + 2" } else { "vocab + 2" };
            let allowed = format!("orthonormal embeddings need dim of at least {rows} = {needed}");
            return Err(ConfigError::value("dim", self.dim, allowed));
        }
        self.check_embedding()?;
        self.checked_training().map(Config)
    }
}

/// Checks that the parameters that someone gave go together; `gives(name)` tells whether one was given.
pub fn check_given(gives: impl Fn(&str) -> bool) -> Result<(), ConfigError> {
    for (one, other, why) in [
        ("gamma", "lead", "the lead sets gamma; give one of them"),
        ("import", "embedding_file", "both bring z_in; give one of them"),
    ] {
        if gives(one) && gives(other) {
            return Err(ConfigError::Together { names: format!("{one} and {other} are both given"), why });
        }
    }
    if gives("activation") && !gives("width") && !gives("import") {
        let why = "only the attention-MLP model has one";
        return Err(ConfigError::Together { names: "activation is given without width".into(), why });
    }
    if let Some(name) = training::NEED_STEPS.into_iter().find(|name| gives(name) && !gives("steps")) {
        let why = "the three-step early phase has none";
        return Err(ConfigError::Together { names: format!("{name} is given without steps"), why });
    }
    Ok(())
}

/// The largest count accepted anywhere: tokens and sample numbers fit in 32 bits.
pub const MOST: usize = u32::MAX as usize / 2;

/// Most runs of one configuration.
pub const MOST_REPEATS: usize = 1_000_000;

fn real(parameter: &'static str, value: f64, allowed: bool, range: &str) -> Result<(), ConfigError> {
    if allowed {
        return Ok(());
    }
    // Nobody counts three hundred digits.
    let plain = value == 0.0 || (1e-5..1e16).contains(&value.abs()) || !value.is_finite();
    let value = if plain { format!("{value}") } else { format!("{value:e}") };
    Err(ConfigError::value(parameter, value, format!("must be {range}")))
}

/// Checked settings. Read like [`Settings`]; only [`Settings::check`] makes one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Config(Settings);

impl Config {
    /// The configuration of one repeat: the same with the repeat's seed and no further repeats.
    pub fn repeat(&self, repeat: usize) -> Config {
        Config(Settings { seed: self.seed + repeat as u64, repeats: 1, ..self.0.clone() })
    }

    /// The infinitesimal limit of the same configuration, rates set by the lead.
    pub fn limit(&self) -> Config {
        Config(Settings { regime: Regime::Infinitesimal, gamma: None, eta2: None, ..self.0.clone() })
    }
}

impl Deref for Config {
    type Target = Settings;
    fn deref(&self) -> &Settings {
        &self.0
    }
}

/// A configuration that cannot be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// A value outside its range, by itself or beside the other values.
    #[error("{parameter} = {value}: {allowed}")]
    Value {
        /// The parameter's name.
        parameter: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// Parameters that do not go together.
    #[error("{names}: {why}")]
    Together {
        /// What was given.
        names: String,
        /// Why not.
        why: &'static str,
    },
}

impl ConfigError {
    /// A value that is not allowed.
    pub fn value(parameter: &'static str, value: impl Display, allowed: impl Into<String>) -> ConfigError {
        ConfigError::Value { parameter, value: value.to_string(), allowed: allowed.into() }
    }
}

/// Checks a whole number.
pub fn whole(parameter: &'static str, value: usize, least: usize, most: usize) -> Result<(), ConfigError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(ConfigError::value(parameter, value, format!("must be a whole number from {least} to {most}")))
}

/// Checks a share of facts to aim for.
pub fn share(parameter: &'static str, value: f64) -> Result<(), ConfigError> {
    real(parameter, value, value > 0.0 && value < 1.0, "above 0 and below 1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid() {
        Settings::default().check().unwrap();
    }

    #[test]
    fn orthonormal_names_the_dimension() {
        let settings = Settings { embedding: Embedding::Orthonormal, ..Settings::default() };
        let message = settings.check().unwrap_err().to_string();
        assert_eq!(message, "dim = 128: orthonormal embeddings need dim of at least vocab + 2 = 514");
    }

    #[test]
    fn labels_read_and_write() {
        for labels in [Labels::Permutation, Labels::Mod(5)] {
            assert_eq!(labels.to_string().parse(), Ok(labels));
        }
        assert!("mod:x".parse::<Labels>().is_err());
    }
}
