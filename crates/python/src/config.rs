//! A configuration by its keys, those of the command line.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use superpose_core::config::{EmbeddingSettings, Setting, Settings, Training, Value, Values};
use superpose_lab::settings_file;

use crate::given;
use crate::work::Failure;

/// Settings, and which of them were given.
#[pyclass(subclass, frozen, module = "superpose._engine")]
#[derive(Clone)]
pub struct Config {
    pub settings: Settings,
    given: Values,
}

#[pymethods]
impl Config {
    #[new]
    #[pyo3(signature = (**keys))]
    fn new(keys: Option<&Bound<'_, PyDict>>) -> PyResult<Config> {
        Config::from_values(given::settings(keys, Settings::settings())?)
    }

    /// The keys of a TOML file's text; keys that are about the command line itself are left out.
    #[staticmethod]
    #[pyo3(name = "_read_toml")]
    fn read_toml(py: Python<'_>, text: &str) -> PyResult<BTreeMap<&'static str, Py<PyAny>>> {
        let file = settings_file::read(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let values = file.values;
        let given = values.names().filter_map(|name| Some((name, values.get(name)?)));
        given.map(|(name, value)| Ok((name, object(py, value)?))).collect()
    }

    /// All settings by name, defaults included.
    #[pyo3(name = "_settings")]
    fn values(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let values = Values::of(&self.settings);
        let dict = PyDict::new(py);
        for setting in Settings::settings() {
            dict.set_item(setting.name, object(py, self.value(&values, setting))?)?;
        }
        Ok(dict.unbind())
    }

    /// Names of the settings that were given.
    #[pyo3(name = "_names")]
    fn given(&self) -> Vec<&'static str> {
        self.given.names().collect()
    }

    fn __eq__(&self, other: &Config) -> bool {
        self.settings == other.settings
    }

    fn __hash__(&self) -> PyResult<u64> {
        let mut hasher = DefaultHasher::new();
        serde_json::to_string(&self.settings).map_err(Failure::from)?.hash(&mut hasher);
        Ok(hasher.finish())
    }
}

/// A value as a Python object.
fn object(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    Ok(match value {
        Value::Null => py.None(),
        Value::Flag(flag) => flag.into_pyobject(py)?.to_owned().into_any().unbind(),
        Value::Count(count) => count.into_pyobject(py)?.into_any().unbind(),
        Value::Number(x) => x.into_pyobject(py)?.into_any().unbind(),
        Value::Text(text) => text.into_pyobject(py)?.into_any().unbind(),
    })
}

impl Config {
    fn from_values(given: Values) -> PyResult<Config> {
        let settings = Settings::given(&given).map_err(Failure::from)?;
        let files = settings.import.is_some() || matches!(settings.embedding, EmbeddingSettings::File { .. });
        match files {
            // Files decide sizes: what goes together is checked when they are opened.
            true => settings.check_ranges().map_err(Failure::from)?,
            false => drop(settings.clone().check().map_err(Failure::from)?),
        }
        Ok(Config { settings, given })
    }

    /// The value of a setting. Settings of training have their defaults where there is none.
    fn value<'a>(&self, values: &'a Values, setting: &'a Setting) -> &'a Value {
        let default = match Training::settings().contains(setting) {
            true => &setting.default,
            false => &Value::Null,
        };
        values.get(setting.name).unwrap_or(default)
    }

    /// Settings that were checked elsewhere; none of them counts as given.
    pub fn of(settings: Settings) -> Config {
        Config { settings, given: Values::default() }
    }

    /// Whether nothing was given.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Whether a setting was given.
    pub fn gives(&self, name: &str) -> bool {
        self.given.gives(name)
    }
}

/// The definitions of all settings by name: default, meaning, and whether every record writes the setting down.
#[pyfunction]
#[pyo3(name = "_definitions")]
pub fn definitions(py: Python<'_>) -> PyResult<Py<PyDict>> {
    let always = Values::of(&Settings::default());
    let all = PyDict::new(py);
    for setting in Settings::settings() {
        let one = PyDict::new(py);
        one.set_item("default", object(py, &setting.default)?)?;
        one.set_item("meaning", setting.meaning())?;
        one.set_item("always", always.gives(setting.name))?;
        all.set_item(setting.name, one)?;
    }
    Ok(all.unbind())
}
