//! Limits agree between the checks, `/api/about` and the OpenAPI document.

use std::sync::LazyLock;

use crate::common::Running;
use serde_json::{Map, Value, json};

static SERVER: LazyLock<Running> = LazyLock::new(Running::new);

fn schema(name: &str) -> Map<String, Value> {
    let document = SERVER.get("/api/openapi.json").json();
    document["components"]["schemas"][name]["properties"].as_object().unwrap().clone()
}

/// The error about a value; `None` if it is accepted or the error is about another value.
fn error_about(path: &str, body: &Value, name: &str, value: &Value) -> Option<String> {
    let answer = SERVER.post(path, body);
    assert!([200, 201, 422].contains(&answer.status), "{path} {body}: {}", answer.text());
    let said = answer.json()["error"].as_str().unwrap_or_default().to_owned();
    let real = value.as_f64().unwrap();
    let named = [format!("{name} = {value}:"), format!("{name} = {real}:"), format!("{name} = {real:e}:")];
    (named.iter().any(|named| said.contains(named)) && said.contains("must be")).then_some(said)
}

/// Checks that values at the ends of a range are accepted and those beyond are refused.
fn check(path: &str, schema: &Map<String, Value>, body: impl Fn(&str, &Value) -> Value) -> usize {
    let mut checked = 0;
    for (name, schema) in schema {
        let is_integer = schema["type"] == "integer" || schema["type"][0] == "integer";
        for (end, beyond) in [("minimum", -1.0), ("maximum", 1.0)] {
            let Some(value) = schema.get(end).filter(|_| name != "seed") else { continue };
            let next = match value.as_u64() {
                Some(0) => json!(-1),
                Some(whole) if is_integer => json!(whole as i64 + beyond as i64),
                _ => {
                    let real = value.as_f64().unwrap();
                    json!(real + beyond * (real.abs() * 0.01).max(1e-22))
                }
            };
            let within = error_about(path, &body(name, value), name, value);
            assert_eq!(within, None, "{path}: {name} = {value} is in the document's range");
            assert!(error_about(path, &body(name, &next), name, &next).is_some(), "{path}: {name} = {next}");
            checked += 1;
        }
    }
    checked
}

#[test]
fn document_has_the_ranges_of_the_checks() {
    let one = |name: &str, value: &Value| {
        let mut object = Map::new();
        object.insert(name.into(), value.clone());
        // A sequence keeps at most all of its tokens.
        if name == "keep" {
            object.insert("length".into(), json!(i32::MAX));
        }
        Value::Object(object)
    };
    let checked = check(
        "/api/predict",
        &schema("RequestSettings"),
        |name, value| json!({ "config": one(name, value) }),
    );
    assert!(checked > 20, "{checked}");
    let checked = check("/api/plan", &schema("PlanOptions"), |name, value| {
        let mut body = json!({ "facts": 100, "length": 4 });
        body[name] = value.clone();
        body
    });
    assert_eq!(checked, 14);
    let checked = check("/api/map", &schema("MapRequest"), |name, value| {
        let mut body = json!({ "x": { "size": "dim", "low": 4, "high": 2000 }, "y": { "size": "samples", "low": 10, "high": 20_000 } });
        body[name] = value.clone();
        body
    });
    assert_eq!(checked, 2);
}

#[test]
fn about_has_the_limits_of_the_checks() {
    let limits = SERVER.get("/api/about").json()["limits"].clone();
    let range = &schema("MapRequest")["resolution"];
    assert_eq!(limits["resolution"], json!([range["minimum"], range["maximum"]]));
    let most = limits["repeats"].as_u64().unwrap();
    let tiny = |repeats: u64| json!({ "config": { "vocab": 4, "dim": 4, "length": 2, "samples": 10, "test_samples": 10, "repeats": repeats } });
    let document = SERVER.get("/api/openapi.json").json();
    let mut schema = document["components"]["schemas"]["Submission"].clone();
    schema["components"] = document["components"].clone();
    for (repeats, taken) in [(most, true), (most + 1, false)] {
        assert_eq!(SERVER.post("/api/runs", &tiny(repeats)).status, if taken { 201 } else { 422 });
        assert_eq!(jsonschema::is_valid(&schema, &tiny(repeats)), taken);
    }
    let bytes = limits["body_bytes"].as_u64().unwrap() as usize;
    for (size, status) in [(bytes, 200), (bytes + 1, 413)] {
        let body = "{}".to_owned() + &" ".repeat(size - 2);
        let answer =
            SERVER.request("POST", "/api/predict", &[("Content-Type", "application/json")], body.as_bytes());
        assert_eq!(answer.status, status, "{size}");
    }
}
