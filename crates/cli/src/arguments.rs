//! Arguments that every command with a configuration takes: a flag for each setting, and a file with the same keys.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, anyhow, bail, ensure};
use clap::{Arg, Args};
use superpose_core::config::{Kind, Settings, Value};
use superpose_lab::memory;
use superpose_lab::settings_file::{self, SettingsFile};

use crate::setting_flags::SettingFlags;
use crate::shared::DeviceFlag;

/// A whole number as people write it: 65536, 65_536, 1e6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(pub u64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Count {
    type Err = String;
    fn from_str(text: &str) -> Result<Count, String> {
        match Kind::Count.parse(text)? {
            Value::Count(count) => Ok(Count(count)),
            _ => Err(Kind::Count.allowed()),
        }
    }
}

/// Arguments of `superpose run`, and of every command that takes a configuration.
#[derive(Args, Clone, Debug, Default)]
pub struct RunArguments {
    /// TOML file of settings, named like the flags (test_samples = 4096); flags override it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    given: SettingFlags<Settings>,

    /// Number of threads (default: all cores); does not affect results
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    threads: Option<Count>,
    /// Where to compute.
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Write the input tensors and the trained m1, w1, m2 of the first repeat to this file (safetensors)
    #[arg(long, value_name = "FILE")]
    pub export: Option<PathBuf>,
}

impl RunArguments {
    /// Adds the settings of the file named by `--config` that no flag gives.
    pub fn with_file(self) -> anyhow::Result<RunArguments> {
        let Some(path) = self.config.clone() else { return Ok(self) };
        let text = read_text(&path).with_context(|| path.display().to_string())?;
        let SettingsFile { mut values, others } =
            settings_file::read(&text).map_err(|error| anyhow!("{}, {error}", path.display()))?;
        // Flags win: a rate on the command line is not in conflict with a lead in the file.
        for (one, other) in [("gamma", "lead"), ("lead", "gamma")] {
            if self.given.values.gives(one) {
                values.remove(other);
            }
        }
        let mut merged = RunArguments { given: self.given.or(values), ..self };
        for (name, value) in others {
            let value = match name {
                // As for settings, whole numbers may be written as 1e1.
                "threads" => Kind::Count.convert(value.clone()).unwrap_or(value),
                _ => value,
            };
            match (name, value) {
                ("json", Value::Flag(json)) => merged.json |= json,
                ("threads", Value::Count(count)) => merged.threads = merged.threads.or(Some(Count(count))),
                ("device", value) => {
                    let choice = value.to_string().parse();
                    let choice = choice.map_err(|allowed| {
                        anyhow!("{}: device = {}: {allowed}", path.display(), shown(&value))
                    })?;
                    merged.device.device = merged.device.device.or(Some(choice));
                }
                ("export", Value::Text(file)) => {
                    merged.export = merged.export.or(Some(PathBuf::from(file.into_owned())));
                }
                (name, value) => {
                    let allowed = match name {
                        "json" => Kind::Flag.allowed(),
                        "threads" => memory::ALLOWED_THREADS.into(),
                        _ => Kind::Text.allowed(),
                    };
                    bail!("{}: {name} = {}: {allowed}", path.display(), shown(&value))
                }
            }
        }
        Ok(merged)
    }

    /// Whether nothing was given that makes a configuration.
    pub fn is_empty(&self) -> bool {
        self.config.is_none() && self.given.values.is_empty() && self.export.is_none()
    }

    /// Whether a setting was given.
    pub fn gives(&self, name: &str) -> bool {
        self.given.values.gives(name)
    }

    /// Fails if a file to export to was given, for commands that export nothing.
    pub fn check_no_export(&self, why: &str) -> anyhow::Result<()> {
        ensure!(self.export.is_none(), "export is given: {why}");
        Ok(())
    }

    /// The settings these arguments ask for, defaults elsewhere.
    pub fn settings(&self) -> anyhow::Result<Settings> {
        Ok(Settings::given(&self.given.values)?)
    }

    /// Threads to use.
    pub fn threads(&self) -> anyhow::Result<usize> {
        threads(self.threads)
    }
}

/// A value of a settings file in a message. Texts have quotation marks, so that "2" is not taken for the number 2.
fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("{text:?}"),
        value => value.to_string(),
    }
}

/// Hides the flags that a command rejects from its help. They are still parsed, so that the error can say why.
pub fn hide(rejected: impl IntoIterator<Item = &'static str>) -> impl FnMut(Arg) -> Arg {
    let rejected: Vec<&str> = rejected.into_iter().collect();
    move |flag| if rejected.contains(&flag.get_id().as_str()) { flag.hide(true) } else { flag }
}

/// The number of threads; by default one per core.
pub fn threads(given: Option<Count>) -> anyhow::Result<usize> {
    let given = given.map(|Count(threads)| threads);
    memory::threads(given).map_err(|allowed| anyhow!("threads = {}: {allowed}", given.unwrap_or_default()))
}

/// Reads a text file of at most a megabyte.
pub fn read_text(path: &Path) -> anyhow::Result<String> {
    const MAX_BYTES: u64 = 1 << 20;
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    ensure!(text.len() as u64 <= MAX_BYTES, "longer than a megabyte");
    Ok(text)
}
