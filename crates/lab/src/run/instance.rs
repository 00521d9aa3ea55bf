//! Everything that is fixed before training: embeddings and data, drawn from the seed or read from files.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use superpose_core::backend::{Backend, Cancelled, Problem, Real};
use superpose_core::config::{Config, ConfigError, Embedding, EmbeddingSettings, Field, Settings};
use superpose_core::embedding::Embeddings;
use superpose_core::random::Stream;
use superpose_core::task::{Drawn, Samples, Stored, Task};
use superpose_tensors::{Tensor, TensorError, TensorFile};
use superpose_theory::Rows;

use super::RunError;
use super::TestSource;
use super::import::{Data, Import};
use super::rows::{EmbeddingRows, TIED, output_tensor};

/// The tensors that a run reads from files.
#[derive(Debug, Default)]
pub struct Inputs {
    /// Tensors that replace generated ones.
    pub import: Option<Import>,
    /// Input embeddings from a matrix in a file.
    pub rows: Option<EmbeddingRows>,
    /// What predictions need of the input embeddings; absent before [`Inputs::measure`].
    pub statistics: Option<Rows>,
}

/// Digests of input tensors, by the setting that gives them.
pub type Digests = BTreeMap<String, String>;

impl Inputs {
    /// Returns the digests of what a run of this configuration reads, whether from files or from arrays.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn digests(&self, config: &Config) -> Result<Digests, TensorError> {
        let mut digests = Digests::new();
        if let Some(source) = &self.rows {
            let mut hasher = blake3::Hasher::new();
            for tensor in source.read(config)? {
                digest(&mut hasher, &tensor, f64::to_le_bytes);
            }
            digests.insert("embedding_file".into(), hasher.finalize().to_hex().to_string());
        }
        if let Some(import) = &self.import {
            let mut hasher = blake3::Hasher::new();
            import.digest(&mut hasher);
            digests.insert("import".into(), hasher.finalize().to_hex().to_string());
        }
        Ok(digests)
    }

    /// Opens the files that the settings name and takes the sizes from them. A parameter that was `given` must agree.
    ///
    /// # Errors
    /// Fails if a file or tensor is invalid or contradicts a parameter that was given.
    pub fn open(settings: &mut Settings, given: impl Fn(&str) -> bool) -> Result<Inputs, RunError> {
        settings.check_ranges()?;
        let mut inputs = Inputs::default();
        if let EmbeddingSettings::File { file, tensor } = &settings.embedding {
            let rows = EmbeddingRows { file: TensorFile::open(file.as_ref())?, tensor: tensor.clone() };
            let (count, dim) = rows.size(tensor)?;
            if given("dim") && settings.dim != dim {
                let have = format!("tensor {tensor} has {dim} columns; omit dim");
                return Err(ConfigError::value("dim", settings.dim, have).into());
            }
            settings.dim = dim;
            if !given("vocab") {
                settings.vocab = settings.vocab.min(count.saturating_sub(settings.noise_vocab.unwrap_or(0)));
            }
            inputs.rows = Some(rows);
            inputs.check(settings)?;
        }
        if let (Some(rows), Some(name)) = (&inputs.rows, output_tensor(settings)) {
            let (input, output) = (rows.size(&rows.tensor)?, rows.size(name)?);
            if input != output {
                let expected = format!("must have the shape of tensor {}, {input:?}", rows.tensor);
                let (name, got) = (name.into(), vec![output.0, output.1]);
                return Err(TensorError::Shape { name, got, expected }.into());
            }
        }
        if let Some(path) = &settings.import {
            let file = TensorFile::open(path.as_ref())?;
            let import = Import::read(&file.tensors()).map_err(|error| file.inside(error))?;
            inputs.add_import(import, settings, given).map_err(|error| match error {
                RunError::Tensors(error) => file.inside(error).into(),
                other => other,
            })?;
        }
        if settings.input_digest.is_some() {
            inputs.set_digest(settings)?;
        }
        Ok(inputs)
    }

    /// Opens the files that the settings name, adds tensors from elsewhere, and sets the digest of all, as many cells need it.
    ///
    /// # Errors
    /// As for [`Inputs::open`], [`Inputs::add_import`], and if the settings have another digest.
    pub fn open_with_digest(
        settings: &mut Settings,
        import: Option<Import>,
        given: impl Fn(&str) -> bool,
    ) -> Result<Inputs, RunError> {
        let mut inputs = Inputs::open(settings, &given)?;
        if let Some(import) = import {
            inputs.add_arrays(import, settings, given)?;
        }
        inputs.set_digest(settings)?;
        Ok(inputs)
    }

    /// Adds tensors that are in no file, and notes their names where the settings would name the file.
    ///
    /// # Errors
    /// As for [`Inputs::add_import`].
    pub fn add_arrays(
        &mut self,
        import: Import,
        settings: &mut Settings,
        given: impl Fn(&str) -> bool,
    ) -> Result<(), RunError> {
        let names = import.names().join(", ");
        self.add_import(import, settings, given)?;
        settings.import = Some(format!("arrays {names}"));
        Ok(())
    }

    /// Sets the digest of the tensors in the settings, by which the key of a cell knows them. Without tensors it does nothing.
    ///
    /// # Errors
    /// Fails if the settings have another digest, or a file cannot be read.
    fn set_digest(&self, settings: &mut Settings) -> Result<(), RunError> {
        let Some((parameter, file)) = settings.input_file() else { return Ok(()) };
        let mut hasher = blake3::Hasher::new();
        if let Some(source) = &self.rows {
            source.digest(&mut hasher, &source.tensor)?;
            output_tensor(settings).map_or(Ok(()), |name| source.digest(&mut hasher, name))?;
        }
        if let Some(import) = &self.import {
            import.digest(&mut hasher);
        }
        let found = hasher.finalize().to_hex().to_string();
        check_digest(parameter, file, settings.input_digest.as_deref(), &found)?;
        settings.input_digest = Some(found);
        Ok(())
    }

    /// Checks that the file has a row for every token. Other sizes follow from the tensors.
    ///
    /// # Errors
    /// Fails if there are too few rows.
    pub fn check(&self, settings: &Settings) -> Result<(), ConfigError> {
        let Some(rows) = self.row_count().filter(|&rows| settings.token_count() > rows) else {
            return Ok(());
        };
        let tensor = self.rows.as_ref().map_or("", |source| &source.tensor);
        let have = format!("tensor {tensor} has {rows} rows, and vocab + noise_vocab may not exceed that");
        Err(ConfigError::value("vocab", settings.vocab, have))
    }

    /// Returns the rows of the embedding file.
    pub fn row_count(&self) -> Option<usize> {
        self.rows.as_ref().and_then(|source| Some(source.size(&source.tensor).ok()?.0))
    }

    /// Returns why a setting cannot vary, if the tensors fix it.
    pub fn fixes(&self, setting: &str) -> Option<&'static str> {
        let file = match setting {
            "embedding_file" | "embedding_tensor" | "import" | "input_digest" => {
                Some("the input files are the same for all runs")
            }
            _ if self.rows.is_none() => None,
            "dim" => Some("the columns of the embedding file are the dimension, which cannot vary"),
            "embedding" => Some("the embeddings are rows of the embedding file, and no other kind"),
            _ => None,
        };
        file.or_else(|| self.import.as_ref()?.fixes(setting))
    }

    /// Checks that a setting may vary; the error is about `parameter`, which has that setting.
    ///
    /// # Errors
    /// Fails if the tensors fix the setting.
    pub fn check_varies(&self, parameter: &'static str, setting: &str) -> Result<(), ConfigError> {
        self.fixes(setting).map_or(Ok(()), |why| Err(ConfigError::value(parameter, setting, why)))
    }

    /// Returns the names of the sequences among the tensors, if there are any.
    pub fn given_sequences(&self) -> Option<String> {
        self.import.as_ref().map(|import| import.sequences().join(", ")).filter(|names| !names.is_empty())
    }

    /// Whether embeddings of tokens or labels, or the first layer, are given.
    pub fn has_embeddings(&self) -> bool {
        let given =
            |import: &Import| [&import.z_in, &import.z_out, &import.w_in].into_iter().any(Option::is_some);
        self.rows.is_some() || self.import.as_ref().is_some_and(given)
    }

    /// Returns where the test sequences come from.
    pub fn test_source(&self) -> TestSource {
        match &self.import {
            Some(import) if import.has_test() => TestSource::Given,
            Some(import) if import.has_samples() => TestSource::DrawnForGivenTraining,
            _ => TestSource::Drawn,
        }
    }

    /// Adds tensors that replace generated ones and takes the sizes from them.
    ///
    /// # Errors
    /// Fails if tensors are given twice or contradict a parameter that was given.
    pub fn add_import(
        &mut self,
        import: Import,
        settings: &mut Settings,
        given: impl Fn(&str) -> bool,
    ) -> Result<(), RunError> {
        if self.import.is_some() || (self.rows.is_some() && import.z_in.is_some()) {
            let parameter = if self.import.is_some() { "import" } else { "embedding_file" };
            let value = settings.import.as_ref().map_or(settings.get("embedding_file"), Field::to_value);
            let allowed = "has tensors that are already given; give them once";
            return Err(ConfigError::value(parameter, value, allowed).into());
        }
        import.fit(settings, given)?;
        if let (true, Some(value)) = (import.z_out.is_some(), &settings.output_embedding) {
            let allowed = "the imported tensors include z_out; omit output_embedding";
            return Err(ConfigError::value("output_embedding", value, allowed).into());
        }
        if settings.repeats > 1 && import.is_complete(settings.width) {
            let allowed =
                "with the imported tensors nothing is random, so every repeat would be the same; omit it";
            return Err(ConfigError::value("repeats", settings.repeats, allowed).into());
        }
        self.import = Some(import);
        Ok(())
    }
}

/// Adds a tensor to a digest: its name, shape and entries.
pub(crate) fn digest<X: Copy, const BYTES: usize>(
    hasher: &mut blake3::Hasher,
    tensor: &Tensor<X>,
    bytes: fn(X) -> [u8; BYTES],
) {
    hasher.update(format!("{} {:?}\n", tensor.name, tensor.shape).as_bytes());
    for part in tensor.data.chunks(1 << 12) {
        let part: Vec<u8> = part.iter().flat_map(|&x| bytes(x)).collect();
        hasher.update(&part);
    }
}

/// Returns the entries in the precision of a run, or an error if one overflows it.
pub(crate) fn narrow<T: Real>(tensor: &Tensor<f64>) -> Result<Vec<T>, TensorError> {
    let data: Vec<T> = tensor.data.iter().map(|&x| T::from_f64(x)).collect();
    let Some(index) = data.iter().position(|x| !x.to_f64().is_finite()) else { return Ok(data) };
    let expected =
        "every entry must be below 3.4e38 in size with precision f32; use f64 for larger ones".into();
    let value = format!("{:e}", tensor.data[index]);
    Err(TensorError::Value { name: tensor.name.clone(), value, index, expected })
}

/// A repeat before training.
pub struct Instance<T> {
    /// Drawn when they are first needed on the host, if a device draws its own.
    embeddings: OnceLock<Embeddings<T>>,
    pub task: Task,
    stored: Option<Stored>,
    test: Option<Stored>,
}

/// Whether a device can draw the data itself: rows of embeddings are independent, and nothing comes from files.
pub(crate) fn independent(config: &Config, inputs: &Inputs) -> bool {
    let rows_are =
        matches!(config.embedding.kind(), Embedding::Gaussian | Embedding::Sphere | Embedding::Rademacher);
    let Inputs { import, rows, statistics: _ } = inputs;
    rows_are && import.is_none() && rows.is_none() && config.output_embedding.is_none()
}

impl<T: Real> Instance<T> {
    pub fn new(config: &Config, inputs: &Inputs, backend: &Backend) -> Result<Self, RunError> {
        if backend.device().is_some() && independent(config, inputs) {
            return Ok(Instance {
                embeddings: OnceLock::new(),
                task: Task::new(config),
                stored: None,
                test: None,
            });
        }
        let mut embeddings = Embeddings::<T>::draw(config, backend)?;
        if let Some(source) = &inputs.rows {
            let mut tensors = source.read(config)?.into_iter();
            for place in [&mut embeddings.z_in, &mut embeddings.z_out] {
                if let Some(tensor) = tensors.next() {
                    *place = narrow(&tensor)?;
                }
            }
        }
        if let Some(import) = &inputs.import {
            for (tensor, place) in [
                (&import.z_in, &mut embeddings.z_in),
                (&import.z_out, &mut embeddings.z_out),
                (&import.z_trig, &mut embeddings.z_trig),
                (&import.z_eos, &mut embeddings.z_eos),
            ] {
                if let Some(tensor) = tensor {
                    *place = narrow(tensor)?;
                }
            }
            if let Some(tensor) = &import.w_in {
                embeddings.w_in = Some(narrow(tensor)?);
            }
        }
        if config.output_embedding.as_deref() == Some(TIED) {
            embeddings.z_out = embeddings.z_in[..config.label_count() * config.dim].to_vec();
        }
        let task = Task::new(config);
        let data = match &inputs.import {
            Some(import) => import.data(config, task, backend)?,
            None => Data { train: None, test: None, task },
        };
        Ok(Instance { embeddings: embeddings.into(), task: data.task, stored: data.train, test: data.test })
    }

    /// Returns the embeddings, drawn now if they have not been needed on the host before.
    pub fn embeddings(&self, config: &Config, backend: &Backend) -> Result<&Embeddings<T>, Cancelled> {
        if self.embeddings.get().is_none() {
            let _ = self.embeddings.set(Embeddings::draw(config, backend)?);
        }
        Ok(self.embeddings.get().expect("drawn above"))
    }

    /// Returns the root mean square length of input embeddings over the length of the trigger, if they are given.
    pub fn rows_over_trigger(&self, inputs: &Inputs) -> Option<f64> {
        let given =
            inputs.rows.is_some() || inputs.import.as_ref().is_some_and(|import| import.z_in.is_some());
        let Embeddings { dim, z_in, z_trig, .. } = self.embeddings.get().filter(|_| given)?;
        let square = |rows: &[T]| rows.iter().map(|x| x.to_f64() * x.to_f64()).sum::<f64>();
        let ratio = (square(z_in) / (z_in.len() / dim) as f64 / square(z_trig)).sqrt();
        // A trigger of length 0 is shorter than any row.
        Some(ratio).filter(|ratio| !ratio.is_nan()).map(|ratio| ratio.min(f64::MAX))
    }

    /// Returns the embeddings, which must have been needed before.
    pub fn into_embeddings(self) -> Embeddings<T> {
        self.embeddings.into_inner().expect("drawn before")
    }

    /// Returns the repeat as a device takes it.
    pub fn problem<'a>(
        &'a self,
        config: &'a Config,
        stored: Option<&'a Stored>,
        backend: &'a Backend,
        observe: &'a (dyn Fn(usize) + Sync),
    ) -> Problem<'a, T> {
        let (task, embeddings) = (&self.task, self.embeddings.get());
        Problem { config, task, embeddings, stored: stored.or(self.stored.as_ref()), host: backend, observe }
    }

    /// Returns the training samples.
    pub fn samples<'a>(&'a self, config: &Config) -> Box<dyn Samples + 'a> {
        match &self.stored {
            Some(stored) => Box::new(stored),
            None => Box::new(Drawn::new(&self.task, config.seed, Stream::Train, config.samples)),
        }
    }

    /// Returns the test samples.
    pub fn test<'a>(&'a self, config: &Config) -> Box<dyn Samples + 'a> {
        match &self.test {
            Some(stored) => Box::new(stored),
            None => Box::new(Drawn::new(&self.task, config.seed, Stream::Test, config.test_samples)),
        }
    }
}

/// Fails if the tensors of a file have another digest than the required one.
///
/// # Errors
/// Names the parameter that has the file, and both digests.
pub fn check_digest(
    parameter: &'static str,
    file: &str,
    required: Option<&str>,
    found: &str,
) -> Result<(), ConfigError> {
    let Some(required) = required.filter(|&required| required != found) else { return Ok(()) };
    let allowed =
        format!("its tensors have the input_digest {found}, and {required} is required; they were changed");
    Err(ConfigError::value(parameter, file, allowed))
}
