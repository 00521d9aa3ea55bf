//! `superpose plan`: finds the cheapest model for a number of facts.

use std::path::PathBuf;

use clap::Args;
use superpose_lab::plan::{PlanOptions, PlanRecord};
use superpose_theory::plan::plan as theory;

use crate::picture::FigureFile;
use crate::setting_flags::SettingFlags;
use crate::shared::print_record;

#[derive(Args, Clone, Debug)]
pub struct PlanArguments {
    #[command(flatten)]
    options: SettingFlags<PlanOptions>,
    /// Draw the trade-off into this file (.svg or .png)
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub fn plan(arguments: &PlanArguments) -> anyhow::Result<()> {
    let request = arguments.options.read()?.check()?;
    let figure = FigureFile::new(arguments.svg.as_ref())?;
    let plan = theory(&request);
    if let Some(figure) = figure {
        figure.write(&superpose_report::trade_off(&plan))?;
    }
    print_record(arguments.json, &PlanRecord::from(&plan), |_| superpose_report::plan(&plan))
}
