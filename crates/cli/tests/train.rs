//! `superpose train`: checkpoints, interruptions, files and errors.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::text;
use superpose_tensors::TensorFile;

/// A run of about a second with mini-batches, trained embeddings and Adam.
const RUN: &str = "--vocab 64 --dim 24 --length 8 --samples 2000 --test-samples 500 --batch 600 --steps 240 --every 10 \
                   --rate 0.02 --schedule cosine --train-embeddings --heads 2 --threads 1";

fn command(folder: &Path, arguments: &str) -> Command {
    crate::common::command(folder, &format!("train {arguments}"))
}

fn works(folder: &Path, arguments: &str) -> Output {
    let output = command(folder, arguments).output().unwrap();
    assert!(output.status.success(), "{arguments}: {}", text(&output.stderr));
    output
}

/// Returns the record without its time.
fn record(output: &Output) -> serde_json::Value {
    let mut record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    record["outcome"]["seconds"] = 0.into();
    record
}

/// Starts a run and waits until its checkpoint has been replaced a few times; the run must not have ended.
fn half_way(folder: &Path, arguments: &str, checkpoint: &str) -> Child {
    let mut child = command(folder, arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let path = folder.join(checkpoint);
    let started = Instant::now();
    let step = || {
        let header = TensorFile::open(&path).ok()?.metadata();
        let counters: serde_json::Value = serde_json::from_str(&header["counters"]).ok()?;
        counters["step"].as_u64()
    };
    while step().is_none_or(|step| step < 30) {
        assert!(started.elapsed() < Duration::from_secs(60), "no checkpoint");
        assert!(child.try_wait().unwrap().is_none(), "it was over before it could be stopped");
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

#[test]
fn killed_run_continues_with_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let whole = record(&works(folder.path(), &format!("{RUN} --checkpoint whole.safetensors --json")));
    // M of both heads, their two W, both tables of 64 embeddings, trigger and end of sequence.
    let parameters = 2 * 24 * 24 + 2 * 24 * 24 + 2 * 64 * 24 + 2 * 24;
    assert_eq!(whole["parameters"], parameters);
    assert!(whole["bits_per_parameter"]["mean"].as_f64() > Some(0.0), "{whole}");
    let arguments = format!("{RUN} --checkpoint killed.safetensors --json");

    let mut child = half_way(folder.path(), &arguments, "killed.safetensors");
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    let output = works(folder.path(), &arguments);
    assert!(text(&output.stderr).contains("continuing from step"), "{}", text(&output.stderr));
    assert_eq!(record(&output), whole);

    // Every tensor and every moment is the same.
    let [a, b] = ["whole.safetensors", "killed.safetensors"]
        .map(|name| TensorFile::open(&folder.path().join(name)).unwrap());
    let (a, b) = (a.tensors(), b.tensors());
    assert_eq!(a.names(), b.names());
    assert!(a.names().contains(&"z_in.second".to_string()), "{:?}", a.names());
    for name in a.names() {
        assert_eq!(a.floats(&name).unwrap(), b.floats(&name).unwrap());
    }

    // A finished run can be opened with the checkpoint alone.
    let again = works(folder.path(), "--checkpoint killed.safetensors --json --threads 2");
    assert_eq!(record(&again), whole);
}

#[cfg(unix)]
#[test]
fn interrupted_run_is_saved_and_can_continue() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = format!("{RUN} --checkpoint run.safetensors --json");
    let child = half_way(folder.path(), &arguments, "run.safetensors");
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{message}");
    assert!(
        message.contains(
            " of 240 steps are done and kept in run.safetensors\nhint: continue with superpose train --checkpoint run.safetensors\n"
        ),
        "{message}"
    );
    let (rest, whole) = (
        works(folder.path(), "--checkpoint run.safetensors --json"),
        works(folder.path(), &format!("{RUN} --json")),
    );
    assert_eq!(record(&rest), record(&whole));
}

#[test]
fn trajectory_is_written_to_every_file() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = "--vocab 32 --dim 16 --length 4 --samples 500 --test-samples 200 --steps 20 --every 5 \
                     --warm-start --positions rotary --svg way.svg --csv way.csv --store all.sqlite";
    let output = works(folder.path(), arguments);
    let printed = text(&output.stdout);
    assert!(printed.contains("three steps") && printed.contains("early cosine"), "{printed}");
    let csv = std::fs::read_to_string(folder.path().join("way.csv")).unwrap();
    let steps: Vec<&str> = csv.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!(steps, ["0", "5", "10", "15", "20"]);
    assert!(csv.starts_with("step,rate,loss,test_loss,accuracy"), "{csv}");
    let svg = std::fs::read_to_string(folder.path().join("way.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("Direction of attention"));

    // The result is a cell, which a sweep finds.
    std::fs::write(
        folder.path().join("sweep.toml"),
        "vocab = 32\ndim = 16\nlength = 4\nsamples = 500\ntest_samples = 200\nevery = 5\nwarm_start = true\n\
         positions = \"rotary\"\n[axes]\nsteps = [20, 21]\n",
    )
    .unwrap();
    let mut sweep = Command::new(env!("CARGO_BIN_EXE_superpose"));
    sweep.args(["sweep", "sweep.toml", "--store", "all.sqlite"]).current_dir(folder.path());
    let sweep = sweep.output().unwrap();
    let said = text(&sweep.stderr) + &text(&sweep.stdout);
    assert!(sweep.status.success(), "{said}");
    let mut export = Command::new(env!("CARGO_BIN_EXE_superpose"));
    export.args(["export", "all.sqlite", "--format", "csv"]).current_dir(folder.path());
    let table = text(&export.output().unwrap().stdout);
    assert_eq!(table.lines().count(), 3, "a header and two cells: {table}\n{said}");
    assert!(
        table.lines().next().unwrap().contains(",train_embeddings,train_first_layer,accuracy,"),
        "{table}"
    );
}

/// The text comes first, so that an error of a file does not lose it.
#[cfg(target_os = "linux")]
#[test]
fn result_is_printed_when_a_file_cannot_be_written() {
    let sizes = "--vocab 16 --dim 8 --length 4 --samples 50 --test-samples 20 --csv /dev/full";
    for (line, words) in [
        (format!("train {sizes} --steps 2"), "three steps"),
        (format!("phase {sizes} --x dim:8..16 --y samples:50..100 --resolution 2"), "boundary at 0.5"),
    ] {
        let output = crate::common::superpose(&line);
        let (printed, message) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(2), "{line}: {message}");
        assert!(message.starts_with("error: csv: cannot write /dev/full"), "{line}: {message}");
        assert!(printed.contains(words), "{line}: {printed}");
    }
}

/// A checkpoint continues only with the tensors that it was made with; leftovers of killed processes are removed.
#[test]
fn changed_input_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let sizes = "--vocab 16 --dim 8 --length 4 --samples 50 --test-samples 20";
    for seed in [1, 2] {
        let export = format!("run {sizes} --seed {seed} --export {seed}.safetensors");
        assert!(crate::common::command(folder.path(), &export).output().unwrap().status.success());
    }
    for (name, input) in [
        ("import", format!("{sizes} --import in.safetensors")),
        (
            "embedding_file",
            format!("{sizes} --embedding file --embedding-file in.safetensors --embedding-tensor z_in"),
        ),
    ] {
        let train = format!("{input} --steps 4 --every 2 --checkpoint {name}.safetensors --json");
        std::fs::copy(at("1.safetensors"), at("in.safetensors")).unwrap();
        std::fs::write(at(&format!(".{name}.safetensors.superpose-left")), "half").unwrap();
        let first = works(folder.path(), &train);
        assert!(!at(&format!(".{name}.safetensors.superpose-left")).exists());
        assert_eq!(record(&works(folder.path(), &train)), record(&first));
        std::fs::copy(at("2.safetensors"), at("in.safetensors")).unwrap();
        let output = command(folder.path(), &train).output().unwrap();
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(&format!("{name}: its contents are not those")), "{message}");
    }
}

#[test]
fn invalid_arguments_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    works(
        folder.path(),
        "--vocab 16 --dim 8 --samples 50 --test-samples 20 --steps 2 --checkpoint a.safetensors",
    );
    std::fs::write(folder.path().join("b.safetensors"), "not a checkpoint").unwrap();
    for (arguments, words) in [
        ("", "steps is missing"),
        ("--rate 0.1", "rate is given without steps"),
        ("--steps 5 --rate -1", "rate = -1"),
        ("--steps 5 --optimiser adagrad", "must be one of sgd, adam, adamw, muon"),
        ("--steps 5 --momentum 0.5", "momentum = 0.5: only with optimiser = sgd or muon"),
        ("--steps 5 --train-first-layer", "train_first_layer = true: needs width"),
        ("--steps 5 --repeats 3 --checkpoint c.safetensors", "repeats = 3: a checkpoint holds one run"),
        ("--steps 5 --embedding low_rank", "rank = (none): needed with embedding = low_rank"),
        ("--steps 5 --svg a.gif", "svg = a.gif: must end in .svg or .png"),
        ("--steps 5 --checkpoint absent/c.safetensors", "checkpoint"),
        ("--steps 5 --checkpoint b.safetensors", "not a valid safetensors file"),
        (
            "--vocab 16 --dim 8 --samples 50 --test-samples 20 --steps 3 --checkpoint a.safetensors",
            "steps = 3: the checkpoint was made with 2",
        ),
        ("--steps 30 --train-embeddings --optimiser sgd --rate 1e20 --samples 100", "not finite"),
    ] {
        let output = command(folder.path(), arguments).output().unwrap();
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        assert!(message.contains(words) && !message.contains("panicked"), "{arguments}: {message}");
    }
    let mut run = Command::new(env!("CARGO_BIN_EXE_superpose"));
    let output = run.args(["run", "--steps", "5"]).output().unwrap();
    assert!(text(&output.stderr).contains("train has more"), "{}", text(&output.stderr));
}
