//! `superpose plan`: finds the cheapest model for a number of facts.

use std::path::PathBuf;

use clap::Args;
use superpose_core::config::{Activation, Trigger};
use superpose_lab::plan::{PlanOptions, PlanRecord};
use superpose_theory::plan::plan as theory;

use crate::arguments::Count;
use crate::picture::FigureFile;
use crate::shared::print_record;

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
    /// Embedding dimension d (default: the smallest that reaches the accuracy)
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
    /// Training samples available N (default: as many as needed)
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    samples: Option<Count>,
    /// Maximum number of trained parameters: d^2, or d m with an MLP
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    max_parameters: Option<Count>,
    /// Draw the trade-off into a file, SVG or (ending in .png) PNG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn plan(arguments: &PlanArguments) -> anyhow::Result<()> {
    let number = |count: Option<Count>| count.map(|Count(count)| count);
    let request = PlanOptions {
        facts: arguments.facts.0,
        length: arguments.length.0,
        accuracy: arguments.accuracy,
        dim: number(arguments.dim),
        width: number(arguments.width),
        activation: arguments.activation,
        trigger: arguments.trigger,
        samples: number(arguments.samples),
        max_parameters: number(arguments.max_parameters),
    }
    .check()?;
    let figure = FigureFile::new(arguments.svg.as_ref())?;
    let plan = theory(&request);
    if let Some(figure) = figure {
        figure.write(&superpose_report::trade_off(&plan))?;
    }
    print_record(arguments.json, &PlanRecord::from(&plan), |_| superpose_report::plan(&plan))
}
