//! `superpose plan`: the cheapest model for so many facts.

mod figure;

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::ensure;
use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use serde_json::json;
use superpose_core::config::{Activation, Embedding, Trigger};
use superpose_figure::Theme;
use superpose_theory::plan::{Plan, Request, Row, checked, plan as theory};
use superpose_theory::predict::{Dominant, Part};

use crate::arguments::Count;
use crate::picture::Target;
use crate::predict::{ConditionLine, check_accuracy};
use crate::run::print;
use crate::text::grouped;

/// Arguments of `superpose plan`.
#[derive(Args, Clone, Debug)]
pub struct PlanArguments {
    /// Facts to recall V
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    facts: Count,
    /// Sequence length L
    #[arg(long, value_name = "L", allow_hyphen_values = true)]
    length: Count,
    /// Accuracy to reach
    #[arg(long, value_name = "SHARE", default_value_t = 0.99, allow_hyphen_values = true)]
    accuracy: f64,
    /// Embedding dimension d (default: the smallest that does)
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    dim: Option<Count>,
    /// Width of the MLP m; a width or an activation makes it the attention-MLP model
    #[arg(long, value_name = "M", allow_hyphen_values = true)]
    width: Option<Count>,
    /// Activation of the MLP: relu (default), gelu, tanh, softplus, abs, he2, he3, identity
    #[arg(long, value_name = "NAME")]
    activation: Option<Activation>,
    /// Where the trigger is: values (keys and values, the default) or keys (keys only)
    #[arg(long, value_name = "WHERE", default_value = "values")]
    trigger: Trigger,
    /// Training samples at hand N (default: as many as it takes)
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    samples: Option<Count>,
    /// Most trained parameters allowed: d^2, or d m with an MLP
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    max_parameters: Option<Count>,
    /// Draw the trade-off into a file, SVG or (ending in .png) PNG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

const CRITERION: &str = "fewest trained parameters (d^2, or d m with an MLP), then fewest samples";

pub fn plan(arguments: &PlanArguments) -> anyhow::Result<()> {
    let request = arguments.request()?;
    let target = arguments.svg.as_deref().map(|path| Target::new("svg", path)).transpose()?;
    let plan = theory(&request);
    if let Some(target) = target {
        target.write(&figure::figure(&plan), Theme::Light)?;
    }
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&record(&plan))? + "\n",
        false => table(&plan),
    };
    print(&text)
}

impl PlanArguments {
    fn request(&self) -> anyhow::Result<Request> {
        check_accuracy(self.accuracy)?;
        let checked = |name: &str, count: Count, least: u64, most: u64| {
            let range = format!("must be a whole number from {least} to {}", grouped(most as f64));
            ensure!((least..=most).contains(&count.0), "{name} = {}: {range}", count.0);
            Ok(count.0 as f64)
        };
        let maybe = |name: &str, count: Option<Count>, most: u64| {
            count.map(|count| checked(name, count, 1, most)).transpose()
        };
        Ok(Request {
            facts: checked("facts", self.facts, 2, 1_000_000_000)?,
            length: checked("length", self.length, 1, 1_000_000_000)?,
            accuracy: self.accuracy,
            dim: maybe("dim", self.dim, 1_000_000)?,
            width: maybe("width", self.width, 1_000_000_000)?,
            activation: self.activation,
            embedding: Embedding::Gaussian,
            trigger: self.trigger,
            samples: maybe("samples", self.samples, 1_000_000_000_000_000)?,
            max_parameters: maybe("max_parameters", self.max_parameters, 1_000_000_000_000_000)?,
        })
    }
}

fn record(plan: &Plan) -> serde_json::Value {
    let p = &plan.prediction;
    json!({
        "feasible": plan.cheapest.is_some(),
        "criterion": CRITERION,
        "target": plan.target,
        "cheapest": plan.cheapest,
        "accuracy": p.accuracy,
        "memory_accuracy": p.memory_accuracy,
        "lock_rate": p.lock_rate,
        "binds": {
            "dominant": p.dominant,
            "condition": plan.tightest.as_ref().map(ConditionLine::from),
            "text": binds(plan),
        },
        "conditions": p.conditions.iter().map(ConditionLine::from).collect::<Vec<_>>(),
        "curve": plan.curve,
        "error": plan.error,
        "error_reason": plan.error_reason,
        "checked": checked(plan.request.has_mlp()).words,
        "request": plan.request,
        "version": env!("CARGO_PKG_VERSION"),
    })
}

fn table(plan: &Plan) -> String {
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

/// What stands in the way of a cheaper model, in one sentence.
fn binds(plan: &Plan) -> String {
    let request = &plan.request;
    let over = |row: &Row| {
        let most = request.max_parameters?;
        row.parameters.filter(|&parameters| parameters > most).map(|parameters| (parameters, most))
    };
    let forbidden = plan.curve.last().and_then(|row| row.forbids);
    let possible = plan.curve.iter().filter(|row| row.samples.is_some()).filter_map(over);
    let least = possible.min_by(|a, b| a.0.total_cmp(&b.0));
    match (&plan.cheapest, least, forbidden.or(plan.prediction.dominant)) {
        (None, Some((parameters, most)), _) => format!(
            "max_parameters binds: {} are allowed, {} are needed.",
            grouped(most),
            grouped(parameters)
        ),
        (_, _, Some(Dominant { part, term })) => {
            let part = if part == Part::Memory { "memory" } else { "attention" };
            format!("What binds: {} in the {part}.", term.word().replace('_', " "))
        }
        (_, _, None) => "What binds: nothing; there is no noise.".into(),
    }
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
            (Some(dominant), _) => format!("unreachable: {}", dominant.term.word().replace('_', " ")),
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
