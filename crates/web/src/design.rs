//! Planning and inspecting over HTTP: what takes a moment longer than a slider.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use superpose_core::backend::{Backend, CancelToken};
use superpose_figure::{Figure, Theme};
use superpose_lab::inspect::{self, Held, Inspection, inspect_and_trace};
use superpose_lab::plan;
use superpose_report::{holdings, trade_off};
use superpose_tensors::Tensors;

use crate::app::App;
use crate::body::Asked;
use crate::refusal::Refusal;

/// A figure in both colours of the page.
#[derive(Serialize)]
struct Svg {
    light: String,
    dark: String,
}

impl From<Figure> for Svg {
    fn from(figure: Figure) -> Svg {
        Svg { light: figure.svg(Theme::Light), dark: figure.svg(Theme::Dark) }
    }
}

#[derive(Serialize)]
pub struct Planned {
    #[serde(flatten)]
    plan: plan::Record,
    svg: Svg,
}

/// The cheapest model for so many facts.
pub async fn plan(
    State(app): State<Arc<App>>,
    Asked(asked): Asked<plan::Options>,
) -> Result<Json<Planned>, Refusal> {
    let request = asked.check().map_err(Refusal::value)?;
    let work = move || {
        let plan = superpose_theory::plan(&request);
        Ok(Planned { svg: trade_off(&plan).into(), plan: plan::Record::from(&plan) })
    };
    app.slow.run(work).await.map(Json)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InspectRequest {
    study: usize,
    file: String,
    tensor: Option<String>,
    output_tensor: Option<String>,
    #[serde(default = "nearly_all")]
    accuracy: f64,
}

fn nearly_all() -> f64 {
    0.99
}

#[derive(Serialize)]
pub struct Inspected {
    #[serde(flatten)]
    found: Inspection,
    curve: Vec<Held>,
    svg: Svg,
}

/// How the rows of a matrix overlap, and what they hold.
pub async fn inspect(
    State(app): State<Arc<App>>,
    Asked(asked): Asked<InspectRequest>,
) -> Result<Json<Inspected>, Refusal> {
    let study = app.studies.get(asked.study).map_err(|_| {
        Refusal::value(format!(
            "study = {}: there is no such study; serve --open PATH opens one",
            asked.study
        ))
    })?;
    let threads = app.threads;
    let work = move |cancel: &CancelToken| {
        let file = study.tensors(&asked.file).map_err(Refusal::value)?;
        let tensors = file.tensors().map_err(Refusal::value)?;
        let name = asked.tensor.clone().or_else(|| tensors.largest_matrix());
        bound(&tensors, [name.as_deref(), asked.output_tensor.as_deref()])?;
        let backend = Backend::cpu(threads).unwrap_or_else(|_| Backend::single()).with_cancel(cancel.clone());
        let (tensor, output) = (asked.tensor.as_deref(), asked.output_tensor.as_deref());
        let found = inspect_and_trace(&tensors, tensor, output, asked.accuracy, &backend, &mut |_, _| {});
        let (found, curve) = found.map_err(Refusal::value)?;
        Ok(Inspected { svg: holdings(&found, &curve).into(), found, curve })
    };
    app.slow.run_cancellable(work).await.map(Json)
}

/// Seconds of one core that an inspection may take.
pub const INSPECT_SECONDS: f64 = 90.0;

/// Refuses matrices that would take too long together, and names the one that takes most.
fn bound(tensors: &Tensors<'_>, names: [Option<&str>; 2]) -> Result<(), Refusal> {
    let mut all = 0.0;
    let mut most = (0.0, String::new());
    for (parameter, name) in ["tensor", "output_tensor"].into_iter().zip(names) {
        let Some(name) = name else { continue };
        // What is no matrix is refused when it is looked at.
        let [rows, columns] = tensors.shape(name).map_err(Refusal::value)?[..] else { continue };
        let cost = if parameter == "tensor" { inspect::seconds } else { inspect::output_seconds };
        let seconds = cost(rows, columns);
        all += seconds;
        if seconds > most.0 {
            most = (seconds, format!("{parameter} = {name}: {rows} rows and {columns} columns"));
        }
    }
    if all > INSPECT_SECONDS {
        let together = if most.0 < all { ", with the other" } else { "" };
        let why = format!("would take about {all:.0} s{together}, and {INSPECT_SECONDS:.0} s are allowed");
        return Err(Refusal::value(format!("{} {why}", most.1)).hint("superpose inspect takes larger ones"));
    }
    Ok(())
}
