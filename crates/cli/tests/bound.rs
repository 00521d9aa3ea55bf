//! `superpose bound`: text, JSON and errors.
#![allow(clippy::unwrap_used)]

mod common;

use common::{json, refused, superpose, works};

const SMALL: &str = "bound --vocab 60 --dim 40 --length 6 --seeds 3 --trigger keys";

#[test]
fn json_has_every_field_and_no_decoder_beats_the_bound() {
    let record = json(&format!("{SMALL} --accuracy 0.5 --json"));
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
fn result_does_not_depend_on_the_number_of_threads() {
    let [one, two] = [1, 3].map(|threads| superpose(&format!("{SMALL} --json --threads {threads}")).stdout);
    assert!(!one.is_empty());
    assert_eq!(one, two);
}

#[test]
fn table_names_the_surrogate() {
    let text = works(&format!("{SMALL} --accuracy 0.3"));
    for word in
        ["surrogate lower bound", "argmax", "one-to-one assignment", "linear MMSE", "three-step", "95%"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn invalid_arguments_are_rejected() {
    for (arguments, words) in [
        ("--vocab 1", vec!["vocab = 1"]),
        ("--vocab 1e9", vec!["vocab", "10000"]),
        ("--length 1", vec!["length = 1"]),
        ("--dim 0", vec!["dim = 0"]),
        ("--accuracy 0", vec!["accuracy = 0"]),
        ("--accuracy nan", vec!["accuracy"]),
        ("--seeds 1", vec!["seeds = 1"]),
        ("--threads 0", vec!["threads = 0"]),
        ("--embedding file", vec!["must be one of gaussian, sphere, orthonormal, rademacher"]),
        ("--embedding orthonormal --vocab 50 --dim 20", vec!["dim = 20"]),
    ] {
        refused(&format!("bound {arguments}"), &words);
    }
}
