//! Tests on a GPU, here or on a machine without cargo and network.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::python::{PYTHON, environment};
use crate::{run, works};

/// What the emulator needs.
pub const EMULATOR: &str = "needs x86-64 Linux with glibc, and GCC 12 or later with AddressSanitizer";

/// The numerical tests that run on a device: the device beside the CPU, and beside automatic differentiation.
const TESTS: &str = "-p superpose-cuda -p superpose-lab --test parity";

/// Runs the numerical tests on a device.
///
/// # Errors
/// The command that failed.
pub fn test(device: &str) -> Result<(), String> {
    run(&format!("cargo test {TESTS} --locked"), &[("SUPERPOSE_DEVICE", device)], ".")
}

/// The script that runs the bundled tests. With compute-sanitizer's tools as arguments, it runs the small ones under each.
const SCRIPT: &str = r#"#!/bin/sh
# Usage: run.sh [memcheck] [racecheck]
cd "$(dirname "$0")" || exit 1
PATH="$PATH:/usr/local/cuda/bin"
export SUPERPOSE_DEVICE="${SUPERPOSE_DEVICE:-cuda}" SUPERPOSE_FIXTURES="$PWD/fixtures"
status=0
for test in superpose-cuda superpose-lab; do ./$test --test-threads=4 || status=1; done
# Each buffer is then a piece of memory of exactly its size, so that the tools find accesses just outside of it.
export SUPERPOSE_EXACT_MEMORY=1
for tool in "$@"; do
    compute-sanitizer --tool "$tool" --error-exitcode 1 ./superpose-lab three_steps || status=1
    compute-sanitizer --tool "$tool" --error-exitcode 1 ./superpose-cuda small_ || status=1
done
exit $status
"#;

/// Bundles the same test binaries with their fixtures in `target/device-tests`.
///
/// # Errors
/// What failed.
pub fn package() -> Result<(), String> {
    let folder = Path::new("target/device-tests");
    let line = format!("test {TESTS} --locked --no-run --message-format=json-render-diagnostics");
    eprintln!("$ cargo {line}");
    let output =
        Command::new("cargo").args(line.split_whitespace()).stderr(std::process::Stdio::inherit()).output();
    let output = output.ok().filter(|output| output.status.success()).ok_or(line)?;
    let failed = |error: std::io::Error| error.to_string();
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder.join("fixtures")).map_err(failed)?;
    for message in String::from_utf8_lossy(&output.stdout).lines() {
        // One JSON object per line; those of test binaries have an executable.
        let Some((_, rest)) = message.split_once("\"executable\":\"") else { continue };
        let Some(path) = rest.split('"').next() else { continue };
        let name = if message.contains("crates/cuda") { "superpose-cuda" } else { "superpose-lab" };
        fs::copy(path, folder.join(name)).map_err(failed)?;
    }
    for entry in fs::read_dir("crates/lab/tests/fixtures").map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "safetensors") {
            fs::copy(&path, folder.join("fixtures").join(path.file_name().unwrap_or_default()))
                .map_err(failed)?;
        }
    }
    fs::write(folder.join("run.sh"), SCRIPT).map_err(failed)?;
    run("chmod +x target/device-tests/run.sh", &[], ".")?;
    if works("strip --version") {
        run("strip target/device-tests/superpose-cuda target/device-tests/superpose-lab", &[], ".")?;
    }
    eprintln!("target/device-tests: copy it to a machine with a GPU and start run.sh");
    Ok(())
}

/// Compiles every kernel with NVRTC from its Python package, which needs no GPU.
///
/// # Errors
/// The command that failed.
pub fn compile() -> Result<(), String> {
    run(&format!("{PYTHON} -m pip install --quiet nvidia-cuda-nvrtc"), &[], ".")?;
    let folders = environment("nvidia/cu13/lib")?;
    let line = "cargo test -p superpose-cuda --test compile --locked -- --ignored";
    run(line, &[("LD_LIBRARY_PATH", &folders)], ".")
}

/// GCC's AddressSanitizer, if the emulator of GPUs runs here.
pub fn sanitizer() -> Option<String> {
    let ask = |argument: &str| {
        let output = Command::new("g++").arg(argument).output().ok()?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_string())
    };
    let supported = cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"));
    // Half-precision numbers in C++ need version 12.
    let version: u32 = ask("-dumpversion")?.split('.').next()?.parse().ok()?;
    let path = ask("-print-file-name=libasan.so")?;
    (supported && version >= 12 && Path::new(&path).is_absolute()).then_some(path)
}

/// Runs the numerical tests with the kernels on an emulator of a GPU, if [`sanitizer`] finds what that needs.
///
/// # Errors
/// What failed.
pub fn emulate() -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let sanitizer = sanitizer().ok_or_else(|| format!("the emulator {EMULATOR}"))?;
    // The test program is compiled without the sanitizer, which must then be loaded first.
    let runner = format!("env LD_PRELOAD={sanitizer}");
    let _ = fs::remove_dir_all("target/emulator");
    fs::create_dir_all("target/emulator").map_err(failed)?;
    let path = |folder: &str| fs::canonicalize(folder).map(|path| path.display().to_string());
    let (folder, sources) =
        (path("target/emulator").map_err(failed)?, path("crates/cuda/tests/emulator").map_err(failed)?);
    // One file with three names, which is loaded once.
    let options = "-std=c++17 -O3 -g1 -fsanitize=address -fPIC -shared";
    run(&format!("g++ {options} -o {folder}/libcuda.so {sources}/driver.cpp"), &[], ".")?;
    for name in ["cublas", "nvrtc"] {
        fs::hard_link(format!("{folder}/libcuda.so"), format!("{folder}/lib{name}.so")).map_err(failed)?;
    }
    let mut environment = vec![
        ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", runner.as_str()),
        ("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=0"),
        ("SUPERPOSE_EXACT_MEMORY", "1"),
        ("SUPERPOSE_DEVICE", "cuda"),
        ("LD_LIBRARY_PATH", &folder),
        ("XDG_CACHE_HOME", &folder),
        ("EMULATOR_FOLDER", &folder),
        ("EMULATOR_SOURCES", &sources),
    ];
    // The others are too large for it.
    let line = "cargo test -p superpose-cuda --test parity --locked --";
    run(&format!("{line} --skip larger_ --skip reproducible"), &environment, ".")?;
    // Once more without tensor cores.
    environment.push(("EMULATOR_CAPABILITY", "7"));
    run(&format!("{line} small_runs_agree"), &environment, ".")
}
