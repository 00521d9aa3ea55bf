//! Every route of the API: path, method, handler and description.
//!
//! The router and the OpenAPI document are both made from this table, so neither can have a route that the other lacks.

use std::sync::Arc;

use axum::routing::{MethodRouter, delete, get, post};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use superpose_lab::plan::PlanOptions;

use crate::app::App;
use crate::{about, design, events, explore, openapi, runs, studies};

/// Adds a type to the schemas of the document and returns the reference to it.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

type Handler = MethodRouter<Arc<App>>;

/// One method of one path.
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    pub id: &'static str,
    pub handler: Handler,
    pub summary: &'static str,
    /// Schema and example of the body.
    pub body: Option<(SchemaOf, Value)>,
    /// Schema of the query parameters.
    pub query: Option<SchemaOf>,
    /// Status, content type and schema of the response.
    pub response: (u16, &'static str, SchemaOf),
    /// Statuses of errors beside those that follow from the path and the body.
    pub errors: &'static [u16],
}

impl Route {
    fn new(method: &'static str, path: &'static str, id: &'static str, handler: Handler) -> Route {
        let response: (u16, &str, SchemaOf) = (200, "*/*", SchemaGenerator::subschema_for::<Value>);
        Route { method, path, id, handler, summary: "", body: None, query: None, response, errors: &[] }
    }

    fn body<T: JsonSchema>(self, example: Value) -> Route {
        Route { body: Some((SchemaGenerator::subschema_for::<T>, example)), ..self }
    }

    fn query<T: JsonSchema>(self) -> Route {
        Route { query: Some(T::json_schema), ..self }
    }

    fn json<T: JsonSchema>(self, status: u16, summary: &'static str) -> Route {
        let response = (status, "application/json", SchemaGenerator::subschema_for::<T> as SchemaOf);
        Route { response, summary, ..self }
    }

    fn text(self, content_type: &'static str, summary: &'static str) -> Route {
        Route { response: (200, content_type, SchemaGenerator::subschema_for::<String>), summary, ..self }
    }

    fn errors(self, errors: &'static [u16]) -> Route {
        Route { errors, ..self }
    }
}

pub fn routes() -> Vec<Route> {
    let map = json!({ "config": { "vocab": 512 }, "x": { "size": "dim", "low": 16, "high": 1024 },
        "y": { "size": "samples", "low": 100, "high": 1_000_000 }, "resolution": 64, "accuracy": 0.5 });
    let predict = json!({ "config": { "samples": 65_536 }, "accuracy": 0.5 });
    let submit = json!({ "config": { "samples": 65_536, "repeats": 3 } });
    let plan = json!({ "facts": 2000, "length": 64, "accuracy": 0.9 });
    let inspect = json!({ "study": 0, "file": "model.safetensors" });
    vec![
        Route::new("get", "/api/about", "about", get(about::about))
            .json::<about::About>(200, "Defaults, choices, ranges and limits"),
        Route::new("post", "/api/map", "map", post(explore::map))
            .body::<explore::MapRequest>(map)
            .json::<superpose_lab::explore::Map>(
                200,
                "A phase map in closed form: accuracy, its boundary, and the limiting noise term",
            ),
        Route::new("post", "/api/predict", "predict", post(explore::predict))
            .body::<explore::PredictRequest>(predict)
            .json::<explore::AdvisedPrediction>(
                200,
                "As superpose predict --json, and the limiting noise term in one sentence",
            ),
        Route::new("get", "/api/runs", "runs", get(runs::list))
            .json::<runs::RunList>(200, "All runs, oldest first, without results"),
        Route::new("post", "/api/runs", "submit", post(runs::submit))
            .body::<runs::Submission>(submit)
            .json::<runs::RunView>(201, "Train the model at a point")
            .errors(&[429]),
        Route::new("get", "/api/runs/{id}", "run", get(runs::show))
            .json::<runs::RunView>(200, "One run, with its result"),
        Route::new("delete", "/api/runs/{id}", "remove", delete(runs::remove))
            .json::<runs::RunView>(200, "Cancel a run that is queued or running; remove one that has ended"),
        Route::new("get", "/api/runs/{id}/events", "run_events", get(events::of_run))
            .text(
                "text/event-stream",
                "Server-sent events of one run: run at every change, then end; each has the run without its result",
            )
            .errors(&[503]),
        Route::new("get", "/api/events", "events", get(events::of_all))
            .text(
                "text/event-stream",
                "Server-sent events: run (without its result), removed ({id}), study ({id, cells, revision})",
            )
            .errors(&[503]),
        Route::new("get", "/api/studies", "studies", get(studies::list))
            .json::<studies::StudyList>(200, "What was opened with --open")
            .errors(&[503]),
        Route::new("get", "/api/studies/{id}", "study", get(studies::show))
            .json::<studies::StudyDetail>(200, "Tables and figures of a study or store")
            .errors(&[503]),
        Route::new("get", "/api/studies/{id}/pictures/{name}", "picture", get(studies::picture))
            .query::<studies::PictureQuery>()
            .text("image/svg+xml", "A figure as SVG; its name ends in .svg")
            .errors(&[503]),
        Route {
            summary: "A file to download; some are in folders, as in figures/phase.svg",
            ..Route::new("get", "/api/studies/{id}/files/{*name}", "file", get(studies::file)).errors(&[503])
        },
        Route::new("post", "/api/plan", "plan", post(design::plan)).body::<PlanOptions>(plan).json::<design::PlanResponse>(
            200,
            "As superpose plan --json: the cheapest model for so many facts, with its figure",
        ),
        Route::new("post", "/api/inspect", "inspect", post(design::inspect))
            .body::<design::InspectRequest>(inspect)
            .json::<design::InspectResponse>(
                200,
                "As superpose inspect --json: how the rows of an embedding matrix overlap, and what they hold",
            ),
        Route::new("get", "/api/openapi.json", "openapi", get(openapi::document))
            .json::<Map<String, Value>>(200, "This document"),
    ]
}
