//! The page of commands and their arguments, from the parser of the command line.

use std::fmt::Write;

use clap::{Arg, Command};

use super::{cell, code, head, said_default, table};

/// Arguments shared with `superpose run` or `superpose train` from which on a command refers to it.
const MIN_SHARED: usize = 10;

pub fn commands() -> String {
    let mut program = superpose_cli::command();
    program.build();
    let mut text = head("Commands");
    text += "\nWhat `superpose help COMMAND` says, on one page. `superpose COMMAND --help` is the same. What `--json` prints: [results](results.md). The file of a \
             sweep: [sweeps](../sweeps.md).\n\n";
    let rows = program.get_subcommands().filter(shown).map(|command| {
        let name = command.get_name();
        [format!("[`superpose {name}`](#superpose-{name})"), cell(&about(command))]
    });
    text += &table(["command", ""], rows);
    let bases: Vec<&Command> =
        ["run", "train"].iter().filter_map(|name| program.find_subcommand(name)).collect();
    for command in program.get_subcommands().filter(shown) {
        section(command, &format!("superpose {}", command.get_name()), &bases, &mut text);
    }
    text
}

fn shown(command: &&Command) -> bool {
    !command.is_hide_set() && command.get_name() != "help"
}

fn section(command: &Command, title: &str, bases: &[&Command], text: &mut String) {
    let usage = command.clone().render_usage().to_string();
    let _ = write!(text, "\n## {title}\n\n{}.\n\n```text\n{}\n```\n", about(command), usage.trim());
    let mut own: Vec<&Arg> = arguments(command).collect();
    let mut references = String::new();
    for base in bases.iter().take_while(|base| base.get_name() != command.get_name()) {
        let is_shared = |argument: &&Arg| arguments(base).any(|other| same(argument, other));
        let (shared, rest): (Vec<&Arg>, Vec<&Arg>) = own.iter().partition(|argument| is_shared(argument));
        if shared.len() >= MIN_SHARED {
            let names: Vec<String> = shared.into_iter().map(|argument| code(&flag(argument))).collect();
            let (name, names) = (base.get_name(), names.join(", "));
            let _ = write!(references, "\nAnd as for [`superpose {name}`](#superpose-{name}): {names}.\n");
            own = rest;
        }
    }
    if !own.is_empty() {
        let rows =
            own.into_iter().map(|argument| [code(&typed(argument)), meaning(argument), default(argument)]);
        *text += "\n";
        *text += &table(["argument", "meaning", "default"], rows);
    }
    *text += &references;
    for below in command.get_subcommands().filter(shown) {
        section(below, &format!("{title} {}", below.get_name()), bases, text);
    }
}

/// The arguments of a command, except help and version, which all commands have.
fn arguments(command: &Command) -> impl Iterator<Item = &Arg> {
    let everywhere = |argument: &&Arg| !matches!(argument.get_id().as_str(), "help" | "version");
    command.get_arguments().filter(everywhere).filter(|argument| !argument.is_hide_set())
}

fn same(one: &Arg, other: &Arg) -> bool {
    one.get_long().is_some() && (one.get_long(), help(one)) == (other.get_long(), help(other))
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

fn help(argument: &Arg) -> String {
    argument.get_help().map(ToString::to_string).unwrap_or_default()
}

/// `--vocab`, or the name of a positional argument.
fn flag(argument: &Arg) -> String {
    match (argument.get_long(), argument.get_value_names()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some([name, ..])) => name.to_string(),
        (None, _) => argument.get_id().to_string(),
    }
}

/// `--vocab V`
fn typed(argument: &Arg) -> String {
    let takes = argument.get_action().takes_values() && argument.get_long().is_some();
    match argument.get_value_names().filter(|_| takes) {
        Some(names) => names.iter().fold(flag(argument), |text, name| format!("{text} {name}")),
        None => flag(argument),
    }
}

fn meaning(argument: &Arg) -> String {
    let (help, values) = (help(argument), argument.get_possible_values());
    let values: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
    let meaning = said_default(&help).0;
    match argument.get_action().takes_values() && !values.is_empty() {
        true => cell(&format!("{meaning}: {}", values.join(", "))),
        false => cell(meaning),
    }
}

/// The default: that of the parser, or else the one that the help names.
fn default(argument: &Arg) -> String {
    if !argument.get_action().takes_values() {
        return String::new();
    }
    let values: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let (help, parsed) = (help(argument), values.join(" "));
    match (parsed.as_str(), said_default(&help).1) {
        ("", said) if said.contains(' ') => cell(said),
        ("", said) => code(said),
        (parsed, _) => code(parsed),
    }
}
