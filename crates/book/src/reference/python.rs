//! The page of the Python package: signatures and docstrings of its sources.
//!
//! Existing generators (griffe2md, lazydocs, pydoc-markdown) need Python and leave doctests unfenced, so this reads the sources itself.

use anyhow::{Context, ensure};
use regex::{Captures, Regex};

use super::{cell, code, head, stub, table};

const CONFIG: &str = include_str!("../../../../python/superpose/_config.py");
const SETTINGS: &str = include_str!("../../../../python/superpose/_settings.py");
const EXPERIMENTS: &str = include_str!("../../../../python/superpose/_experiments.py");
const RESULT: &str = include_str!("../../../../python/superpose/_result.py");
const TASK: &str = include_str!("../../../../python/superpose/_task.py");
const TRAINING: &str = include_str!("../../../../python/superpose/_training.py");
const DECODING: &str = include_str!("../../../../python/superpose/_decoding.py");
const MODEL: &str = include_str!("../../../../python/superpose/_model.py");
const NETWORK: &str = include_str!("../../../../python/superpose/_network.py");

pub fn python() -> anyhow::Result<String> {
    let mut text = head("The Python package");
    text += "\nEvery call with its arguments, from the package's own docstrings; `help(superpose.Config.run)` says the same. \
             How to use them: [the Python package](../python.md). Results have the fields of [JSON](results.md).\n\n\
             A `Number` is one of Python or NumPy; whole numbers may be written `1e6`. A `Path` is a text or a path object, `SupportsIndex` a whole \
             number. Arrays, which say `Any`, are those of NumPy, torch, JAX or anything with DLPack or the array interface.\n";
    let stub = stub();
    let constructor = items(&stub).into_iter().find(|item| item.name == "Settings.__new__");
    let constructor = constructor.context("the stub of Settings has its keys")?;
    for (title, source) in [
        ("Configurations", CONFIG),
        ("Experiments", EXPERIMENTS),
        ("Results", RESULT),
        ("Tasks", TASK),
        ("Training runs", TRAINING),
        ("Decoders", DECODING),
        ("Models", MODEL),
        ("Networks", NETWORK),
    ] {
        text += &format!("\n## {title}\n");
        let inherited = if source == CONFIG { items(SETTINGS) } else { Vec::new() };
        let members = inherited.into_iter().filter(|item| item.name.starts_with("Settings."));
        let members = members.map(|item| Item { name: item.name.replace("Settings", "Config"), ..item });
        for item in items(source).into_iter().chain(members).filter(Item::is_public) {
            ensure!(!item.documentation.is_empty(), "superpose.{} has no docstring", item.name);
            text += &format!("\n### {}\n", item.name);
            let signature = if item.name == "Config" { &constructor.signature } else { &item.signature };
            if !signature.is_empty() {
                let names = ["__new__", "\"Config\"", "Self"];
                let called = names.iter().fold(signature.clone(), |text, name| text.replace(name, "Config"));
                text += &format!("\n```text\n{called}\n```\n");
            }
            text += &markdown(&item.documentation);
        }
    }
    Ok(text)
}

/// A class or function at the top level of a formatted source, or a member of a class: its call and its docstring.
const ITEM: &str = r#"(?ms)^(?<indent>(?:    )?)(?:class|def) (?<name>\w+)(?<call>\(.*?\)(?: -> [^\n]+?)?|):(?: \.\.\.)?\n(?:\s*"""(?<doc>.*?)""")?"#;

/// A class, a function, a method or a property.
struct Item {
    /// Its name, with that of its class for members.
    name: String,
    /// The call; empty for classes and properties.
    signature: String,
    /// The lines of the docstring, dedented.
    documentation: Vec<String>,
}

impl Item {
    fn is_public(&self) -> bool {
        !self.name.split('.').any(|part| part.starts_with('_'))
    }
}

/// The declarations at the top level of a formatted source and in its classes.
fn items(source: &str) -> Vec<Item> {
    let mut class = String::new();
    let item = |found: Captures<'_>| {
        let (indent, name, text) = (&found["indent"], &found["name"], &found[0]);
        let decorator = source[..found.get_match().start()].lines().last().unwrap_or_default();
        let is_property = decorator.trim_start().starts_with('@') && decorator.contains("property");
        let is_class = text.starts_with("class ");
        if is_class {
            class = name.to_owned();
        }
        let call = || without_self(&format!("{name}{}", found["call"].replace(&format!("\n{indent}"), "\n")));
        let doc = found.name("doc").map_or("", |doc| doc.as_str());
        let margin = format!("{indent}    ");
        let dedented = |line: &str| line.strip_prefix(&margin).unwrap_or(line).trim_end().to_owned();
        Item {
            name: if indent.is_empty() { name.to_owned() } else { format!("{class}.{name}") },
            signature: if is_class || is_property { String::new() } else { call() },
            documentation: doc.lines().map(dedented).collect(),
        }
    };
    Regex::new(ITEM).expect("the pattern is valid").captures_iter(source).map(item).collect()
}

/// A signature without `self` or `cls`.
fn without_self(signature: &str) -> String {
    let mut text = signature.to_owned();
    for own in ["self", "cls"] {
        for (written, left) in [("(#, ", "("), ("(#)", "()"), ("(\n    #,\n", "(\n")] {
            text = text.replacen(&written.replace('#', own), left, 1);
        }
    }
    text
}

/// A docstring as Markdown: examples in fences, arguments and attributes in tables.
fn markdown(documentation: &[String]) -> String {
    let mut text = String::new();
    let paragraphs = documentation.split(String::is_empty).filter(|lines| !lines.is_empty());
    for lines in paragraphs {
        text.push('\n');
        if lines[0].starts_with(">>>") {
            text += &format!("```python\n{}\n```\n", lines.join("\n"));
        } else if let Some(what) = [("Args:", "argument"), ("Attributes:", "field")]
            .iter()
            .find_map(|(word, what)| (lines[0] == *word).then_some(what))
        {
            text += &table([what, "meaning"], arguments(&lines[1..]));
        } else {
            text += &format!("{}\n", plain(&lines.join("\n")));
        }
    }
    text
}

/// The entries of `Args:` or `Attributes:`, one or several names, a colon and the meaning; further indented lines continue an entry.
fn arguments(lines: &[String]) -> Vec<[String; 2]> {
    let mut rows: Vec<(String, String)> = Vec::new();
    for line in lines {
        let line = line.strip_prefix("    ").unwrap_or(line);
        match (line.starts_with(' '), line.split_once(": "), rows.last_mut()) {
            (false, Some((names, meaning)), _) => rows.push((names.into(), meaning.into())),
            (_, _, Some((_, meaning))) => *meaning += &format!(" {}", line.trim()),
            _ => {}
        }
    }
    let named = |names: &str| names.split(", ").map(code).collect::<Vec<_>>().join(", ");
    rows.iter().map(|(names, meaning)| [named(names), cell(&plain(meaning))]).collect()
}

/// Text without the roles of links, and with code in single backticks.
fn plain(text: &str) -> String {
    [":meth:", ":class:", ":func:"].iter().fold(text.replace("``", "`"), |text, role| text.replace(role, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
class Thing(Base):
    """A thing.

    >>> Thing()
    1
    """

    @property
    def size(self) -> int:
        """Its ``size``."""
        return 1

    def grow(
        self,
        *,
        by: int = 1,
    ) -> int:
        """Grows as :meth:`size` says.

        Args:
            by: so much, or
                more_or_less.
            x, y: where.
        """

def _hidden(a: int) -> int: ...
"#;

    #[test]
    fn declarations_and_docstrings_are_read() {
        let items = items(SOURCE);
        let names: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(names, ["Thing", "Thing.size", "Thing.grow", "_hidden"]);
        assert_eq!(items[2].signature, "grow(\n    *,\n    by: int = 1,\n) -> int");
        assert_eq!(
            (items[1].signature.as_str(), items[3].signature.as_str()),
            ("", "_hidden(a: int) -> int")
        );
        assert!(items[2].is_public() && !items[3].is_public());
        assert_eq!(markdown(&items[0].documentation), "\nA thing.\n\n```python\n>>> Thing()\n1\n```\n");
        let text = markdown(&items[2].documentation);
        assert!(text.contains("Grows as `size` says."), "{text}");
        assert!(text.contains("| `by` | so much, or more\\_or\\_less. |\n| `x`, `y` | where. |\n"), "{text}");
    }

    #[test]
    fn every_public_name_has_a_section() {
        let page = python().unwrap();
        let package = include_str!("../../../../python/superpose/__init__.py");
        let (_, list) = package.split_once("__all__ = [").unwrap();
        let names = list.split('"').skip(1).step_by(2).filter(|name| *name != "__version__");
        let names: Vec<&str> = names.collect();
        assert!(names.len() >= 13, "{names:?}");
        for name in names {
            // A constant is explained where it is used.
            let is_constant = name.chars().all(|c| c.is_ascii_uppercase());
            let section = if is_constant { format!("`superpose.{name}`") } else { format!("\n### {name}\n") };
            assert!(page.contains(&section), "{name}");
        }
    }
}
