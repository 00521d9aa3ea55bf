//! `superpose sweep`, `merge` and `export`: results, interruptions, shards and errors.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{command, superpose_in as superpose, text, works_in as works};

/// Fails unless the command ends with exit code 2 and an error that contains all of `words`. Unlike the common function it allows
/// notes before the error and the summary of a merge.
fn refused(folder: &Path, arguments: &str, words: &[&str]) {
    let output = superpose(folder, arguments);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
    assert!(message.contains("error: ") && !message.contains("panicked"), "{arguments}: {message}");
    for word in words {
        assert!(message.contains(word), "{arguments}: {word:?} is not in {message:?}");
    }
}

/// Returns all results without times, by key.
fn results(folder: &Path, store: &str) -> HashMap<String, String> {
    let (out, _) = works(folder, &format!("export {store} --format jsonl"));
    out.lines()
        .map(|line| {
            let mut entry: serde_json::Value = serde_json::from_str(line).unwrap();
            if let Some(done) = entry["result"].get_mut("done") {
                done["seconds"] = 0.into();
            }
            (entry["key"].as_str().unwrap().to_string(), entry.to_string())
        })
        .collect()
}

fn rows(folder: &Path, store: &str) -> usize {
    results(folder, store).len()
}

const TINY: &str = "vocab = 24\ndim = 12\nlength = 4\ntest_samples = 100\nsamples = 200\n";

fn sweep_file(folder: &Path, name: &str, rest: &str) {
    std::fs::write(folder.join(name), format!("{TINY}{rest}")).unwrap();
}

#[test]
fn sweep_runs_only_new_cells() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sweep_file(folder, "a.toml", "repeats = 3\n[axes]\nlength = [2, 4]\n");
    refused(folder, "sweep a.toml", &["a.toml", "line 8", "length is given twice"]);
    sweep_file(folder, "a.toml", "repeats = 3\n[axes]\ntrigger = [\"keys\", \"values\"]\n");
    let (out, _) = works(folder, "sweep a.toml --dry-run");
    assert!(out.starts_with("a.toml: 6 cells; less than a second") && out.contains(" on "), "{out}");
    assert!(!folder.join("a.sqlite").exists());
    let (out, error) = works(folder, "sweep a.toml");
    assert!(out.starts_with("6 cells in a.sqlite: 6 done, 0 failed."), "{out}");
    assert!(error.contains("hint: superpose export a.sqlite --format csv"), "{error}");
    let before = results(folder, "a.sqlite");
    sweep_file(folder, "a.toml", "repeats = 4\n[axes]\ntrigger = [\"keys\", \"values\"]\n");
    let (_, error) = works(folder, "sweep a.toml");
    assert!(error.starts_with("a.toml: 8 cells, 6 done already; less"), "{error}");
    let after = results(folder, "a.sqlite");
    assert!(after.len() == 8 && before.iter().all(|(key, entry)| after[key] == *entry));
    let (_, error) = works(folder, "sweep a.toml");
    assert!(error.starts_with("a.toml: 8 cells, 8 done already\n"), "{error}");
}

#[test]
fn failed_cells_are_retried_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sweep_file(folder, "a.toml", "regime = \"exact\"\n[axes]\ngamma = [1.0, 1e30]\neta = [1.0, 1e20]\n");
    let (out, error) = works(folder, "sweep a.toml");
    assert!(out.contains("3 done, 1 failed") && out.contains("not finite"), "{out}");
    assert!(out.contains("1 cell failed: "), "{out}");
    assert!(error.contains("--retry-failed"), "{error}");
    let (out, error) = works(folder, "sweep a.toml");
    assert!(
        error.contains("4 cells, 3 done already, 1 failed before\n") && out.contains("1 failed"),
        "{error}{out}"
    );
    let (_, error) = works(folder, "sweep a.toml --retry-failed");
    assert!(
        error.contains("4 cells, 3 done already; less") && !error.contains("hint: superpose sweep"),
        "{error}"
    );
    let (out, _) = works(folder, "export a.sqlite");
    let failed = out.lines().filter(|line| line.contains(",failed,")).count();
    assert_eq!((out.lines().count(), failed), (5, 1), "{out}");
}

#[test]
fn cells_that_cannot_run_here_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let points = "[[points]]\nvocab = 24\ndim = 12\n[[points]]\nvocab = 100000000\ndim = 16384\n";
    std::fs::write(folder.join("a.toml"), format!("samples = 200\ntest_samples = 100\n{points}")).unwrap();
    let words = ["1 cell not run", "continue with superpose sweep a.toml"];
    refused(folder, "sweep a.toml", &words);
    let output = superpose(folder, "sweep a.toml");
    let out = text(&output.stdout);
    assert!(
        out.contains("1 done, 0 failed, 1 not run") && out.contains("1 cell not run: needs about"),
        "{out}"
    );
    assert!(!text(&output.stderr).contains("--retry-failed"));
    assert_eq!(rows(folder, "a.sqlite"), 1);
}

/// Every format has the measures under their names.
#[test]
fn exports_have_every_measure() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sweep_file(folder, "a.toml", "noise = true\nrepeats = 2\n");
    works(folder, "sweep a.toml");
    works(folder, "export a.sqlite --out a.csv");
    let csv = std::fs::read_to_string(folder.join("a.csv")).unwrap();
    let mut lines = csv.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    for name in [
        "vocab",
        "dim",
        "trigger",
        "accuracy",
        "accuracy_variance",
        "accuracy_items",
        "lock_rate",
        "noise",
        "seconds",
    ] {
        assert!(header.contains(&name), "{name}");
    }
    let at = header.iter().position(|name| *name == "accuracy").unwrap();
    let run: Vec<f64> = (0..2)
        .map(|seed| {
            let line = format!(
                "run --json --vocab 24 --dim 12 --length 4 --samples 200 --test-samples 100 --seed {seed}"
            );
            let record: serde_json::Value = serde_json::from_str(&works(folder, &line).0).unwrap();
            record["accuracy"]["mean"].as_f64().unwrap()
        })
        .collect();
    for line in lines {
        let values: Vec<&str> = line.split(',').collect();
        assert!(run.contains(&values[at].parse().unwrap()), "{line}");
    }
    works(folder, "export a.sqlite --out a.jsonl");
    let lines = std::fs::read_to_string(folder.join("a.jsonl")).unwrap();
    let entry: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(entry["config"]["vocab"], 24);
    assert!(entry["result"]["done"]["noise"]["logits"]["signal"].as_f64().unwrap() > 0.0);
    refused(folder, "export absent.sqlite", &["absent.sqlite"]);
    refused(folder, "export a.toml", &["a.toml", "not a store of superpose"]);
    if cfg!(feature = "parquet") {
        works(folder, "export a.sqlite --out a.parquet");
        let bytes = std::fs::read(folder.join("a.parquet")).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    } else {
        refused(folder, "export a.sqlite --format parquet", &["parquet", "--features parquet"]);
    }
}

#[test]
fn invalid_arguments_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sweep_file(folder, "a.toml", "");
    sweep_file(folder, "bad.toml", "[axes]\ndimension = [1]\n");
    sweep_file(
        folder,
        "many.toml",
        "[axes]\nseed = { from = 0, to = 1e6, steps = 1000000 }\neta = { from = 1, to = 2, steps = 100 }\n",
    );
    std::fs::write(folder.join("notes.txt"), "shopping list").unwrap();
    for (arguments, words) in [
        ("sweep absent.toml", vec!["absent.toml"]),
        ("sweep bad.toml", vec!["bad.toml: line 7: unknown key dimension"]),
        ("sweep many.toml", vec!["many.toml", "100000000 cells", "10000000"]),
        ("sweep a.toml --shard 0/4", vec!["--shard", "0/4", "I from 1 to N"]),
        ("sweep a.toml --shard 5/4", vec!["5/4"]),
        ("sweep a.toml --shard x", vec!["--shard"]),
        ("sweep a.toml --threads 0", vec!["threads = 0"]),
        ("sweep a.toml --out shards", vec!["--shard"]),
        ("sweep a.toml --store notes.txt", vec!["notes.txt", "not a store of superpose", "not changed"]),
        ("sweep a.toml --store notes.txt/a.sqlite", vec!["notes.txt/a.sqlite"]),
        ("sweep a.toml --store /proc/a.sqlite", vec!["/proc/a.sqlite", "cannot be written"]),
        ("sweep a.toml --shard 1/2 --out /proc/shards", vec!["/proc/shards"]),
        ("merge --store a.sqlite", vec!["a.shards"]),
        ("merge notes.txt --store b.sqlite", vec!["notes.txt, line 1: not a record"]),
    ] {
        refused(folder, arguments, &words);
    }
    assert_eq!(std::fs::read_to_string(folder.join("notes.txt")).unwrap(), "shopping list");
}

/// A sweep that takes a few seconds.
fn long_sweep(folder: &Path, name: &str) {
    sweep_file(folder, name, "[axes]\nseed = { from = 0, to = 1999, steps = 2000 }\neta = [1, 2]\n");
}

fn start(folder: &Path, arguments: &str) -> Child {
    command(folder, arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns the rows of the results table in the order of insertion.
fn ids(folder: &Path, store: &str) -> Vec<(i64, String)> {
    let connection = rusqlite::Connection::open(folder.join(store)).unwrap();
    connection.busy_timeout(Duration::from_secs(20)).unwrap();
    // Killed before the table was created: nothing has been committed.
    let tables = "SELECT count(*) FROM sqlite_master WHERE name = 'results'";
    if connection.query_row(tables, [], |row| row.get::<_, i64>(0)).unwrap() == 0 {
        return Vec::new();
    }
    let mut statement = connection.prepare("SELECT id, key || seconds FROM results ORDER BY id").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// After ten kills, committed cells are neither lost nor run again, and the result is that of an uninterrupted run.
#[test]
fn killed_sweep_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // About seven seconds of one thread, so that ten kills within about two seconds always fit.
    let cells = "vocab = 24\ndim = 12\nlength = 4\ntest_samples = 100\nsamples = 8000\nrepeats = 3000\n";
    std::fs::write(folder.join("a.toml"), cells).unwrap();
    let mut random = 88_172_645_463_325_252_u64;
    let mut committed: Vec<(i64, String)> = Vec::new();
    for kill in 1..=10 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let mut child = start(folder, "sweep a.toml --store killed.sqlite --threads 1");
        std::thread::sleep(Duration::from_millis(random % 400));
        assert!(child.try_wait().unwrap().is_none(), "kill {kill}: the sweep was over before it");
        child.kill().unwrap();
        child.wait().unwrap();
        if folder.join("killed.sqlite").exists() {
            // Rows have a time and an order of insertion, which would change if a cell were run again.
            let now = ids(folder, "killed.sqlite");
            assert!(now.starts_with(&committed), "kill {kill}: a committed cell was lost or run again");
            committed = now;
        }
    }
    assert!((1..3000).contains(&committed.len()), "{} cells were committed", committed.len());
    let (_, error) = works(folder, "sweep a.toml --store killed.sqlite");
    assert!(error.contains("3,000 cells"), "{error}");
    assert!(ids(folder, "killed.sqlite").starts_with(&committed));
    works(folder, "sweep a.toml --store quiet.sqlite");
    assert_eq!(results(folder, "killed.sqlite"), results(folder, "quiet.sqlite"));
}

#[test]
fn two_processes_share_one_store() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    long_sweep(folder, "a.toml");
    let children = [(); 2].map(|()| start(folder, "sweep a.toml"));
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert_eq!(rows(folder, "a.sqlite"), 4000);
    works(folder, "sweep a.toml --store quiet.sqlite");
    assert_eq!(results(folder, "a.sqlite"), results(folder, "quiet.sqlite"));
}

/// Sends a signal to a process that this test started.
#[cfg(unix)]
fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap().success());
}

#[cfg(unix)]
#[test]
fn interrupted_sweep_commits_and_can_continue() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // A sweep too long to finish, with short cells.
    sweep_file(folder, "a.toml", "[axes]\nseed = { from = 0, to = 199999, steps = 200000 }\n");
    for (name, code, arguments, kept) in [
        ("INT", 130, "sweep a.toml", "a.sqlite"),
        ("TERM", 143, "sweep a.toml --shard 1/2", "a.shards/1-of-2.jsonl"),
    ] {
        let child = start(folder, arguments);
        let begun = Instant::now();
        // The store exists at once, its results only later.
        let size = |path: &str| std::fs::metadata(folder.join(path)).map_or(0, |file| file.len());
        while size(kept) + size(&format!("{kept}-wal")) < 100_000 && begun.elapsed() < Duration::from_secs(60)
        {
            std::thread::sleep(Duration::from_millis(20));
        }
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{error}");
        assert!(error.contains("stopped: ") && error.contains(kept), "{error}");
        assert!(error.contains(&format!("hint: continue with superpose {arguments}")), "{error}");
    }
    let (out, _) = works(folder, "sweep a.toml --dry-run");
    assert!(out.contains(" done already"), "{out}");
    let (out, _) = works(folder, "merge --store merged.sqlite a.shards");
    assert!(out.starts_with("1 shard into merged.sqlite: "), "{out}");
}

#[test]
fn merged_shards_of_a_job_array_equal_a_local_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sweep_file(folder, "a.toml", "repeats = 10\n[axes]\nembedding = [\"gaussian\", \"sphere\"]\n");
    works(folder, "sweep a.toml --store local.sqlite");
    works(folder, "sweep a.toml --shard 1/3");
    for id in ["8", "9"] {
        let mut command = command(folder, "sweep a.toml");
        command
            .env("SLURM_ARRAY_TASK_ID", id)
            .env("SLURM_ARRAY_TASK_MIN", "7")
            .env("SLURM_ARRAY_TASK_COUNT", "3");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert!(folder.join("a.shards/3-of-3.jsonl").exists());
    let (out, _) = works(folder, "merge --store a.sqlite");
    assert!(out.starts_with("3 shards into a.sqlite: 20 new cells, 0 known already"), "{out}");
    assert_eq!(results(folder, "a.sqlite"), results(folder, "local.sqlite"));
    let (_, error) = works(folder, "sweep a.toml --shard 2/3");
    assert!(error.contains(" done already\n"), "{error}");

    let path = folder.join("a.shards/2-of-3.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, whole.replacen("\"dim\":12", "\"dim\":13", 1)).unwrap();
    refused(folder, "merge --store a.sqlite", &["2-of-3.jsonl, line 1: the checksum", "1 shard was refused"]);
    std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    let (_, error) = works(folder, "merge --store a.sqlite");
    assert!(error.contains("note: ") && error.contains("2-of-3.jsonl, line "), "{error}");
    let mut command = command(folder, "sweep a.toml");
    command.env("SLURM_ARRAY_TASK_ID", "12").env("SLURM_ARRAY_TASK_COUNT", "3");
    assert!(text(&command.output().unwrap().stderr).contains("SLURM_ARRAY_TASK_ID = 12"));
}

/// A limit on the size of files simulates a full disk; for a shard the system names it.
#[cfg(unix)]
#[test]
fn full_disk_is_an_error_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    long_sweep(folder, "a.toml");
    for (arguments, kept, problem) in [
        ("sweep a.toml", "a.sqlite", "disk"),
        ("sweep a.toml --shard 1/1 --store b.sqlite", "1-of-1.jsonl", "too large"),
    ] {
        // The unit is 512 or 1024 bytes, depending on the shell. The signal of the limit is ignored, because a full disk sends none.
        let line =
            format!("trap '' XFSZ; ulimit -f 4000; exec {} {arguments}", env!("CARGO_BIN_EXE_superpose"));
        let output = Command::new("sh").args(["-c", &line]).current_dir(folder).output().unwrap();
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {error}");
        assert!(error.contains(problem) && error.contains(kept), "{arguments}: {error}");
        let (out, error) = works(folder, arguments);
        assert!(error.contains(" done already") && out.contains("4,000 done, 0 failed"), "{error}{out}");
    }
}

/// The example in the documentation is valid.
#[test]
fn documented_example_is_a_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sweep.toml");
    std::fs::copy(&example, folder.path().join("sweep.toml")).unwrap();
    let (out, _) = works(folder.path(), "sweep sweep.toml");
    assert!(out.contains(" 0 failed"), "{out}");
    let page = std::fs::read_to_string(example.with_file_name("sweeps.md")).unwrap();
    assert!(
        page.contains(&std::fs::read_to_string(&example).unwrap()),
        "docs/sweeps.md shows another sweep.toml"
    );
}

/// A worker gets the digest of the embeddings at submission, and refuses another file under the same name.
#[test]
fn required_digest_refuses_a_changed_file() {
    use superpose_tensors::{Entry, write};
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let embeddings = |angle: f32| {
        let rows = (0..40 * 8).map(|i| (i as f32 * angle).sin()).collect();
        write(&folder.join("e.safetensors"), &[Entry::f32("words", &[40, 8], rows)]).unwrap();
    };
    embeddings(0.7);
    let text = "vocab = 30\nlength = 4\nsamples = 100\nembedding_file = 'e.safetensors'\nembedding_tensor = 'words'\n[axes]\nseed = [0, 1]\n";
    std::fs::write(folder.join("a.toml"), text).unwrap();
    let (script, _) = works(folder, "submit slurm a.toml --tasks 2 --dry-run");
    let digest = script.split("--input-digest ").nth(1).unwrap().split_whitespace().next().unwrap();
    assert_eq!(digest.len(), 64, "{script}");
    works(folder, &format!("sweep a.toml --shard 1/2 --input-digest {digest}"));
    embeddings(0.9);
    let words = ["embedding_file = e.safetensors", "input_digest", digest, "they were changed"];
    refused(folder, &format!("sweep a.toml --shard 2/2 --input-digest {digest}"), &words);
    std::fs::write(folder.join("b.toml"), TINY).unwrap();
    refused(folder, &format!("sweep b.toml --input-digest {digest}"), &["the sweep reads no embedding file"]);
}
