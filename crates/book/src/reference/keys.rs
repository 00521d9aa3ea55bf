//! The page of settings: the keys of a configuration file and of a sweep, and the words that they take.

use superpose_core::config::{Kind, Setting, Settings, Value};
use superpose_lab::run::Inputs;
use superpose_lab::store::cell_settings;

use super::{cell, code, head, plain, table};

pub fn keys() -> String {
    let mut text = head("Keys and words");
    text += "\nKeys of a configuration file: `superpose run --config FILE.toml`, and so for `predict`, `threshold` and `phase`. A key is the name of the flag with \
             `_` for `-`, and the keyword in Python (there `import` is written `import_`). A [sweep](../sweeps.md) has those with a mark: *axis*, at its top level, as an axis or in points; *ray*, also by a formula.\n\n";
    let rows = Settings::settings().iter().map(|setting| {
        let sweep = match (setting.name, cell_settings().any(|other| other == setting), setting.kind) {
            ("repeats", ..) => "top level",
            (name, ..) if Inputs::default().fixes(name).is_some() => "top level",
            (_, true, Kind::Count | Kind::Number) => "axis, ray",
            (_, true, _) => "axis",
            (_, false, _) => "",
        };
        let (meaning, absent) = split_default(setting);
        [code(setting.name), absent, allowed(setting), sweep.into(), cell(&meaning)]
    });
    text += &table(["key", "default", "allowed", "in a sweep", "meaning"], rows);
    text += "\nA configuration file may also have `json`, `threads`, `device` and `export`, which are flags of the command. A sweep has these besides: `[axes]`, `[[points]]`, `[rays]`, \
             and `noise = true` for the noise budget of every cell ([how](../sweeps.md)).\n";
    for setting in Settings::settings() {
        if let Kind::Word(_) = setting.kind {
            text += &format!("\n## `{}`\n\n", setting.name);
            let rows = setting.words().map(|(word, meaning)| [code(word), cell(&plain(meaning.trim()))]);
            text += &table(["word", "meaning"], rows);
        }
    }
    text
}

/// The meaning of a setting, and its default.
fn split_default(setting: &Setting) -> (String, String) {
    let meaning = setting.meaning();
    match (&setting.default, meaning.split_once("; absent: ")) {
        (Value::Null, Some((meaning, absent))) => (meaning.into(), cell(absent)),
        (Value::Null, None) => (meaning, String::new()),
        (default, _) => (meaning.clone(), code(&default.to_string())),
    }
}

fn allowed(setting: &Setting) -> String {
    match setting.range {
        Some(range) => {
            let allowed = range.allowed(setting.kind).replace("must be ", "").replace("a whole number ", "");
            cell(&allowed.replace(" to 2147483647", " on"))
        }
        None => String::new(),
    }
}
