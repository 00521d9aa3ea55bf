//! Settings in a TOML file: one key per setting, and keys of the command that reads it. Errors name the line.

use superpose_core::config::{Settings, Value, Values, unknown};
use toml::de::DeTable;

use crate::sweep::{line_at, scalar};

/// A file that cannot be read as settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} ({content}): {reason}")]
pub struct FileError {
    line: usize,
    content: String,
    reason: String,
}

/// Keys that are no settings but arguments of the command line.
const COMMAND_KEYS: [&str; 4] = ["json", "threads", "device", "export"];

/// The content of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingsFile {
    /// The settings.
    pub values: Values,
    /// Arguments of the command line.
    pub others: Vec<(&'static str, Value)>,
}

/// Reads a file.
///
/// # Errors
/// The text is not TOML, a key is unknown, or a value is not of its setting's kind.
pub fn read(text: &str) -> Result<SettingsFile, FileError> {
    let wrong = |start: usize, reason: String| {
        let line = line_at(text, start);
        let content = text.lines().nth(line - 1).unwrap_or("").trim().chars().take(60).collect();
        FileError { line, content, reason }
    };
    let start = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
    let table = DeTable::parse(text).map_err(|e| wrong(start(&e), e.message().replace('\n', " ")))?;
    let mut file = SettingsFile::default();
    for (key, value) in table.get_ref() {
        let name = key.get_ref().as_ref();
        let failed = |reason: String| wrong(key.span().start, reason);
        let found = || {
            let allowed = "must be a number, a word in quotation marks, true or false";
            scalar(value.get_ref()).ok_or_else(|| failed(format!("{name}: {allowed}")))
        };
        let setting = Settings::settings().iter().find(|setting| setting.name == name);
        match (setting, COMMAND_KEYS.iter().find(|key| **key == name)) {
            (Some(setting), _) => {
                file.values.set(setting, found()?).map_err(|error| failed(error.to_string()))?;
            }
            (_, Some(key)) => file.others.push((*key, found()?)),
            _ => {
                let names = Settings::settings().iter().map(|setting| setting.name).chain(COMMAND_KEYS);
                return Err(failed(unknown(name, names).to_string()));
            }
        }
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_line() {
        let SettingsFile { values, others } = read("vocab = 1e3\njson = true\ntrigger = \"keys\"").unwrap();
        assert_eq!(values.get("vocab"), Some(&Value::Count(1000)));
        assert_eq!(others, [("json", Value::Flag(true))]);
        for (text, message) in [
            ("vocab = 3\ndimm = 3", "line 2 (dimm = 3): unknown key dimm: did you mean dim? All keys: vocab"),
            ("dim = 2.5", "line 1 (dim = 2.5): dim = 2.5: must be a whole number"),
            ("\ndim = [1]", "line 2 (dim = [1]): dim: must be a number"),
            ("dim = ", "line 1 (dim =): "),
            ("devise = 'cuda'", "line 1 (devise = 'cuda'): unknown key devise: did you mean device?"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{text}: {error}");
        }
    }
}
