//! `superpose bound`: compares decoders of the first gradient, and the three-step algorithm, with the surrogate lower bound.

use clap::Args;
use superpose_core::config::{ConfigError, Group, Setting, Settings, Value, Values};
use superpose_lab::decoders::{self, BoundOptions};

use crate::progress::ticking_spinner;
use crate::setting_flags::SettingFlags;
use crate::shared::{Threads, backend, print_record};

/// The settings of the model that the decoders use, with defaults of their own.
#[derive(Clone, Debug)]
struct BoundModel(Settings);

impl BoundModel {
    const USED: [&str; 8] = ["vocab", "dim", "length", "width", "activation", "embedding", "trigger", "seed"];

    fn defaults() -> Settings {
        Settings { vocab: 200, dim: 100, ..Settings::default() }
    }
}

impl Group for BoundModel {
    fn definitions(definitions: &mut Vec<Setting>) {
        let used = Settings::settings().iter().filter(|setting| Self::USED.contains(&setting.name));
        let with_default =
            |setting: &Setting| Setting { default: Self::defaults().get(setting.name), ..setting.clone() };
        definitions.extend(used.map(with_default));
    }

    fn visit(&self, visit: &mut dyn FnMut(&'static str, Value)) {
        self.0.visit(visit);
    }

    fn read(values: &Values) -> Result<Self, ConfigError> {
        Settings::read(&values.clone().or(Values::of(&Self::defaults()))).map(BoundModel)
    }
}

/// Arguments of `superpose bound`.
#[derive(Args, Clone, Debug)]
pub struct BoundArguments {
    #[command(flatten)]
    model: SettingFlags<BoundModel>,
    #[command(flatten)]
    options: SettingFlags<BoundOptions>,
    #[command(flatten)]
    threads: Threads,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn bound(arguments: &BoundArguments) -> anyhow::Result<()> {
    let threads = arguments.threads.count()?;
    let options = arguments.options.read()?;
    let config = options.check(arguments.model.read()?.0)?;
    let backend = backend(threads)?;
    let record = ticking_spinner(|bar| {
        decoders::bound(&config, &options, &backend, &mut |what, samples| {
            let at = if samples.is_finite() { format!(": trying N = {samples}") } else { String::new() };
            bar.say(format!("{}{at}", what.replace('_', " ")));
        })
    });
    print_record(arguments.json, &record?, superpose_report::bound)
}
