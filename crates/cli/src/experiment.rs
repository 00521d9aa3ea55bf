//! The commands of [`EXPERIMENTS`]: flags from their settings, one call, text or JSON.

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};
use superpose_core::config::Values;
use superpose_report::{Context, EXPERIMENTS, Experiment};

use crate::arguments::hide;
use crate::interrupt::Interrupt;
use crate::progress::ticking_spinner;
use crate::setting_flags::{flag, given};
use crate::shared::{DeviceFlag, Threads, available_memory, backend, message, print};

/// An experiment and the arguments given.
pub struct ExperimentCommand {
    experiment: &'static Experiment,
    values: Values,
    flags: Flags,
}

/// The flags of every experiment.
#[derive(Args)]
struct Flags {
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    device: DeviceFlag,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

impl ExperimentCommand {
    /// Fails if a device other than the CPU is given and the experiment uses the CPU only.
    pub fn check_device(&self) -> anyhow::Result<()> {
        match self.experiment.device {
            true => Ok(()),
            false => self.flags.device.check_cpu(self.experiment.name),
        }
    }

    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<()> {
        let ExperimentCommand { experiment, values, flags } = self;
        let threads = flags.threads.count()?;
        self.check_device()?;
        let device = flags.device.open()?;
        if let (Some(_), Some(part)) = (&device, (experiment.cpu_part)(values)) {
            message(format_args!("note: {part}"));
        }
        let interrupt = Interrupt::listen()?;
        let backend = backend(threads)?.with_cancel(interrupt.token()).with_device(device);
        let found = ticking_spinner(|bar| {
            let observe = |_, _, note| bar.say(note);
            let (backend, memory) = (&backend, available_memory());
            (experiment.run)(values, Context::new(backend, memory, &observe))
        });
        let found = found.map_err(|error| match interrupt.token().is_cancelled() {
            true => interrupt.stopped(format!("stopped: {} keeps no results", experiment.name)),
            false => anyhow::Error::from_boxed(error),
        })?;
        print(&if flags.json { found.json(true)? + "\n" } else { found.document().text() })
    }
}

impl Subcommand for ExperimentCommand {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(EXPERIMENTS.iter().map(|experiment| {
            let flags = (experiment.settings)();
            let command = Command::new(experiment.name).args(flags.iter().map(flag));
            // The flags bring a description of their own, so that of the command comes last.
            let command = Flags::augment_args(command).about(experiment.about);
            if experiment.device { command } else { command.mut_args(hide(["device"])) }
        }))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        EXPERIMENTS.iter().any(|experiment| experiment.name == name)
    }
}

impl FromArgMatches for ExperimentCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let (name, matches) = matches.subcommand().ok_or(Error::new(ErrorKind::MissingSubcommand))?;
        let experiment = EXPERIMENTS.iter().find(|experiment| experiment.name == name);
        let experiment = experiment.ok_or(Error::new(ErrorKind::InvalidSubcommand))?;
        let values = given(&(experiment.settings)(), matches)?;
        Ok(ExperimentCommand { experiment, values, flags: Flags::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
