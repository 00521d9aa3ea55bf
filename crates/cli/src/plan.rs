//! `superpose plan`: the cheapest model for so many facts.

use std::path::PathBuf;

use clap::Args;
use superpose_core::config::{Activation, Trigger};
use superpose_figure::Theme;
use superpose_lab::plan::{PlanOptions, PlanRecord};
use superpose_theory::plan::plan as theory;

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
        true => serde_json::to_string_pretty(&PlanRecord::from(&plan))? + "\n",
        false => superpose_report::plan(&plan).text(),
    };
    print(&text)
}

impl PlanArguments {
    fn options(&self) -> PlanOptions {
        let number = |count: Option<Count>| count.map(|Count(count)| count);
        PlanOptions {
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
