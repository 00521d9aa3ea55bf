//! The key of a cell: a hash of everything that decides its outcome.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use superpose_core::backend::Numerics;
use superpose_core::config::Settings;
use superpose_core::config::schema::Sparse;

/// Raised if and only if results change for the same configuration; tested by `outcomes_are_pinned`.
pub const NUMERICS_REVISION: u32 = 5;

/// A hash of the full configuration, seed included, the numerics revision and the [`Numerics`]: 128 bits of BLAKE3, in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(u128);

impl Key {
    /// The key under today's [`NUMERICS_REVISION`].
    pub fn new(settings: &Settings, numerics: &Numerics) -> Key {
        Key::at(settings, NUMERICS_REVISION, numerics)
    }

    /// The key under a given revision.
    ///
    /// The settings that differ from their defaults are hashed as JSON, in the order of their definitions. A setting that is
    /// added later leaves the keys of all earlier cells as they are, and so does [`Numerics::CPU`]. Input files count by their
    /// digest and not by their names.
    pub fn at(settings: &Settings, revision: u32, numerics: &Numerics) -> Key {
        let settings =
            serde_json::to_string(&Sparse(&settings.by_digest())).expect("settings are plain values");
        let mut text = format!("superpose cell\n{revision}\n{settings}");
        if *numerics != Numerics::default() {
            text += &format!("\n{numerics}");
        }
        let mut key = [0; 16];
        blake3::Hasher::new().update(text.as_bytes()).finalize_xof().fill(&mut key);
        Key(u128::from_be_bytes(key))
    }
}

/// Returns a short hash of texts in their order.
pub fn fingerprint(texts: impl IntoIterator<Item: AsRef<str>>) -> String {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        let text = text.as_ref();
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finalize().to_hex()[..16].into()
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Key {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Key, Self::Err> {
        let wrong = "a key has 32 hexadecimal digits";
        if text.len() != 32 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(wrong);
        }
        u128::from_str_radix(text, 16).map(Key).map_err(|_| wrong)
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use superpose_core::config::EmbeddingSettings;

    use super::*;

    /// Keys stay the same for ever, also when settings are added.
    #[test]
    fn keys_are_stable() {
        let settings = Settings::default();
        assert_eq!(Key::at(&settings, 1, &Numerics::CPU).to_string(), "25c1dfb9b0bc66603dc39ba29086697c");
        assert_ne!(Key::at(&settings, 1, &Numerics::CPU), Key::at(&settings, 2, &Numerics::CPU));
        let other = Settings { seed: 1, ..Settings::default() };
        assert_ne!(Key::new(&settings, &Numerics::CPU), Key::new(&other, &Numerics::CPU));
        assert_ne!(Key::new(&settings, &Numerics::CPU), Key::new(&settings, &Numerics::CPU_NO_FMA));
    }

    #[test]
    fn files_count_by_their_digest() {
        let cell = |file: &str, digest: Option<&str>| {
            let embedding = EmbeddingSettings::File { file: file.into(), tensor: "rows".into() };
            let input_digest = digest.map(String::from);
            Key::new(&Settings { embedding, input_digest, ..Settings::default() }, &Numerics::CPU)
        };
        assert_eq!(cell("here", Some("a")), cell("there", Some("a")));
        assert_ne!(cell("here", Some("a")), cell("here", Some("b")));
        assert_ne!(cell("here", None), cell("there", None));
    }

    #[test]
    fn keys_round_trip_as_text() {
        let key = Key::new(&Settings::default(), &Numerics::CPU);
        assert_eq!(key.to_string().parse(), Ok(key));
        for text in ["", "12", "G2345678901234567890123456789012", "+2345678901234567890123456789012"] {
            assert!(text.parse::<Key>().is_err());
        }
    }
}
