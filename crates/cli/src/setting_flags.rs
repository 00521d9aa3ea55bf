//! Command-line flags of settings, made from their definitions.

use std::marker::PhantomData;

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use superpose_core::config::{ConfigError, Group, Kind, Setting, Value, Values};

/// The values that were given by flags, one flag per setting of `S`.
#[derive(Clone, Debug)]
pub struct SettingFlags<S> {
    /// The values.
    pub values: Values,
    settings: PhantomData<fn() -> S>,
}

impl<S> Default for SettingFlags<S> {
    fn default() -> Self {
        SettingFlags { values: Values::default(), settings: PhantomData }
    }
}

impl<S: Group> SettingFlags<S> {
    /// These values, and those of `other` where none was given here.
    pub fn or(self, other: Values) -> SettingFlags<S> {
        SettingFlags { values: self.values.or(other), ..self }
    }

    /// The settings with the values given, defaults elsewhere.
    pub fn read(&self) -> Result<S, ConfigError> {
        S::read(&self.values)
    }
}

impl<S: Group> Args for SettingFlags<S> {
    fn augment_args(command: Command) -> Command {
        command.args(S::definitions().iter().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<S: Group> FromArgMatches for SettingFlags<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut flags = SettingFlags::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.values = given(&S::definitions(), matches)?.or(std::mem::take(&mut self.values));
        Ok(())
    }
}

/// The values that flags of these settings give.
pub fn given(definitions: &[Setting], matches: &ArgMatches) -> Result<Values, Error> {
    let mut values = Values::default();
    for setting in definitions {
        if let Some(value) = matches.get_one::<Value>(setting.name) {
            let set = values.set(setting, value.clone());
            set.map_err(|error| Error::raw(clap::error::ErrorKind::InvalidValue, error))?;
        }
    }
    Ok(values)
}

/// The flag of a setting.
pub fn flag(setting: &Setting) -> Arg {
    let (kind, parsed) = (setting.kind, setting.clone());
    let name = setting.symbol.unwrap_or(match kind {
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
        .required(setting.required)
        .allow_hyphen_values(matches!(kind, Kind::Count | Kind::Number))
        .value_parser(move |text: &str| parsed.parse(text));
    let flag = if setting.group.is_empty() { flag } else { flag.help_heading(setting.group) };
    match kind {
        Kind::Flag => flag.num_args(0..=1).default_missing_value("true"),
        _ => flag,
    }
}

/// The meaning of a setting with its default and, for words, the choices.
fn help(setting: &Setting) -> String {
    let meaning = setting.meaning();
    let default = if setting.required { &Value::Null } else { &setting.default };
    let mark = |(word, _): (&'static str, _)| match *default == Value::Text(word.into()) {
        true => format!("{word} (default)"),
        false => word.to_string(),
    };
    let words: Vec<String> = setting.words().map(mark).collect();
    let words = if words.len() > 1 { format!(": {}", words.join(", ")) } else { String::new() };
    match (&setting.default, meaning.split_once("; absent: ")) {
        (Value::Null, Some((meaning, absent))) => format!("{meaning}{words} (default: {absent})"),
        (Value::Null | Value::Flag(_), _) => meaning + &words,
        _ if setting.required || !words.is_empty() => meaning + &words,
        (default, _) => format!("{meaning} (default {default})"),
    }
}
