//! What the page needs to know first: defaults, choices, ranges and limits.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use superpose_core::config::{Activation, Embedding, Precision, Regime, Settings, Trigger};
use superpose_lab::phase::{MAX_VALUES, MIN_VALUES, Size};
use superpose_theory::critical::Parameter;

use crate::app::{App, STREAMS};
use crate::body::{BODY_BYTES, EMBEDDING_KINDS};
use crate::design::INSPECT_SECONDS;
use crate::runs::{KEPT, QUEUE, REPEATS, RUN_SECONDS};

#[derive(Serialize)]
pub struct About {
    version: &'static str,
    threads: usize,
    defaults: Settings,
    choices: Choices,
    sizes: Vec<SizeLine>,
    limits: Limits,
}

#[derive(Serialize)]
struct Choices {
    activation: &'static [Activation],
    embedding: &'static [Embedding],
    trigger: &'static [Trigger],
    regime: &'static [Regime],
    precision: &'static [Precision],
}

/// A size that a slider sets or an axis has.
#[derive(Serialize)]
struct SizeLine {
    size: Size,
    symbol: &'static str,
    meaning: &'static str,
    low: u64,
    high: u64,
    helps: bool,
}

#[derive(Serialize)]
struct Limits {
    body_bytes: usize,
    resolution: [usize; 2],
    repeats: usize,
    run_bytes: f64,
    run_seconds: f64,
    inspect_seconds: f64,
    queue: usize,
    kept: usize,
    streams: usize,
}

pub async fn about(State(app): State<Arc<App>>) -> Json<About> {
    let one = |parameter: Parameter, meaning, low, high| SizeLine {
        size: Size::One(parameter),
        symbol: parameter.symbol(),
        meaning,
        low,
        high,
        helps: parameter.helps(),
    };
    Json(About {
        version: env!("CARGO_PKG_VERSION"),
        threads: app.threads,
        defaults: Settings::default(),
        choices: Choices {
            activation: Activation::ALL,
            embedding: EMBEDDING_KINDS,
            trigger: Trigger::ALL,
            regime: Regime::ALL,
            precision: Precision::ALL,
        },
        // About the range where the formulas were checked.
        sizes: vec![
            one(Parameter::Vocab, "facts, one per token", 10, 10_000),
            one(Parameter::Dim, "embedding dimension", 8, 2048),
            one(Parameter::Length, "tokens in a sequence", 1, 1024),
            one(Parameter::Samples, "training samples", 10, 10_000_000),
            one(Parameter::Width, "width of the MLP", 8, 16_384),
            SizeLine {
                size: Size::Parameters,
                symbol: Size::Parameters.symbol(),
                meaning: "parameters of the value matrix with an MLP",
                low: 1000,
                high: 10_000_000,
                helps: true,
            },
        ],
        limits: Limits {
            body_bytes: BODY_BYTES,
            resolution: [MIN_VALUES, MAX_VALUES],
            repeats: REPEATS,
            run_bytes: app.runs.memory(),
            run_seconds: RUN_SECONDS,
            inspect_seconds: INSPECT_SECONDS,
            queue: QUEUE,
            kept: KEPT,
            streams: STREAMS,
        },
    })
}
