//! Results and places that keep them.

use std::collections::HashMap;

use serde::{Deserialize, Serialize, Serializer};
use superpose_core::backend::Numerics;
use superpose_core::config::schema::Sparse;
use superpose_core::config::{Config, Settings};

use super::{InputFiles, Key, NUMERICS_REVISION, Outcome, StoreError};

/// What is known of a cell: its outcome, or why it has none.
pub type Known = Result<Outcome, String>;

/// A finished cell with everything that makes it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Entry {
    /// The hash that names the cell.
    #[schemars(with = "String")]
    pub key: Key,
    /// Version of this layout.
    pub format: u32,
    /// The configuration. Settings at their defaults are not written.
    #[serde(serialize_with = "sparse")]
    pub config: Settings,
    /// What came out.
    #[serde(with = "KnownForm")]
    #[schemars(with = "KnownForm")]
    pub result: Known,
    /// The [`NUMERICS_REVISION`] of the engine that ran it.
    pub numerics_revision: u32,
    /// The arithmetic that it ran with.
    #[serde(default)]
    pub numerics: Numerics,
    /// The version of the program that ran it.
    pub version: String,
}

impl Entry {
    /// The version of the layout that this program writes.
    pub const FORMAT: u32 = 1;

    /// An entry made by this program.
    pub fn new(config: &Config, numerics: &Numerics, result: Known) -> Entry {
        Entry {
            key: Key::new(config, numerics),
            format: Entry::FORMAT,
            config: (**config).clone(),
            result,
            numerics_revision: NUMERICS_REVISION,
            numerics: numerics.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// Checks that an entry that was read can have come from a run. The error is what is wrong.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        if Key::at(&self.config, self.numerics_revision, &self.numerics) != self.key {
            return Err("the key does not fit the configuration");
        }
        if self.result.as_ref().is_ok_and(|outcome| !outcome.is_possible()) {
            return Err("numbers that cannot come from a run");
        }
        Ok(())
    }
}

/// A place for results: [`Memory`], a store or a shard.
pub trait Results {
    /// What is known of these cells; those that are not in the answer are not known.
    fn find(&mut self, keys: &[Key]) -> Result<HashMap<Key, Known>, StoreError>;

    /// The input files that the results were made with.
    fn input_files(&mut self) -> Result<InputFiles, StoreError>;

    /// Keeps all of these entries or, on an error, none. A failure gives way to an outcome, an outcome without a noise budget
    /// to one with it; otherwise what is there stays.
    fn keep(&mut self, entries: &[Entry]) -> Result<(), StoreError>;
}

/// Results in memory, gone with the program.
#[derive(Debug, Default)]
pub struct Memory(HashMap<Key, Known>);

impl Results for Memory {
    fn find(&mut self, keys: &[Key]) -> Result<HashMap<Key, Known>, StoreError> {
        Ok(keys.iter().filter_map(|key| Some((*key, self.0.get(key)?.clone()))).collect())
    }

    /// A program reads its files once, so all results in memory have the same ones.
    fn input_files(&mut self) -> Result<InputFiles, StoreError> {
        Ok(InputFiles::new())
    }

    fn keep(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        entries.iter().for_each(|entry| learn(&mut self.0, entry.key, &entry.result));
        Ok(())
    }
}

/// Whether a new result replaces an earlier one: the rule of every place for results.
pub(crate) fn replaces(there: &Known, now: &Known) -> bool {
    match (there, now) {
        (Err(_), _) => true,
        (Ok(there), Ok(now)) => there.lacks(now),
        (Ok(_), Err(_)) => false,
    }
}

/// Takes in a result unless what is known is as good.
pub(crate) fn learn(known: &mut HashMap<Key, Known>, key: Key, now: &Known) {
    if known.get(&key).is_none_or(|there| replaces(there, now)) {
        known.insert(key, now.clone());
    }
}

fn sparse<S: Serializer>(settings: &Settings, serializer: S) -> Result<S::Ok, S::Error> {
    Sparse(settings).serialize(serializer)
}

/// `{"done": ...}` or `{"failed": "why"}`.
#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(remote = "Known")]
#[allow(clippy::large_enum_variant)] // The form of a Result that it stands for.
enum KnownForm {
    /// The measures.
    #[serde(rename = "done")]
    Ok(Outcome),
    /// Why there are none.
    #[serde(rename = "failed")]
    Err(String),
}
