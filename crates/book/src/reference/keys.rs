//! The page of configuration keys: for files, sweeps, and the words they accept.

use anyhow::Context;
use schemars::{JsonSchema, schema_for};
use serde_json::Value;
use superpose_core::config::{Activation, Embedding, Precision, Regime, Settings, Trigger};
use superpose_lab::sweep::Parameter;

use super::{cell, code, head, plain, said_default, table};

/// The page of keys.
pub fn keys() -> anyhow::Result<String> {
    let mut text = head("Keys and words");
    text += "\nKeys of a configuration file: `superpose run --config FILE.toml`, and so for `predict`, `threshold` and `phase`. A key is the name of the flag with \
             `_` for `-`. A [sweep](../sweeps.md) has those with a mark: *axis*, at its top level, as an axis or in points; *ray*, also by a formula.\n\n";
    let defaults = serde_json::to_value(Settings::default())?;
    let program = superpose_cli::command();
    let run = program.find_subcommand("run").context("there is a command run")?;
    let mut rows = Vec::new();
    for argument in run.get_arguments() {
        let key = argument.get_id().as_str();
        if matches!(key, "config" | "help") {
            continue;
        }
        let sweep = match Parameter::named(key) {
            Some(parameter) if parameter.is_number() => "axis, ray",
            Some(_) => "axis",
            None if key == "repeats" => "top level",
            None => "",
        };
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let (meaning, said) = said_default(&help);
        let default = if defaults[key].is_null() { cell(said) } else { default(&defaults[key]) };
        rows.push([code(key), default, sweep.into(), cell(meaning)]);
    }
    text += &table(["key", "default", "in a sweep", "meaning"], rows);
    text += "\nA sweep has these besides: `[axes]`, `[[points]]`, `[rays]`, and `noise = true` for the noise budget of every cell \
             ([how](../sweeps.md)).\n";
    for (title, key, choices) in [
        ("Embeddings", "embedding", choices::<Embedding>()),
        ("Activations", "activation", choices::<Activation>()),
        ("Trigger", "trigger", choices::<Trigger>()),
        ("Regime", "regime", choices::<Regime>()),
        ("Precision", "precision", choices::<Precision>()),
    ] {
        text += &format!("\n## {title}\n\n");
        let rows = choices.into_iter().map(|(word, meaning)| [code(&word), cell(&meaning)]);
        text += &table([format!("`{key}`").as_str(), "meaning"], rows);
    }
    Ok(text)
}

/// The words of an enum with their documentation.
fn choices<T: JsonSchema>() -> Vec<(String, String)> {
    let schema = schema_for!(T).to_value();
    let text = |choice: &Value, key| plain(choice[key].as_str().unwrap_or_default());
    let choices = schema["oneOf"].as_array().into_iter().flatten();
    choices.map(|choice| (text(choice, "const"), text(choice, "description"))).collect()
}

fn default(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(word) => code(word),
        other => code(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Defaults in help texts are those of the settings.
    #[test]
    fn help_has_the_right_defaults() {
        let settings = Settings::default();
        let mut defaults = serde_json::to_value(&settings).unwrap();
        // A record leaves out what does not train.
        defaults["optimiser"] = settings.optimiser.word().into();
        defaults["schedule"] = settings.schedule.word().into();
        defaults["positions"] = settings.positions.word().into();
        defaults["rate"] = settings.rate.into();
        defaults["weight_decay"] = settings.weight_decay.into();
        defaults["heads"] = settings.heads.into();
        defaults["spread"] = settings.row_spread().into();
        let program = superpose_cli::command();
        let mut checked = 0;
        for argument in program.find_subcommand("run").unwrap().get_arguments() {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let truth = &defaults[argument.get_id().as_str()];
            if let Some(word) = truth.as_str() {
                let said =
                    help.split_once(&format!("{word} (")).and_then(|(_, after)| after.split(')').next());
                assert!(said.is_some_and(|said| said.contains("default")), "{help}: it is {word}");
                checked += 1;
            } else if let Some((_, after)) = help.split_once("(default ").filter(|_| !truth.is_null()) {
                let said: f64 = after.trim_end_matches(')').parse().unwrap();
                assert_eq!(truth.as_f64(), Some(said), "{help}");
                checked += 1;
            }
        }
        assert!(checked >= 19, "{checked}");
    }

    /// Help texts that list words list all of them.
    #[test]
    fn help_lists_every_word() {
        let program = superpose_cli::command();
        let mut checked = 0;
        for command in program.get_subcommands() {
            for argument in command.get_arguments() {
                let words = match argument.get_id().as_str() {
                    "activation" => choices::<Activation>(),
                    "embedding" => choices::<Embedding>(),
                    "trigger" => choices::<Trigger>(),
                    "regime" => choices::<Regime>(),
                    _ => continue,
                };
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                let name = command.get_name();
                // These take vectors that overlap at random, and no file.
                let refused: &[&str] = match name {
                    "bound" => &["file", "low_rank", "clustered"],
                    "memory" => &["file", "low_rank", "clustered", "orthonormal"],
                    _ => &[],
                };
                for (word, _) in words.iter().filter(|(word, _)| !refused.contains(&word.as_str())) {
                    assert!(help.contains(word.as_str()), "{name}: {word} is not in {help:?}");
                    checked += 1;
                }
            }
        }
        assert!(checked > 50, "{checked}");
    }

    /// Every setting can be typed, so every setting has its row.
    #[test]
    fn every_setting_has_a_row() {
        let page = keys().unwrap();
        let Value::Object(settings) = serde_json::to_value(Settings::default()).unwrap() else { panic!() };
        for name in settings.keys() {
            assert!(page.contains(&format!("\n| `{name}` |")), "{name}");
        }
    }
}
