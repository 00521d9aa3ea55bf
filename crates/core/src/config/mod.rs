//! The configuration of a run, in two stages: unvalidated [`Settings`] and a validated [`Config`].
//!
//! Each setting is declared once, in a [`settings!`](crate::settings) block with its documentation, default and range.
//! [`Settings::settings`] lists the declarations; the command line, files, Python, sweeps, the store and the reference pages are
//! derived from this list. [`Values`] maps setting names to values before they are parsed into a struct.

mod activation;
mod choices;
mod definition;
mod embedding;
mod optimiser;
pub mod schema;
mod training;
mod value;
mod values;

use std::borrow::Cow;
use std::fmt::Display;
use std::ops::Deref;

use serde::Serialize;

pub use activation::Activation;
pub use choices::{EarlyRule, Labels, Positions, Precision, Regime, Trigger};
pub use definition::{Group, Range, Setting, above, accept, below, between, counts, within};
pub use embedding::{Embedding, EmbeddingSettings};
pub use optimiser::{Optimiser, Schedule};
pub use training::Training;
pub use value::{Field, Kind, Value};
pub use values::Values;

use crate::settings;

/// The largest count accepted anywhere: tokens and sample numbers fit in 32 bits.
pub const MAX_COUNT: usize = u32::MAX as usize / 2;

/// The largest number of repeats of one configuration.
pub const MAX_REPEATS: usize = 1_000_000;

settings! {
    /// Everything that decides the outcome of a run.
    pub struct Settings in "" {
        /// Number of facts V, one per token of the vocabulary.
        vocab: usize as "V" = 512, counts(2, MAX_COUNT);
        /// Embedding dimension d.
        dim: usize as "D" = 128, counts(1, MAX_COUNT);
        /// Sequence length L.
        length: usize as "L" = 16, counts(1, MAX_COUNT);
        /// Training samples N.
        samples: usize as "N" = 8192, counts(1, MAX_COUNT);
        /// Width m of the MLP; absent: the attention-only model.
        width: Option<usize> as "M" = None, counts(1, MAX_COUNT);
        /// Activation of the MLP.
        activation: Activation = Activation::Relu;
        /// Output embeddings: tied, or a matrix of the embedding file; absent: drawn like the input, or Gaussian if that is a file.
        output_embedding: Option<String> = None;
        /// Read any of z_in, z_out, z_trig, z_eos, w_in, tokens, position, labels, test_tokens, test_position, test_labels from this safetensors file; generate the others.
        import: Option<String> as "FILE" = None;
        /// BLAKE3 digest of the tensors in embedding_file or import, which must have it; absent: any tensors.
        input_digest: Option<String> as "DIGEST" = None;
        /// Trigger in keys and values (values), or in keys only (keys).
        trigger: Trigger = Trigger::Values;
        /// Labels of tokens: a random permutation, or mod:M for token mod M.
        labels: Labels = Labels::Permutation;
        /// Exponent of the Zipf distribution of tokens; absent: uniform tokens.
        zipf: Option<f64> = None, within(0.0, 10.0);
        /// Exponent of the Zipf distribution of the uninformative tokens; absent: that of the facts.
        noise_zipf: Option<f64> = None, within(0.0, 10.0);
        /// Vocabulary size of the uninformative tokens; absent: they use the facts' vocabulary.
        noise_vocab: Option<usize> = None, counts(1, MAX_COUNT);
        /// Learning rates of the three steps, finite (exact) or in the limit eta -> 0 (infinitesimal).
        regime: Regime = Regime::Infinitesimal;
        /// Rule of the memory steps 1 and 3; every rule's step has the norm of the gradient.
        early_rule: EarlyRule = EarlyRule::Gradient;
        /// Rounds of an attention step and a memory step after step 1.
        rounds: usize = 1, counts(1, 1000);
        /// Add the attention steps of all rounds; without it each starts from zero.
        accumulate: bool = false;
        /// Learning rate of step 1, in the exact regime.
        eta: f64 = 1.0, within(1e-20, 1e20);
        /// Learning rate of step 2; absent: computed from the lead.
        gamma: Option<f64> = None, within(-1e30, 1e30);
        /// Learning rate of step 3, in the exact regime; absent: gamma.
        eta2: Option<f64> = None, within(-1e30, 1e30);
        /// Attention score of the trigger relative to an average token, in units of ln(L + 1); determines gamma.
        lead: f64 = 4.0, above(0.0, 1e6);
        /// Floating-point type of the large arrays.
        precision: Precision = Precision::F32;
        /// Tokens kept at test: those with the largest attention scores; absent: all L.
        keep: Option<usize> as "K" = None, counts(1, MAX_COUNT);
        /// Number of test sequences.
        test_samples: usize = 4096, counts(2, MAX_COUNT);
        /// Number of runs, with consecutive seeds.
        repeats: usize = 1, counts(1, MAX_REPEATS);
        /// Seed of the first run; run r uses seed + r.
        seed: u64 as "SEED" = 0;
    }
    parts {
        /// Kind of embeddings.
        embedding: EmbeddingSettings,
        /// Training beyond the early phase; `None`: the three steps of the early phase.
        training: Option<Training>,
    }
}

/// The definition of a setting by its name, or an error that lists all names.
pub fn find<'a>(settings: &'a [Setting], name: &str) -> Result<&'a Setting, ConfigError> {
    let found = settings.iter().find(|setting| setting.name == name);
    found.ok_or_else(|| unknown(name, settings.iter().map(|setting| setting.name)))
}

/// The error of a name that is none of `names`, with the nearest of them.
pub fn unknown(name: &str, names: impl Iterator<Item = &'static str>) -> ConfigError {
    /// From here on names are alike: `dimension` and `dim` have 0.78.
    const ALIKE: f64 = 0.75;
    let names: Vec<&str> = names.collect();
    let likeness = |other: &str| match name.split('_').any(|word| word == other) {
        true => 1.0,
        false => strsim::jaro(name, other),
    };
    let nearest = names.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let nearest = nearest.filter(|other| likeness(other) >= ALIKE);
    ConfigError::Unknown { name: name.into(), nearest, names: names.join(", ") }
}

impl Settings {
    /// The settings that these values ask for, defaults elsewhere.
    ///
    /// # Errors
    /// Values that do not go together.
    pub fn given(values: &Values) -> Result<Settings, ConfigError> {
        check_given(|name| values.gives(name))?;
        Settings::read(values)
    }

    /// The value of a setting by name; `Null` when it is absent or does not apply.
    pub fn get(&self, name: &str) -> Value {
        Values::of(self).get(name).cloned().unwrap_or(Value::Null)
    }

    /// Number of labels: rows of `z_out`, classes of the softmax.
    pub fn label_count(&self) -> usize {
        self.labels.count(self.vocab)
    }

    /// Rows of the input embedding: the facts' tokens, then the noise tokens.
    pub fn token_count(&self) -> usize {
        self.vocab + self.noise_vocab.unwrap_or(0)
    }

    /// Inputs of the value matrix `M`: the width of the MLP, or the dimension (`p`).
    pub fn inputs(&self) -> usize {
        self.width.unwrap_or(self.dim)
    }

    /// The setting that names a file of tensors, and the file.
    pub fn input_file(&self) -> Option<(&'static str, &str)> {
        match (&self.import, &self.embedding) {
            (Some(file), _) => Some(("import", file)),
            (None, EmbeddingSettings::File { file, .. }) => Some(("embedding_file", file)),
            _ => None,
        }
    }

    /// The same with the names of files left out if their digest is known, which alone decides the outcome.
    pub fn by_digest(&self) -> Cow<'_, Settings> {
        if self.input_digest.is_none() {
            return Cow::Borrowed(self);
        }
        let mut settings = Settings { import: None, ..self.clone() };
        if let EmbeddingSettings::File { file, .. } = &mut settings.embedding {
            file.clear();
        }
        Cow::Owned(settings)
    }

    /// Checks that there is no training, for commands that have the three steps of the early phase alone.
    pub fn three_steps_only(&self) -> Result<(), ConfigError> {
        let Some(training) = &self.training else { return Ok(()) };
        let allowed =
            "must be 0 for this command, which has the three steps of the early phase; train has more";
        Err(ConfigError::value("steps", training.steps, allowed))
    }

    /// Checks that every number is in its range, by itself. After this no sum of sizes can overflow.
    pub fn check_ranges(&self) -> Result<(), ConfigError> {
        check_ranges(self, Settings::settings())
    }

    /// Checks every value, alone and together with the other values; the result can be run.
    ///
    /// # Errors
    /// A value is not allowed.
    pub fn check(self) -> Result<Config, ConfigError> {
        self.check_ranges()?;
        if !(2..=self.vocab).contains(&self.label_count()) {
            let allowed = format!("mod:M needs M from 2 to vocab = {}", self.vocab);
            return Err(ConfigError::value("labels", self.labels, allowed));
        }
        if let Some(keep) = self.keep.filter(|&keep| keep > self.length) {
            let allowed = format!("must be a whole number from 1 to length = {}", self.length);
            return Err(ConfigError::value("keep", keep, allowed));
        }
        check_seed(self.seed, self.repeats)?;
        let from_file = matches!(self.embedding, EmbeddingSettings::File { .. });
        if let Some(name) = self.output_embedding.as_deref().filter(|&name| name != "tied" && !from_file) {
            let allowed = "must be tied, or a tensor's name with embedding = file";
            return Err(ConfigError::value("output_embedding", name, allowed));
        }
        self.check_embedding()?;
        if let (Some(digest), None) = (&self.input_digest, self.input_file()) {
            let allowed = "belongs to embedding_file or import; give one of them";
            return Err(ConfigError::value("input_digest", digest, allowed));
        }
        if let Some(training) = &self.training {
            training.check(self.width)?;
        }
        Ok(Config(self))
    }

    fn check_embedding(&self) -> Result<(), ConfigError> {
        let rows = self.token_count();
        match self.embedding {
            EmbeddingSettings::Orthonormal if self.dim < rows + 2 => {
                let count = if self.noise_vocab.is_some() { "vocab + noise_vocab + 2" } else { "vocab + 2" };
                let allowed = format!("orthonormal embeddings need dim of at least {count} = {}", rows + 2);
                Err(ConfigError::value("dim", self.dim, allowed))
            }
            EmbeddingSettings::LowRank { rank } if rank > self.dim => {
                Err(ConfigError::value("rank", rank, format!("must be at most dim = {}", self.dim)))
            }
            EmbeddingSettings::Clustered { clusters, .. } if clusters > rows => {
                Err(ConfigError::value("clusters", clusters, format!("must be at most the {rows} tokens")))
            }
            _ => Ok(()),
        }
    }
}

/// Checks that the seeds of all repeats are 64-bit numbers.
pub fn check_seed(seed: u64, repeats: usize) -> Result<(), ConfigError> {
    let allowed = || format!("at most 2^64 - 1 - repeats, with repeats = {repeats}");
    if seed <= u64::MAX - repeats as u64 { Ok(()) } else { Err(ConfigError::value("seed", seed, allowed())) }
}

/// Checks every value against the range of its definition.
pub fn check_ranges(settings: &impl Group, definitions: &[Setting]) -> Result<(), ConfigError> {
    let mut definitions = definitions.iter();
    let mut result = Ok(());
    settings.visit(&mut |name, value| {
        // Values come in the order of their definitions.
        let setting = definitions.find(|setting| setting.name == name);
        if let (Some(setting), Ok(())) = (setting, &result) {
            result = setting.check(&value);
        }
    });
    result
}

/// Checks that the settings given go together, also where one of them would have no effect. `gives(name)` says whether a
/// setting was given.
pub fn check_given(gives: impl Fn(&str) -> bool) -> Result<(), ConfigError> {
    let together = |names: String, why: &'static str| Err(ConfigError::Together { names, why });
    for (one, other, why) in [
        ("gamma", "lead", "the lead sets gamma; give one of them"),
        ("import", "embedding_file", "both bring z_in; give one of them"),
    ] {
        if gives(one) && gives(other) {
            return together(format!("{one} and {other} are both given"), why);
        }
    }
    if gives("activation") && !gives("width") && !gives("import") {
        let why = "only the attention-MLP model has one";
        return together("activation is given without width".into(), why);
    }
    if gives("accumulate") && !gives("rounds") {
        return together("accumulate is given without rounds".into(), "one round has nothing to add to");
    }
    let training = Training::settings().iter().find(|setting| gives(setting.name));
    let why = "the three-step early phase has none";
    let without = |setting: &Setting| together(format!("{} is given without steps", setting.name), why);
    training.filter(|_| !gives("steps")).map_or(Ok(()), without)
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
#[allow(missing_docs)] // The messages explain the fields.
pub enum ConfigError {
    /// A value outside its range, by itself or together with the other values.
    #[error("{parameter} = {value}: {allowed}")]
    Value { parameter: &'static str, value: String, allowed: String },
    /// Parameters that do not go together.
    #[error("{names}: {why}")]
    Together { names: String, why: &'static str },
    /// A name that no setting has.
    #[error("unknown key {name}: {}{names}", nearest.map_or("there are ".into(), |nearest| format!("did you mean {nearest}? All keys: ")))]
    Unknown { name: String, nearest: Option<&'static str>, names: String },
}

impl ConfigError {
    /// A value that is not allowed.
    pub fn value(parameter: &'static str, value: impl Display, allowed: impl Into<String>) -> ConfigError {
        ConfigError::Value { parameter, value: value.to_string(), allowed: allowed.into() }
    }
}

/// Checks a whole number, which must be from `min` to `max`.
pub fn whole(parameter: &'static str, value: usize, min: usize, max: usize) -> Result<(), ConfigError> {
    in_range(parameter, Value::Count(value as u64), counts(min, max), Kind::Count)
}

/// Checks a share of facts to aim for, which must be above 0 and below 1.
pub fn share(parameter: &'static str, value: f64) -> Result<(), ConfigError> {
    in_range(parameter, Value::Number(value), between(0.0, 1.0), Kind::Number)
}

fn in_range(parameter: &'static str, value: Value, range: Range, kind: Kind) -> Result<(), ConfigError> {
    if value.as_f64().is_some_and(|x| range.contains(x)) {
        return Ok(());
    }
    Err(ConfigError::value(parameter, value, range.allowed(kind)))
}

#[cfg(test)]
mod tests;
