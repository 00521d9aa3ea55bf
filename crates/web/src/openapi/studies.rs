//! What was opened.

use serde_json::{Value, json};

use super::words::*;

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

/// By name.
pub fn schemas() -> Vec<(&'static str, Value)> {
    let facts = object([("facts", list(pair(text()))), ("sections", list(named("Section")))]);
    vec![
        ("Study", study()),
        ("Studies", object([("studies", list(named("Study")))])),
        ("StudyDetail", joined(&[study(), facts])),
        ("Section", section()),
    ]
}
