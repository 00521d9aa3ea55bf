//! `superpose threshold` and `superpose phase`: JSON, files and errors.

use superpose_tensors::{Entry, write};

use crate::common::{json, refused, refused_in, superpose, works, works_in};

const SMALL: &str = "--vocab 60 --dim 48 --length 4 --trigger keys --test-samples 512";

#[test]
fn threshold_has_an_interval_and_a_prediction() {
    let record = json(&format!("threshold --find samples {SMALL} --half-width 0.1 --json"));
    let [estimate, low, high] =
        ["estimate", "low", "high"].map(|field| record["observed"][field].as_f64().unwrap());
    assert!(low <= estimate && estimate <= high && high - low <= 0.21 * estimate, "{record}");
    let ratio = record["ratio"].as_f64().unwrap();
    assert!((0.6..1.6).contains(&ratio), "{ratio}");
    assert_eq!(record["criterion"], "mean");
    assert_eq!(record["measure"], "accuracy");
    assert_eq!(record["config"]["vocab"], 60);
    assert!(record["runs"].as_u64().unwrap() >= 12 && record["seconds"].as_f64().unwrap() > 0.0);
}

#[test]
fn unreached_level_reports_the_range() {
    let search = format!("threshold --find samples {SMALL} --accuracy 0.9 --range 10..80");
    let record = json(&format!("{search} --json"));
    assert!(record.get("observed").is_none(), "{record}");
    assert_eq!(record["unreached"]["why"], "below");
    assert_eq!(record["unreached"]["high"], 80);
    let text = works(&search);
    assert!(text.contains("not reached") && text.contains("at least 0.9"), "{text}");
}

#[test]
fn result_does_not_depend_on_the_number_of_threads() {
    let [one, two] = [1, 3].map(|threads| {
        let mut record = json(&format!(
            "threshold --find dim {SMALL} --samples 600 --half-width 0.2 --json --threads {threads}"
        ));
        record["seconds"] = 0.into();
        record
    });
    assert_eq!(one, two);
}

/// A threshold, a phase diagram and a sweep on rows of a file; its name and the sizes that it fixes are in the errors.
#[test]
fn embeddings_come_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let file = |angle: f64| {
        let part = |i: usize| ((i as f64 * angle).sin() * 43_758.5).rem_euclid(1.0);
        let rows: Vec<f32> = (0..80 * 24).map(|i| (0.7 * (part(i) - 0.5)) as f32).collect();
        write(&folder.join("e.safetensors"), &[Entry::f32("words", &[80, 24], rows)]).unwrap();
    };
    file(0.7);
    let rows = "--embedding-file e.safetensors --embedding-tensor words --length 4 --test-samples 256";
    let find = format!(
        "threshold --find samples --vocab 30 --trigger keys {rows} --half-width 0.2 --store s.sqlite"
    );
    let record: serde_json::Value =
        serde_json::from_str(&works_in(folder, &format!("{find} --json")).0).unwrap();
    assert_eq!(record["config"]["dim"], 24);
    assert_eq!(record["config"]["input_digest"].as_str().unwrap().len(), 64);
    assert!(record["observed"]["estimate"].as_u64().unwrap() > 10, "{record}");
    let map = format!("phase --x vocab:10..60 --y samples:50..2000 --resolution 6 {rows} --repeats 1");
    let record: serde_json::Value =
        serde_json::from_str(&works_in(folder, &format!("{map} --json")).0).unwrap();
    assert_eq!((&record["config"]["dim"], &record["measured"]), (&24.into(), &9.into()));
    refused_in(
        folder,
        &format!("threshold --find dim {rows}"),
        &["find = dim", "columns of the embedding file"],
    );
    refused_in(folder, &map.replace("vocab:10", "dim:10"), &["x = dim", "columns of the embedding file"]);

    let sweep = "embedding_file = 'e.safetensors'\nembedding_tensor = 'words'\ntest_samples = 50\nlength = 4\n[axes]\nvocab = [20, 40]\n";
    std::fs::write(folder.join("s.toml"), sweep).unwrap();
    let (out, _) = works_in(folder, "sweep s.toml");
    assert!(out.contains("2 done"), "{out}");
    file(0.9);
    for command in ["sweep s.toml", "sweep s.toml --shard 1/2", &find] {
        refused_in(folder, command, &["embedding_file = e.safetensors", "use another store"]);
    }
}

/// The same on tensors of an imported file, whose shapes fix both sizes.
#[test]
fn embeddings_are_imported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let file = |angle: f64| {
        let rows: Vec<f32> = (0..40 * 24).map(|i| 0.3 * (i as f64 * i as f64 * angle).sin() as f32).collect();
        write(&folder.join("e.safetensors"), &[Entry::f32("z_in", &[40, 24], rows)]).unwrap();
    };
    file(0.7);
    let record = |command: &str| -> serde_json::Value {
        serde_json::from_str(&works_in(folder, &format!("{command} --json")).0).unwrap()
    };
    let rows = "--import e.safetensors --length 4";
    let find = format!("threshold --find samples --trigger keys {rows} --half-width 0.2 --store s.sqlite");
    let map = format!("phase --x length:2..8 --y samples:50..2000 --resolution 4 {rows} --repeats 1");
    let bound = format!("bound {rows} --seeds 2 --accuracy 0.3");
    for command in [&find, &map, &bound, &format!("predict {rows} --trigger keys")] {
        let config = record(command)["config"].clone();
        assert_eq!((&config["vocab"], &config["dim"]), (&40.into(), &24.into()), "{command}");
    }
    let other = map.replace("length:2..8", "vocab:20..40");
    refused_in(folder, &other, &["x = vocab", "the rows of z_in or z_out decide it"]);

    let sweep = "import = 'e.safetensors'\ntest_samples = 50\n[axes]\nlength = [2, 4]\n";
    std::fs::write(folder.join("s.toml"), sweep).unwrap();
    assert!(works_in(folder, "sweep s.toml").0.contains("2 done"));
    file(0.9);
    for command in ["sweep s.toml", "sweep s.toml --shard 1/2", &find] {
        refused_in(folder, command, &["import = e.safetensors", "use another store"]);
    }
}

#[test]
fn phase_map_runs_a_quarter_of_its_cells() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("map.csv");
    let record = json(&format!(
        "phase --x dim:8..64 --y samples:50..2000 --resolution 12 --vocab 60 --length 4 --test-samples 256 --repeats 1 --json --csv {}",
        csv.display()
    ));
    let cells = record["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 144);
    let measured = cells.iter().filter(|cell| cell["measured"] == true).count();
    assert!(measured <= 36 && record["measured"] == measured, "{measured}");
    assert!(cells.iter().all(|cell| (0.0..=1.0).contains(&cell["value"].as_f64().unwrap())));
    assert!(cells.iter().any(|cell| cell["dominant"]["term"].is_string()));
    assert!(!record["predicted_boundary"].as_array().unwrap().is_empty());
    let lines = std::fs::read_to_string(csv).unwrap();
    assert_eq!(lines.lines().count(), 145);
    assert!(lines.starts_with("dim,samples,accuracy,measured,low,high,predicted,part,term\n"));
    // Cells that were run have an interval, and others none.
    for cell in cells {
        match (cell["low"].as_f64(), cell["high"].as_f64()) {
            (Some(low), Some(high)) => {
                assert!(cell["measured"] == true && low < high);
                assert!((low..=high).contains(&cell["value"].as_f64().unwrap()), "{cell}");
            }
            _ => assert!(cell["measured"] == false && cell["low"].is_null() && cell["high"].is_null()),
        }
    }
}

/// An existing file is kept until its replacement is complete.
#[test]
fn failed_map_does_not_change_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (csv, store) = (folder.path().join("map.csv"), folder.path().join("store.sqlite"));
    std::fs::write(&csv, "old").unwrap();
    std::fs::write(&store, "not a store").unwrap();
    let output = superpose(&format!(
        "phase --x dim:8..64 --y samples:50..2000 --resolution 4 --vocab 60 --csv {} --store {}",
        csv.display(),
        store.display()
    ));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&csv).unwrap(), "old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// `--precision` is the floating-point type, as in `superpose run`; `--half-width` is the width of the interval.
#[test]
fn precision_is_the_type_and_half_width_the_interval() {
    let search = format!("threshold --find samples {SMALL} --json");
    let wide = json(&format!("{search} --precision f64 --half-width 0.3"));
    assert_eq!((&wide["config"]["precision"], &wide["half_width"]), (&"f64".into(), &0.3.into()));
    let narrow = json(&format!("{search} --half-width 0.1"));
    assert_eq!((&narrow["config"]["precision"], &narrow["half_width"]), (&"f32".into(), &0.1.into()));
    let width = |record: &serde_json::Value| {
        let [low, high] =
            ["crossing_low", "crossing_high"].map(|end| record["observed"][end].as_f64().unwrap());
        (high - low) / record["observed"]["crossing"].as_f64().unwrap()
    };
    assert!(width(&narrow) <= 0.2 && width(&wide) <= 0.6, "{narrow} {wide}");
    refused("threshold --find samples --precision 0.1", &["--precision", "f32, f64"]);
    refused("threshold --find samples --float f64", &["--float"]);
    let memory = json("memory --find facts --dim 32 --half-width 0.2 --json");
    assert_eq!(memory["half_width"], 0.2);
}

#[test]
fn measure_without_a_formula_is_mapped_everywhere() {
    let sizes = "--vocab 40 --length 6 --x dim:8..40 --y samples:50..2000 --resolution 8";
    let record = json(&format!("phase {sizes} --measure top_5_accuracy --json"));
    let cells = record["cells"].as_array().unwrap();
    assert!(cells.iter().all(|cell| cell["value"].is_number() && cell["predicted"].is_null()), "{record}");
}

#[test]
fn invalid_arguments_are_rejected() {
    for (arguments, words) in [
        ("threshold --find colour", vec!["--find", "samples"]),
        ("threshold --find width", vec!["find = width", "attention-only"]),
        ("threshold --find samples --accuracy 1", vec!["accuracy = 1", "use criterion = all"]),
        ("threshold --find samples --half-width 0", vec!["half_width = 0"]),
        ("threshold --find samples --range 10", vec!["--range", "LOW..HIGH"]),
        ("threshold --find samples --range 9..3", vec!["9..3"]),
        ("threshold --find samples --max-runs 1", vec!["max_runs = 1"]),
        ("threshold --find samples --repeats 3", vec!["repeats is given"]),
        ("threshold --find dim --embedding orthonormal --range 16..999", vec!["dim = 16", "514"]),
        ("phase --x dim:8..64 --y dim:9..99", vec!["both dim"]),
        ("phase --x dim --y samples:9..99", vec!["--x", "SIZE:LOW..HIGH"]),
        ("phase --x dim:8..4 --y samples:9..99", vec!["8..4"]),
        ("phase --x dim:8..64 --y samples:9..99 --resolution 1", vec!["resolution = 1"]),
        ("phase --x dim:8..64 --y samples:9..99 --resolution 200", vec!["resolution = 200", "from 2 to 80"]),
        ("phase --x dim:8..64 --y samples:9..99 --csv no/such/map.csv", vec!["csv", "no/such/map.csv"]),
        ("phase --x dim:8..64 --y samples:9..99 --svg no/such/map.svg", vec!["svg", "no/such/map.svg"]),
        ("phase --x dim:8..64 --y samples:9..99 --scale cubic", vec!["cubic"]),
        ("phase --x parameters:800..9000 --y dim:9..99", vec!["parameters"]),
    ] {
        refused(arguments, &words);
    }
}
