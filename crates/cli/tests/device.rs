//! `--device` and `superpose devices` on a machine without a GPU, which an empty list of visible GPUs makes of every machine.

use std::path::Path;
use std::process::Output;

use superpose_core::backend::Numerics;
use superpose_lab::cell::{Entry, Results};
use superpose_lab::store::{Store, StoreError};

use crate::common::{command, refused, text, works_in};

fn without_gpu(arguments: &str) -> Output {
    command(Path::new("."), arguments).env("CUDA_VISIBLE_DEVICES", "").output().unwrap()
}

const SMALL: &str = "--vocab 40 --dim 16 --length 4 --samples 300 --test-samples 50";

#[test]
fn gpu_that_is_not_there_is_one_sentence_and_exit_code_2() {
    let sweep = tempfile::tempdir().unwrap();
    let file = sweep.path().join("sweep.toml");
    std::fs::write(&file, "vocab = 40\ndim = 16\nsamples = 100\n[axes]\nlength = [4, 8]\n").unwrap();
    for arguments in [
        format!("run {SMALL} --device cuda"),
        format!("run {SMALL} --device cuda:7"),
        format!("train {SMALL} --steps 3 --device cuda"),
        "threshold --find samples --vocab 40 --dim 30 --length 4 --device cuda".into(),
        "phase --vocab 40 --length 4 --x dim:16..32 --y samples:100..1000 --device cuda".into(),
        format!("sweep {} --device cuda", file.display()),
        "bench --device cuda".into(),
        "memory --facts 20 --dim 16 --device cuda".into(),
        "bound --vocab 20 --dim 16 --device cuda".into(),
        "serve --port 0 --device cuda".into(),
    ] {
        let output = without_gpu(&arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        assert!(output.stdout.is_empty(), "{arguments}");
        assert!(message.starts_with("error: no CUDA device can be used: "), "{arguments}: {message}");
        assert!(
            message.lines().count() == 1 && message.ends_with("use the device cpu\n"),
            "{arguments}: {message}"
        );
    }
}

#[test]
fn auto_takes_the_cpu_where_no_gpu_works() {
    let (auto, cpu) = (
        without_gpu(&format!("run {SMALL} --device auto")),
        without_gpu(&format!("run {SMALL} --device cpu")),
    );
    assert!(auto.status.success() && cpu.status.success());
    let said = text(&auto.stderr);
    assert!(said.starts_with("device: cpu (") && said.lines().count() == 1, "{said}");
    // All but the times.
    let recall = |output: &Output| text(&output.stdout).lines().take(6).collect::<Vec<_>>().join("\n");
    assert_eq!(recall(&auto), recall(&cpu));
}

#[test]
fn what_no_device_can_do_is_refused_by_name() {
    for (command, device) in [("estimate", "cuda:1"), ("estimate", "auto"), ("predict", "auto")] {
        let refusal = format!("device = {device}: {command} uses the CPU only");
        refused(&format!("{command} --device {device}"), &[&refusal, "give cpu"]);
    }
    for command in ["estimate", "predict"] {
        assert!(without_gpu(&format!("{command} --device cpu")).status.success(), "{command}");
    }
    refused("run --device gpu", &["must be cpu, cuda, cuda:N or auto"]);
}

#[test]
fn settings_file_refuses_keys_of_the_command_by_name() {
    let folder = tempfile::tempdir().unwrap();
    for (line, shown) in [
        ("device = \"gpu\"", "device = \"gpu\": must be cpu, cuda, cuda:N or auto"),
        ("device = 5", "device = 5: must be cpu, cuda, cuda:N or auto"),
        ("json = 5", "json = 5: must be true or false"),
        ("threads = \"2\"", "threads = \"2\": must be a whole number from 1 to 1024"),
        ("threads = 2.5", "threads = 2.5: must be a whole number from 1 to 1024"),
        ("export = 5", "export = 5: must be a string"),
    ] {
        std::fs::write(folder.path().join("run.toml"), line).unwrap();
        crate::common::refused_in(folder.path(), "run --config run.toml", &["run.toml: ", shown]);
    }
}

#[test]
fn devices_lists_the_cpu_and_says_why_there_is_no_gpu() {
    let output = without_gpu("devices");
    let found = text(&output.stdout);
    assert!(
        output.status.success() && found.contains("cpu") && found.contains("no CUDA device can be used"),
        "{found}"
    );
    let json: serde_json::Value = serde_json::from_slice(&without_gpu("devices --json").stdout).unwrap();
    assert_eq!(json["devices"][0]["device"], "cpu");
    assert!(json["unavailable"].is_string());
}

/// Files that are no libraries hide those of the system.
#[test]
#[cfg(target_os = "linux")]
fn library_that_cannot_be_loaded_is_named_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["libcuda.so", "libcuda.so.1"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    for (arguments, code) in [
        (format!("run {SMALL} --device cuda"), 2),
        (format!("run {SMALL} --device auto"), 0),
        ("devices".into(), 0),
    ] {
        let mut run = command(folder.path(), &arguments);
        let output = run.env("LD_LIBRARY_PATH", folder.path()).output().unwrap();
        let said = text(&output.stderr) + &text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{arguments}: {said}");
        assert!(said.contains("(libcuda) cannot be loaded (") && said.contains("file too short"), "{said}");
    }
}

/// A sweep that was never submitted may have run on GPUs.
#[test]
fn status_counts_the_results_of_gpus() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = "vocab = 24\ndim = 12\nlength = 4\ntest_samples = 100\nsamples = 200\nrepeats = 4\n";
    std::fs::write(folder.path().join("a.toml"), sweep).unwrap();
    works_in(folder.path(), "sweep a.toml --store cpu.sqlite");
    let mut entries = Vec::new();
    let mut each = |entry| {
        entries.push(entry);
        Ok::<_, StoreError>(())
    };
    Store::open(&folder.path().join("cpu.sqlite")).unwrap().entries(&mut each).unwrap();
    let mut store = Store::open(&folder.path().join("a.sqlite")).unwrap();
    for (Entry { config, result, .. }, word) in entries.into_iter().take(3).zip(["sm80", "sm90", "sm90"]) {
        let numerics = Numerics::try_from(format!("cuda-{word}")).unwrap();
        store.keep(&[Entry::new(&config.check().unwrap(), &numerics, result)]).unwrap();
    }
    drop(store);
    let (out, error) = works_in(folder.path(), "status a.toml");
    assert!(out.contains("4 cells: 3 done, 0 failed, 1 left"), "{out}");
    assert!(
        error.contains("continue with superpose sweep a.toml --store a.sqlite --device cuda\n"),
        "{error}"
    );
    works_in(folder.path(), "sweep a.toml");
    let (out, error) = works_in(folder.path(), "status a.toml");
    assert!(out.contains("4 cells: 4 done") && error.is_empty(), "{out}{error}");
}
