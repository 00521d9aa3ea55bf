//! The OpenAPI 3.1 document of the API, made from the table of routes and the types of requests and responses.

use axum::Json;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::error::ApiError;
use crate::routes::{Route, routes};

/// Errors by status, and when they are given.
const ERRORS: [(u16, &str); 10] = [
    (400, "Malformed JSON or query."),
    (403, "Host, Origin or Sec-Fetch-Site of another site."),
    (404, "There is no such thing."),
    (405, "The path has no such method."),
    (408, "The body did not arrive in time."),
    (413, "The body is too large."),
    (415, "The body is not declared as JSON."),
    (422, "A value is not allowed; the message names it."),
    (429, "The queue is full."),
    (503, "Too many requests at once; try again."),
];

pub async fn document() -> Json<Value> {
    Json(openapi(&routes()))
}

fn openapi(routes: &[Route]) -> Value {
    let settings =
        || SchemaSettings::draft2020_12().with(|s| s.definitions_path = "/components/schemas".into());
    let mut requests = settings().for_deserialize().into_generator();
    let exact = RecursiveTransform(exact as fn(&mut Schema));
    let mut responses = settings().for_serialize().with_transform(exact).into_generator();
    let mut paths = Map::new();
    for route in routes {
        // The router's `{*name}` matches several segments.
        let path = paths.entry(route.path.replace("{*", "{")).or_insert_with(|| json!({}));
        path[route.method] = operation(route, &mut requests, &mut responses);
    }
    let mut schemas = requests.take_definitions(true);
    schemas.extend(responses.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Superpose",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Factual recall in a one-layer transformer: predicted, trained, inspected.",
            "description": "The API of superpose serve, on 127.0.0.1 only. Names are those of the command line. Numbers that do not exist are null.",
            "license": { "name": "MIT", "identifier": "MIT" }
        },
        "paths": paths,
        "components": { "schemas": schemas }
    })
}

fn operation(route: &Route, requests: &mut SchemaGenerator, responses: &mut SchemaGenerator) -> Value {
    let (status, content_type, schema) = route.response;
    let content = json!({ content_type: { "schema": schema(responses) } });
    let mut answers = json!({ status.to_string(): { "description": route.summary, "content": content } });
    let error = json!({ "application/json": { "schema": responses.subschema_for::<ApiError>() } });
    for (status, description) in ERRORS {
        let given = match status {
            400 | 403 | 405 => true,
            404 => route.path.contains('{'),
            408 | 413 | 415 | 422 | 503 if route.body.is_some() => true,
            other => route.errors.contains(&other),
        };
        if given {
            answers[status.to_string()] = json!({ "description": description, "content": error });
        }
    }
    let mut operation = json!({ "operationId": route.id, "summary": route.summary, "responses": answers });
    let parameters = parameters(route, requests);
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some((schema, example)) = &route.body {
        let content = json!({ "application/json": { "schema": schema(requests), "example": example } });
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    operation
}

/// The parameters in braces of the path, and those of the query.
fn parameters(route: &Route, generator: &mut SchemaGenerator) -> Vec<Value> {
    let mut parameters = Vec::new();
    for segment in route.path.split('/').filter(|segment| segment.starts_with('{')) {
        let name = segment.trim_matches(['{', '*', '}']);
        let schema = if name == "id" { u64::json_schema(generator) } else { String::json_schema(generator) };
        parameters.push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
    }
    let query = route.query.map(|schema| schema(generator).to_value());
    let properties = query.as_ref().and_then(|schema| schema["properties"].as_object());
    for (name, schema) in properties.into_iter().flatten() {
        parameters.push(json!({ "name": name, "in": "query", "schema": schema }));
    }
    parameters
}

/// Makes the schema of a response exact: an object has no other members, and a number without a range may be null, which is
/// how JSON has numbers that are not finite.
fn exact(schema: &mut Schema) {
    let Some(schema) = schema.as_object_mut() else { return };
    if schema.get("type").is_some_and(|kind| kind == "object") && schema.contains_key("properties") {
        schema.entry("additionalProperties").or_insert(false.into());
    }
    let ranges = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
    if schema.get("type").is_some_and(|kind| kind == "number")
        && !ranges.iter().any(|end| schema.contains_key(*end))
    {
        schema.insert("type".into(), json!(["number", "null"]));
    }
}
