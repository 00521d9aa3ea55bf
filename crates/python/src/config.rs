//! A configuration by its keys, those of the command line.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::ser::{Serialize, SerializeMap, Serializer};
use superpose_core::config::{Embedding, Settings, check_given};
use superpose_lab::sweep::{Parameter, Value};

use crate::given::Given;
use crate::work::Failure;

/// The keys that a sweep has not.
const OTHERS: [&str; 4] = ["embedding_file", "embedding_tensor", "import", "repeats"];

/// Settings, and which of them were given.
#[pyclass(subclass, frozen, module = "superpose._engine")]
#[derive(Clone)]
pub struct Config {
    pub settings: Settings,
    given: Vec<String>,
}

#[pymethods]
impl Config {
    #[new]
    #[pyo3(signature = (**keys))]
    fn new(keys: Option<&Bound<'_, PyDict>>) -> PyResult<Config> {
        let mut values = BTreeMap::new();
        for (name, value) in keys.into_iter().flatten() {
            if !value.is_none() {
                values.insert(name.extract::<String>()?, Given::new(&value)?);
            }
        }
        Config::from_values(values)
    }

    /// The keys of a TOML file's text; keys that are about the command line itself are left alone.
    #[staticmethod]
    #[pyo3(name = "_read_toml")]
    fn read_toml(text: &str) -> PyResult<BTreeMap<String, Py<PyAny>>> {
        let table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| PyValueError::new_err(error.message().replace('\n', " ")))?;
        Python::attach(|py| {
            let wanted = table.into_iter().filter(|(name, _)| !COMMAND_LINE.contains(&name.as_str()));
            wanted
                .map(|(name, value)| {
                    let value = match value {
                        toml::Value::String(text) => text.into_pyobject(py)?.into_any(),
                        toml::Value::Integer(whole) => whole.into_pyobject(py)?.into_any(),
                        toml::Value::Float(number) => number.into_pyobject(py)?.into_any(),
                        toml::Value::Boolean(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
                        other => other.to_string().into_pyobject(py)?.into_any(),
                    };
                    Ok((name, value.unbind()))
                })
                .collect()
        })
    }

    /// All settings as JSON, defaults included.
    #[pyo3(name = "_json")]
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&All(&self.settings)).map_err(|error| Failure::from(error).into())
    }

    /// Names of the settings that were given.
    #[pyo3(name = "_names")]
    fn given(&self) -> Vec<String> {
        self.given.clone()
    }

    fn __eq__(&self, other: &Config) -> bool {
        self.settings == other.settings
    }

    fn __hash__(&self) -> PyResult<u64> {
        let mut hasher = DefaultHasher::new();
        self.json()?.hash(&mut hasher);
        Ok(hasher.finish())
    }
}

/// Keys of a configuration file that say how the command line is to behave.
const COMMAND_LINE: [&str; 3] = ["json", "threads", "export"];

impl Config {
    fn from_values(values: BTreeMap<String, Given>) -> PyResult<Config> {
        let mut settings = Settings::default();
        for (name, given) in &values {
            set(&mut settings, name, given)?;
        }
        if settings.embedding_file.is_some() && !values.contains_key("embedding") {
            settings.embedding = Embedding::File;
        }
        check_given(|name| values.contains_key(name)).map_err(Failure::from)?;
        let files = settings.import.is_some() || settings.embedding_file.is_some();
        match files {
            // Files have a say in the sizes: what goes together is seen when they are opened.
            true => settings.check_ranges().map_err(Failure::from)?,
            false => drop(settings.clone().check().map_err(Failure::from)?),
        }
        Ok(Config { settings, given: values.into_keys().collect() })
    }

    /// Settings that were checked elsewhere; none of them counts as given.
    pub fn of(settings: Settings) -> Config {
        Config { settings, given: Vec::new() }
    }

    /// Whether nothing was given.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Whether a setting was given.
    pub fn gives(&self, name: &str) -> bool {
        self.given.iter().any(|given| given == name)
    }
}

fn set(settings: &mut Settings, name: &str, given: &Given) -> PyResult<()> {
    if let Some(parameter) = Parameter::named(name) {
        return given.put(name, |value| parameter.set(settings, value));
    }
    if !OTHERS.contains(&name) {
        let all = format!("{}, {}", Parameter::list(), OTHERS.join(", "));
        return Err(PyTypeError::new_err(format!("unknown key {name}: there are {all}")));
    }
    given.put(name, |value| {
        match (name, value) {
            ("repeats", Value::Count(count)) => {
                settings.repeats = usize::try_from(*count).map_err(|_| "too large for this machine")?;
            }
            ("repeats", _) => return Err("must be a whole number".into()),
            ("embedding_file", Value::Word(word)) => settings.embedding_file = Some(word.clone()),
            ("embedding_tensor", Value::Word(word)) => settings.embedding_tensor = Some(word.clone()),
            ("import", Value::Word(word)) => settings.import = Some(word.clone()),
            _ => return Err("must be a word".into()),
        }
        Ok(())
    })
}

/// Settings with every key. A record leaves many out at their default, which is no answer to someone who asks for one.
struct All<'a>(&'a Settings);

impl Serialize for All<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        // Taken apart without a rest: a setting that is not listed does not compile.
        macro_rules! entries {
            ($($name:ident),* $(,)?) => {
                let Settings { $($name),* } = self.0;
                $(map.serialize_entry(stringify!($name), $name)?;)*
            };
        }
        entries!(
            vocab,
            dim,
            length,
            samples,
            width,
            activation,
            embedding,
            embedding_file,
            embedding_tensor,
            output_embedding,
            import,
            trigger,
            labels,
            zipf,
            noise_vocab,
            regime,
            eta,
            gamma,
            eta2,
            lead,
            precision,
            test_samples,
            repeats,
            seed,
            rank,
            clusters,
            spread,
            steps,
            optimiser,
            rate,
            schedule,
            batch,
            momentum,
            weight_decay,
            every,
            early_stopping,
            warm_start,
            heads,
            positions,
            factored,
            train_embeddings,
            train_first_layer,
        );
        map.end()
    }
}
