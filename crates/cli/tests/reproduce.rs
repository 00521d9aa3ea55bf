//! `superpose reproduce`: its folder, repeatability and errors, with the two shortest parts.

use crate::common::{superpose_in as superpose, text};

#[test]
fn study_is_complete_and_reproducible() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = superpose(folder.path(), "reproduce --only phase --only bound --out study");
    assert!(first.status.success(), "{}", text(&first.stderr));
    let summary = text(&first.stdout);
    assert!(summary.contains("With an MLP the closed form") && summary.contains("report.html"), "{summary}");
    let read = |name: &str| {
        let path = folder.path().join("study").join(name);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let report = text(&read("report.html"));
    for wrong in
        ["no data", "NaN", "It .", "src=", "href=\"http", "<script", "-0.00", "1 differ,", "1 agree,"]
    {
        assert!(!report.contains(wrong), "{wrong} in the report");
    }
    assert!(report.contains("bound that holds for it") && report.contains("How this was made"));
    for name in
        ["figures/phase.svg", "figures/bound.png", "tables/phase.csv", "tables/bound.csv", "store.sqlite"]
    {
        assert!(!read(name).is_empty(), "{name}");
    }
    // Every link of the report leads to a place in it, and a table shows every comparison.
    for link in report.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(report.contains(&format!("id=\"{link}\"")), "{link}");
    }
    assert!(report.contains("<td>4 decoders at 3 sizes: samples over lower bound</td>"));
    let (markdown, latex) = (text(&read("report.md")), text(&read("results.tex")));
    assert!(markdown.contains("![") && markdown.contains("(figures/phase.svg)"), "{markdown}");
    assert!(latex.contains("\\begin{tabular}") && latex.contains("samples over lower bound"), "{latex}");
    let times =
        "Time on two idle cores, less for runs that are in the store: phase 1 s, bound 2 s; together 3 s";
    assert!(text(&first.stderr).contains(times), "{}", text(&first.stderr));
    let manifest: serde_json::Value = serde_json::from_slice(&read("manifest.json")).expect("JSON");
    assert_eq!((&manifest["seed"], &manifest["scale"]), (&0.into(), &"quick".into()));

    let study = read("study.json");
    let again = superpose(folder.path(), "reproduce --only phase --only bound --out study");
    assert!(text(&again.stderr).contains("phase: 0 runs"), "{}", text(&again.stderr));
    let resumed: serde_json::Value = serde_json::from_slice(&read("manifest.json")).expect("JSON");
    assert_eq!(resumed["runs"], manifest["runs"], "the manifest counts all runs after a resume");
    assert_eq!(study, read("study.json"), "the same numbers from the store");
    let other = superpose(folder.path(), "reproduce --only phase --only bound --threads 1 --out other");
    assert!(other.status.success());
    let other = std::fs::read(folder.path().join("other/study.json")).expect("results");
    assert_eq!(study, other, "the same numbers on one thread");

    for (line, words) in [
        ("reproduce --out study --scale standard", "holds a study at scale quick with seed 0"),
        ("reproduce --out study --seed 7", "holds a study at scale quick with seed 0"),
        ("reproduce --scale tiny", "must be one of quick, standard, full"),
        (
            "reproduce --only x",
            "must be one of scaling, sizes, orthogonal, phase, bound, attention, training, anchors, optimiser, questions",
        ),
        ("reproduce --seed 100000001", "seed = 100000001"),
        ("reproduce --out study/report.html", "report.html"),
    ] {
        let output = superpose(folder.path(), line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(text(&output.stderr).contains(words), "{line}: {}", text(&output.stderr));
    }

    // A study of a GPU is not continued on the CPU.
    let gpu = text(&read("manifest.json")).replace("\"numerics\": \"cpu\"", "\"numerics\": \"cuda-sm90\"");
    std::fs::write(folder.path().join("study/manifest.json"), &gpu).expect("a file");
    let output = superpose(folder.path(), "reproduce --only phase --out study");
    let message = text(&output.stderr);
    assert!(
        message.contains("holds a study with numerics cuda-sm90")
            && message.contains("the same version and device"),
        "{message}"
    );
    assert_eq!((output.status.code(), text(&read("manifest.json"))), (Some(2), gpu));
    // A GPU that is not there is found before a folder is made.
    let line = "reproduce --device cuda:4096 --out none";
    assert_eq!(superpose(folder.path(), line).status.code(), Some(2));
    assert!(!folder.path().join("none").exists());
}

/// A training of several minutes is given up at once; finished runs are kept.
#[test]
fn ctrl_c_ends_a_long_training() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_superpose"));
    command.args("reproduce --scale full --only training --threads 1 --out study".split(' '));
    let study = command.current_dir(&folder).stderr(std::process::Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(3));
    let asked = std::time::Instant::now();
    std::process::Command::new("kill").args(["-INT", &study.id().to_string()]).status().unwrap();
    let output = study.wait_with_output().unwrap();
    // On a busy machine the process may wait for its turn.
    assert!(asked.elapsed().as_secs_f64() < 5.0, "{:?}", asked.elapsed());
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stderr).contains(
        "stopped: every finished run of part training is kept in study\nhint: continue with superpose"
    ));
}
