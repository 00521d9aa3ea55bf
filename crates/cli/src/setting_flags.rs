//! Command-line flags of settings, made from their definitions.

use std::marker::PhantomData;

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use superpose_associative::MemorySettings;
use superpose_core::config::{Kind, Setting, Settings, Value, Values};

/// A struct whose settings become flags.
pub trait Flags: Clone + Send + Sync + 'static {
    /// The definitions of the settings.
    fn settings() -> &'static [Setting];
}

impl Flags for Settings {
    fn settings() -> &'static [Setting] {
        Settings::settings()
    }
}

impl Flags for MemorySettings {
    fn settings() -> &'static [Setting] {
        MemorySettings::settings()
    }
}

/// The values that were given by flags, one flag per setting of `S`.
#[derive(Clone, Debug)]
pub struct SettingFlags<S> {
    /// The values.
    pub values: Values,
    settings: PhantomData<S>,
}

impl<S> Default for SettingFlags<S> {
    fn default() -> Self {
        SettingFlags { values: Values::default(), settings: PhantomData }
    }
}

impl<S> SettingFlags<S> {
    /// These values, and those of `other` where none was given here.
    pub fn or(self, other: Values) -> SettingFlags<S> {
        SettingFlags { values: self.values.or(other), ..self }
    }
}

impl<S: Flags> Args for SettingFlags<S> {
    fn augment_args(command: Command) -> Command {
        command.args(S::settings().iter().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<S: Flags> FromArgMatches for SettingFlags<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut flags = SettingFlags::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for setting in S::settings() {
            if let Some(value) = matches.get_one::<Value>(setting.name) {
                let set = self.values.set(setting, value.clone());
                set.map_err(|error| Error::raw(clap::error::ErrorKind::InvalidValue, error))?;
            }
        }
        Ok(())
    }
}

fn flag(setting: &'static Setting) -> Arg {
    let name = setting.symbol.unwrap_or(match setting.kind {
        Kind::Flag => "BOOL",
        Kind::Count => "COUNT",
        Kind::Number => "NUMBER",
        Kind::Word(_) => "WORD",
        Kind::Pattern { .. } => "RULE",
        Kind::Text => "NAME",
    });
    let flag = Arg::new(setting.name)
        .long(setting.name.replace('_', "-"))
        .value_name(name)
        .help(help(setting))
        .allow_hyphen_values(matches!(setting.kind, Kind::Count | Kind::Number))
        .value_parser(move |text: &str| setting.kind.parse(text).and_then(|value| setting.convert(value)));
    let flag = if setting.group.is_empty() { flag } else { flag.help_heading(setting.group) };
    match setting.kind {
        Kind::Flag => flag.num_args(0..=1).default_missing_value("true"),
        _ => flag,
    }
}

/// The meaning of a setting with its default and, for words, the choices.
fn help(setting: &Setting) -> String {
    let meaning = setting.meaning();
    let default = setting.default.to_string();
    match (setting.kind, &setting.default) {
        (Kind::Word(words), _) => {
            let mark = |(word, _): &(&str, &str)| match *word == default {
                true => format!("{word} (default)"),
                false => (*word).to_string(),
            };
            let words: Vec<String> = words.iter().map(mark).collect();
            format!("{meaning}: {}", words.join(", "))
        }
        (Kind::Flag, _) => meaning,
        (_, Value::Null) => match meaning.split_once("; absent: ") {
            Some((meaning, absent)) => format!("{meaning} (default: {absent})"),
            None => meaning,
        },
        _ => format!("{meaning} (default {default})"),
    }
}
