//! The options of `bound` and the settings of its model.

use superpose_core::config::{
    self, Config, ConfigError, Embedding, Field, Setting, Settings, Values, accept, between, check_ranges,
    counts,
};
use superpose_core::settings;

use crate::run::Inputs;

settings! {
    /// The options of [`bound`](super::bound), not yet validated.
    pub struct BoundOptions in "" {
        /// Share of the facts to recall.
        accuracy: f64 as "SHARE" = 0.5, between(0.0, 1.0);
        /// Number of seeds to average over.
        seeds: usize as "COUNT" = 5, counts(2, 1000);
    }
}

impl BoundOptions {
    /// The definitions of the settings of the model that the decoders use, with defaults of their own, and of these options.
    pub fn with_model() -> Vec<Setting> {
        const USED: [&str; 12] = [
            "vocab",
            "dim",
            "length",
            "width",
            "activation",
            "embedding",
            "embedding_file",
            "embedding_tensor",
            "output_embedding",
            "import",
            "trigger",
            "seed",
        ];
        let used = Settings::settings().iter().filter(|setting| USED.contains(&setting.name));
        let default = |name| BoundOptions::default_model().get(name);
        let with_default = |setting: &Setting| Setting {
            default: default(setting.name),
            takes: match setting.name {
                "embedding" => |value| accept(value, has_decoders),
                _ => setting.takes,
            },
            ..setting.clone()
        };
        used.map(with_default).chain(BoundOptions::settings().iter().cloned()).collect()
    }

    /// The settings of the model that the values give.
    ///
    /// # Errors
    /// Fails if the values do not go together.
    pub fn model(values: &Values) -> Result<Settings, ConfigError> {
        let settings = Settings::given(values)?;
        let Settings { vocab, dim, .. } = BoundOptions::default_model();
        Ok(Settings {
            vocab: if values.gives("vocab") { settings.vocab } else { vocab },
            dim: if values.gives("dim") { settings.dim } else { dim },
            ..settings
        })
    }

    fn default_model() -> Settings {
        Settings { vocab: 200, dim: 100, ..Settings::default() }
    }

    /// Validates the options and the settings of the model, and returns the configuration for [`bound`](super::bound).
    ///
    /// # Errors
    /// Fails if a value is out of range, or if the tensors have sequences; the error names the parameter.
    pub fn check(&self, settings: Settings, inputs: &Inputs) -> Result<Config, ConfigError> {
        /// A decoder needs V x V scores, and the time of an assignment grows with the cube of V.
        const MAX_SIZE: usize = 10_000;
        /// The linear estimate inverts matrices with this many rows.
        const MAX_WIDTH: usize = 4096;
        check_ranges(self, BoundOptions::settings())?;
        settings.three_steps_only()?;
        if let Some(setting) = inputs.given_sequences() {
            let allowed =
                "decoders are compared on drawn sequences, as many as needed; give embeddings alone";
            return Err(ConfigError::value("import", setting, allowed));
        }
        accept::<Embedding>(settings.embedding.kind().to_value(), has_decoders)
            .map_err(|allowed| ConfigError::value("embedding", &settings.embedding, allowed))?;
        config::whole("vocab", settings.vocab, 2, MAX_SIZE)?;
        config::whole("dim", settings.dim, 1, MAX_SIZE)?;
        config::whole("length", settings.length, 2, 1 << 20)?;
        if let Some(width) = settings.width {
            config::whole("width", width, 1, MAX_WIDTH)?;
        }
        Settings { test_samples: 2048, repeats: self.seeds, ..settings }.check()
    }
}

/// Whether the bounds are known for these embeddings, or are left out, as for rows of a file.
fn has_decoders(embedding: Embedding) -> bool {
    use Embedding::{File, Gaussian, Orthonormal, Rademacher, Sphere};
    matches!(embedding, Gaussian | Sphere | Orthonormal | Rademacher | File)
}
