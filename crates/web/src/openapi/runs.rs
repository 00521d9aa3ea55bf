//! Runs, and what they measured.

use serde_json::{Value, json};

use super::words::*;

fn run() -> Value {
    object([
        ("id", whole(0)),
        ("state", words(&["queued", "running", "done", "failed", "cancelled"])),
        ("position", maybe(whole(0))),
        ("stage", maybe(words(&["drawing", "training", "evaluating"]))),
        ("share", between(0.0, 1.0)),
        ("repeat", whole(0)),
        ("seconds", number()),
        ("estimated_seconds", number()),
        ("config", named("Config")),
        ("error", maybe(text())),
        ("accuracy", maybe(named("Interval"))),
        ("predicted", number()),
        ("result?", named("Result")),
    ])
}

fn record() -> Value {
    let names = ["accuracy", "memory_accuracy", "one_step_accuracy", "lock_rate", "attention_mass", "margin"];
    let rest = object([
        ("config", named("Config")),
        ("repeats", whole(1)),
        ("interval", text()),
        ("trigger_sign", json!({ "type": "integer" })),
        ("trigger_signs", list(json!({ "type": "integer" }))),
        ("gamma", list(number())),
        ("eta2", list(number())),
        ("noise", named("Noise")),
        ("train_seconds", number()),
        ("data_seconds", number()),
        ("evaluate_seconds", number()),
        ("version", text()),
    ]);
    joined(&[rest, object(names.map(|name| (name, named("Interval"))))])
}

fn result() -> Value {
    let token =
        object([("position", whole(0)), ("token", whole(0)), ("weight", number()), ("trigger", flag())]);
    let example = object([
        ("tokens", list(token)),
        ("length", whole(1)),
        ("rest", number()),
        ("label", whole(0)),
        ("answer", whole(0)),
        ("right", flag()),
    ]);
    let margins = object([
        ("edges", list(number())),
        ("counts", list(whole(0))),
        ("unit", text()),
        ("share_right", between(0.0, 1.0)),
    ]);
    object([
        ("record", named("Record")),
        ("prediction", named("Prediction")),
        ("example", maybe(example)),
        ("margins", margins),
    ])
}

/// By name.
pub fn schemas() -> Vec<(&'static str, Value)> {
    let terms = [
        "signal",
        "mean_bias",
        "interference",
        "gradient_noise",
        "output_overlap",
        "mlp_noise",
        "attention_leak",
    ];
    vec![
        ("Run", run()),
        ("Runs", object([("runs", list(named("Run")))])),
        ("Record", record()),
        ("Result", result()),
        ("Interval", object(["mean", "low", "high"].map(|name| (name, number())))),
        ("Budget", object(terms.map(|name| (name, number())))),
        ("Noise", object([("logits", named("Budget")), ("scores", named("Budget"))])),
    ]
}
