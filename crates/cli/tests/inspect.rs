//! `superpose inspect`: text, JSON and errors.

use crate::common::{refused_in as refused, superpose_in as superpose};
use superpose_tensors::{Entry, write};

/// Returns a folder with a file of pseudo-random matrices `rows` (600 x 24, with a shared mean) and `outputs`, and invalid ones.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let numbers = |count: usize, seed: u64| -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 24) as f32 - 0.5
        };
        (0..count).map(|_| next() + next() + next()).collect()
    };
    let rows: Vec<f32> = numbers(600 * 24, 1).iter().map(|x| x + 0.3).collect();
    let length = (rows.iter().map(|x| x * x).sum::<f32>() / 600.0).sqrt();
    let entries = [
        Entry::f32("scaled", &[600, 24], rows.iter().map(|x| x / length).collect()),
        Entry::f32("rows", &[600, 24], rows),
        Entry::f64("outputs", &[300, 24], numbers(300 * 24, 2).iter().map(|&x| f64::from(x)).collect()),
        Entry::f32("narrow", &[300, 8], numbers(300 * 8, 3)),
        Entry::f32("vector", &[24], numbers(24, 4)),
        Entry::f32("broken", &[2, 2], vec![1.0, f32::NAN, 0.0, 1.0]),
        Entry::whole("whole", &[2, 2], &[1, 2, 3, 4]),
        Entry::f32("long", &[1200, 8], numbers(1200 * 8, 5)),
    ];
    write(&folder.path().join("model.safetensors"), &entries).unwrap();
    write(&folder.path().join("none.safetensors"), &entries[4..5]).unwrap();
    folder
}

#[test]
fn json_has_every_field() {
    let folder = folder();
    let output = superpose(folder.path(), "inspect model.safetensors --tensor rows --json --accuracy 0.9");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["tensor"], &found["rows"], &found["dim"]), (&"rows".into(), &600.into(), &24.into()));
    assert_eq!(found["accuracy"], 0.9);
    assert!(found["gaussian_facts"].as_u64().unwrap() > 2);
    for kind in ["raw", "centred"] {
        for name in
            ["mean_square_cosine", "effective_dimension", "mean_cosine", "norm_mean", "norm_cv", "facts"]
        {
            assert!(found[kind][name].is_number(), "{kind} {name}");
        }
    }
    let cosine = |kind: &str| found[kind]["mean_cosine"].as_f64().unwrap();
    assert!(cosine("raw") > 0.1 && cosine("centred").abs() < 0.01);
    assert!((found["centred"]["effective_dimension"].as_f64().unwrap() / 24.0 - 1.0).abs() < 0.1);
    assert!(found.get("output").is_none());
}

#[test]
fn table_names_tensors_and_facts() {
    let folder = folder();
    let arguments = "inspect model.safetensors --tensor rows --output-tensor outputs --accuracy 0.8";
    let output = superpose(folder.path(), arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    for word in [
        "Tensor rows: 600 rows, d = 24",
        "Output tensor outputs",
        "centred",
        "effective dimension",
        "predicted facts at accuracy 0.8",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    // A slow machine also shows progress.
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(["note", "hint", "error"].iter().all(|word| !messages.contains(word)), "{messages}");
    let output = superpose(folder.path(), "inspect model.safetensors --tensor long");
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("Tensor long: 1,200 rows, d = 8\n"));
}

#[test]
fn invalid_arguments_are_rejected() {
    let folder = folder();
    let path = folder.path();
    for (arguments, words) in [
        ("absent.safetensors", vec!["absent.safetensors"]),
        ("model.safetensors --tensor nothing", vec!["nothing", "not in the file"]),
        ("model.safetensors --tensor vector", vec!["vector", "matrix"]),
        ("model.safetensors --tensor whole", vec!["whole", "floating-point"]),
        ("model.safetensors --tensor broken", vec!["broken", "NaN", "index 1"]),
        ("model.safetensors --output-tensor narrow", vec!["narrow", "columns"]),
        ("model.safetensors --accuracy 1", vec!["accuracy = 1"]),
        ("model.safetensors --accuracy -0.5", vec!["accuracy = -0.5"]),
        ("model.safetensors --accuracy nan", vec!["accuracy = NaN"]),
        ("model.safetensors --threads 0", vec!["threads = 0"]),
        ("none.safetensors", vec!["tensor", "no matrix"]),
        (".", vec!["directory"]),
    ] {
        refused(path, &format!("inspect {arguments}"), &words);
    }
}

#[test]
fn sizes_of_a_number_of_facts_are_predicted() {
    let folder = folder();
    let sizes = |flags: &str| -> serde_json::Value {
        let output = superpose(
            folder.path(),
            &format!("inspect model.safetensors --tensor rows --accuracy 0.5 --json {flags}"),
        );
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()["sizes"].clone()
    };
    assert!(sizes("").is_null());
    let few = sizes("--facts 15 --length 4");
    // The prediction of a run with the same rows, which have the length of the trigger.
    let flags =
        "--embedding-file model.safetensors --embedding-tensor scaled --trigger keys --vocab 15 --length 4";
    let output = superpose(folder.path(), &format!("predict {flags} --samples 1500 --json"));
    let predicted: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let [few_accuracy, accuracy] = [&few, &predicted].map(|found| found["accuracy"].as_f64().unwrap());
    assert!((few_accuracy - accuracy).abs() < 1e-5, "{few_accuracy} {accuracy}");
    assert_eq!(few["fewest_samples"], predicted["critical"]["samples"]);
    assert_eq!(few["largest_length"], predicted["critical"]["length"]);
    let fewest = |sizes: &serde_json::Value| sizes["fewest_samples"].as_u64().unwrap_or(u64::MAX);
    assert!(fewest(&few) < fewest(&sizes("--facts 40 --length 4")), "{few}");
    let text = superpose(
        folder.path(),
        "inspect model.safetensors --tensor rows --accuracy 0.5 --facts 15 --length 4",
    );
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(
        text.contains("15 facts in sequences of L = 4 tokens, trigger in keys only: predicted recall"),
        "{text}"
    );
    for words in [
        "This is for rows multiplied by 0.3",
        "Expected error: not known; extrapolated: V = 15, d = 24 lie outside",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let values = sizes("--facts 15 --length 4 --trigger values");
    assert_eq!(values["trigger"], "values");
    assert_ne!(values["accuracy"], few["accuracy"]);
    assert_eq!(sizes("--facts 1.5e1 --length 4e0"), few);
    let both = "inspect model.safetensors --facts 9 --output-tensor outputs";
    refused(folder.path(), both, &["output_tensor is given together with facts"]);
    refused(folder.path(), "inspect model.safetensors --facts -1", &["--facts", "whole number"]);
    refused(folder.path(), "inspect model.safetensors --facts 601", &["facts = 601", "from 2 to 600"]);
    refused(folder.path(), "inspect model.safetensors --facts 1", &["facts = 1"]);
    refused(folder.path(), "inspect model.safetensors --facts 9 --length 0", &["length = 0"]);
}
