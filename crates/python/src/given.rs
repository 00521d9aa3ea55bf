//! Conversion of Python values to setting values. An error names the parameter, the value and what is allowed.

use std::path::Path;
use std::str::FromStr;

use pyo3::exceptions::{PyException, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
pub use superpose_core::config::Value;
use superpose_core::config::{Field, Group, Kind, Setting, Values, find};
use superpose_lab::threshold::SizeRange;

use crate::work::Failure;

/// The values that a Python object may represent, most likely first; empty if it is neither number nor string.
fn readings(value: &Bound<'_, PyAny>) -> PyResult<Vec<Value>> {
    // Before integers, because `True` is also 1.
    if let Ok(flag) = value.extract::<bool>() {
        return Ok(vec![Value::Flag(flag)]);
    }
    if let Ok(word) = value.extract::<String>() {
        return Ok(vec![Value::Text(word.into())]);
    }
    if is_complex(value) {
        return Ok(Vec::new());
    }
    let whole = tried(value.py(), value.extract::<u64>())?;
    let mut values: Vec<Value> = whole.map(Value::Count).into_iter().collect();
    if let Some(number) = tried(value.py(), value.extract::<f64>())? {
        // A zero has no sign here, so that what is equal has the same hash.
        let number = number + 0.0;
        // 1e6 is how people write a million.
        if whole.is_none() && number.fract() == 0.0 && (0.0..=2_f64.powi(53)).contains(&number) {
            values.push(Value::Count(number as u64));
        }
        values.push(Value::Number(number));
    }
    Ok(values)
}

/// Tries what the value may stand for; the error says what is allowed.
pub fn put<T>(
    name: &str,
    value: &Bound<'_, PyAny>,
    mut put: impl FnMut(&Value) -> Result<T, String>,
) -> PyResult<T> {
    let mut refusal = String::new();
    let values = readings(value)?;
    for value in &values {
        match put(value) {
            Ok(found) => return Ok(found),
            Err(allowed) => refusal = allowed,
        }
    }
    let text = match values[..] {
        [Value::Flag(flag)] => flag.to_string(),
        // Quoted, so that text that looks like a number is seen to be text.
        [Value::Text(_)] if value.str()?.to_string().parse::<f64>().is_ok() => value.repr()?.to_string(),
        _ => value.str()?.to_string(),
    };
    if values.is_empty() {
        // Refused whatever it looks like; a word that looks like it tells what is allowed.
        let allowed = put(&Value::Text(text.clone().into())).err();
        refusal = allowed.unwrap_or_else(|| "must be a word".into());
    }
    Err(wrong(name, &text, &refusal))
}

/// The settings that keywords give; those that are `None` are left out.
pub fn settings(keys: Option<&Bound<'_, PyDict>>, settings: &'static [Setting]) -> PyResult<Values> {
    let mut values = Values::default();
    for (name, value) in keys.into_iter().flatten().filter(|(_, value)| !value.is_none()) {
        set(&mut values, &name.extract::<String>()?, &value, settings)?;
    }
    Ok(values)
}

/// The options that keywords give. Only those that may be absent can be `None`.
pub fn options<G: Group>(keys: &Bound<'_, PyDict>) -> PyResult<G> {
    Ok(G::read(&values(keys, &G::definitions())?).map_err(Failure::from)?)
}

/// The values that keywords give to these settings. Only those that may be absent can be `None`.
pub fn values(keys: &Bound<'_, PyDict>, definitions: &[Setting]) -> PyResult<Values> {
    let mut values = Values::default();
    for (name, value) in keys {
        let name = name.extract::<String>()?;
        let optional = definitions.iter().any(|setting| setting.name == name && setting.optional);
        if !(optional && value.is_none()) {
            set(&mut values, &name, &value, definitions)?;
        }
    }
    Ok(values)
}

fn set(values: &mut Values, name: &str, value: &Bound<'_, PyAny>, settings: &[Setting]) -> PyResult<()> {
    let setting = find(settings, name).map_err(|error| PyTypeError::new_err(error.to_string()))?;
    let value = put(setting.name, value, |value| match (value, setting.kind) {
        // Text is read as a number on the command line and in files; in Python a number is a number.
        (Value::Text(_), Kind::Count | Kind::Number | Kind::Flag) => Err(setting.kind.allowed()),
        _ => setting.convert(value.clone()),
    })?;
    Ok(values.set(setting, value).map_err(Failure::from)?)
}

/// The converted value; `None` if conversion raised an `Exception`. `KeyboardInterrupt` is passed on.
fn tried<T, E: Into<PyErr>>(py: Python<'_>, turned: Result<T, E>) -> PyResult<Option<T>> {
    match turned.map_err(Into::into) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_instance_of::<PyException>(py) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether it is one of NumPy's complex numbers, which turn into real ones with no more than a warning.
fn is_complex(value: &Bound<'_, PyAny>) -> bool {
    let kind = value.getattr("dtype").and_then(|dtype| dtype.getattr("kind"));
    kind.is_ok_and(|kind| kind.extract::<char>().is_ok_and(|kind| kind == 'c'))
}

/// The error of a keyword: its name, its value and what is allowed.
pub fn wrong(name: &str, value: &str, allowed: &str) -> PyErr {
    /// Characters of a value that are shown.
    const SHOWN: usize = 60;
    let value = match value.chars().count() {
        0..=SHOWN => value.to_string(),
        count => format!("{}... ({count} characters)", value.chars().take(SHOWN / 2).collect::<String>()),
    };
    PyValueError::new_err(format!("{name} = {value}: {allowed}"))
}

/// A value that a setting of this type takes.
pub fn field<F: Field>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<F> {
    put(name, value, |value| F::from_value(F::KIND.convert(value.clone())?))
}

/// A word out of a few, whatever was given.
pub fn choice<T: FromStr<Err = String>>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    put(name, value, |value| match value {
        Value::Text(word) => word.parse(),
        _ => Err("must be a word".into()),
    })
}

/// Two whole numbers, in whatever holds them.
pub fn range(name: &str, value: &Bound<'_, PyAny>) -> PyResult<SizeRange> {
    let items: Option<Vec<Bound<'_, PyAny>>> = value.try_iter().and_then(Iterator::collect).ok();
    match items.as_deref() {
        Some([low, high]) => Ok(SizeRange { low: field(name, low)?, high: field(name, high)? }),
        _ => Err(wrong(name, &value.str()?.to_string(), "must be two whole numbers, such as (10, 2000)")),
    }
}

/// True or false.
pub fn flag(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    put(name, value, |value| match value {
        Value::Flag(flag) => Ok(*flag),
        _ => Err("must be True or False".into()),
    })
}

/// Rejects an empty path.
pub fn file(name: &str, path: Option<&Path>) -> PyResult<()> {
    match path {
        Some(path) if path.as_os_str().is_empty() => Err(wrong(name, "''", "must be the name of a file")),
        _ => Ok(()),
    }
}
