//! Files that vanish, cannot be written or belong to another program: an error that says so, never a result that is not on disk.
#![cfg(unix)]

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{command, refused_in as refused, superpose_in, text, works_in as works};
use rusqlite::{Connection, OpenFlags};

/// Writes a store with three rows.
fn store(folder: &Path) {
    let sweep = "vocab = 24\ndim = 12\nlength = 4\nsamples = 200\ntest_samples = 100\nrepeats = 3\n";
    std::fs::write(folder.join("a.toml"), sweep).unwrap();
    works(folder, "sweep a.toml --store a.sqlite");
}

/// Waits until a store or a shard that another process writes has rows.
fn wait_for_rows(path: &Path) {
    let started = Instant::now();
    let rows = || {
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            return Ok(std::fs::metadata(path).map_or(0, |file| file.len() as i64));
        }
        let store = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        store.query_row("SELECT count(*) FROM results", [], |row| row.get::<_, i64>(0))
    };
    while rows().unwrap_or(0) == 0 {
        assert!(started.elapsed() < Duration::from_secs(300), "{}: no rows", path.display());
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn export_reads_from_a_folder_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    store(folder);
    let expected = works(folder, "export a.sqlite --format csv").0;
    // Root may write everywhere, so it exports as another user, who must be able to reach the program.
    std::fs::copy(env!("CARGO_BIN_EXE_superpose"), folder.join("superpose")).unwrap();
    let mut export = Command::new(folder.join("superpose"));
    export.args(["export", "a.sqlite", "--format", "csv"]).current_dir(folder);
    if std::fs::metadata(folder).unwrap().uid() == 0 {
        export.uid(65_534).gid(65_534);
    }
    let allow = |mode| std::fs::set_permissions(folder, PermissionsExt::from_mode(mode)).unwrap();
    allow(0o555);
    let output = export.output().unwrap();
    allow(0o755);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), expected);
}

/// What happens to the file or to its folder while a command writes it.
#[derive(Clone, Copy, Debug)]
enum Loss {
    RemoveFile,
    ReplaceFile,
    RemoveFolder,
    ReplaceFolder,
}

impl Loss {
    const ALL: [Loss; 4] = [Loss::RemoveFile, Loss::ReplaceFile, Loss::RemoveFolder, Loss::ReplaceFolder];

    /// Takes the file away; `other` replaces it.
    fn happen(self, path: &Path, other: &Path) {
        let folder = path.parent().unwrap();
        match self {
            Loss::RemoveFile => std::fs::remove_file(path).unwrap(),
            Loss::ReplaceFile => {
                let copy = path.with_extension("copy");
                std::fs::copy(other, &copy).unwrap();
                std::fs::rename(copy, path).unwrap();
            }
            // The command may write another file into the folder meanwhile.
            Loss::RemoveFolder => while std::fs::remove_dir_all(folder).is_err() && folder.exists() {},
            Loss::ReplaceFolder => {
                std::fs::rename(folder, folder.with_extension("old")).unwrap();
                std::fs::create_dir(folder).unwrap();
            }
        }
    }
}

/// Commands that write results for minutes, with the file they write. All end with exit code 2 when the file is lost.
const WRITERS: [(&str, &str); 5] = [
    ("sweep long.toml --store f/a.sqlite", "f/a.sqlite"),
    ("sweep long.toml --store a.sqlite --out f --shard 1/2", "f/1-of-2.jsonl"),
    (
        "threshold --find samples --vocab 200 --dim 100 --length 8 --half-width 0.001 --store f/a.sqlite",
        "f/a.sqlite",
    ),
    ("phase --vocab 200 --length 8 --x dim:16..256 --y samples:1e3..1e5 --store f/a.sqlite", "f/a.sqlite"),
    ("reproduce --only scaling --out f", "f/store.sqlite"),
];

/// Fails unless a command ends with an error that names the file it lost, and a file in its place is unchanged.
fn lose(arguments: &str, name: &str, loss: Loss, delay: Duration) {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join(name), folder.path().join("other"));
    let sizes = "vocab = 100\ndim = 50\nlength = 8\nsamples = 2000\nrepeats = 100000\n";
    std::fs::write(folder.path().join("long.toml"), sizes).unwrap();
    std::fs::create_dir(folder.path().join("f")).unwrap();
    if name.ends_with("jsonl") {
        std::fs::write(&other, "").unwrap();
    } else {
        store(folder.path());
        std::fs::copy(folder.path().join("a.sqlite"), &other).unwrap();
    }
    let child =
        command(folder.path(), arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_rows(&path);
    std::thread::sleep(delay);
    loss.happen(&path, &other);
    let output = child.wait_with_output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments}, {loss:?}: {message}");
    assert!(message.contains("f/"), "{arguments}, {loss:?}: {message}");
    if let Loss::ReplaceFile = loss {
        let unchanged = std::fs::read(&path).unwrap() == std::fs::read(&other).unwrap();
        assert!(unchanged, "{arguments}: the other file was changed");
    }
}

#[test]
fn files_lost_during_a_command_are_errors() {
    for (i, (arguments, name)) in WRITERS.into_iter().enumerate() {
        lose(arguments, name, Loss::ALL[i % Loss::ALL.len()], Duration::ZERO);
    }
}

/// A part of the study that adds no runs to the store still ends with an error when the store is gone.
#[test]
fn store_lost_during_a_part_without_runs_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut reproduce = command(folder.path(), "reproduce --only bound --out f");
    let mut child = reproduce.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // Its first message comes after it has opened the store.
    let mut first = [0];
    std::io::Read::read_exact(child.stderr.as_mut().unwrap(), &mut first).unwrap();
    std::fs::remove_file(folder.path().join("f/store.sqlite")).unwrap();
    let output = child.wait_with_output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("f/store.sqlite"), "{message}");
}

#[test]
#[ignore = "long: every loss of every command, 20 times"]
fn files_lost_at_any_time_are_errors() {
    for round in 0..20 {
        for (arguments, name) in WRITERS {
            for loss in Loss::ALL {
                lose(arguments, name, loss, Duration::from_millis(11 * round));
            }
        }
        println!("round {round}: all {} losses are errors", WRITERS.len() * Loss::ALL.len());
    }
}

#[test]
fn store_without_a_version_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path());
    let connection = Connection::open(folder.path().join("a.sqlite")).unwrap();
    connection.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA user_version = 0").unwrap();
    drop(connection);
    for arguments in ["export a.sqlite", "sweep a.toml --store a.sqlite"] {
        refused(folder.path(), arguments, &["a.sqlite"]);
        let message = text(&superpose_in(folder.path(), arguments).stderr);
        for word in ["CREATE", "SELECT", "table", "SQL "] {
            assert!(!message.contains(word), "{message}");
        }
    }
}

/// A file that cannot be written is named as it was given, not by its temporary file.
#[cfg(target_os = "linux")]
#[test]
fn file_that_cannot_be_written_is_named_as_given() {
    let phase = "phase --vocab 40 --length 4 --x dim:16..32 --y samples:100..1000 --svg";
    for (command, file) in
        [(phase, "/proc/a.svg"), ("run --vocab 40 --dim 16 --samples 100 --export", "/proc/a.safetensors")]
    {
        let output = superpose_in(Path::new("."), &format!("{command} {file}"));
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(&format!("{file}: No such file")), "{message}");
        assert!(message.trim_end().ends_with("(os error 2)"), "{message}");
    }
}

/// Threads beyond what the address space holds are refused by name. A run without `--threads` starts as many as fit.
#[cfg(target_os = "linux")]
#[test]
fn too_many_threads_for_the_address_space_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.toml"), "vocab = 24\ndim = 12\nlength = 4\nrepeats = 200\n")
        .unwrap();
    let limited = |kilobytes: u64, arguments: &str| {
        let line = format!("ulimit -v {kilobytes} && exec {} {arguments}", env!("CARGO_BIN_EXE_superpose"));
        Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap()
    };
    let sizes = "--vocab 24 --dim 12 --length 4 --samples 200 --test-samples 100";
    let run = format!("run {sizes}");
    for arguments in [&*run, "sweep a.toml --store a.sqlite", "bench"] {
        for kilobytes in [500_000, 2_000_000] {
            let output = limited(kilobytes, &format!("{arguments} --threads 1000"));
            let message = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
            assert!(message.contains("threads = 1000: must be at most "), "{arguments}: {message}");
        }
    }
    // The largest number that is not refused works.
    let message = text(&limited(300_000, &format!("{run} --threads 1000")).stderr);
    let most = message.split("at most ").nth(1).and_then(|rest| rest.split(',').next()).unwrap().to_string();
    for arguments in [run.clone(), format!("{run} --threads {most}")] {
        let output = limited(300_000, &arguments);
        assert!(output.status.success(), "{arguments}: {}", text(&output.stderr));
    }
}

/// The manifest of a study counts all runs of a part, also those that were in the store when it continued.
#[test]
fn manifest_counts_all_runs_after_a_resume() {
    let folder = tempfile::tempdir().unwrap();
    let runs = |out: &str| {
        let manifest = std::fs::read(folder.path().join(out).join("manifest.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
        manifest["runs"]["phase"].as_u64().unwrap()
    };
    works(folder.path(), "reproduce --only phase --out whole");
    let path = folder.path().join("half/store.sqlite");
    let mut child = command(folder.path(), "reproduce --only phase --out half --threads 1")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_rows(&path);
    child.kill().unwrap();
    child.wait().unwrap();
    works(folder.path(), "reproduce --only phase --out half");
    assert!(runs("whole") > 0);
    assert_eq!(runs("half"), runs("whole"));
}
