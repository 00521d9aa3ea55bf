//! A plan: the cheapest model that recalls the facts, and the trade-off around it.

use superpose_core::Measure;
use superpose_lab::plan::{CRITERION, binds};
use superpose_lab::words::blame;
use superpose_theory::plan::{Plan, checked_words};

use super::trigger;
use crate::document::{Document, Grid, Left, Right};
use crate::numbers::grouped;

/// The cheapest model, the limit that binds, and the trade-off between dimension and samples.
pub fn plan(plan: &Plan) -> Document {
    let request = &plan.request;
    let (facts, length, accuracy) = (grouped(request.facts), grouped(request.length), request.accuracy);
    let mut page = Document::new(format!(
        "Plan for V = {facts} facts, sequences of L = {length} tokens, recall accuracy {accuracy}"
    ));
    let trigger = trigger(request.trigger);
    page.note(format!("trigger in {trigger}, Gaussian embeddings; cheapest: {CRITERION}"));
    page.gap();
    match &plan.cheapest {
        Some(row) => {
            let width = row.width.map_or(String::new(), |m| format!(", width m = {}", grouped(m)));
            let [dim, parameters, samples] = [Some(row.dim), row.parameters, row.samples].map(shown);
            page.line(format!(
                "Cheapest: dimension d = {dim}{width}, {parameters} trained parameters, N = {samples} samples."
            ));
        }
        None => page.line("No model within these limits reaches the accuracy."),
    }
    if request.samples.is_none() && plan.cheapest.is_some() {
        page.line("The number of samples was not limited; give --samples for a model that needs fewer.");
    }
    page.line(binds(plan));
    if let Some(condition) = &plan.tightest {
        page.line(format!("Tightest leading-order condition: {condition}."));
    }
    page.line(budget(plan));
    page.heading("Trade-off");
    page.table(curve(plan));
    page.paragraph(match (&plan.error, &plan.error_reason) {
        (Some(error), _) => {
            let words = checked_words(&request.point(1.0));
            format!("Rms error {error:.3}, {words}.")
        }
        (None, Some(reason)) => format!("Not checked here; {reason}."),
        (None, None) => "Not checked here.".into(),
    });
    page
}

/// How many tokens must be kept.
fn budget(plan: &Plan) -> String {
    let measure = |measure| plan.prediction.measures[measure].unwrap_or(f64::NAN);
    let (kept, memory) = (measure(Measure::KeptRate), measure(Measure::MemoryAccuracy));
    match plan.keep {
        Some(keep) => {
            let (keep, length) = (grouped(keep), grouped(plan.request.length));
            format!(
                "Context budget: keep at least {keep} of {length} tokens (kept rate {kept:.4}, memory accuracy {memory:.4})."
            )
        }
        None => format!("Context budget: no number of tokens is enough (memory accuracy {memory:.4})."),
    }
}

fn shown(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), grouped)
}

fn curve(plan: &Plan) -> Grid {
    let mut table = match plan.request.has_mlp() {
        true => Grid::new(&[Right, Right, Right, Right, Left], &["d", "m", "parameters", "N needed", ""]),
        false => Grid::new(&[Right, Right, Right, Left], &["d", "parameters", "N needed", ""]),
    };
    for row in &plan.curve {
        let remark = match (row.forbids, Some(row) == plan.cheapest.as_ref()) {
            (Some(dominant), _) => format!("unreachable: {}", blame(&dominant).1),
            (None, true) => "cheapest".into(),
            (None, false) if !row.allowed => "over the limits".into(),
            _ => String::new(),
        };
        let width = plan.request.has_mlp().then(|| shown(row.width));
        let sizes = [shown(row.parameters), shown(row.samples), remark];
        table.row([grouped(row.dim)].into_iter().chain(width).chain(sizes));
    }
    table
}
