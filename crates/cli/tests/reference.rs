//! The help, the completions, the JSON and the reference of the book agree.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn superpose(folder: &Path, arguments: &str) -> String {
    crate::common::works_in(folder, arguments).0
}

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// Returns the part of a page below a heading, up to the next heading.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let start = page.find(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no section {heading}"));
    let rest = &page[start + 1..];
    rest.find("\n## ").map_or(rest, |end| &rest[..end])
}

/// Returns the commands and subcommands that the help lists.
fn commands() -> Vec<String> {
    let below = |path: &str| -> Vec<String> {
        let help = superpose(Path::new("."), &format!("help {path}"));
        let Some((_, list)) = help.split_once("Commands:\n") else { return Vec::new() };
        let list = list.split("\n\n").next().unwrap_or_default();
        let indented = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
        let name = |line: &str| line.split_whitespace().next().unwrap_or_default().to_string();
        list.lines().filter(indented).map(name).filter(|name| name != "help").collect()
    };
    let mut commands = Vec::new();
    for first in below("") {
        for second in below(&first) {
            commands.push(format!("{first} {second}"));
        }
        commands.push(first);
    }
    commands
}

/// Returns the flags that `superpose help COMMAND` lists, each at the start of a line.
fn flags(command: &str) -> BTreeSet<String> {
    let help = superpose(Path::new("."), &format!("help {command}"));
    let flag = |line: &str| {
        let start = line.trim_start().strip_prefix("-h, ").unwrap_or(line.trim_start());
        let end = start.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(start.len());
        (start.starts_with("--") && end > 2).then(|| start[..end].to_string())
    };
    help.lines().filter_map(flag).collect()
}

/// Whether a line of the zsh script contains the flag: `'(--what excludes it)*--flag=[help]...`.
fn in_zsh(line: &str, flag: &str) -> bool {
    let Some(word) = line.split('\'').nth(1) else { return false };
    let word = if word.starts_with('(') { word.split_once(')').map_or("", |(_, word)| word) } else { word };
    word.trim_start_matches('*').split(['=', '[']).next() == Some(flag)
}

#[test]
fn every_flag_is_in_the_reference_and_in_the_completions() {
    let reference = page("commands.md");
    let [bash, zsh, fish] =
        ["bash", "zsh", "fish"].map(|shell| superpose(Path::new("."), &format!("completions {shell}")));
    let commands = commands();
    assert!(commands.len() >= 15, "{commands:?}");
    let mut count = 0;
    for command in &commands {
        let section = section(&reference, &format!("superpose {command}"));
        let flags = flags(command);
        assert!(flags.contains("--help"), "{command}: {flags:?}");
        // Each script has a part for each command, named after its words.
        let name = command.replace(' ', "__subcmd__");
        let in_bash = bash.split(&format!("superpose__subcmd__{name})\n")).nth(1);
        let in_bash =
            in_bash.and_then(|part| part.split(";;\n").next()).unwrap_or_else(|| panic!("bash: {command}"));
        for flag in flags.iter().filter(|flag| *flag != "--help") {
            let told = [' ', '`'].iter().any(|after| section.contains(&format!("`{flag}{after}")));
            assert!(told, "{command} {flag} is not in docs/reference/commands.md");
            assert!(
                in_bash.split_whitespace().any(|word| word.trim_matches('"') == flag),
                "bash: {command} {flag}"
            );
            let (first, long) = (command.split(' ').next().unwrap(), flag.trim_start_matches('-'));
            let in_fish = |line: &str| {
                line.contains(&format!("subcommand {first}")) && line.contains(&format!(" -l {long} "))
            };
            assert!(fish.lines().any(|line| in_fish(&format!("{line} "))), "fish: {command} {flag}");
            assert!(zsh.lines().any(|line| in_zsh(line, flag)), "zsh: {command} {flag}");
            count += 1;
        }
        // The reference lists no flag that does not exist.
        for word in section.split('`').skip(1).step_by(2).filter(|word| word.starts_with("--")) {
            let flag = word.split(' ').next().unwrap();
            assert!(flags.contains(flag), "{command} has no {flag}");
        }
    }
    assert!(count > 150, "{count}");
}

#[test]
fn other_shells_are_rejected() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_superpose")).args(["completions", "tcsh"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("tcsh") && message.contains("bash, zsh, fish"), "{message}");
}

/// The installed shells can parse their scripts.
#[test]
fn shells_read_their_completions() {
    let folder = tempfile::tempdir().unwrap();
    for (shell, check) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        let path = folder.path().join(shell);
        std::fs::write(&path, superpose(Path::new("."), &format!("completions {shell}"))).unwrap();
        if let Ok(output) = Command::new(shell).arg(check).arg(&path).output() {
            assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    // bash completes the flags of a command from their first letters.
    let line = "source ./bash; COMP_WORDS=(superpose run --vo); COMP_CWORD=2; _superpose superpose --vo run; echo ${COMPREPLY[@]}";
    if let Ok(output) = Command::new("bash").args(["-c", line]).current_dir(folder.path()).output() {
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "--vocab");
    }
}

/// Collects the paths of the values in a record: `noise.logits.signal`, `cells[].x`.
fn paths(value: &Value, prefix: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                found.insert(path.clone());
                paths(value, &path, found);
            }
        }
        Value::Array(list) => {
            for value in list.iter().filter(|value| value.is_object()) {
                paths(value, &format!("{prefix}[]"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn every_field_of_json_is_in_the_reference() {
    let folder = tempfile::tempdir().unwrap();
    let page = page("results.md");
    std::fs::write(
        folder.path().join("s.toml"),
        "vocab = 20\ndim = 8\nsamples = 100\ntest_samples = 50\nnoise = true\n",
    )
    .unwrap();
    superpose(folder.path(), "sweep s.toml");
    superpose(
        folder.path(),
        "run --vocab 40 --dim 16 --samples 400 --test-samples 100 --export e.safetensors",
    );
    let small = "--vocab 40 --dim 16 --length 5 --test-samples 100";
    for (heading, arguments) in [
        ("superpose run --json", format!("run --json {small} --samples 400")),
        ("superpose predict --json", format!("predict --json {small} --samples 400 --gamma 1")),
        ("superpose predict --json", format!("predict --json {small} --samples 400")),
        ("superpose threshold --json", format!("threshold --json --find samples {small} --max-runs 20")),
        ("superpose threshold --json", format!("threshold --json --find samples {small} --range 1..4")),
        (
            "superpose phase --json",
            format!("phase --json --x dim:4..16 --y samples:50..500 --resolution 4 {small}"),
        ),
        ("superpose plan --json", "plan --json --facts 100 --length 8".into()),
        ("superpose bound --json", "bound --json --vocab 30 --dim 20 --length 4 --seeds 2".into()),
        (
            "superpose inspect --json",
            "inspect --json e.safetensors --tensor z_in --output-tensor z_out".into(),
        ),
        ("superpose status --json", "status --json s.toml".into()),
        ("superpose export --format jsonl", "export s.sqlite --format jsonl".into()),
    ] {
        let section = section(&page, heading);
        let record: Value = serde_json::from_str(&superpose(folder.path(), &arguments)).unwrap();
        let mut found = BTreeSet::new();
        paths(&record, "", &mut found);
        assert!(found.len() > 4, "{arguments}");
        for path in found {
            // Described in one place for all commands: configurations, intervals, measures, budgets.
            let parts: Vec<&str> = path.split('.').collect();
            let shared = matches!(
                parts[..],
                ["config", _]
                    | [.., "logits" | "scores", _]
                    | [_, .., "mean" | "low" | "high" | "variance" | "items"]
            );
            let named = match parts[..] {
                ["decoders", _] => "decoders".to_string(),
                ["decoders", _, field] => format!("decoders.NAME.{field}"),
                ["result", "done"] => "result".into(),
                _ => path.clone(),
            };
            assert!(shared || section.contains(&format!("| `{named}` |")), "{heading}: {path}");
        }
    }
}

/// The README and the book show the output that the program prints for quick commands, except for times.
#[test]
fn pages_show_the_output_of_the_program() {
    let (folder, mut lines) = (tempfile::tempdir().unwrap(), 0);
    for name in [
        "../../README.md",
        "../tutorial.md",
        "../how-to/noise.md",
        "../how-to/plan.md",
        "../validation/decoders.md",
        "../how-to/context.md",
    ] {
        let page = page(name);
        for block in page.split("```text\n").skip(1).filter_map(|block| block.split("```").next()) {
            let mut printed: Option<String> = None;
            for line in block.lines().map(str::trim_end) {
                if let Some(command) = line.strip_prefix("$ ") {
                    let quick = ["run", "predict", "threshold", "plan", "bound"];
                    let command = command.strip_prefix("superpose ").unwrap_or_default();
                    let runs = command.split(' ').next().is_some_and(|first| quick.contains(&first));
                    printed = runs.then(|| superpose(folder.path(), command));
                    continue;
                }
                let left_out = ["", "..."].contains(&line) || line.contains(" runs in ");
                // The page may leave out parts of a line.
                let is_shown = |other: &str| {
                    let other = other.trim_end();
                    let Some(((first, _), (_, last))) = line.split_once("...").zip(line.rsplit_once("..."))
                    else {
                        return other == line;
                    };
                    let mut rest = other;
                    let in_order = |part| rest.split_once(part).inspect(|(_, after)| rest = after).is_some();
                    other.starts_with(first) && other.ends_with(last) && line.split("...").all(in_order)
                };
                if let (Some(printed), false) = (&printed, left_out) {
                    assert!(printed.lines().any(is_shown), "{name}: {line}\n{printed}");
                    lines += 1;
                }
            }
        }
    }
    assert!(lines > 50, "{lines}");
}

#[test]
fn help_lists_only_what_a_command_accepts() {
    let help = |command: &str| {
        let text = superpose(Path::new("."), &format!("{command} --help"));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for (command, rejected) in [
        ("run", "--steps --optimiser --heads"),
        ("train", "--export"),
        ("predict", "--export"),
        ("threshold", "--export --repeats margin"),
        ("phase", "--export margin"),
        ("memory", "orthonormal low_rank file,"),
    ] {
        let text = help(command);
        for word in rejected.split(' ') {
            assert!(!text.contains(&format!(" {word}")), "{command}: {word}");
        }
    }
    assert!(help("threshold").contains("--steps <COUNT>"));
    assert!(help("phase").contains("consecutive seeds (default 2)"));
    assert!(help("run").contains("in keys and values (values), or in keys only (keys)"));
}
