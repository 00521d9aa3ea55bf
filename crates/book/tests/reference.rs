//! The committed reference is what the code says.
#![allow(clippy::unwrap_used)]

use superpose_book::{reference, root};

#[test]
fn the_reference_is_that_of_the_code() {
    for (name, text) in reference::pages().unwrap() {
        let committed = std::fs::read_to_string(root().join(name)).unwrap_or_default();
        assert!(committed == text, "{name} is not what the code says: cargo xtask reference, and commit it");
    }
}

/// A command that prints JSON has a section on what it prints.
#[test]
fn every_json_is_described() {
    let results = reference::results().unwrap();
    for command in superpose_cli::command().get_subcommands() {
        if command.get_arguments().any(|argument| argument.get_long() == Some("json")) {
            let title = format!("\n## superpose {} --json\n", command.get_name());
            assert!(results.contains(&title), "{title}: add it to crates/book/src/reference/results.rs");
        }
    }
}
