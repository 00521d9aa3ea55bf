//! `superpose estimate`: text, JSON, sizes that do not fit, and errors.

use crate::common::{json, refused, works};

#[test]
fn estimate_grows_with_the_sizes_and_says_what_fits() {
    let [small, large] = ["--samples 1000", "--samples 1e6 --repeats 3"]
        .map(|sizes| json(&format!("estimate --vocab 256 {sizes} --threads 2 --json")));
    let seconds = |record: &serde_json::Value| record["thread_seconds"].as_f64().unwrap();
    assert!(seconds(&large) > 100.0 * seconds(&small), "{small} {large}");
    assert_eq!(large["config"]["samples"], 1_000_000);
    assert_eq!((&small["fits"], &small["threads"]), (&true.into(), &2.into()));

    let text = works("estimate --vocab 1e6 --dim 1e6 --threads 1");
    assert!(text.contains("the run does not fit") && text.contains("with 1 thread"), "{text}");
}

#[test]
fn errors_name_the_setting() {
    for (line, words) in [
        ("estimate --vocab 1", "vocab = 1: must be a whole number from 2"),
        ("estimate --steps 10 --batch 0", "batch = 0"),
        ("estimate --import missing.safetensors", "missing.safetensors"),
    ] {
        refused(line, &[words]);
    }
}
