//! The project's chores. `cargo xtask test` is the test command of the README and of continuous integration.

mod page;
mod python;

use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

const HELP: &str = "\
Usage: cargo xtask test [--full] | book | reference

  test          format, lints, unit, property, documentation and end-to-end tests, the page in a browser, the Python package
  test --full   the same, and the long ones: fuzzing, a million inputs per reader; the page's server under a flood and
                against its own description; the notebooks and PyTorch
  book          the book of docs/ as HTML into target/book, its links checked
  reference     docs/reference, written from the code";

/// What drives the browser.
const PLAYWRIGHT: &str = "playwright-core@1.65.0";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["test"] => test().and_then(|()| python::test(false)),
        ["test", "--full"] => test().and_then(|()| python::test(true)).and_then(|()| full()),
        ["book"] => book("build target/book"),
        ["reference"] => book("reference"),
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(step) => {
            eprintln!("failed: {step}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a command line; the error is the command itself.
fn run(line: &str, environment: &[(&str, &str)], folder: &str) -> Result<(), String> {
    eprintln!("$ {line}");
    let started = Instant::now();
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    let status =
        Command::new(program).args(words).envs(environment.iter().copied()).current_dir(folder).status();
    eprintln!("  {:.0} s", started.elapsed().as_secs_f64());
    if status.is_ok_and(|status| status.success()) { Ok(()) } else { Err(line.to_string()) }
}

/// Does something with the book, in the profile of the tests.
fn book(what: &str) -> Result<(), String> {
    let line = format!("cargo run --quiet --package superpose-book --locked -- {what}");
    run(&line, &[], ".")
}

/// Whether a command can be started and succeeds.
fn works(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
}

/// A part of the toolchain that a minimal installation leaves out.
fn component(name: &str, check: &str) -> Result<(), String> {
    if works(check) { Ok(()) } else { run(&format!("rustup component add {name}"), &[], ".") }
}

/// Slurm and its keeper of keys, for the tests of sweeps on a cluster. Where they cannot be installed, those tests say so.
fn slurm() {
    let there = |file: &str| std::path::Path::new(file).exists();
    if ["/usr/bin/sbatch", "/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/munged"]
        .into_iter()
        .all(there)
    {
        return;
    }
    if !installed("slurm-wlm munge") {
        eprintln!("  not possible here: the tests on Slurm will be skipped");
    }
}

/// Installs packages of the distribution, if it can.
fn installed(packages: &str) -> bool {
    let install = format!("apt-get install -y -qq --no-install-recommends {packages}");
    eprintln!("$ {install}");
    let apt = |line: &str| {
        let mut words = line.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or_default());
        let command = command.args(words).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        command.output().is_ok_and(|output| output.status.success())
    };
    apt(&install) || (apt("apt-get update -qq") && apt(&install))
}

/// The page in a real Chromium, with the program that the tests before it built. Where there is none and none can be
/// installed, says so loudly.
fn browser() -> Result<(), String> {
    let there = |file: &str| std::path::Path::new(file).exists();
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| "/usr/bin/chromium".to_string());
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_string());
    let (driver, program) = (format!("{target}/browser/"), format!("{target}/debug/superpose"));
    let ready = (there(&chromium) || installed("chromium"))
        && ((works("node --version") && works("npm --version")) || installed("nodejs npm"))
        && (there(&format!("{driver}node_modules/playwright-core/package.json"))
            || run(
                &format!("npm install --silent --no-audit --no-fund --prefix {driver} {PLAYWRIGHT}"),
                &[],
                ".",
            )
            .is_ok());
    if !ready {
        eprintln!(
            "\n  NOT TESTED: the page in a browser. It needs Chromium, Node.js and {PLAYWRIGHT} from npm,"
        );
        eprintln!("  and not all of them are here or could be installed.\n");
        return Ok(());
    }
    let absolute = |path: &str| {
        std::path::absolute(path).map(|path| path.display().to_string()).map_err(|e| e.to_string())
    };
    let (driver, program) = (absolute(&driver)? + "/", absolute(&program)?);
    let environment = [("CHROMIUM", &*chromium), ("PLAYWRIGHT", &*driver), ("SUPERPOSE", &*program)];
    run("node --test --test-reporter=spec crates/web/tests/browser/all.test.mjs", &environment, ".")
}

fn test() -> Result<(), String> {
    component("rustfmt", "cargo fmt --version")?;
    component("clippy", "cargo clippy --version")?;
    run("cargo fmt --all -- --check", &[], ".")?;
    run("cargo clippy --workspace --all-targets --locked -- -D warnings", &[], ".")?;
    run("cargo doc --workspace --no-deps --locked", &[("RUSTDOCFLAGS", "-D warnings")], ".")?;
    slurm();
    run("cargo test --workspace --locked", &[], ".")?;
    browser()
}

fn full() -> Result<(), String> {
    if !works("cargo fuzz --version") {
        run("cargo install cargo-fuzz --locked", &[], ".")?;
    }
    for (target, corpus) in
        [("tensors", "crates/lab/tests/fixtures"), ("toml", "fuzz/seeds/toml"), ("sweep", "fuzz/seeds/sweep")]
    {
        std::fs::create_dir_all(format!("fuzz/corpus/{target}")).map_err(|error| error.to_string())?;
        let line = format!(
            "cargo fuzz run --sanitizer none {target} fuzz/corpus/{target} {corpus} -- -runs=1000000 -max_len=16384 -timeout=20 -rss_limit_mb=4096"
        );
        run(&line, &[], ".")?;
    }
    page::flood()?;
    page::schemathesis()
}
