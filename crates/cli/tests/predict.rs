//! `superpose predict` and `superpose plan`: text, JSON, figures and errors.

use crate::common::{refused, superpose, works_in};
use serde_json::Value;
use superpose_tensors::{Entry, write};

fn json(arguments: &str) -> Value {
    crate::common::json(&format!("{arguments} --json"))
}

fn text(arguments: &str) -> String {
    let output = superpose(arguments);
    assert!(output.status.success() && output.stderr.is_empty(), "{arguments}");
    crate::common::text(&output.stdout)
}

const PARTS: [&str; 7] = [
    "signal",
    "mean_bias",
    "interference",
    "gradient_noise",
    "output_overlap",
    "mlp_noise",
    "attention_leak",
];
const PARAMETERS: [&str; 5] = ["samples", "dim", "width", "length", "vocab"];

#[test]
fn json_has_every_field() {
    let record = json("predict --trigger keys --length 64");
    for name in ["accuracy", "memory_accuracy", "lock_rate", "one_step_accuracy"] {
        assert!((0.0..=1.0).contains(&record[name].as_f64().unwrap()), "{name}");
    }
    assert_eq!(record["error"], 0.004);
    for kind in ["logits", "scores"] {
        for part in PARTS {
            let part = record["noise"][kind].as_object().unwrap().get(part).unwrap();
            assert!(part.is_null() || part.as_f64().unwrap() >= 0.0, "{kind} {part}");
        }
        assert!(record["noise"][kind]["signal"].as_f64().unwrap() > 0.0);
    }
    assert!(record["dominant"]["term"].is_string() && record["dominant"]["part"].is_string());
    for name in PARAMETERS {
        let (value, reason) = (&record["critical"][name], &record["critical_reason"][name]);
        assert_eq!(value.is_u64(), name != "width", "{name}: {value}");
        assert_eq!(value.is_null(), reason.is_string(), "{name}: {reason}");
    }
    let statement = record["conditions"][0]["text"].as_str().unwrap();
    assert!(statement.starts_with("coverage: N > V"), "{statement}");
    for (law, binds) in record["laws"].as_array().unwrap().iter().zip(["coverage", "one_step"]) {
        assert!(law["binds"] == binds && law["samples"].as_f64().unwrap() > 100.0, "{law}");
        assert_eq!(law["exponents"].as_array().unwrap().len(), 3);
    }
    assert_eq!(record["gaps"].as_array().unwrap().len(), 0);
    assert_eq!(record["config"]["length"], 64);
    assert_eq!(record["version"], env!("CARGO_PKG_VERSION"));
}

/// At a critical value, the predicted accuracy is the requested one.
#[test]
fn critical_values_give_the_requested_accuracy() {
    for accuracy in [0.5, 0.8] {
        let sizes = "--vocab 800 --dim 200 --length 64 --trigger keys";
        let found = json(&format!("predict {sizes} --accuracy {accuracy}"));
        let samples = &found["critical"]["samples"];
        let there = json(&format!("predict {sizes} --samples {samples}"))["accuracy"].as_f64().unwrap();
        assert!((accuracy..accuracy + 0.01).contains(&there), "{there}");
    }
}

#[test]
fn missing_predictions_have_a_reason() {
    let mlp = json("predict --width 2000 --activation he2 --trigger keys");
    assert!(mlp["accuracy"].is_f64() && mlp["one_step_accuracy"].is_f64() && mlp["error"] == 0.017);
    assert!(mlp["critical"]["width"].is_u64() && mlp["critical"]["length"].is_u64());
    assert!(mlp["noise"]["scores"]["mlp_noise"].is_f64() && mlp["gaps"].as_array().unwrap().is_empty());
    let counted = json("predict --embedding orthonormal --vocab 100 --dim 102 --width 500");
    assert!(counted["accuracy"].is_f64() && counted["one_step_accuracy"].is_null());
    assert_eq!(counted["gaps"][0]["quantity"], "one_step_accuracy");
    assert!(counted["error_reason"].as_str().unwrap().contains("extrapolated"));
    let large = json("predict --vocab 100000 --dim 1000 --samples 1e9");
    assert!(large["accuracy"].is_f64() && large["error"] == 0.016);
    let between = json("predict --vocab 10000 --dim 1000 --samples 1e9");
    assert!(between["accuracy"].is_f64() && between["error"] == 0.016);
    let larger = json("predict --vocab 200000 --dim 1000 --samples 1e9");
    assert!(larger["accuracy"].is_f64() && larger["error"].is_null());
    // Where the error is not known, no validated range is named.
    let exact = text("predict --regime exact");
    assert!(
        exact.contains("error of the recall accuracy: not known") && !exact.contains("near the"),
        "{exact}"
    );
    let zipf = json("predict --zipf 1.0 --trigger keys");
    assert!(
        zipf["accuracy"].is_f64() && zipf["error"] == 0.01 && zipf["gaps"].as_array().unwrap().is_empty()
    );
    assert!(zipf["critical"]["length"].is_u64() && zipf["laws"].as_array().unwrap().is_empty());
    let zipf = json("predict --zipf 1.0 --width 64");
    for name in PARAMETERS {
        assert!(zipf["critical"][name].is_null());
        assert!(zipf["critical_reason"][name].as_str().unwrap().contains("attention-only"), "{name}");
    }
    assert_eq!(zipf["gaps"].as_array().unwrap().len(), 6);
    assert!(text("predict --zipf 1.0 --width 64").contains("the formulas are for the attention-only model"));
    let muon = text("predict --early-rule muon");
    assert!(muon.contains("the formulas are for gradient steps of the memory"), "{muon}");
}

#[test]
fn table_has_every_part() {
    let text = text("predict --accuracy 0.9");
    for word in
        ["V = 512", "recall accuracy", "Expected error", "limits recall", "samples N at least", "d^2 >"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
}

/// Under Zipf's law both averages are named; with uniform tokens they are the same.
#[test]
fn zipf_predictions_are_by_use_and_by_fact() {
    let record = json("predict --vocab 300 --length 4 --trigger keys --zipf 1");
    for name in ["accuracy", "memory_accuracy", "one_step_accuracy"] {
        assert!(record["by_fact"][name].as_f64() < record[name].as_f64(), "{name}: {record}");
    }
    assert!(
        text("predict --vocab 300 --length 4 --trigger keys --zipf 1").contains("recall accuracy by fact")
    );
    assert!(json("predict").get("by_fact").is_none());
}

#[test]
fn invalid_arguments_are_rejected() {
    for (arguments, words) in [
        ("predict --vocab 1", ["vocab = 1", "from 2"]),
        ("predict --accuracy 1.5", ["accuracy = 1.5", "below 1"]),
        ("predict --accuracy nan", ["accuracy = NaN", "above 0"]),
        ("predict --embedding orthonormal", ["dim = 128", "vocab + 2"]),
        ("predict --dim many", ["--dim", "whole number"]),
        ("predict --threads 0", ["threads = 0", "from 1"]),
        ("predict --import no.safetensors", ["no.safetensors", "No such file"]),
        ("predict --export x.safetensors", ["export", "nothing to write"]),
        ("plan --facts 1 --length 9", ["facts = 1", "from 2"]),
        ("plan --facts 100 --length 0", ["length = 0", "from 1"]),
        ("plan --facts 100 --length 9 --accuracy 0", ["accuracy = 0", "above 0"]),
        ("plan --facts 100 --length 9 --dim 1e7", ["dim = 10000000", "1000000"]),
        ("plan --facts 100 --length 9 --max-parameters 0", ["max_parameters = 0", "from 1"]),
        ("plan --facts 100 --length 9 --zipf 1", ["zipf = 1", "plans are for uniform tokens"]),
        ("plan --facts 100 --length 9 --svg plan.pdf", ["svg = plan.pdf", "must end in .svg or .png"]),
        (
            "plan --facts 100 --length 9 --svg no/such/plan.svg",
            ["cannot write no/such/plan.svg", "No such file"],
        ),
    ] {
        refused(arguments, &words);
    }
}

/// Rows of a file are measured: random rows give the prediction of random vectors, rows with a common mean and near pairs a lower one.
#[test]
fn predictions_follow_from_the_rows_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let part = |i: usize| ((i as f64 * 0.7).sin() * 43_758.5).rem_euclid(1.0) - 0.5;
    let row = |v: usize, shared: f64| (0..32).map(move |j| (0.6 * part(32 * v + j) + shared) as f32);
    let random: Vec<f32> = (0..200).flat_map(|v| row(v, 0.0)).collect();
    // Every second row is near the one before.
    let near: Vec<f32> = (0..200)
        .flat_map(|v| row(v / 2, 0.08).zip(row(v + 300, 0.0)).map(|(pair, own)| pair + 0.5 * own))
        .collect();
    let entries = [("random", random), ("near", near)].map(|(name, rows)| Entry::f32(name, &[200, 32], rows));
    write(&folder.path().join("e.safetensors"), &entries).unwrap();
    let rest = "--vocab 100 --samples 3000 --trigger keys --json";
    let predict = |source: &str| -> Value {
        serde_json::from_str(&works_in(folder.path(), &format!("predict {source} {rest}")).0).unwrap()
    };
    let file = |tensor: &str| predict(&format!("--embedding-file e.safetensors --embedding-tensor {tensor}"));
    let accuracy = |record: &Value| record["accuracy"].as_f64().unwrap();
    let (gaussian, random, near) = (predict("--dim 32"), file("random"), file("near"));
    assert_eq!((&random["config"]["dim"], &random["rows"]["count"]), (&32.into(), &200.0.into()));
    assert!((accuracy(&random) - accuracy(&gaussian)).abs() < 0.08, "{random} {gaussian}");
    let line = "predict --embedding-file e.safetensors --embedding-tensor random --vocab 100";
    let text = works_in(folder.path(), line).0;
    assert!(text.contains("d = 32,") && !text.contains("d = 128"), "{text}");
    assert!(accuracy(&near) < accuracy(&random) - 0.1, "{near}");
    let dim = near["critical_reason"]["dim"].as_str().unwrap();
    assert!(dim.contains("columns") && near["critical"]["vocab"].is_u64(), "{near}");
}

#[test]
fn plan_names_the_limit_and_the_validation() {
    let plan = json("plan --facts 2000 --length 64 --accuracy 0.9 --trigger keys");
    assert_eq!(plan["feasible"], true);
    let cheapest = &plan["cheapest"];
    let (dim, parameters) = (cheapest["dim"].as_f64().unwrap(), cheapest["parameters"].as_f64().unwrap());
    assert_eq!(parameters, dim * dim);
    assert!(plan["accuracy"].as_f64().unwrap() >= 0.9 && plan["error"] == 0.004);
    assert!(plan["curve"].as_array().unwrap().len() > 5);
    assert!(plan["binds"]["dominant"]["term"].is_string() && plan["criterion"].is_string());

    let few = json("plan --facts 2000 --length 64 --max-parameters 1000");
    assert!(few["cheapest"].is_null() && few["feasible"] == false);
    assert!(few["binds"]["text"].as_str().unwrap().starts_with("Parameters bind"));
}

#[test]
fn plans_reach_the_scale_of_real_models() {
    let plan = json("plan --facts 1e6 --length 1e5 --samples 1e12 --accuracy 0.99");
    assert!(plan["cheapest"]["samples"].as_f64().unwrap() <= 1e12);
    assert!(plan["error"].is_null() && plan["error_reason"].as_str().unwrap().contains("extrapolated"));
    let text = text("plan --facts 50000 --length 1024 --accuracy 0.99 --activation he2 --trigger keys");
    for word in ["Cheapest: dimension d", "width m", "What binds", "recall accuracy", "extrapolated"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn plan_can_be_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let draw = |name: &str| {
        let path = folder.path().join(name);
        let table = text(&format!("plan --facts 2000 --length 64 --accuracy 0.9 --svg {}", path.display()));
        assert!(table.contains("Cheapest: dimension d"));
        std::fs::read(path).unwrap()
    };
    let svg = String::from_utf8(draw("plan.svg")).unwrap();
    for word in ["<svg", "dimension d", "samples N needed", "cheapest: d = ", "extrapolated"] {
        assert!(svg.contains(word), "{word}");
    }
    assert_eq!(svg.as_bytes(), draw("again.svg"));
    assert!(draw("plan.PNG").starts_with(b"\x89PNG"));
}
