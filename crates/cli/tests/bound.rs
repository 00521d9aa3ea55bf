//! `superpose bound`: text, JSON and errors.

use crate::common::{json, refused, refused_in, superpose, superpose_in, works};

const SMALL: &str = "bound --vocab 60 --dim 40 --length 6 --seeds 3 --trigger keys";

#[test]
fn json_has_every_field_and_no_decoder_beats_its_bound() {
    let record = json(&format!("{SMALL} --accuracy 0.5 --json"));
    let [coverage, linear, genie, surrogate, bits] = ["coverage", "linear", "genie", "surrogate", "bits"]
        .map(|name| record["bounds"][name].as_f64().unwrap());
    assert!(linear > genie && genie > coverage && surrogate > 0.0 && bits > 0.0, "{}", record["bounds"]);
    let decoders = record["decoders"].as_object().unwrap();
    for (name, critical) in decoders.iter().chain([(&"three_step".to_string(), &record["three_step"])]) {
        let [estimate, low, high, bound, ratio] =
            ["estimate", "low", "high", "bound", "ratio"].map(|field| critical[field].as_f64().unwrap());
        assert!(low <= estimate && estimate <= high, "{name}");
        assert_eq!(
            bound,
            if ["argmax", "mmse"].contains(&name.as_str()) { linear } else { coverage },
            "{name}"
        );
        assert!((ratio * bound / estimate - 1.0).abs() < 1e-9, "{name}");
        assert!(ratio > 1.0, "{name}: {ratio}");
    }
    let estimate = |name: &str| decoders[name]["estimate"].as_f64().unwrap();
    assert!(estimate("mmse") < estimate("argmax") && estimate("mmse_assignment") < estimate("assignment"));
    assert_eq!(record["config"]["vocab"], 60);
    assert_eq!(record["version"], env!("CARGO_PKG_VERSION"));
}

/// The linear MMSE estimate is close to the bound of linear decoders, so a bound that is a fifth too high fails here.
#[test]
fn mmse_is_just_above_the_linear_bound() {
    let record =
        json("bound --vocab 60 --dim 38 --length 14 --seeds 40 --trigger keys --accuracy 0.8 --json");
    let mmse = &record["decoders"]["mmse"];
    let [low, high, bound] = ["low", "high", "bound"].map(|field| mmse[field].as_f64().unwrap());
    assert!(low > bound, "{mmse}");
    assert!(high < 1.25 * bound, "{mmse}");
    // The genie takes labels as independent: a decoder that uses that they are a permutation may go below.
    let assignment = record["decoders"]["mmse_assignment"]["high"].as_f64().unwrap();
    assert!(assignment < record["bounds"]["genie"].as_f64().unwrap());
}

#[test]
fn result_does_not_depend_on_the_number_of_threads() {
    let [one, two] = [1, 3].map(|threads| superpose(&format!("{SMALL} --json --threads {threads}")).stdout);
    assert!(!one.is_empty());
    assert_eq!(one, two);
}

#[test]
fn table_says_for_whom_each_bound_holds() {
    let text = works(&format!("{SMALL} --accuracy 0.3"));
    for word in [
        "any learner",
        "argmax and linear MMSE, to leading order",
        "if the noise were Gaussian",
        "bits a number",
        "one-to-one assignment",
        "three-step",
        "times as many samples as the best decoder",
        "95%",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn numbers_have_thousands_separators() {
    let text = works("bound --vocab 60 --dim 16 --length 12 --seeds 2 --trigger keys");
    let longest = text.split(|c: char| !c.is_ascii_digit()).map(str::len).max();
    assert!(text.contains("facts off the first gradient with accuracy 0.5") && longest == Some(3), "{text}");
}

#[test]
fn counting_that_excludes_no_decoder_says_so() {
    let text = works("bound --vocab 2 --dim 1 --seeds 2");
    let line = text.lines().find(|line| line.trim_start().starts_with("counting")).unwrap();
    assert!(line.ends_with(" 0  any decoder; this bound excludes none"), "{line}");
}

/// Rows of a file that are Gaussian vectors need as many samples as drawn ones; bounds that assume random vectors are left out.
#[test]
fn rows_of_a_file_have_decoders_and_the_bounds_of_any_embeddings() {
    let folder = tempfile::tempdir().unwrap();
    let export = "run --vocab 60 --dim 40 --length 6 --samples 100 --export e.safetensors";
    assert!(superpose_in(folder.path(), export).status.success());
    let arguments = format!("{SMALL} --embedding-file e.safetensors --embedding-tensor z_in --accuracy 0.5")
        .replace("--dim 40 ", "");
    let output = superpose_in(folder.path(), &format!("{arguments} --json"));
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let drawn = json(&format!("{SMALL} --accuracy 0.5 --json"));
    assert_eq!(record["bounds"]["coverage"], drawn["bounds"]["coverage"]);
    assert!(["linear", "genie", "surrogate"].iter().all(|name| record["bounds"][name].is_null()));
    for decoder in ["argmax", "mmse", "mmse_assignment"] {
        let estimate = |record: &serde_json::Value| record["decoders"][decoder]["estimate"].as_f64().unwrap();
        let ratio = estimate(&record) / estimate(&drawn);
        assert!((0.7..1.4).contains(&ratio), "{decoder}: {ratio}");
        assert_eq!(record["decoders"][decoder]["bound"], record["bounds"]["coverage"]);
    }
    let text = String::from_utf8(superpose_in(folder.path(), &arguments).stdout).unwrap();
    assert!(text.contains("not known") && text.contains("these were given"), "{text}");
    refused_in(
        folder.path(),
        "bound --import e.safetensors",
        &["import = tokens, position, labels", "give embeddings alone"],
    );
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
        ("--embedding file", vec!["embedding_file", "needed with embedding = file"]),
        ("--embedding low_rank", vec!["must be one of gaussian, sphere, orthonormal, rademacher, file"]),
        ("--embedding orthonormal --vocab 50 --dim 20", vec!["dim = 20"]),
    ] {
        refused(&format!("bound {arguments}"), &words);
    }
}

/// A limit of the address space stands for a machine with little memory.
#[cfg(target_os = "linux")]
#[test]
fn sizes_beyond_the_memory_are_refused() {
    for (sizes, size) in [("--vocab 10000 --dim 1000", "vocab"), ("--width 4000", "width")] {
        let line = format!(
            "ulimit -v 3000000 && exec {} bound {sizes} --seeds 2 --threads 2",
            env!("CARGO_BIN_EXE_superpose")
        );
        let output = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{sizes}: {message}");
        for words in [format!("error: {size} = "), "this needs about ".into(), format!("; {size} up to ")] {
            assert!(message.contains(&words), "{sizes}: {message}");
        }
    }
}
