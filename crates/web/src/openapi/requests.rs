//! What is asked. Every range is that of the check that refuses what is outside.

use serde_json::{Value, json};
use superpose_core::config::{MOST, MOST_REPEATS};
use superpose_lab::phase::{MAX_VALUES, MIN_VALUES};
use superpose_lab::plan::{MAX_DIM, MAX_FACTS, MAX_SAMPLES, MAX_WIDTH};

use super::words::*;
use crate::runs::REPEATS;

fn config() -> Value {
    object([
        ("vocab", from_to(2, MOST)),
        ("dim", from_to(1, MOST)),
        ("length", from_to(1, MOST)),
        ("samples", from_to(1, MOST)),
        ("width", maybe(from_to(1, MOST))),
        ("activation", activation()),
        ("embedding", embedding()),
        ("output_embedding?", maybe(words(&["tied"]))),
        ("trigger", trigger()),
        ("labels", json!({ "type": "string", "pattern": "^(permutation|mod:[0-9]+)$" })),
        ("zipf", maybe(between(0.0, 10.0))),
        ("noise_vocab", maybe(from_to(1, MOST))),
        ("regime", regime()),
        ("eta", between(1e-20, 1e20)),
        ("gamma", maybe(between(-1e30, 1e30))),
        ("eta2", maybe(between(-1e30, 1e30))),
        ("lead", json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1e6 })),
        ("precision", precision()),
        ("test_samples", from_to(2, MOST)),
        ("repeats", from_to(1, MOST_REPEATS)),
        ("seed", whole(0)),
    ])
}

/// A map over two sizes.
fn map() -> Value {
    let span = object([
        ("size", size()),
        ("low", from_to(1, MOST)),
        ("high", from_to(2, MOST)),
        ("scale?", words(&["log", "linear"])),
    ]);
    object([
        ("config?", named("Given")),
        ("x", span.clone()),
        ("y", span),
        ("resolution?", from_to(MIN_VALUES, MAX_VALUES)),
        ("accuracy?", share()),
    ])
}

fn plan() -> Value {
    object([
        ("facts", from_to(2, MAX_FACTS)),
        ("length", from_to(1, MAX_FACTS)),
        ("accuracy?", share()),
        ("dim?", maybe(from_to(1, MAX_DIM))),
        ("width?", maybe(from_to(1, MAX_WIDTH))),
        ("activation?", maybe(activation())),
        ("trigger?", trigger()),
        ("samples?", maybe(from_to(1, MAX_SAMPLES))),
        ("max_parameters?", maybe(from_to(1, MAX_SAMPLES))),
    ])
}

fn inspect() -> Value {
    object([
        ("study", whole(0)),
        ("file", text()),
        ("tensor?", maybe(text())),
        ("output_tensor?", maybe(text())),
        ("accuracy?", share()),
    ])
}

/// By name.
pub fn schemas() -> Vec<(&'static str, Value)> {
    // A run has fewer seeds than a configuration may ask for elsewhere.
    let few = json!({ "properties": { "repeats": { "maximum": REPEATS } } });
    vec![
        ("Config", config()),
        ("Given", optional(config())),
        ("MapRequest", map()),
        ("PredictRequest", object([("config?", named("Given")), ("accuracy?", share())])),
        ("Submission", object([("config?", json!({ "allOf": [named("Given"), few] }))])),
        ("PlanRequest", plan()),
        ("InspectRequest", inspect()),
    ]
}
