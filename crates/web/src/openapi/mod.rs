//! The API's own description, OpenAPI 3.1. Tests check every answer against it, and that it has every path.

mod requests;
mod runs;
mod studies;
mod theory;
mod words;

use axum::Json;
use serde_json::{Map, Value, json};

use words::{maybe, named, object, text, whole, words};

/// The document.
pub async fn document() -> Json<Value> {
    Json(openapi())
}

/// Why a request was not answered, by status.
const REFUSALS: [(u16, &str); 10] = [
    (400, "Malformed JSON or query."),
    (403, "Host, Origin or Sec-Fetch-Site of another site."),
    (404, "There is no such thing."),
    (405, "The path has no such method."),
    (408, "The body did not arrive in time."),
    (413, "The body is too large."),
    (415, "The body is not declared as JSON."),
    (422, "A value that is refused; the sentence names it."),
    (429, "The queue is full."),
    (503, "Too much is being worked on; try again."),
];

/// Refusals that any path may give.
const ANY: [u16; 3] = [400, 403, 405];
/// Refusals of a path that takes JSON.
const ASKED: [u16; 5] = [408, 413, 415, 422, 503];

/// One operation of a path.
struct Operation(Value);

impl Operation {
    /// What it does, and what it answers.
    fn new(name: &str, summary: &str, status: u16, content: Value, refusals: &[u16]) -> Operation {
        let mut responses = Map::new();
        responses.insert(status.to_string(), json!({ "description": summary, "content": content }));
        let given = |status: &u16| ANY.contains(status) || refusals.contains(status);
        for (status, why) in REFUSALS.iter().filter(|(status, _)| given(status)) {
            responses.insert(status.to_string(), json!({ "description": why, "content": answer("Refusal") }));
        }
        Operation(json!({ "operationId": name, "summary": summary, "responses": responses }))
    }

    /// That takes JSON of a schema, for example this.
    fn takes(mut self, schema: &str, example: Value) -> Operation {
        let content = json!({ "application/json": { "schema": named(schema), "example": example } });
        self.0["requestBody"] = json!({ "required": true, "content": content });
        self
    }

    fn parameters(mut self, parameters: Value) -> Operation {
        self.0["parameters"] = parameters;
        self
    }
}

/// JSON of a schema.
fn answer(schema: &str) -> Value {
    json!({ "application/json": { "schema": named(schema) } })
}

fn place(name: &str, schema: Value, description: &str) -> Value {
    json!({ "name": name, "in": "path", "required": true, "schema": schema, "description": description })
}

/// All schemas by name.
fn schemas() -> Value {
    let refusal = object([("error", text()), ("hint", maybe(text()))]);
    let all = [requests::schemas(), theory::schemas(), runs::schemas(), studies::schemas()].concat();
    let all = all.into_iter().chain([("Refusal", refusal)]);
    all.map(|(name, schema)| (name.to_owned(), schema)).collect::<Map<_, _>>().into()
}

/// The document as a value.
pub fn openapi() -> Value {
    let get =
        |name, summary, content, refusals: &[u16]| Operation::new(name, summary, 200, content, refusals);
    let post = |name, summary, schema| Operation::new(name, summary, 200, answer(schema), &ASKED);
    let events = || json!({ "text/event-stream": { "schema": { "type": "string" } } });
    let id = || place("id", whole(0), "Its number.");
    let one = || json!([id()]);

    let mut paths = Map::new();
    let mut path = |path: &str, operations: Vec<(&str, Operation)>| {
        let operations: Map<String, Value> =
            operations.into_iter().map(|(method, operation)| (method.into(), operation.0)).collect();
        paths.insert(path.into(), Value::Object(operations));
    };
    path(
        "/api/about",
        vec![("get", get("about", "Defaults, choices, ranges and limits", answer("About"), &[]))],
    );
    let map =
        post("map", "A phase map in closed form: accuracy, its boundary, and what limits recall", "Map");
    let axes = json!({ "config": { "vocab": 512 }, "x": { "size": "dim", "low": 16, "high": 1024 },
        "y": { "size": "samples", "low": 100, "high": 1_000_000 }, "resolution": 64, "accuracy": 0.5 });
    path("/api/map", vec![("post", map.takes("MapRequest", axes))]);
    let predict =
        post("predict", "As superpose predict --json, and what limits recall in one sentence", "Advised");
    let at = json!({ "config": { "samples": 65_536 }, "accuracy": 0.5 });
    path("/api/predict", vec![("post", predict.takes("PredictRequest", at))]);
    let refused: Vec<u16> = ASKED.into_iter().chain([429]).collect();
    let submit = Operation::new("submit", "Train the model at a point", 201, answer("Run"), &refused);
    let settings = json!({ "config": { "samples": 65_536, "repeats": 3 } });
    path(
        "/api/runs",
        vec![
            ("get", get("runs", "All runs, oldest first, without results", answer("Runs"), &[])),
            ("post", submit.takes("Submission", settings)),
        ],
    );
    let remove = "Cancel a run that waits or goes on; remove one that has ended";
    path(
        "/api/runs/{id}",
        vec![
            ("get", get("run", "One run, with its result", answer("Run"), &[404]).parameters(one())),
            ("delete", get("remove", remove, answer("Run"), &[404]).parameters(one())),
        ],
    );
    let heard =
        "Server-sent events of one run: run on every change, end at last, each with a Run without result";
    path(
        "/api/runs/{id}/events",
        vec![("get", get("run_events", heard, events(), &[404, 503]).parameters(one()))],
    );
    let heard =
        "Server-sent events: run (a Run without result), removed ({id}), study ({id, cells, revision})";
    path("/api/events", vec![("get", get("events", heard, events(), &[503]))]);
    path(
        "/api/studies",
        vec![("get", get("studies", "What was opened with --open", answer("Studies"), &[503]))],
    );
    let study = get("study", "Tables and figures of a study or store", answer("StudyDetail"), &[404, 503]);
    path("/api/studies/{id}", vec![("get", study.parameters(one()))]);
    let svg = json!({ "image/svg+xml": { "schema": { "type": "string" } } });
    let theme = json!({ "name": "theme", "in": "query", "schema": words(&["light", "dark"]) });
    let picture = get("picture", "A figure as SVG", svg, &[404, 503]);
    let name = place("name", text(), "The picture's name and .svg.");
    path("/api/studies/{id}/pictures/{name}", vec![("get", picture.parameters(json!([id(), name, theme])))]);
    let file = get("file", "A file to keep", json!({ "*/*": { "schema": {} } }), &[404, 503]);
    let name =
        place("name", text(), "One of the study's files; some are in folders, as in figures/phase.svg.");
    path("/api/studies/{id}/files/{name}", vec![("get", file.parameters(json!([id(), name])))]);
    let plan = post(
        "plan",
        "As superpose plan --json: the cheapest model for so many facts, with its figure",
        "Plan",
    );
    let facts = json!({ "facts": 2000, "length": 64, "accuracy": 0.9 });
    path("/api/plan", vec![("post", plan.takes("PlanRequest", facts))]);
    let inspect =
        "As superpose inspect --json: how the rows of an embedding matrix overlap, and what they hold";
    let file = json!({ "study": 0, "file": "model.safetensors" });
    path(
        "/api/inspect",
        vec![("post", post("inspect", inspect, "Inspection").takes("InspectRequest", file))],
    );
    let own = json!({ "application/json": { "schema": { "type": "object" } } });
    path("/api/openapi.json", vec![("get", get("openapi", "This document", own, &[]))]);

    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Superpose",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Factual recall in a one-layer transformer: predicted, trained, looked at.",
            "description": "The API of superpose serve, on 127.0.0.1 alone. Names are those of the command line. Numbers that do not exist are null.",
            "license": { "name": "MIT", "identifier": "MIT" }
        },
        "paths": paths,
        "components": { "schemas": schemas() }
    })
}
