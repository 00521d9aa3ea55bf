//! The [`words!`](crate::words) macro: enums whose variants are written as one word.

/// Declares an enum whose variants are written, read and listed by one word each.
///
/// The enum gets `ALL`, `word`, `Display`, `FromStr`, serde and a JSON schema that carries the documentation of each
/// variant. The calling crate depends on `serde` and `schemars`.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[doc = $doc:literal])+ $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum $name { $($(#[doc = $doc])+ #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every choice, in the order of the documentation.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The words of [`Self::ALL`].
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word that names this choice.
            pub const fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }
        }

        impl $crate::config::Field for $name {
            const KIND: $crate::config::Kind = $crate::config::Kind::Word(&[$(($word, concat!($($doc),+))),+]);
            fn to_value(&self) -> $crate::config::Value {
                $crate::config::Value::Text(self.word().into())
            }
            fn from_value(value: $crate::config::Value) -> Result<Self, String> {
                match value {
                    $crate::config::Value::Text(text) => text.parse(),
                    _ => Err(<Self as $crate::config::Field>::KIND.allowed()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                let found = $name::ALL.iter().copied().find(|choice| choice.word() == text);
                found.ok_or_else(|| <Self as $crate::config::Field>::KIND.allowed())
            }
        }
    };
}
