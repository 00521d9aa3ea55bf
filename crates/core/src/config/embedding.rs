//! The embeddings of a configuration: their kind and the parameters that this kind has.

use super::definition::{Group, Setting, counts, within};
use super::value::Value;
use super::{ConfigError, MAX_COUNT, Values};
use crate::{settings, words};

words! {
    /// How the fixed embedding vectors are made (theory: setting).
    Embedding {
        /// Entries N(0, 1/d).
        Gaussian = "gaussian",
        /// Gaussian rows scaled to length 1.
        Sphere = "sphere",
        /// Orthonormal rows; the input rows, the trigger and the end-of-sequence vector share one set.
        Orthonormal = "orthonormal",
        /// Entries +1/sqrt(d) or -1/sqrt(d).
        Rademacher = "rademacher",
        /// Rows of a tensor in a file.
        File = "file",
        /// Rows in a random subspace of `rank` dimensions, as long as Gaussian ones on average.
        LowRank = "low_rank",
        /// Rows around `clusters` centres, token v at centre `v mod clusters`; `spread` is the relative length of a row's deviation.
        Clustered = "clustered",
        /// Entries N(0, s_j) whose variance falls with the column as `s_j ~ j^-decay`, as the spectra of trained embeddings do.
        PowerLaw = "power_law",
    }
}

/// How the embedding vectors are made, with what each kind needs (theory: setting).
#[derive(Clone, Debug, Default, PartialEq)]
pub enum EmbeddingSettings {
    /// See [`Embedding::Gaussian`].
    #[default]
    Gaussian,
    /// See [`Embedding::Sphere`].
    Sphere,
    /// See [`Embedding::Orthonormal`].
    Orthonormal,
    /// See [`Embedding::Rademacher`].
    Rademacher,
    /// See [`Embedding::LowRank`].
    LowRank {
        /// Dimensions that the rows span.
        rank: usize,
    },
    /// See [`Embedding::Clustered`].
    Clustered {
        /// Number of centres.
        clusters: usize,
        /// Length of a row's deviation from its centre, relative to the row.
        spread: f64,
    },
    /// See [`Embedding::PowerLaw`].
    PowerLaw {
        /// Exponent of the variance over the columns.
        decay: f64,
    },
    /// See [`Embedding::File`].
    File {
        /// The safetensors file.
        file: String,
        /// The tensor in it.
        tensor: String,
    },
}

settings! {
    /// The parameters of all kinds of embeddings, as they were given.
    pub struct EmbeddingParameters in "" {
        /// Rank of the embedding matrix, with embedding low_rank.
        rank: Option<usize> = None, counts(1, MAX_COUNT);
        /// Number of cluster centres, with embedding clustered.
        clusters: Option<usize> = None, counts(1, MAX_COUNT);
        /// Length of a row's deviation from its centre, relative to the row, with embedding clustered; absent: 0.5.
        spread: Option<f64> = None, within(0.0, 1.0);
        /// Exponent a of the variance j^-a of column j, with embedding power_law; absent: 1.
        decay: Option<f64> = None, within(0.0, 10.0);
        /// File whose rows are the input embeddings (safetensors).
        embedding_file: Option<String> as "FILE" = None;
        /// Matrix in the embedding file; V of its rows are drawn at random, its number of columns is d.
        embedding_tensor: Option<String> = None;
    }
}

impl EmbeddingSettings {
    /// The kind, without its parameters.
    pub fn kind(&self) -> Embedding {
        match self {
            Self::Gaussian => Embedding::Gaussian,
            Self::Sphere => Embedding::Sphere,
            Self::Orthonormal => Embedding::Orthonormal,
            Self::Rademacher => Embedding::Rademacher,
            Self::LowRank { .. } => Embedding::LowRank,
            Self::Clustered { .. } => Embedding::Clustered,
            Self::PowerLaw { .. } => Embedding::PowerLaw,
            Self::File { .. } => Embedding::File,
        }
    }

    /// A kind with the parameters that were given.
    ///
    /// # Errors
    /// A parameter is missing, or belongs to another kind.
    pub fn new(kind: Embedding, given: EmbeddingParameters) -> Result<EmbeddingSettings, ConfigError> {
        fn needed<T>(name: &'static str, value: &mut Option<T>, kind: Embedding) -> Result<T, ConfigError> {
            let missing = || ConfigError::value(name, "(none)", format!("needed with embedding = {kind}"));
            value.take().ok_or_else(missing)
        }
        let mut left = given;
        let embedding = match kind {
            Embedding::Gaussian => Self::Gaussian,
            Embedding::Sphere => Self::Sphere,
            Embedding::Orthonormal => Self::Orthonormal,
            Embedding::Rademacher => Self::Rademacher,
            Embedding::LowRank => Self::LowRank { rank: needed("rank", &mut left.rank, kind)? },
            Embedding::Clustered => Self::Clustered {
                clusters: needed("clusters", &mut left.clusters, kind)?,
                spread: left.spread.take().unwrap_or(0.5),
            },
            Embedding::PowerLaw => Self::PowerLaw { decay: left.decay.take().unwrap_or(1.0) },
            Embedding::File => Self::File {
                file: needed("embedding_file", &mut left.embedding_file, kind)?,
                tensor: needed("embedding_tensor", &mut left.embedding_tensor, kind)?,
            },
        };
        let mut foreign = None;
        left.visit(&mut |name, value| {
            if value != Value::Null && foreign.is_none() {
                foreign = Some(ConfigError::value(name, value, format!("not with embedding = {kind}")));
            }
        });
        foreign.map_or(Ok(embedding), Err)
    }

    /// A kind without parameters; an error when it needs some.
    pub fn plain(kind: Embedding) -> Result<EmbeddingSettings, ConfigError> {
        Self::new(kind, EmbeddingParameters::default())
    }

    fn parameters(&self) -> EmbeddingParameters {
        let none = EmbeddingParameters::default();
        match self.clone() {
            Self::Gaussian | Self::Sphere | Self::Orthonormal | Self::Rademacher => none,
            Self::LowRank { rank } => EmbeddingParameters { rank: Some(rank), ..none },
            Self::Clustered { clusters, spread } => {
                EmbeddingParameters { clusters: Some(clusters), spread: Some(spread), ..none }
            }
            Self::PowerLaw { decay } => EmbeddingParameters { decay: Some(decay), ..none },
            Self::File { file, tensor } => {
                EmbeddingParameters { embedding_file: Some(file), embedding_tensor: Some(tensor), ..none }
            }
        }
    }
}

impl std::fmt::Display for EmbeddingSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.kind().word())
    }
}

impl Group for EmbeddingSettings {
    fn definitions() -> Vec<Setting> {
        let kind = Setting::new("embedding", "", &["Kind of embeddings."], &Embedding::Gaussian);
        [vec![kind], EmbeddingParameters::definitions()].concat()
    }

    fn visit(&self, visit: &mut dyn FnMut(&'static str, Value)) {
        visit("embedding", Value::Text(self.kind().word().into()));
        self.parameters().visit(&mut |name, value| {
            if value != Value::Null {
                visit(name, value);
            }
        });
    }

    /// A file without a kind implies the kind `file`.
    fn read(values: &Values) -> Result<Self, ConfigError> {
        let given = EmbeddingParameters::read(values)?;
        let kind = if given.embedding_file.is_some() { Embedding::File } else { Embedding::Gaussian };
        Self::new(values.read("embedding", || kind)?, given)
    }
}
