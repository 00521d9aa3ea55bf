//! `superpose completions`: prints the script with which a shell completes commands and flags.

use clap::{Args, ValueEnum};
use clap_complete::shells;

use crate::shared::print;

#[derive(Args, Clone, Debug)]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Shells that can complete our commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// bash 4 or later, with bash-completion
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
}

pub fn completions(arguments: &CompletionsArguments) -> anyhow::Result<()> {
    print(&String::from_utf8(script(arguments.shell))?)
}

/// Returns the script that the shell reads.
pub fn script(shell: Shell) -> Vec<u8> {
    let (mut command, mut script) = (crate::command(), Vec::new());
    let name = command.get_name().to_string();
    match shell {
        Shell::Bash => clap_complete::generate(shells::Bash, &mut command, name, &mut script),
        Shell::Zsh => clap_complete::generate(shells::Zsh, &mut command, name, &mut script),
        Shell::Fish => clap_complete::generate(shells::Fish, &mut command, name, &mut script),
    }
    script
}
