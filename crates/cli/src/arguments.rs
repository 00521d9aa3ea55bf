//! What was typed: flags, and a file with the same keys. Flags win. Nothing is checked here beyond the form of a
//! value; [`RunArguments::settings`] hands on plain settings.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use serde::{Deserialize, Deserializer, de};

use superpose_core::config::{
    Activation, Embedding, Labels, Optimiser, Positions, Precision, Regime, Schedule, Settings, Trigger,
    check_given,
};

/// A whole number as people write it: 65536, 65_536, 1e6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(pub u64);

impl Count {
    const ALLOWED: &str = "must be a whole number such as 4096, 65_536 or 1e6";

    fn from_float(x: f64) -> Result<Count, String> {
        if x >= 0.0 && x <= 2_f64.powi(53) && x.fract() == 0.0 {
            return Ok(Count(x as u64));
        }
        Err(Count::ALLOWED.into())
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Count {
    type Err = String;
    fn from_str(text: &str) -> Result<Count, String> {
        let plain = text.replace('_', "");
        match plain.parse::<u64>() {
            Ok(count) => Ok(Count(count)),
            Err(_) => Count::from_float(plain.parse().map_err(|_| Count::ALLOWED.to_string())?),
        }
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Count, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Count;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number such as 4096 or 1e6")
            }
            fn visit_i64<E: de::Error>(self, x: i64) -> Result<Count, E> {
                u64::try_from(x).map(Count).map_err(|_| E::custom(Count::ALLOWED))
            }
            fn visit_u64<E: de::Error>(self, x: u64) -> Result<Count, E> {
                Ok(Count(x))
            }
            fn visit_f64<E: de::Error>(self, x: f64) -> Result<Count, E> {
                Count::from_float(x).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// Words that [`FromStr`] reads, from a file.
fn word<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(|allowed: String| de::Error::custom(format!("{text}: {allowed}")))
}

/// Declares the arguments of a run once, with everything that follows from a name: the flag, the key in a
/// file, and which wins.
macro_rules! arguments {
    ($($(#[$meta:meta])* $name:ident: $type:ty),+ $(,)?) => {
        /// Arguments of `superpose run`.
        #[derive(Args, Clone, Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct RunArguments {
            /// TOML file with the same names as these flags (test_samples = 4096); flags win
            #[arg(long, value_name = "FILE")]
            #[serde(skip)]
            pub config: Option<PathBuf>,

            /// Print one JSON object instead of a table
            #[arg(long)]
            pub json: bool,

            $($(#[$meta])* pub $name: Option<$type>,)+
        }

        impl RunArguments {
            /// These, and what `file` says where these say nothing.
            fn or(self, file: RunArguments) -> RunArguments {
                RunArguments {
                    config: self.config,
                    json: self.json || file.json,
                    $($name: self.$name.or(file.$name),)+
                }
            }

            /// Whether nothing was given that makes a configuration.
            pub fn is_empty(&self) -> bool {
                let own = ["threads"];
                self.config.is_none() && !(false $(|| (self.$name.is_some() && !own.contains(&stringify!($name))))+)
            }

            /// Whether a parameter was given.
            pub fn gives(&self, name: &str) -> bool {
                match name {
                    $(stringify!($name) => self.$name.is_some(),)+
                    _ => false,
                }
            }
        }
    };
}

arguments! {
    /// Facts V, one per token (default 512)
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    vocab: Count,
    /// Embedding dimension d (default 128)
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    dim: Count,
    /// Sequence length L (default 16)
    #[arg(long, value_name = "L", allow_hyphen_values = true)]
    length: Count,
    /// Training samples N (default 8192)
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    samples: Count,
    /// Width m of the MLP; a width makes it the attention-MLP model
    #[arg(long, value_name = "M", allow_hyphen_values = true)]
    width: Count,
    /// Activation of the MLP: relu (default), gelu, tanh, softplus, abs, he2, he3, identity
    #[arg(long, value_name = "NAME")]
    #[serde(deserialize_with = "word")]
    activation: Activation,
    /// Embeddings: gaussian (default), sphere, orthonormal, rademacher, low_rank, clustered, file
    #[arg(long, value_name = "KIND")]
    #[serde(deserialize_with = "word")]
    embedding: Embedding,
    /// File whose rows are the input embeddings (safetensors)
    #[arg(long, value_name = "FILE")]
    embedding_file: String,
    /// Name of the matrix in that file; V of its rows are drawn at random, and its columns are the dimension
    #[arg(long, value_name = "NAME")]
    embedding_tensor: String,
    /// Output embeddings: tied to the input, or another matrix of the file by name
    #[arg(long, value_name = "tied|NAME")]
    output_embedding: String,
    /// Where the trigger is: values (keys and values, the default) or keys (keys only)
    #[arg(long, value_name = "WHERE")]
    #[serde(deserialize_with = "word")]
    trigger: Trigger,
    /// Labels: permutation (default), or mod:M for M classes
    #[arg(long, value_name = "RULE")]
    #[serde(deserialize_with = "word")]
    labels: Labels,
    /// Draw tokens by Zipf's law with this exponent instead of uniformly
    #[arg(long, value_name = "EXPONENT", allow_hyphen_values = true)]
    zipf: f64,
    /// Draw the noise tokens from a vocabulary of their own, of this size
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    noise_vocab: Count,
    /// Steps: infinitesimal (default: the limit of a small first rate) or exact
    #[arg(long, value_name = "REGIME")]
    #[serde(deserialize_with = "word")]
    regime: Regime,
    /// Rate of step 1 (default 1)
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    eta: f64,
    /// Rate of step 2 (default: set by the lead)
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    gamma: f64,
    /// Rate of step 3 (default: that of step 2)
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    eta2: f64,
    /// The trigger's lead over an average token, in units of ln(L + 1) (default 4)
    #[arg(long, value_name = "LEAD", allow_hyphen_values = true)]
    lead: f64,
    /// Floating-point type of the large arrays: f32 (default) or f64
    #[arg(long, value_name = "TYPE")]
    #[serde(deserialize_with = "word")]
    precision: Precision,
    /// Repeats, with consecutive seeds (default 1)
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    repeats: Count,
    /// Fresh sequences to test on (default 4096)
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    test_samples: Count,
    /// Seed of everything random (default 0)
    #[arg(long, value_name = "SEED", allow_hyphen_values = true)]
    seed: Count,
    /// Threads (default: all cores); results do not depend on it
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    threads: Count,
    /// Take z_in, z_out, z_trig, z_eos, tokens, position, labels, w_in from this file (safetensors); what is missing is generated
    #[arg(long, value_name = "FILE")]
    import: String,
    /// Write those and the trained m1, w1, m2 of the first repeat to this file (safetensors)
    #[arg(long, value_name = "FILE")]
    export: PathBuf,
    /// Dimensions that the rows span, with embedding low_rank
    #[arg(long, value_name = "RANK", allow_hyphen_values = true)]
    rank: Count,
    /// Centres of the rows, with embedding clustered
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    clusters: Count,
    /// Part of a clustered row that is its own (default 0.5)
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    spread: f64,
    /// Training steps after or instead of the early phase (default: the three steps of the early phase)
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, help_heading = TRAINING)]
    steps: Count,
    /// Optimiser: adamw (default), adam, sgd, muon
    #[arg(long, value_name = "NAME", help_heading = TRAINING)]
    #[serde(deserialize_with = "word")]
    optimiser: Optimiser,
    /// Rate of the optimiser (default 0.01)
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, help_heading = TRAINING)]
    rate: f64,
    /// The rate over the steps: constant (default) or cosine
    #[arg(long, value_name = "NAME", help_heading = TRAINING)]
    #[serde(deserialize_with = "word")]
    schedule: Schedule,
    /// Samples in a step (default: all)
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, help_heading = TRAINING)]
    batch: Count,
    /// Momentum of sgd (default 0) and muon (default 0.95)
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, help_heading = TRAINING)]
    momentum: f64,
    /// Weight decay (default 0)
    #[arg(long, value_name = "DECAY", allow_hyphen_values = true, help_heading = TRAINING)]
    weight_decay: f64,
    /// Steps between two records of the trajectory (default: a fiftieth of all)
    #[arg(long, value_name = "STEPS", allow_hyphen_values = true, help_heading = TRAINING)]
    every: Count,
    /// Stop after so many records without a smaller loss on the test samples
    #[arg(long, value_name = "RECORDS", allow_hyphen_values = true, help_heading = TRAINING)]
    early_stopping: Count,
    /// Start where the early phase ends
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", help_heading = TRAINING)]
    warm_start: bool,
    /// Attention heads (default 1)
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, help_heading = TRAINING)]
    heads: Count,
    /// Positions: none (default), sinusoidal, learned, rotary
    #[arg(long, value_name = "KIND", help_heading = TRAINING)]
    #[serde(deserialize_with = "word")]
    positions: Positions,
    /// Train W as a product of a key and a query matrix
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", help_heading = TRAINING)]
    factored: bool,
    /// Train the embeddings, too
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", help_heading = TRAINING)]
    train_embeddings: bool,
    /// Train the first layer of the MLP, too
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", help_heading = TRAINING)]
    train_first_layer: bool,
}

/// What training flags stand under in a help text.
const TRAINING: &str = "Training";

impl RunArguments {
    /// Fills in from the file named by `--config`.
    pub fn with_file(self) -> anyhow::Result<RunArguments> {
        let Some(path) = self.config.clone() else { return Ok(self) };
        let text = read_text(&path).with_context(|| path.display().to_string())?;
        let mut file = read_toml(&path, &text)?;
        // Flags win: a rate on the command line is not in conflict with a lead in the file.
        if self.gamma.is_some() {
            file.lead = None;
        }
        if self.lead.is_some() {
            file.gamma = None;
        }
        Ok(self.or(file))
    }

    /// The settings these arguments ask for, defaults elsewhere.
    pub fn settings(&self) -> anyhow::Result<Settings> {
        check_given(|name| self.gives(name))?;
        let mut settings = Settings::default();
        fn set<T: Clone>(place: &mut T, given: &Option<T>) {
            if let Some(value) = given {
                *place = value.clone();
            }
        }
        for (name, place, given) in [
            ("vocab", &mut settings.vocab, self.vocab),
            ("dim", &mut settings.dim, self.dim),
            ("length", &mut settings.length, self.length),
            ("samples", &mut settings.samples, self.samples),
            ("repeats", &mut settings.repeats, self.repeats),
            ("test_samples", &mut settings.test_samples, self.test_samples),
            ("steps", &mut settings.steps, self.steps),
            ("heads", &mut settings.heads, self.heads),
        ] {
            if let Some(count) = given {
                *place = size(name, count)?;
            }
        }
        settings.width = self.width.map(|count| size("width", count)).transpose()?;
        settings.noise_vocab = self.noise_vocab.map(|count| size("noise_vocab", count)).transpose()?;
        for (name, place, given) in [
            ("rank", &mut settings.rank, self.rank),
            ("clusters", &mut settings.clusters, self.clusters),
            ("batch", &mut settings.batch, self.batch),
            ("every", &mut settings.every, self.every),
            ("early_stopping", &mut settings.early_stopping, self.early_stopping),
        ] {
            *place = given.map(|count| size(name, count)).transpose()?;
        }
        settings.seed = self.seed.map_or(0, |seed| seed.0);
        set(&mut settings.activation, &self.activation);
        set(&mut settings.embedding, &self.embedding);
        if self.embedding.is_none() && self.embedding_file.is_some() {
            settings.embedding = Embedding::File;
        }
        settings.embedding_file = self.embedding_file.clone();
        settings.embedding_tensor = self.embedding_tensor.clone();
        settings.output_embedding = self.output_embedding.clone();
        settings.import = self.import.clone();
        set(&mut settings.trigger, &self.trigger);
        set(&mut settings.labels, &self.labels);
        settings.zipf = self.zipf;
        set(&mut settings.regime, &self.regime);
        set(&mut settings.eta, &self.eta);
        settings.gamma = self.gamma;
        settings.eta2 = self.eta2;
        set(&mut settings.lead, &self.lead);
        set(&mut settings.precision, &self.precision);
        settings.spread = self.spread;
        settings.momentum = self.momentum;
        set(&mut settings.optimiser, &self.optimiser);
        set(&mut settings.rate, &self.rate);
        set(&mut settings.schedule, &self.schedule);
        set(&mut settings.weight_decay, &self.weight_decay);
        set(&mut settings.warm_start, &self.warm_start);
        set(&mut settings.positions, &self.positions);
        set(&mut settings.factored, &self.factored);
        set(&mut settings.train_embeddings, &self.train_embeddings);
        set(&mut settings.train_first_layer, &self.train_first_layer);
        Ok(settings)
    }

    /// Threads to use.
    pub fn threads(&self) -> anyhow::Result<usize> {
        threads(self.threads)
    }
}

/// So many threads, or one for each core.
pub fn threads(given: Option<Count>) -> anyhow::Result<usize> {
    match given {
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
        Some(Count(threads @ 1..=1024)) => Ok(threads as usize),
        Some(Count(threads)) => bail!("threads = {threads}: must be a whole number from 1 to 1024"),
    }
}

fn size(name: &str, count: Count) -> anyhow::Result<usize> {
    usize::try_from(count.0).map_err(|_| anyhow!("{name} = {}: too large for this machine", count.0))
}

/// Reads a file that a person wrote; one that goes on for ever is not.
pub fn read_text(path: &Path) -> anyhow::Result<String> {
    const MOST: u64 = 1 << 20;
    let mut text = String::new();
    std::fs::File::open(path)?.take(MOST + 1).read_to_string(&mut text)?;
    anyhow::ensure!(text.len() as u64 <= MOST, "longer than a megabyte, which no configuration is");
    Ok(text)
}

/// Reads the arguments in a TOML text; an error names the file, the line and what stands there.
pub fn read_toml(path: &Path, text: &str) -> anyhow::Result<RunArguments> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let reason = error.message().replace('\n', " ");
        match error.span() {
            Some(span) => {
                let start = span.start.min(text.len());
                let line = text[..start].matches('\n').count();
                let content: String = text.lines().nth(line).unwrap_or("").trim().chars().take(60).collect();
                anyhow!("{}, line {} ({content}): {reason}", path.display(), line + 1)
            }
            None => anyhow!("{}: {reason}", path.display()),
        }
    })
}
