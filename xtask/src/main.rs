//! Development commands. `cargo xtask test` is the test command of the README and of continuous integration.

mod device;
mod packages;
mod page;
mod python;
mod skipped;

use std::process::{Command, ExitCode};
use std::time::Instant;

use packages::{AARCH64, BROWSER, SLURM};
use skipped::Skipped;

const HELP: &str = "\
Usage: cargo xtask test [--full | --device DEVICE] | package-tests | book | reference

  test          check the format, run lints, unit, property, documentation and end-to-end tests, and test the web page in
                a browser and the Python package
  test --full   the same and the long tests: fuzzing with a million inputs per reader, load and schema tests of the web
                server, the notebooks, PyTorch, JAX and mypy; 500 flipped bits of each kind of file; stores that are lost
                at any time; aarch64 in an emulator; compiling the kernels for GPUs, and running
                them in an emulator
  test --device cuda
                run the numerical tests on a GPU
  test --device emulator
                run those of small sizes with the kernels on this processor, compiled by GCC 12 or later
  package-tests bundle these tests for a machine without cargo and network, into target/device-tests
  book          build the book in docs/ as HTML into target/book and check its links
  reference     generate docs/reference from the code

System packages that are missing (Slurm, Chromium, Node.js) are listed with the apt-get line that installs them; the test
command runs it if you agree, or at once if the variable CI is set. It installs Playwright and Python packages into target.
Tests whose tools are missing are skipped and listed at the end; if CI is set, that is a failure.";

/// The package that drives the browser.
const PLAYWRIGHT: &str = "playwright-core@1.65.0";
/// The package that finds faults of accessibility.
const AXE: &str = "axe-core@4.14.0";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut skipped = Skipped::default();
    let result = match words[..] {
        ["test"] => test(false, &mut skipped),
        ["test", "--full"] => test(true, &mut skipped).and_then(|()| full(&mut skipped)),
        ["test", "--device", "emulator"] => device::emulate(),
        ["test", "--device", device] => device::test(device),
        ["package-tests"] => device::package(),
        ["book"] => book("build target/book"),
        ["reference"] => book("reference"),
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    };
    for line in skipped.summary() {
        eprintln!("{line}");
    }
    match result.and_then(|()| skipped.check(ci())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(step) => {
            eprintln!("failed: {step}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether this is continuous integration: nobody can be asked, and a skipped test is a failure.
fn ci() -> bool {
    std::env::var_os("CI").is_some()
}

/// Runs a command line in a folder and prints how long it took.
///
/// # Errors
/// The command line, if it cannot be started or fails.
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

/// Runs a command of the `superpose-book` crate, in the profile of the tests.
fn book(what: &str) -> Result<(), String> {
    let line = format!("cargo run --quiet --package superpose-book --locked -- {what}");
    run(&line, &[], ".")
}

/// Returns whether a command can be started and succeeds.
fn works(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
}

/// Installs a component of the Rust toolchain that a minimal installation leaves out, unless `check` succeeds.
fn component(name: &str, check: &str) -> Result<(), String> {
    if works(check) { Ok(()) } else { run(&format!("rustup component add {name}"), &[], ".") }
}

/// Returns whether the tests of sweeps on a cluster can run.
fn slurm(skipped: &mut Skipped) -> bool {
    let missing = if !packages::root() {
        "slurmd needs root"
    } else if !SLURM.ready() {
        "Slurm or munge is not installed"
    } else {
        return true;
    };
    skipped.add(SLURM.part, missing);
    false
}

/// Tests the web page in Chromium, with the program that the Rust tests built.
fn browser(full: bool, skipped: &mut Skipped) -> Result<(), String> {
    let there = |file: &str| std::path::Path::new(file).exists();
    let chromium = packages::chromium();
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_string());
    let (driver, program) = (format!("{target}/browser/"), format!("{target}/debug/superpose"));
    let ready = BROWSER.ready()
        && (there(&format!("{driver}node_modules/axe-core/package.json"))
            || run(
                &format!("npm install --silent --no-audit --no-fund --prefix {driver} {PLAYWRIGHT} {AXE}"),
                &[],
                ".",
            )
            .is_ok());
    if !ready {
        let why = format!("Chromium, Node.js or {PLAYWRIGHT} is not installed");
        skipped.add(BROWSER.part, &why);
        return Ok(());
    }
    let absolute = |path: &str| {
        std::path::absolute(path).map(|path| path.display().to_string()).map_err(|e| e.to_string())
    };
    let (driver, program) = (absolute(&driver)? + "/", absolute(&program)?);
    let mut environment = vec![("CHROMIUM", &*chromium), ("PLAYWRIGHT", &*driver), ("SUPERPOSE", &*program)];
    environment.extend(full.then_some(("SUPERPOSE_FULL", "1")));
    run("node --test --test-reporter=spec crates/web/tests/browser/all.test.mjs", &environment, ".")
}

/// The tests of both tiers; the full tier runs some of them at greater length.
fn test(full: bool, skipped: &mut Skipped) -> Result<(), String> {
    packages::provide(if full { &[SLURM, BROWSER, AARCH64] } else { &[SLURM, BROWSER] });
    component("rustfmt", "cargo fmt --version")?;
    component("clippy", "cargo clippy --version")?;
    run("cargo fmt --all -- --check", &[], ".")?;
    run("cargo clippy --workspace --all-targets --locked -- -D warnings", &[], ".")?;
    run("cargo doc --workspace --no-deps --locked", &[("RUSTDOCFLAGS", "-D warnings")], ".")?;
    // With this variable the Slurm tests fail instead of skipping, so that they cannot be skipped unnoticed.
    let environment: &[_] = if slurm(skipped) { &[("SUPERPOSE_REQUIRE_SLURM", "1")] } else { &[] };
    // Examples are long simulations: clippy has checked that they compile, and nothing here runs them.
    run("cargo test --workspace --tests --locked", environment, ".")?;
    run("cargo test --workspace --doc --locked", &[], ".")?;
    // The pinned cells once more with narrower vectors: their bits must not depend on the width.
    let narrow = [("SUPERPOSE_NARROW", "1")];
    run("cargo test --workspace --no-default-features --test pinned --locked", &narrow, ".")?;
    browser(full, skipped)?;
    python::test(full, skipped)
}

/// Runs the pinned cells on an emulated aarch64 processor.
fn aarch64(skipped: &mut Skipped) -> Result<(), String> {
    const TARGET: &str = "aarch64-unknown-linux-gnu";
    if !AARCH64.ready() || !works(&format!("rustup target add {TARGET}")) {
        skipped.add(AARCH64.part, "qemu-user, the cross compiler or the Rust target is not installed");
        return Ok(());
    }
    let environment = [
        ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc"),
        ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", "qemu-aarch64 -L /usr/aarch64-linux-gnu"),
    ];
    run(&format!("cargo test --locked --target {TARGET} -p superpose-lab --test pinned"), &environment, ".")
}

/// The long tests that only the full tier has.
fn full(skipped: &mut Skipped) -> Result<(), String> {
    aarch64(skipped)?;
    run("cargo test --locked -p superpose-lab --test all damage -- --ignored", &[], ".")?;
    run("cargo test --locked -p superpose --test all trust -- --ignored", &[], ".")?;
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
    device::compile()?;
    if device::sanitizer().is_some() {
        device::emulate()?;
    } else {
        skipped.add("the kernels of GPUs on an emulator", device::EMULATOR);
    }
    page::flood()?;
    page::schemathesis()
}
