//! Helpers of the command-line tests.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Returns the program with arguments, run in a folder and outside of any Slurm job.
pub fn command(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_superpose"));
    command.args(arguments.split_whitespace()).current_dir(folder);
    for name in ["ID", "COUNT", "MIN", "MAX", "STEP"] {
        command.env_remove(format!("SLURM_ARRAY_TASK_{name}"));
    }
    command
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn superpose_in(folder: &Path, arguments: &str) -> Output {
    command(folder, arguments).output().unwrap()
}

pub fn superpose(arguments: &str) -> Output {
    superpose_in(Path::new("."), arguments)
}

/// Runs a command that must succeed; returns standard output and standard error.
pub fn works_in(folder: &Path, arguments: &str) -> (String, String) {
    let output = superpose_in(folder, arguments);
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{arguments}: {out}{error}");
    (out, error)
}

/// Runs a command that must succeed; returns standard output.
pub fn works(arguments: &str) -> String {
    works_in(Path::new("."), arguments).0
}

pub fn json(arguments: &str) -> Value {
    serde_json::from_str(&works(arguments)).unwrap()
}

/// Fails unless the command ends with exit code 2, no output and one error message that contains all of `words`.
pub fn refused_in(folder: &Path, arguments: &str, words: &[&str]) {
    let output = superpose_in(folder, arguments);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
    assert!(output.stdout.is_empty(), "{arguments}");
    assert!(message.starts_with("error: ") && !message.contains("panicked"), "{arguments}: {message}");
    for word in words {
        assert!(message.contains(word), "{arguments}: {word:?} is not in {message:?}");
    }
}

pub fn refused(arguments: &str, words: &[&str]) {
    refused_in(Path::new("."), arguments, words);
}
