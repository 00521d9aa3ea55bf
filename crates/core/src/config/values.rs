//! User-supplied values by setting name, before they are parsed into a struct.

use std::collections::BTreeMap;

use super::definition::Setting;
use super::value::{Field, Kind, Value};
use super::{ConfigError, Group};

/// Values by the names of their settings. Settings that are not here have their defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(BTreeMap<&'static str, Value>);

impl Values {
    /// The values of all settings that apply.
    pub fn of(settings: &impl Group) -> Values {
        let mut values = Values::default();
        settings.visit(&mut |name, value| {
            values.0.insert(name, value);
        });
        values
    }

    /// Sets a value, which must be of the setting's kind. `Null` removes it.
    pub fn set(&mut self, setting: &Setting, value: Value) -> Result<(), ConfigError> {
        // A number in quotation marks must not look like a number.
        let shown = match (&value, setting.kind) {
            (Value::Text(text), Kind::Flag | Kind::Count | Kind::Number) => format!("{text:?}"),
            _ => value.to_string(),
        };
        match setting.convert(value) {
            Ok(Value::Null) => drop(self.0.remove(setting.name)),
            Ok(value) => drop(self.0.insert(setting.name, value)),
            Err(allowed) => return Err(ConfigError::value(setting.name, shown, allowed)),
        }
        Ok(())
    }

    /// The value that was given.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Removes a value.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    /// Whether a value was given.
    pub fn gives(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Whether no value was given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of the values given, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    /// These values, and those of `other` for settings that have none here.
    pub fn or(mut self, other: Values) -> Values {
        for (name, value) in other.0 {
            self.0.entry(name).or_insert(value);
        }
        self
    }

    /// The field of a setting: the value given, which the field must take, or else the default.
    pub fn read<F: Field>(&self, name: &'static str, default: impl FnOnce() -> F) -> Result<F, ConfigError> {
        match self.0.get(name) {
            None => Ok(default()),
            Some(value) => {
                F::from_value(value.clone()).map_err(|allowed| ConfigError::value(name, value, allowed))
            }
        }
    }
}
