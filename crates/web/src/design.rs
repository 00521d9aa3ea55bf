//! Planning and inspecting over HTTP: computations of some seconds.

use axum::Json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superpose_core::backend::{Backend, CancelToken};
use superpose_figure::{Figure, Theme};
use superpose_lab::inspect::{self, Held, Inspection};
use superpose_lab::plan;
use superpose_report::{holdings, trade_off};
use superpose_tensors::Tensors;

use crate::app::{Answer, Shared};
use crate::error::ApiError;
use crate::extract::JsonBody;

/// A figure as SVG, in both themes of the page.
#[derive(Serialize, JsonSchema)]
struct Svg {
    light: String,
    dark: String,
}

impl From<Figure> for Svg {
    fn from(figure: Figure) -> Svg {
        Svg { light: figure.svg(Theme::Light), dark: figure.svg(Theme::Dark) }
    }
}

/// A plan with its figure.
#[derive(Serialize, JsonSchema)]
pub struct PlanResponse {
    #[serde(flatten)]
    plan: plan::PlanRecord,
    svg: Svg,
}

/// The cheapest model for so many facts.
pub async fn plan(app: Shared, JsonBody(options): JsonBody<plan::PlanOptions>) -> Answer<PlanResponse> {
    let request = options.check().map_err(ApiError::invalid)?;
    let work = move || {
        let plan = superpose_theory::plan(&request);
        Ok(PlanResponse { svg: trade_off(&plan).into(), plan: plan::PlanRecord::from(&plan) })
    };
    app.slow.run(work).await.map(Json)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InspectRequest {
    /// Number of the study that has the file.
    study: usize,
    /// The embedding file.
    file: String,
    /// The matrix of input embeddings; without it the largest.
    tensor: Option<String>,
    /// The matrix of output embeddings.
    output_tensor: Option<String>,
    /// The accuracy at which facts are counted.
    #[serde(default = "accuracy")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    accuracy: f64,
}

fn accuracy() -> f64 {
    0.99
}

/// An inspection with its curve and figure.
#[derive(Serialize, JsonSchema)]
pub struct InspectResponse {
    #[serde(flatten)]
    found: Inspection,
    /// Accuracy by number of facts.
    curve: Vec<Held>,
    svg: Svg,
}

/// Inspects a matrix of an opened file.
pub async fn inspect(app: Shared, JsonBody(request): JsonBody<InspectRequest>) -> Answer<InspectResponse> {
    let missing = |id: usize| format!("study = {id}: there is no such study; serve --open PATH opens one");
    let study = app.studies.get(request.study).map_err(|_| ApiError::invalid(missing(request.study)))?;
    let threads = app.threads;
    let work = move |cancel: &CancelToken| {
        let file = study.tensors(&request.file).map_err(ApiError::invalid)?;
        let tensors = file.tensors();
        let name = request.tensor.clone().or_else(|| tensors.largest_matrix());
        check_cost(&tensors, [name.as_deref(), request.output_tensor.as_deref()])?;
        let backend = Backend::cpu(threads).unwrap_or_else(|_| Backend::single()).with_cancel(cancel.clone());
        let (tensor, output) = (request.tensor.as_deref(), request.output_tensor.as_deref());
        let found = inspect::inspect(&tensors, tensor, output, request.accuracy, &backend, &mut |_, _| {});
        let (found, pairs) = found.map_err(ApiError::invalid)?;
        let curve = inspect::trace(found.dim, &pairs, &backend, &mut || {}).map_err(ApiError::invalid)?;
        Ok(InspectResponse { svg: holdings(&found, &curve).into(), found, curve })
    };
    app.slow.run_cancellable(work).await.map(Json)
}

/// Core-seconds that an inspection may take at most.
pub const MAX_INSPECT_SECONDS: f64 = 90.0;

/// Refuses matrices whose inspection would take too long, and names the more costly one.
fn check_cost(tensors: &Tensors<'_>, names: [Option<&str>; 2]) -> Result<(), ApiError> {
    let mut total = 0.0;
    let mut largest = (0.0, String::new());
    for (parameter, name) in ["tensor", "output_tensor"].into_iter().zip(names) {
        let Some(name) = name else { continue };
        // The inspection itself refuses tensors that are no matrices.
        let [rows, columns] = tensors.shape(name).map_err(ApiError::invalid)?[..] else { continue };
        let cost = if parameter == "tensor" { inspect::seconds } else { inspect::output_seconds };
        let seconds = cost(rows, columns);
        total += seconds;
        if seconds > largest.0 {
            largest = (seconds, format!("{parameter} = {name}: {rows} rows and {columns} columns"));
        }
    }
    if total <= MAX_INSPECT_SECONDS {
        return Ok(());
    }
    let together = if largest.0 < total { " together with the other matrix" } else { "" };
    let why = format!("would take about {total:.0} s{together}, and {MAX_INSPECT_SECONDS:.0} s are allowed");
    Err(ApiError::invalid(format!("{} {why}", largest.1)).hint("superpose inspect takes larger ones"))
}
