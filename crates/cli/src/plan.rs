//! `superpose plan`: the cheapest model for so many facts.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use superpose_core::config::{Activation, Trigger};
use superpose_figure::Theme;
use superpose_lab::plan::{CRITERION, Options, Record, binds};
use superpose_lab::words::{blame, grouped};
use superpose_theory::plan::{Plan, checked, plan as theory};

use crate::arguments::Count;
use crate::picture::Target;
use crate::run::print;

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

pub fn plan(arguments: &PlanArguments) -> anyhow::Result<()> {
    let request = arguments.options().check()?;
    let target = arguments.svg.as_deref().map(|path| Target::new("svg", path)).transpose()?;
    let plan = theory(&request);
    if let Some(target) = target {
        target.write(&superpose_report::trade_off(&plan), Theme::Light)?;
    }
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&Record::from(&plan))? + "\n",
        false => table(&plan),
    };
    print(&text)
}

impl PlanArguments {
    fn options(&self) -> Options {
        let number = |count: Option<Count>| count.map(|Count(count)| count);
        Options {
            facts: self.facts.0,
            length: self.length.0,
            accuracy: self.accuracy,
            dim: number(self.dim),
            width: number(self.width),
            activation: self.activation,
            trigger: self.trigger,
            samples: number(self.samples),
            max_parameters: number(self.max_parameters),
        }
    }
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
