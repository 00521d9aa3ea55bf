//! `superpose run`: text, JSON, files and errors.

use std::path::Path;

use crate::common::{refused_in as refused, superpose_in as superpose, works_in};
use superpose_tensors::{Entry, TensorFile, write};

fn json(folder: &Path, arguments: &str) -> serde_json::Value {
    serde_json::from_str(&works_in(folder, &format!("run --json {arguments}")).0).unwrap()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

const SMALL: &str = "--vocab 40 --dim 16 --length 5 --samples 400 --test-samples 200";

#[test]
fn json_has_every_field() {
    let folder = folder();
    let record = json(folder.path(), &format!("{SMALL} --repeats 3"));
    for name in ["accuracy", "memory_accuracy", "one_step_accuracy", "lock_rate", "attention_mass", "margin"]
    {
        let [mean, low, high] = ["mean", "low", "high"].map(|end| record[name][end].as_f64().unwrap());
        assert!(low <= mean && mean <= high, "{name}");
    }
    for kind in ["logits", "scores"] {
        for part in [
            "signal",
            "mean_bias",
            "interference",
            "gradient_noise",
            "output_overlap",
            "mlp_noise",
            "attention_leak",
        ] {
            assert!(record["noise"][kind][part].as_f64().unwrap() >= 0.0, "{kind} {part}");
        }
    }
    for name in ["train_seconds", "data_seconds", "evaluate_seconds"] {
        assert!(record[name].as_f64().unwrap() >= 0.0);
    }
    assert_eq!(record["repeats"], 3);
    assert_eq!(record["config"]["vocab"], 40);
    assert_eq!(record["trigger_signs"].as_array().unwrap().len(), 3);
    assert_eq!(record["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn repeat_is_a_run_with_the_next_seed() {
    let folder = folder();
    let third = json(folder.path(), &format!("{SMALL} --seed 7"));
    let all = json(folder.path(), &format!("{SMALL} --seed 5 --repeats 3"));
    let alone: Vec<f64> = (5..8)
        .map(|seed| {
            json(folder.path(), &format!("{SMALL} --seed {seed}"))["accuracy"]["mean"].as_f64().unwrap()
        })
        .collect();
    assert_eq!(third["accuracy"]["mean"].as_f64().unwrap(), alone[2]);
    let mean = alone.iter().sum::<f64>() / 3.0;
    assert!((all["accuracy"]["mean"].as_f64().unwrap() - mean).abs() < 1e-12);
}

#[test]
fn table_names_the_limiting_term() {
    let folder = folder();
    let output = superpose(folder.path(), &format!("run {SMALL}"));
    let text = String::from_utf8(output.stdout).unwrap();
    for word in
        ["V = 40", "recall accuracy", "lock rate", "Noise in the logits", "limits recall", "Trained in"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(output.stderr.is_empty());
}

#[test]
fn other_rules_have_no_budget_and_say_so() {
    let folder = folder();
    let output = superpose(folder.path(), &format!("run {SMALL} --early-rule muon"));
    let text = String::from_utf8(output.stdout).unwrap();
    for word in ["memory steps by muon", "not defined with early_rule = muon"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!text.contains("Largest noise"), "{text}");
    let record = json(folder.path(), &format!("{SMALL} --early-rule newton --regime exact"));
    assert_eq!(record["config"]["early_rule"], "newton");
    assert!(record["noise"]["logits"]["signal"].is_null());
    let output = superpose(folder.path(), &format!("run {SMALL} --rounds 3 --accumulate"));
    let text = String::from_utf8(output.stdout).unwrap();
    for word in ["3 rounds, attention accumulated", "not defined with rounds above 1"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn flags_override_the_file() {
    let folder = folder();
    std::fs::write(folder.path().join("a.toml"), "vocab = 30\nsamples = 2e2\ndim = 8\ntrigger = \"keys\"\n")
        .unwrap();
    let record = json(folder.path(), "--config a.toml --dim 12 --test-samples 50");
    assert_eq!(record["config"]["vocab"], 30);
    assert_eq!(record["config"]["samples"], 200);
    assert_eq!(record["config"]["dim"], 12);
    assert_eq!(record["config"]["trigger"], "keys");
}

/// Importing an exported run reproduces it, in either regime, model or precision.
#[test]
fn export_and_import_are_inverse() {
    let folder = folder();
    for arguments in [
        "--precision f64",
        "--precision f32 --trigger keys",
        "--precision f64 --regime exact --eta 30 --gamma 400",
        "--precision f64 --width 24 --activation gelu",
        "--precision f64 --noise-vocab 11",
        "--precision f64 --labels mod:7",
        "--precision f64 --embedding sphere --zipf 1",
    ] {
        let first = json(folder.path(), &format!("{SMALL} {arguments} --export a.safetensors"));
        let repeat = arguments.replace("--embedding sphere", "");
        let again = json(
            folder.path(),
            &format!("{repeat} --test-samples 200 --import a.safetensors --export b.safetensors"),
        );
        for name in ["accuracy", "margin", "lock_rate", "noise"] {
            assert_eq!(first[name], again[name], "{arguments} {name}");
        }
        let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
        assert_eq!(read("a.safetensors"), read("b.safetensors"), "{arguments}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "temporary files are gone");
}

#[test]
fn export_has_the_stated_names_and_shapes() {
    let folder = folder();
    json(folder.path(), &format!("{SMALL} --width 24 --activation he2 --export a.safetensors"));
    let file = TensorFile::open(&folder.path().join("a.safetensors")).unwrap();
    let tensors = file.tensors();
    for (name, shape) in [
        ("z_in", vec![40, 16]),
        ("z_out", vec![40, 16]),
        ("z_trig", vec![16]),
        ("z_eos", vec![16]),
        ("w_in", vec![24, 16]),
        ("tokens", vec![400, 5]),
        ("position", vec![400]),
        ("labels", vec![400]),
        ("m1", vec![16, 24]),
        ("w1", vec![16, 16]),
        ("m2", vec![16, 24]),
    ] {
        assert_eq!(tensors.shape(name).unwrap(), shape, "{name}");
    }
}

#[test]
fn embeddings_are_read_from_a_file() {
    let folder = folder();
    let rows: Vec<f32> = (0..60 * 6).map(|i| (i as f32 * 0.7).sin()).collect();
    let entries = [Entry::f32("words", &[60, 6], rows.clone()), Entry::f32("other", &[60, 6], rows.clone())];
    write(&folder.path().join("e.safetensors"), &entries).unwrap();
    let base = "--vocab 50 --length 4 --samples 300 --test-samples 50 --embedding-file e.safetensors";
    for output in ["", "--output-embedding tied", "--output-embedding other"] {
        let arguments =
            format!("{base} --embedding file --embedding-tensor words {output} --export x.safetensors");
        let record = json(folder.path(), &arguments);
        assert_eq!(record["config"]["dim"], 6);
        let file = TensorFile::open(&folder.path().join("x.safetensors")).unwrap();
        let z_in = file.tensors().floats("z_in").unwrap();
        assert_eq!(z_in.shape, [50, 6]);
        let z_out = file.tensors().floats("z_out").unwrap();
        assert_eq!(z_out.data == z_in.data, !output.is_empty(), "{output}");
        let known = |row: &[f64]| rows.chunks(6).any(|r| r.iter().zip(row).all(|(a, b)| f64::from(*a) == *b));
        assert!(z_in.data.chunks(6).all(known));
    }
    refused(folder.path(), &format!("run {base} --embedding-tensor none"), &["none", "words"]);
    refused(folder.path(), &format!("run {base}"), &["embedding_tensor"]);
    refused(
        folder.path(),
        &format!("run {base} --embedding-tensor words --dim 7"),
        &["dim = 7", "6 columns"],
    );
    refused(
        folder.path(),
        &format!("run {base} --embedding-tensor words").replace("50", "61"),
        &["vocab = 61", "60 rows"],
    );
    refused(
        folder.path(),
        &format!("run {base} --embedding-tensor words --embedding sphere"),
        &["embedding"],
    );
}

#[test]
fn invalid_values_are_rejected() {
    let folder = folder();
    let here = folder.path();
    for (arguments, words) in [
        ("--vocab 1", &["vocab = 1", "2 to"][..]),
        ("--vocab 0", &["vocab = 0"]),
        ("--vocab -5", &["--vocab", "-5", "whole number"]),
        ("--dim 0", &["dim = 0", "1 to"]),
        ("--dim 1.5", &["--dim", "1.5", "whole number"]),
        ("--dim NaN", &["--dim", "whole number"]),
        ("--dim 99999999999999999999999", &["--dim", "whole number"]),
        ("--length 0", &["length = 0"]),
        ("--samples 0", &["samples = 0"]),
        ("--samples 1e300", &["--samples", "whole number"]),
        ("--samples 18446744073709551615", &["samples = "]),
        ("--width 0", &["width = 0"]),
        ("--repeats 0", &["repeats = 0"]),
        ("--test-samples 1", &["test_samples = 1", "2 to"]),
        ("--keep 0", &["keep = 0", "1 to"]),
        ("--keep 17", &["keep = 17", "1 to length = 16"]),
        ("--keep -1", &["--keep", "-1", "whole number"]),
        ("--keep x", &["--keep", "x", "whole number"]),
        ("--keep 9223372036854775808", &["keep = 9223372036854775808", "1 to"]),
        ("--threads 0", &["threads = 0", "1 to"]),
        ("--threads 1e9", &["threads = 1000000000"]),
        ("--eta 0", &["eta = 0", "1e-20"]),
        ("--eta NaN", &["--eta", "NaN", "must be a number"]),
        ("--eta inf", &["--eta", "inf"]),
        ("--eta -1", &["eta = -1"]),
        ("--gamma NaN", &["--gamma", "NaN"]),
        ("--eta2 -inf", &["--eta2", "-inf"]),
        ("--lead 0", &["lead = 0"]),
        ("--lead -2", &["lead = -2"]),
        ("--zipf -1", &["zipf = -1", "0 to 10"]),
        ("--zipf NaN", &["--zipf", "NaN"]),
        ("--accumulate", &["accumulate is given without rounds"]),
        ("--rounds 0", &["rounds = 0", "1 to 1000"]),
        ("--early-rule adam", &["--early-rule", "adam", "gradient", "newton"]),
        ("--labels mod:1", &["labels = mod:1"]),
        ("--labels mod:513", &["labels = mod:513", "vocab = 512"]),
        ("--labels other", &["--labels", "permutation or mod:M"]),
        ("--activation swish --width 8", &["--activation", "swish", "relu"]),
        ("--activation relu", &["activation", "width"]),
        ("--embedding cube", &["--embedding", "gaussian"]),
        ("--embedding orthonormal", &["dim = 128", "514"]),
        ("--embedding orthonormal --vocab 20 --dim 25 --noise-vocab 9", &["dim = 25", "noise_vocab"]),
        ("--embedding file", &["embedding_file"]),
        ("--output-embedding nothing", &["output_embedding"]),
        ("--noise-vocab 0", &["noise_vocab = 0"]),
        ("--gamma 1 --lead 2", &["gamma", "lead"]),
        ("--seed 18446744073709551615", &["seed"]),
        ("--precision f16", &["--precision", "f32"]),
        ("--regime slow", &["--regime", "exact"]),
        ("--samples 1e18", &["'1e18' for '--samples", "must be a whole number from 1 to 2147483647"]),
        ("--vocab 1e20", &["'1e20' for '--vocab", "must be a whole number from 2 to 2147483647"]),
        ("--colour red", &["--colour"]),
        ("--import missing.safetensors", &["missing.safetensors"]),
        ("--import .", &["."]),
        ("--config missing.toml", &["missing.toml"]),
        ("--export no/such/folder/x.safetensors", &["export", "no/such/folder"]),
        ("--export .", &["export", "ordinary file"]),
        ("--vocab 2e9 --dim 1e6", &["memory"]),
        ("--samples 2e9 --length 1e6 --export x.safetensors", &["memory"]),
        ("--width 2e9", &["memory"]),
        ("--regime exact --eta 1e20 --gamma 1e30", &["finite", "eta"]),
    ] {
        refused(here, &format!("run {arguments}"), words);
    }
    assert_eq!(std::fs::read_dir(here).unwrap().count(), 0, "nothing was written");
}

#[test]
fn invalid_toml_is_rejected_with_its_line() {
    let folder = folder();
    for (text, words) in [
        ("vocab = 64\ncolour = 3\n", &["bad.toml, line 2", "colour"][..]),
        ("vocab = \"many\"\n", &["line 1", "vocab = \"many\"", "whole number"]),
        ("vocab = -3\n", &["line 1", "whole number"]),
        ("samples = 1e18\n", &["line 1", "samples = 1e18: must be a whole number from 1 to 2147483647"]),
        ("dim = 1.5\n", &["line 1", "whole number"]),
        ("activation = \"swish\"\n", &["line 1", "swish", "relu"]),
        ("vocab = \n", &["line 1"]),
        ("[run]\nvocab = 3\n", &["run"]),
        ("\u{0}", &["bad.toml"]),
    ] {
        std::fs::write(folder.path().join("bad.toml"), text).unwrap();
        refused(folder.path(), "run --config bad.toml", words);
    }
    std::fs::write(folder.path().join("bad.toml"), [0xff, 0xfe, 0x00]).unwrap();
    refused(folder.path(), "run --config bad.toml", &["bad.toml"]);
}

#[test]
fn invalid_tensors_are_rejected() {
    let folder = folder();
    let path = folder.path().join("bad.safetensors");
    let floats = |name, shape: &[usize]| Entry::f64(name, shape, vec![0.5; shape.iter().product()]);
    let zeros = vec![0; 1000];
    let whole = |name, shape: &[usize]| Entry::whole(name, shape, &zeros[..shape.iter().product()]);
    let tokens = [0, 1, 2, 600];
    for (entries, arguments, words) in [
        (vec![floats("z_in", &[8])], "", &["z_in", "matrix"][..]),
        (vec![floats("z_in", &[0, 3])], "", &["z_in"]),
        (vec![floats("z_trig", &[2, 2])], "", &["z_trig", "vector"]),
        (vec![floats("z_in", &[8, 3]), floats("z_trig", &[4])], "", &["z_trig", "dim must be 3"]),
        (vec![floats("z_in", &[8, 3])], "--vocab 9", &["z_in", "vocab", "9"]),
        (vec![floats("z_in", &[8, 3])], "--dim 4", &["dim", "4"]),
        (vec![floats("z_in", &[8, 3]), floats("z_out", &[5, 3])], "", &["z_out", "mod:5"]),
        (vec![floats("z_in", &[8, 3])], "--noise-vocab 7", &["z_in", "noise_vocab"]),
        (vec![floats("tokens", &[4, 3])], "", &["tokens", "whole numbers"]),
        (vec![whole("z_in", &[4, 3])], "", &["z_in", "floating-point"]),
        (vec![whole("tokens", &[4]), whole("position", &[4])], "", &["tokens", "matrix"]),
        (vec![whole("tokens", &[4, 2]), whole("position", &[3])], "", &["position", "samples must be 4"]),
        (
            vec![Entry::whole("tokens", &[2, 2], &tokens), whole("position", &[2])],
            "",
            &["tokens", "600", "index 3", "512"],
        ),
        (
            vec![whole("tokens", &[4, 3]), Entry::whole("position", &[4], &tokens)],
            "",
            &["position", "600", "length"],
        ),
        (vec![whole("tokens", &[4, 2])], "", &["position", "needed with tokens"]),
        (vec![whole("position", &[4])], "", &["tokens", "needed with position"]),
        (vec![Entry::whole("labels", &[4], &tokens)], "", &["labels", "tokens"]),
        (
            vec![whole("tokens", &[4, 2]), whole("position", &[4]), Entry::whole("labels", &[4], &tokens)],
            "",
            &["labels", "600"],
        ),
        (vec![floats("Z_in", &[8, 3])], "", &["z_in", "Z_in"]),
        (vec![Entry::f64("z_eos", &[2], vec![0.0, 0.0])], "", &["z_eos", "differ from 0"]),
        (vec![Entry::f64("z_trig", &[2], vec![f64::NAN, 0.0])], "", &["z_trig", "NaN", "finite"]),
        (vec![floats("w_in", &[5, 4])], "--width 6", &["w_in", "width", "6"]),
    ] {
        write(&path, &entries).unwrap();
        refused(folder.path(), &format!("run --import bad.safetensors {arguments}"), words);
    }
    // Truncated, empty, foreign and hostile files.
    write(&path, &[floats("z_in", &[8, 3])]).unwrap();
    let good = std::fs::read(&path).unwrap();
    let huge_header = [&u64::MAX.to_le_bytes()[..], b"{}"].concat();
    let overlapping =
        br#"{"z_in":{"dtype":"F64","shape":[9223372036854775807,9223372036854775807],"data_offsets":[0,8]}}"#;
    let hostile = [&(overlapping.len() as u64).to_le_bytes()[..], overlapping, &[0; 8]].concat();
    for bytes in [&good[..good.len() - 5], &good[..4], b"", b"PK not a tensor file", &huge_header, &hostile] {
        std::fs::write(&path, bytes).unwrap();
        refused(folder.path(), "run --import bad.safetensors", &["safetensors"]);
        refused(
            folder.path(),
            "run --embedding-file bad.safetensors --embedding-tensor z_in",
            &["safetensors"],
        );
    }
}

#[test]
fn smallest_sizes_work() {
    let folder = folder();
    for arguments in [
        "--vocab 2 --dim 1 --length 1 --samples 1 --test-samples 2",
        "--vocab 2 --dim 1 --length 1 --samples 1 --test-samples 2 --regime exact",
        "--vocab 2 --dim 1 --length 2 --samples 1 --width 1 --activation he3",
        "--vocab 3 --dim 5 --length 300 --samples 3 --embedding orthonormal --regime exact --precision f64",
        "--vocab 30 --dim 700 --length 3 --samples 30 --embedding orthonormal",
        "--vocab 1000 --dim 3 --length 2 --samples 5 --labels mod:2 --zipf 10",
        "--vocab 20 --dim 4 --length 3 --samples 50 --noise-vocab 1 --embedding rademacher --gamma 0",
        "--vocab 20 --dim 4 --length 3 --samples 50 --gamma -5 --eta2 0 --regime exact",
    ] {
        json(folder.path(), arguments);
    }
}
