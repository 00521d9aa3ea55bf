//! The schemas of requests and answers. Objects have no other members than those named, so that a new one is not forgotten here.

use serde_json::{Map, Value, json};
use superpose_core::config::{Activation, Precision, Regime, Trigger};
use superpose_lab::phase::MOST_VALUES;
use superpose_theory::critical::Parameter;
use superpose_theory::noise::Term;

use crate::body::EMBEDDING_KINDS;

/// The largest size of a configuration.
const MOST: u64 = u32::MAX as u64 / 2;

/// A schema by its name.
pub fn named(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

pub fn text() -> Value {
    json!({ "type": "string" })
}

pub fn whole(least: u64) -> Value {
    json!({ "type": "integer", "minimum": least })
}

fn from_to(least: u64, most: u64) -> Value {
    json!({ "type": "integer", "minimum": least, "maximum": most })
}

pub fn words(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

fn flag() -> Value {
    json!({ "type": "boolean" })
}

/// A number, or null where it does not exist or is not finite.
fn number() -> Value {
    json!({ "type": ["number", "null"] })
}

fn between(low: f64, high: f64) -> Value {
    json!({ "type": "number", "minimum": low, "maximum": high })
}

fn share() -> Value {
    json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 })
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn pair(items: Value) -> Value {
    json!({ "type": "array", "items": items, "minItems": 2, "maxItems": 2 })
}

fn maybe(schema: Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

/// An object of these members. A name that ends in `?` may be left out.
fn object<const COUNT: usize>(members: [(&str, Value); COUNT]) -> Value {
    let required: Vec<&str> =
        members.iter().map(|member| member.0).filter(|name| !name.ends_with('?')).collect();
    let properties: Map<String, Value> =
        members.iter().map(|(name, schema)| (name.trim_end_matches('?').into(), schema.clone())).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// One object with the members of several.
fn joined(parts: &[Value]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for part in parts {
        properties.extend(part["properties"].as_object().cloned().unwrap_or_default());
        required.extend(part["required"].as_array().cloned().unwrap_or_default());
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The same members, all of which may be left out.
fn optional(object: Value) -> Value {
    json!({ "type": "object", "properties": object["properties"], "additionalProperties": false })
}

fn activation() -> Value {
    words(&Activation::ALL.iter().map(|choice| choice.word()).collect::<Vec<_>>())
}

fn embedding() -> Value {
    words(&EMBEDDING_KINDS.iter().map(|choice| choice.word()).collect::<Vec<_>>())
}

fn trigger() -> Value {
    words(&Trigger::ALL.iter().map(|choice| choice.word()).collect::<Vec<_>>())
}

fn regime() -> Value {
    words(&Regime::ALL.iter().map(|choice| choice.word()).collect::<Vec<_>>())
}

fn precision() -> Value {
    words(&Precision::ALL.iter().map(|choice| choice.word()).collect::<Vec<_>>())
}

fn parameter() -> Value {
    words(&Parameter::ALL.map(Parameter::word))
}

fn size() -> Value {
    words(&Parameter::ALL.map(Parameter::word).into_iter().chain(["parameters"]).collect::<Vec<_>>())
}

fn by_parameter(schema: Value) -> Value {
    object(["samples", "dim", "width", "length", "vocab"].map(|name| (name, maybe(schema.clone()))))
}

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
        ("repeats", from_to(1, 1_000_000)),
        ("seed", whole(0)),
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
        ("run_bytes", number()),
        ("run_seconds", number()),
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

fn study() -> Value {
    let matrix = object([("name", text()), ("rows", whole(1)), ("columns", whole(1))]);
    let embeddings =
        object([("file", text()), ("bytes", whole(0)), ("tensors", list(matrix)), ("error", maybe(text()))]);
    object([
        ("id", whole(0)),
        ("name", text()),
        ("kind", words(&["study", "store", "folder", "embedding"])),
        ("cells", maybe(object([("done", whole(0)), ("failed", whole(0))]))),
        ("revision", whole(0)),
        ("files", list(object([("name", text()), ("bytes", maybe(whole(0)))]))),
        ("embeddings", list(embeddings)),
        ("error", maybe(text())),
    ])
}

fn section() -> Value {
    let table = object([
        ("name", text()),
        ("caption", text()),
        ("columns", list(text())),
        (
            "rows",
            list(list(json!({ "anyOf": [{ "type": ["null", "number", "string"] }, named("Interval")] }))),
        ),
        ("total", whole(0)),
    ]);
    object([
        ("title", text()),
        ("headline", text()),
        ("sentences", list(text())),
        ("pictures", list(object([("name", text()), ("caption", text())]))),
        ("tables", list(table)),
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

/// All schemas by name.
pub fn schemas() -> Value {
    let parts = [
        "signal",
        "mean_bias",
        "interference",
        "gradient_noise",
        "output_overlap",
        "mlp_noise",
        "attention_leak",
    ];
    let span = object([
        ("size", size()),
        ("low", from_to(1, MOST)),
        ("high", from_to(2, MOST)),
        ("scale?", words(&["log", "linear"])),
    ]);
    let map_request = object([
        ("config?", named("Given")),
        ("x", span.clone()),
        ("y", span),
        ("resolution?", from_to(2, MOST_VALUES as u64)),
        ("accuracy?", share()),
    ]);
    let line = object([("size", size()), ("symbol", text()), ("values", list(whole(1)))]);
    let map = object([
        ("x", line.clone()),
        ("y", line),
        ("accuracy", maybe(list(maybe(between(0.0, 1.0))))),
        ("dominant", list(json!({ "type": "integer", "minimum": -1 }))),
        ("dominants", list(named("Dominant"))),
        ("boundary", list(list(pair(number())))),
        ("level", share()),
        ("gap", maybe(text())),
    ]);
    let knob = object([
        ("size", parameter()),
        ("symbol", text()),
        ("from", whole(1)),
        ("to", whole(1)),
        ("accuracy", number()),
    ]);
    let advice = object([("sentence", text()), ("knobs", list(knob))]);
    let condition = object([
        ("subject", text()),
        ("statement", text()),
        ("left", number()),
        ("right", number()),
        ("holds", flag()),
        ("text", text()),
    ]);
    let plan_request = object([
        ("facts", from_to(2, 1_000_000_000)),
        ("length", from_to(1, 1_000_000_000)),
        ("accuracy?", share()),
        ("dim?", maybe(from_to(1, 1_000_000))),
        ("width?", maybe(from_to(1, 1_000_000_000))),
        ("activation?", maybe(activation())),
        ("trigger?", trigger()),
        ("samples?", maybe(from_to(1, 1_000_000_000_000_000))),
        ("max_parameters?", maybe(from_to(1, 1_000_000_000_000_000))),
    ]);
    let inspect_request = object([
        ("study", whole(0)),
        ("file", text()),
        ("tensor?", maybe(text())),
        ("output_tensor?", maybe(text())),
        ("accuracy?", share()),
    ]);
    let detail =
        joined(&[study(), object([("facts", list(pair(text()))), ("sections", list(named("Section")))])]);
    let all = [
        ("Refusal", object([("error", text()), ("hint", maybe(text()))])),
        ("Config", config()),
        ("Given", optional(config())),
        ("Interval", object(["mean", "low", "high"].map(|name| (name, number())))),
        (
            "Dominant",
            object([("part", words(&["memory", "attention"])), ("term", words(&Term::ALL.map(Term::word)))]),
        ),
        ("Budget", object(parts.map(|name| (name, number())))),
        ("Noise", object([("logits", named("Budget")), ("scores", named("Budget"))])),
        ("Target", object([("quantity", text()), ("accuracy", share())])),
        ("Condition", condition),
        ("Svg", object([("light", text()), ("dark", text())])),
        ("About", about()),
        ("MapRequest", map_request),
        ("Map", map),
        ("PredictRequest", object([("config?", named("Given")), ("accuracy?", share())])),
        ("Prediction", prediction()),
        ("Advised", joined(&[prediction(), object([("advice", advice)])])),
        ("Submission", object([("config?", named("Given"))])),
        ("Run", run()),
        ("Runs", object([("runs", list(named("Run")))])),
        ("Record", record()),
        ("Result", result()),
        ("Study", study()),
        ("Studies", object([("studies", list(named("Study")))])),
        ("StudyDetail", detail),
        ("Section", section()),
        ("PlanRequest", plan_request),
        ("Plan", plan()),
        ("InspectRequest", inspect_request),
        ("Inspection", inspection()),
    ];
    all.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect::<Map<_, _>>().into()
}
