//! The [`settings!`](crate::settings) macro, which declares each setting once.
//!
//! An entry has documentation, a name, a type, a default, and optionally a symbol and a range. Command-line flags, file and Python
//! keys, sweep axes, store columns, the JSON schema and the reference page are derived from the resulting list of [`Setting`]s.

use super::value::{Kind, MAX_EXACT, Value};
use super::{ConfigError, Values};

/// What is known about one setting.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The name everywhere.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Whether it may be absent.
    pub optional: bool,
    /// Whether it must be given. The default is then an example.
    pub required: bool,
    /// What stands for a value in help texts: the symbol of the theory, or a word.
    pub symbol: Option<&'static str>,
    /// The value when none is given.
    pub default: Value,
    /// The values that are allowed.
    pub range: Option<Range>,
    /// The heading that it stands under: empty, or a word such as `Training`.
    pub group: &'static str,
    /// The lines of its documentation.
    pub doc: &'static [&'static str],
    /// Checks that the field takes a value. The error says what is allowed.
    pub takes: fn(Value) -> Result<(), String>,
}

impl PartialEq for Setting {
    fn eq(&self, other: &Setting) -> bool {
        (self.name, self.doc) == (other.name, other.doc)
    }
}

impl Setting {
    /// A setting of this field type.
    pub fn new<F: super::Field>(
        name: &'static str,
        group: &'static str,
        doc: &'static [&'static str],
        default: &F,
    ) -> Setting {
        let (kind, optional, default) = (F::KIND, F::OPTIONAL, default.to_value());
        let takes = |value| F::from_value(value).map(|_| ());
        let (symbol, range) = (None, None);
        Setting { name, kind, optional, required: false, symbol, default, range, group, doc, takes }
    }

    /// What the setting means, as one line.
    pub fn meaning(&self) -> String {
        let lines: Vec<&str> = self.doc.iter().map(|line| line.trim()).collect();
        lines.join(" ").trim_end_matches('.').to_string()
    }

    /// The value in the form that the setting takes. The error says what is allowed.
    pub fn convert(&self, value: Value) -> Result<Value, String> {
        // A whole number that a count cannot hold, such as 1e20, is outside the range.
        let whole = matches!(value, Value::Number(x) if x.fract() == 0.0);
        let value = self.kind.convert(value).map_err(|allowed| match self.range {
            Some(range) if whole => range.allowed(self.kind),
            None if whole && self.kind == Kind::Count => format!(
                "must be a whole number from 0 to {}; above {MAX_EXACT} all digits are needed",
                u64::MAX
            ),
            _ => allowed,
        })?;
        if value != Value::Null {
            (self.takes)(value.clone())?;
        }
        Ok(value)
    }

    /// The value that a text on the command line stands for. The error says what is allowed.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        self.convert(self.kind.literal(text)?)
    }

    /// The words that the setting accepts, each with its meaning; none unless it takes words.
    pub fn words(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let (words, takes) = (if let Kind::Word(words) = self.kind { words } else { &[] }, self.takes);
        words.iter().copied().filter(move |(word, _)| takes(Value::Text((*word).into())).is_ok())
    }

    /// Checks that the setting accepts a value.
    pub fn check(&self, value: &Value) -> Result<(), ConfigError> {
        let checked = match (self.range, value.as_f64()) {
            (Some(range), Some(x)) if !range.contains(x) => Err(range.allowed(self.kind)),
            (_, None) if !self.optional => (self.takes)(value.clone()),
            _ => Ok(()),
        };
        checked.map_err(|allowed| ConfigError::value(self.name, value, allowed))
    }
}

/// Checks that a field that takes words takes this value and that `accepts` holds for it.
pub fn accept<F: super::Field>(value: Value, accepts: fn(F) -> bool) -> Result<(), String> {
    let words = if let Kind::Word(words) = F::KIND { words } else { &[] };
    let accepted = |word: &&str| F::from_value(Value::Text(word.to_string().into())).is_ok_and(accepts);
    let allowed: Vec<&str> = words.iter().map(|(word, _)| *word).filter(accepted).collect();
    let refused = || format!("must be one of {}", allowed.join(", "));
    accepts(F::from_value(value)?).then_some(()).ok_or_else(refused)
}

/// An interval of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lower end.
    pub min: f64,
    /// Upper end.
    pub max: f64,
    /// Whether the lower end is left out.
    pub open_min: bool,
    /// Whether the upper end is left out.
    pub open_max: bool,
}

/// From `min` to `max`, both included.
pub const fn within(min: f64, max: f64) -> Range {
    Range { min, max, open_min: false, open_max: false }
}

/// Whole numbers from `min` to `max`, both included.
pub const fn counts(min: usize, max: usize) -> Range {
    within(min as f64, max as f64)
}

/// Above `min`, at most `max`.
pub const fn above(min: f64, max: f64) -> Range {
    Range { open_min: true, ..within(min, max) }
}

/// At least `min`, below `max`.
pub const fn below(min: f64, max: f64) -> Range {
    Range { open_max: true, ..within(min, max) }
}

/// Above `min`, below `max`.
pub const fn between(min: f64, max: f64) -> Range {
    Range { open_min: true, ..below(min, max) }
}

impl Range {
    /// Whether `x` lies in the interval. NaN does not.
    pub fn contains(&self, x: f64) -> bool {
        let low = if self.open_min { x > self.min } else { x >= self.min };
        let high = if self.open_max { x < self.max } else { x <= self.max };
        low && high
    }

    /// The numbers that are allowed, for an error message.
    pub fn allowed(&self, kind: Kind) -> String {
        let (min, max) = (Value::Number(self.min), Value::Number(self.max));
        match (kind, self.open_min, self.open_max) {
            (Kind::Count, ..) => format!("must be a whole number from {} to {}", self.min, self.max),
            (_, false, false) => format!("must be from {min} to {max}"),
            (_, true, false) => format!("must be above {min}, at most {max}"),
            (_, false, true) => format!("must be at least {min} and below {max}"),
            (_, true, true) => format!("must be above {min} and below {max}"),
        }
    }
}

/// Settings that stand together: a struct that [`settings!`](crate::settings) declares, or a part of one.
pub trait Group: Sized {
    /// The definitions of all settings, those of parts included.
    fn definitions() -> Vec<Setting>;

    /// Calls `visit` with the name and the value of every setting that applies, in the order of their definitions.
    fn visit(&self, visit: &mut dyn FnMut(&'static str, Value));

    /// The settings with the values given, defaults elsewhere, or why the values do not go together.
    fn read(values: &Values) -> Result<Self, ConfigError>;
}

/// Declares a struct of settings.
///
/// An entry is `/// documentation`, then `name: Type where accepts as "symbol" = default, range;`. The predicate `accepts`, the
/// symbol and the range are optional. Settings named after `requires` must be given. Fields under `parts` are structs of settings
/// of their own, whose settings join the list.
#[macro_export]
macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub struct $name:ident in $group:literal $(requires $($required:ident)+)? {
            $($(#[doc = $doc:literal])+ $field:ident: $type:ty $(where $accepts:path)? $(as $symbol:literal)? = $default:expr $(, $range:expr)?;)*
        }
        $(parts { $($(#[doc = $part_doc:literal])+ $part:ident: $part_type:ty,)+ })?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $type,)*
            $($($(#[doc = $part_doc])+ pub $part: $part_type,)+)?
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)* $($($part: Default::default(),)+)? }
            }
        }

        impl $name {
            /// The definitions of all settings, those of parts included.
            pub fn settings() -> &'static [$crate::config::Setting] {
                static SETTINGS: std::sync::LazyLock<Vec<$crate::config::Setting>> =
                    std::sync::LazyLock::new(<$name as $crate::config::Group>::definitions);
                &SETTINGS
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::config::schema::serialize(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::config::schema::deserialize($name::settings(), deserializer)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::config::schema::json_schema($name::settings(), &$name::default(), generator)
            }
        }

        impl $crate::config::Group for $name {
            #[allow(unused_mut)]
            fn definitions() -> Vec<$crate::config::Setting> {
                let default = $name::default();
                let mut definitions = vec![$($crate::config::Setting {
                    $(symbol: Some($symbol),)?
                    $(range: Some($range),)?
                    $(takes: |value| $crate::config::accept::<$type>(value, $accepts),)?
                    ..$crate::config::Setting::new(stringify!($field), $group, &[$($doc),+], &default.$field)
                },)*];
                $(for setting in definitions.iter_mut() {
                    setting.required |= [$(stringify!($required)),+].contains(&setting.name);
                })?
                $($(definitions.extend(<$part_type as $crate::config::Group>::definitions());)+)?
                definitions
            }

            fn visit(&self, visit: &mut dyn FnMut(&'static str, $crate::config::Value)) {
                $(visit(stringify!($field), $crate::config::Field::to_value(&self.$field));)*
                $($($crate::config::Group::visit(&self.$part, visit);)+)?
            }

            fn read(values: &$crate::config::Values) -> Result<Self, $crate::config::ConfigError> {
                Ok($name {
                    $($field: values.read(stringify!($field), || $default)?,)*
                    $($($part: $crate::config::Group::read(values)?,)+)?
                })
            }
        }
    };
}
