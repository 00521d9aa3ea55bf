//! The input files that results were made with. A place for results keeps those of one content of each file: a file that was
//! changed in between is an error rather than a table of mixed results.

use std::collections::BTreeSet;

use superpose_core::config::{Settings, Value, Values};

use super::StoreError;

/// A file of input tensors by its name and the tensors taken from it, and the digest of their contents.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InputFile {
    /// The names of the file, of the matrix and of the output matrix.
    name: [String; 3],
    digest: String,
}

/// The files of many results.
pub type InputFiles = BTreeSet<InputFile>;

/// The settings that [`InputFile::new`] reads.
pub(crate) const SETTINGS: [&str; 5] =
    ["embedding_file", "import", "embedding_tensor", "output_embedding", "input_digest"];

impl InputFile {
    /// The file that settings name, from the values of [`SETTINGS`]; `None` without a file. Arrays have no name.
    pub(crate) fn new([file, import, tensor, output, digest]: [Option<String>; 5]) -> Option<InputFile> {
        let file = import.or(file).filter(|file| !file.starts_with("arrays "))?;
        let name = [file, tensor.unwrap_or_default(), output.unwrap_or_default()];
        Some(InputFile { name, digest: digest? })
    }

    /// The file that settings name.
    pub fn of(settings: &Settings) -> Option<InputFile> {
        settings.input_digest.as_ref()?;
        let values = Values::of(settings);
        InputFile::new(SETTINGS.map(|name| match values.get(name) {
            Some(Value::Text(text)) => Some(text.to_string()),
            _ => None,
        }))
    }
}

/// Checks that the file that settings name has the contents that earlier results were made with.
///
/// # Errors
/// Fails if one of the results was made with other contents.
pub fn check_input(known: &InputFiles, settings: &Settings) -> Result<(), StoreError> {
    let Some(now) = InputFile::of(settings) else { return Ok(()) };
    match known.iter().find(|file| file.name == now.name) {
        Some(other) if !known.contains(&now) => {
            let short = |digest: &str| digest.chars().take(16).collect();
            let (setting, file) = settings.input_file().unwrap_or_default();
            Err(StoreError::OtherInput {
                file: format!("{setting} = {file}"),
                now: short(&now.digest),
                recorded: short(&other.digest),
            })
        }
        _ => Ok(()),
    }
}
