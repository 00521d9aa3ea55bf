//! The committed reference pages match the code.

use superpose_book::{reference, root};

#[test]
fn committed_reference_is_current() {
    for (name, text) in reference::pages().unwrap() {
        let committed = std::fs::read_to_string(root().join(name)).unwrap_or_default();
        assert!(committed == text, "{name} differs from the code: run cargo xtask reference and commit it");
    }
}

/// Every command that prints JSON has a section.
#[test]
fn every_json_output_is_described() {
    let results = reference::results().unwrap();
    for command in superpose_cli::command().get_subcommands() {
        if command.get_arguments().any(|argument| argument.get_long() == Some("json")) {
            let title = format!("\n## superpose {} --json\n", command.get_name());
            assert!(results.contains(&title), "{title}: add it to crates/book/src/reference/results.rs");
        }
    }
}
