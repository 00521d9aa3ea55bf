//! A plan.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};
use superpose_lab::plan::{CRITERION, binds};
use superpose_lab::words::{blame, grouped};
use superpose_theory::plan::{Plan, checked};

/// The cheapest model, what binds, and the trade-off.
pub fn plan(plan: &Plan) -> String {
    let request = &plan.request;
    let mut text = format!(
        "Plan for V = {} facts, sequences of L = {} tokens, recall accuracy {}\n  trigger in {}, Gaussian embeddings; cheapest: {CRITERION}\n\n",
        grouped(request.facts),
        grouped(request.length),
        request.accuracy,
        if request.trigger.t() > 0.0 { "keys and values" } else { "keys only" },
    );
    match &plan.cheapest {
        Some(row) => {
            let width = row.width.map_or(String::new(), |m| format!(", width m = {}", grouped(m)));
            let _ = writeln!(
                text,
                "Cheapest: dimension d = {}{width}, {} trained parameters, N = {} samples.",
                grouped(row.dim),
                row.parameters.map_or("-".into(), grouped),
                row.samples.map_or("-".into(), grouped),
            );
        }
        None => text += "No model within these limits reaches the accuracy.\n",
    }
    if request.samples.is_none() && plan.cheapest.is_some() {
        text +=
            "As many samples as it takes were allowed; give --samples for a model that does with fewer.\n";
    }
    let _ = writeln!(text, "{}", binds(plan));
    if let Some(condition) = &plan.tightest {
        let _ = writeln!(text, "Tightest leading-order condition: {condition}.");
    }
    text += "\nTrade-off\n";
    text += &curve(plan);
    let validity = match (&plan.error, &plan.error_reason) {
        (Some(error), _) => {
            let range = checked(request.has_mlp()).words;
            format!("Checked: rms error {error:.3} in the range {range}")
        }
        (None, Some(reason)) => format!("Not checked here; {reason}"),
        (None, None) => "Not checked here".into(),
    };
    let _ = writeln!(text, "\n{validity}.");
    text
}

fn curve(plan: &Plan) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mlp = plan.request.has_mlp();
    let mut head = vec!["  d"];
    if mlp {
        head.push("m");
    }
    head.extend(["parameters", "N needed", ""]);
    let columns = head.len();
    table.add_row(head);
    for row in &plan.curve {
        let shown = |value: Option<f64>| value.map_or("-".to_owned(), grouped);
        let mut line = vec![format!("  {}", grouped(row.dim))];
        if mlp {
            line.push(shown(row.width));
        }
        let remark = match (row.forbids, Some(row) == plan.cheapest.as_ref()) {
            (Some(dominant), _) => format!("unreachable: {}", blame(&dominant).1),
            (None, true) => "cheapest".into(),
            (None, false) if !row.allowed => "over the limits".into(),
            _ => String::new(),
        };
        line.extend([shown(row.parameters), shown(row.samples), remark]);
        table.add_row(line);
    }
    for column in 0..columns - 1 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}
