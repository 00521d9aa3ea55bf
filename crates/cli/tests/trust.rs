//! Files that vanish, cannot be written or belong to another program: an error that says so, never a result that is not on disk.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod common;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{command, refused_in as refused, superpose_in, text, works_in as works};
use rusqlite::{Connection, OpenFlags};

/// Writes a store with three rows.
fn store(folder: &Path) {
    let sweep = "vocab = 24\ndim = 12\nlength = 4\nsamples = 200\ntest_samples = 100\nrepeats = 3\n";
    std::fs::write(folder.join("a.toml"), sweep).unwrap();
    works(folder, "sweep a.toml --store a.sqlite");
}

/// Waits until a store that another process writes has rows.
fn wait_for_rows(path: &Path) {
    let started = Instant::now();
    let rows = || {
        let store = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        store.query_row("SELECT count(*) FROM results", [], |row| row.get::<_, i64>(0))
    };
    while rows().unwrap_or(0) == 0 {
        assert!(started.elapsed() < Duration::from_secs(60), "{}: no rows", path.display());
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

#[test]
fn store_removed_during_a_search_is_an_error() {
    for (arguments, store) in [
        (
            "threshold --find samples --vocab 200 --dim 100 --length 8 --half-width 0.001 --store a.sqlite",
            "a.sqlite",
        ),
        ("phase --vocab 200 --length 8 --x dim:16..256 --y samples:1e3..1e6 --store a.sqlite", "a.sqlite"),
        ("reproduce --only phase --out study", "study/store.sqlite"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(store);
        let child =
            command(folder.path(), arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for_rows(&path);
        std::fs::remove_file(&path).unwrap();
        let output = child.wait_with_output().unwrap();
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        assert!(message.contains(store), "{arguments}: {message}");
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
