//! Enums whose variants are single words.

/// Declares an enum whose variants are written, read and listed by one word each.
///
/// The enum gets `ALL`, `word`, `Display`, `FromStr`, serde and a JSON schema that carries the documentation of each
/// variant. The calling crate depends on `serde` and `schemars`.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum $name { $($(#[$vmeta])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every choice, in the order of the documentation.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The word that names this choice.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
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
                $name::ALL.iter().copied().find(|choice| choice.word() == text).ok_or_else(|| {
                    let words: Vec<_> = $name::ALL.iter().map(|choice| choice.word()).collect();
                    format!("must be one of {}", words.join(", "))
                })
            }
        }
    };
}
