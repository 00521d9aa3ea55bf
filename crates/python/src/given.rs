//! Values as Python has them, taken for what a parameter wants. An error names the parameter, the value and what is allowed.

use std::str::FromStr;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use superpose_lab::sweep::Value;

/// A value and what it may stand for.
pub struct Given {
    /// The likeliest first.
    values: Vec<Value>,
    text: String,
}

impl Given {
    /// A truth, a string, a whole number or a number of Python, NumPy or anything that turns into one.
    pub fn new(value: &Bound<'_, PyAny>) -> PyResult<Given> {
        // First, for Python takes True for 1.
        if let Ok(flag) = value.extract::<bool>() {
            return Ok(Given { values: vec![Value::Flag(flag)], text: flag.to_string() });
        }
        let text = value.str()?.to_string();
        if let Ok(word) = value.extract::<String>() {
            return Ok(Given { values: vec![Value::Word(word)], text });
        }
        let mut values = Vec::new();
        let whole = value.extract::<u64>().ok();
        values.extend(whole.map(Value::Count));
        if let Ok(number) = value.extract::<f64>() {
            // 1e6 is how people write a million.
            if whole.is_none() && number.fract() == 0.0 && (0.0..=2_f64.powi(53)).contains(&number) {
                values.push(Value::Count(number as u64));
            }
            values.push(Value::Number(number));
        }
        if values.is_empty() {
            values.push(Value::Word(text.clone()));
        }
        Ok(Given { values, text })
    }

    /// Tries what the value may stand for; the error says what is allowed.
    pub fn put<T>(&self, name: &str, mut put: impl FnMut(&Value) -> Result<T, String>) -> PyResult<T> {
        let mut refusal = String::new();
        for value in &self.values {
            match put(value) {
                Ok(found) => return Ok(found),
                Err(allowed) => refusal = allowed,
            }
        }
        Err(wrong(name, &self.text, &refusal))
    }
}

fn wrong(name: &str, value: &str, allowed: &str) -> PyErr {
    PyValueError::new_err(format!("{name} = {value}: {allowed}"))
}

/// A whole number.
pub fn count(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    Given::new(value)?.put(name, |value| match value {
        Value::Count(count) => Ok(*count),
        _ => Err("must be a whole number such as 4096 or 1e6".into()),
    })
}

/// A number.
pub fn number(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    Given::new(value)?.put(name, |value| match value {
        Value::Number(number) => Ok(*number),
        _ => Err("must be a number".into()),
    })
}

/// A word out of a few, whatever was given.
pub fn choice<T: FromStr<Err = String>>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    Given::new(value)?.put(name, |value| match value {
        Value::Word(word) => word.parse(),
        _ => Err("must be a word".into()),
    })
}

/// A whole number, or none.
pub fn maybe_count(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    value.map(|value| count(name, value)).transpose()
}

/// A whole number that counts something in memory.
pub fn size(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    let count = count(name, value)?;
    usize::try_from(count).map_err(|_| wrong(name, &count.to_string(), "too large for this machine"))
}

/// A word out of a few.
pub fn word<T: FromStr<Err = String>>(name: &str, word: &str) -> PyResult<T> {
    word.parse().map_err(|allowed: String| wrong(name, word, &allowed))
}
