//! What the closed forms say: maps, predictions, plans, and what a matrix holds; and what the page is told first.

use serde_json::{Value, json};
use superpose_theory::noise::Term;

use super::words::*;

fn about() -> Value {
    let choices = object([
        ("activation", list(activation())),
        ("embedding", list(embedding())),
        ("trigger", list(trigger())),
        ("regime", list(regime())),
        ("precision", list(precision())),
    ]);
    let line = object([
        ("size", size()),
        ("symbol", text()),
        ("meaning", text()),
        ("low", whole(1)),
        ("high", whole(1)),
        ("helps", flag()),
    ]);
    let limits = object([
        ("body_bytes", whole(1)),
        ("resolution", pair(whole(1))),
        ("repeats", whole(1)),
        ("run_bytes", number()),
        ("run_seconds", number()),
        ("inspect_seconds", number()),
        ("queue", whole(1)),
        ("kept", whole(1)),
        ("streams", whole(1)),
    ]);
    object([
        ("version", text()),
        ("threads", whole(1)),
        ("defaults", named("Config")),
        ("choices", choices),
        ("sizes", list(line)),
        ("limits", limits),
    ])
}

fn map() -> Value {
    let line = object([("size", size()), ("symbol", text()), ("values", list(whole(1)))]);
    object([
        ("x", line.clone()),
        ("y", line),
        ("accuracy", maybe(list(maybe(between(0.0, 1.0))))),
        ("dominant", list(json!({ "type": "integer", "minimum": -1 }))),
        ("dominants", list(named("Dominant"))),
        ("boundary", list(list(pair(number())))),
        ("level", share()),
        ("gap", maybe(text())),
    ])
}

fn prediction() -> Value {
    let gap = object([("quantity", text()), ("reason", text()), ("text", text())]);
    object([
        ("accuracy", number()),
        ("memory_accuracy", number()),
        ("lock_rate", number()),
        ("one_step_accuracy", number()),
        ("error", number()),
        ("error_reason", maybe(text())),
        ("noise", named("Noise")),
        ("dominant", maybe(named("Dominant"))),
        ("target", named("Target")),
        ("critical", by_parameter(whole(0))),
        ("critical_reason", by_parameter(text())),
        ("conditions", list(named("Condition"))),
        ("gaps", list(gap)),
        ("config", named("Config")),
        ("version", text()),
    ])
}

fn advice() -> Value {
    let knob = object([
        ("size", parameter()),
        ("symbol", text()),
        ("from", whole(1)),
        ("to", whole(1)),
        ("accuracy", number()),
    ]);
    object([("sentence", text()), ("knobs", list(knob))])
}

fn condition() -> Value {
    object([
        ("subject", text()),
        ("statement", text()),
        ("left", number()),
        ("right", number()),
        ("holds", flag()),
        ("text", text()),
    ])
}

fn plan() -> Value {
    let row = object([
        ("dim", number()),
        ("width", number()),
        ("parameters", number()),
        ("samples", number()),
        ("forbids", maybe(named("Dominant"))),
        ("allowed", flag()),
    ]);
    let binds = object([
        ("dominant", maybe(named("Dominant"))),
        ("condition", maybe(named("Condition"))),
        ("text", text()),
    ]);
    let request = object([
        ("facts", number()),
        ("length", number()),
        ("accuracy", number()),
        ("dim", number()),
        ("width", number()),
        ("activation", maybe(activation())),
        ("embedding", embedding()),
        ("trigger", trigger()),
        ("samples", number()),
        ("max_parameters", number()),
    ]);
    object([
        ("feasible", flag()),
        ("criterion", text()),
        ("target", named("Target")),
        ("cheapest", maybe(row.clone())),
        ("accuracy", number()),
        ("memory_accuracy", number()),
        ("lock_rate", number()),
        ("binds", binds),
        ("conditions", list(named("Condition"))),
        ("curve", list(row)),
        ("error", number()),
        ("error_reason", maybe(text())),
        ("checked", text()),
        ("request", request),
        ("version", text()),
        ("svg", named("Svg")),
    ])
}

fn inspection() -> Value {
    let names = ["mean_square_cosine", "effective_dimension", "mean_cosine", "norm_mean", "norm_cv"];
    let geometry = object(names.map(|name| (name, number())));
    let kernel = ["kappa", "xi", "xi_spread", "s2", "output_coherence", "output_spread"];
    let kernel = object(kernel.map(|name| (name, number())));
    let facts = object([("facts", whole(0)), ("facts_by_means", whole(0)), ("kernel", kernel)]);
    let vectors = joined(&[geometry.clone(), facts]);
    let output =
        object([("tensor", text()), ("rows", whole(1)), ("raw", geometry.clone()), ("centred", geometry)]);
    let held =
        object([("facts", whole(2)), ("raw", number()), ("centred", number()), ("gaussian", number())]);
    object([
        ("tensor", text()),
        ("rows", whole(1)),
        ("dim", whole(1)),
        ("accuracy", number()),
        ("samples_per_fact", number()),
        ("gaussian_facts", whole(0)),
        ("raw", vectors.clone()),
        ("centred", vectors),
        ("output?", output),
        ("version", text()),
        ("curve", list(held)),
        ("svg", named("Svg")),
    ])
}

/// By name.
pub fn schemas() -> Vec<(&'static str, Value)> {
    let part = words(&["memory", "attention"]);
    vec![
        ("About", about()),
        ("Map", map()),
        (
            "Dominant",
            object([
                ("part", part),
                ("term", words(&Term::ALL.iter().map(|term| term.word()).collect::<Vec<_>>())),
            ]),
        ),
        ("Target", object([("quantity", text()), ("accuracy", share())])),
        ("Condition", condition()),
        ("Svg", object([("light", text()), ("dark", text())])),
        ("Prediction", prediction()),
        ("Advised", joined(&[prediction(), object([("advice", advice())])])),
        ("Plan", plan()),
        ("Inspection", inspection()),
    ]
}
