//! `superpose bound` as a person or a script uses it.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

fn superpose(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_superpose")).args(arguments.split_whitespace()).output().unwrap()
}

const SMALL: &str = "bound --vocab 60 --dim 40 --length 6 --seeds 3 --trigger keys";

#[test]
fn json_has_every_field_and_no_decoder_beats_the_bound() {
    let output = superpose(&format!("{SMALL} --accuracy 0.5 --json"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let bound = record["bound"].as_f64().unwrap();
    let decoders = record["decoders"].as_object().unwrap();
    for name in ["argmax", "assignment", "mmse"] {
        assert!(decoders.contains_key(name), "{name}");
    }
    for (name, critical) in decoders.iter().chain([(&"three_step".to_string(), &record["three_step"])]) {
        let [estimate, low, high, ratio] =
            ["estimate", "low", "high", "ratio"].map(|field| critical[field].as_f64().unwrap());
        assert!(low <= estimate && estimate <= high, "{name}");
        assert!((ratio * bound / estimate - 1.0).abs() < 1e-9, "{name}");
        assert!(ratio > 1.0 || name == "three_step", "{name}: {ratio}");
    }
    let estimate = |name: &str| decoders[name]["estimate"].as_f64().unwrap();
    assert!(estimate("mmse") < estimate("argmax"));
    assert_eq!(record["config"]["vocab"], 60);
    assert_eq!(record["version"], env!("CARGO_PKG_VERSION"));
    assert!(record["bound_kind"].as_str().unwrap().contains("surrogate"));
}

#[test]
fn the_same_on_any_number_of_threads() {
    let [one, two] = [1, 3].map(|threads| superpose(&format!("{SMALL} --json --threads {threads}")).stdout);
    assert!(!one.is_empty());
    assert_eq!(one, two);
}

#[test]
fn the_table_says_surrogate() {
    let output = superpose(&format!("{SMALL} --accuracy 0.3"));
    let text = String::from_utf8(output.stdout).unwrap();
    for word in
        ["surrogate lower bound", "argmax", "one-to-one assignment", "linear MMSE", "three-step", "95%"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn bad_input_is_refused() {
    for (arguments, words) in [
        ("--vocab 1", vec!["vocab = 1"]),
        ("--vocab 1e9", vec!["vocab", "10000"]),
        ("--length 1", vec!["length = 1"]),
        ("--dim 0", vec!["dim = 0"]),
        ("--accuracy 0", vec!["accuracy = 0"]),
        ("--accuracy nan", vec!["accuracy"]),
        ("--seeds 1", vec!["seeds = 1"]),
        ("--threads 0", vec!["threads = 0"]),
        ("--embedding file", vec!["embedding = file"]),
        ("--embedding orthonormal --vocab 50 --dim 20", vec!["dim = 20"]),
    ] {
        let output = superpose(&format!("bound {arguments}"));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        assert!(output.stdout.is_empty() && message.starts_with("error: "), "{arguments}: {message}");
        for word in words {
            assert!(message.contains(word), "{arguments}: {word:?} is not in {message:?}");
        }
    }
}
