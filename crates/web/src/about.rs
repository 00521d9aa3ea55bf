//! What the page loads first: defaults, choices, ranges and limits.

use axum::Json;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use superpose_core::config::{Activation, EarlyRule, Embedding, Precision, Regime, Settings, Trigger};
use superpose_lab::phase::{MAX_VALUES, MIN_VALUES, Size};
use superpose_theory::critical::Parameter;

use crate::app::{MAX_STREAMS, Shared};
use crate::design::MAX_INSPECT_SECONDS;
use crate::extract::MAX_BODY_BYTES;
use crate::runs::{MAX_KEPT, MAX_QUEUED, MAX_REPEATS, MAX_RUN_SECONDS};
use crate::settings::{EMBEDDINGS, embedding_schema};

#[derive(Serialize, JsonSchema)]
pub struct About {
    version: &'static str,
    #[schemars(range(min = 1))]
    threads: usize,
    /// Where runs are computed: `cpu`, or a GPU by the word that `--device` takes.
    device: String,
    defaults: Settings,
    choices: Choices,
    sizes: Vec<SizeRange>,
    limits: Limits,
}

#[derive(Serialize, JsonSchema)]
struct Choices {
    activation: &'static [Activation],
    #[schemars(schema_with = "embeddings_schema")]
    embedding: &'static [Embedding],
    trigger: &'static [Trigger],
    regime: &'static [Regime],
    early_rule: &'static [EarlyRule],
    precision: &'static [Precision],
}

fn embeddings_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": embedding_schema() })
}

/// A size that a slider sets or an axis has, with its range on the page.
#[derive(Serialize, JsonSchema)]
struct SizeRange {
    size: Size,
    symbol: &'static str,
    meaning: &'static str,
    #[schemars(range(min = 1))]
    low: u64,
    #[schemars(range(min = 1))]
    high: u64,
    /// Whether a larger size raises accuracy.
    helps: bool,
}

#[derive(Serialize, JsonSchema)]
struct Limits {
    body_bytes: usize,
    /// The fewest and the most values on an axis of a map.
    resolution: [usize; 2],
    repeats: usize,
    run_bytes: f64,
    run_seconds: f64,
    inspect_seconds: f64,
    queue: usize,
    kept: usize,
    streams: usize,
}

pub async fn about(app: Shared) -> Json<About> {
    let range = |size: Size, meaning, low, high| {
        let helps = !matches!(size, Size::One(parameter) if !parameter.helps());
        SizeRange { size, symbol: size.symbol(), meaning, low, high, helps }
    };
    Json(About {
        version: env!("CARGO_PKG_VERSION"),
        threads: app.threads,
        device: app.runs.device.as_ref().map_or_else(|| "cpu".into(), |device| device.word()),
        defaults: Settings::default(),
        choices: Choices {
            activation: Activation::ALL,
            embedding: EMBEDDINGS,
            trigger: Trigger::ALL,
            regime: Regime::ALL,
            early_rule: EarlyRule::ALL,
            precision: Precision::ALL,
        },
        // Roughly the ranges in which the formulas were checked.
        sizes: vec![
            range(Size::One(Parameter::Vocab), "facts, one per token", 10, 10_000),
            range(Size::One(Parameter::Dim), "embedding dimension", 8, 2048),
            range(Size::One(Parameter::Length), "tokens in a sequence", 1, 1024),
            range(Size::One(Parameter::Samples), "training samples", 10, 10_000_000),
            range(Size::One(Parameter::Width), "width of the MLP", 8, 16_384),
            range(Size::Parameters, "parameters of the value matrix with an MLP", 1000, 10_000_000),
        ],
        limits: Limits {
            body_bytes: MAX_BODY_BYTES,
            resolution: [MIN_VALUES, MAX_VALUES],
            repeats: MAX_REPEATS,
            run_bytes: app.runs.memory,
            run_seconds: MAX_RUN_SECONDS,
            inspect_seconds: MAX_INSPECT_SECONDS,
            queue: MAX_QUEUED,
            kept: MAX_KEPT,
            streams: MAX_STREAMS,
        },
    })
}
