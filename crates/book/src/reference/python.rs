//! The calls of the Python package: signatures and docstrings, as its sources have them.

use anyhow::{Context, bail};

use super::{cell, code, head, table};

const CONFIG: &str = include_str!("../../../../python/superpose/_config.py");
const CONFIG_STUB: &str = include_str!("../../../../python/superpose/_config.pyi");
const EXPERIMENTS: &str = include_str!("../../../../python/superpose/_experiments.py");
const RESULT: &str = include_str!("../../../../python/superpose/_result.py");
const TRAINING: &str = include_str!("../../../../python/superpose/_training.py");
const MODEL: &str = include_str!("../../../../python/superpose/_model.py");

/// The page of the package.
pub fn python() -> anyhow::Result<String> {
    let mut text = head("The Python package");
    text += "\nEvery call with its arguments, from the package's own docstrings; `help(superpose.Config.run)` says the same. \
             How to use them: [the Python package](../python.md). Results have the fields of [JSON](results.md).\n\n\
             A `Number` is one of Python or NumPy; whole numbers may be written `1e6`. A `Path` is a text or a path object, `SupportsIndex` a whole \
             number. Arrays, which say `Any`, are those of NumPy, torch, JAX or anything with DLPack or the array interface.\n";
    let constructor = items(CONFIG_STUB)?.into_iter().find(|item| item.name == "Config.__new__");
    let constructor = constructor.context("the stub of Config has its keys")?;
    for (title, source) in [
        ("Configurations", CONFIG),
        ("Experiments", EXPERIMENTS),
        ("Results", RESULT),
        ("Training runs", TRAINING),
        ("Models", MODEL),
    ] {
        text += &format!("\n## {title}\n");
        for item in items(source)?.iter().filter(|item| item.is_public()) {
            if item.documentation.is_empty() {
                bail!("superpose.{} has no docstring", item.name);
            }
            text += &format!("\n### {}\n", item.name);
            let signature = if item.name == "Config" { &constructor.signature } else { &item.signature };
            if !signature.is_empty() {
                let called = signature.replace("__new__", "Config").replace("\"Config\"", "Config");
                text += &format!("\n```text\n{called}\n```\n");
            }
            text += &markdown(&item.documentation);
        }
    }
    Ok(text)
}

/// A class, a function, a method or a property.
#[derive(Debug, Default, PartialEq)]
struct Item {
    /// Its name, a member's with that of its class.
    name: String,
    /// The call, without `def`; nothing for classes and properties.
    signature: String,
    /// The docstring's lines, without what they are all indented by.
    documentation: Vec<String>,
}

impl Item {
    fn is_public(&self) -> bool {
        !self.name.split('.').any(|part| part.starts_with('_'))
    }
}

/// What a source declares at its top level and in its classes. Sources are formatted: a declaration begins a line, and ends one
/// with a colon.
fn items(source: &str) -> anyhow::Result<Vec<Item>> {
    let (mut found, mut class, mut is_property) = (Vec::<Item>::new(), String::new(), false);
    let mut lines = source.lines().peekable();
    while let Some(line) = lines.next() {
        let (inner, depth) = (line.trim_start(), line.len() - line.trim_start().len());
        if depth > 4 || inner.is_empty() {
            continue;
        }
        if inner.starts_with('@') {
            is_property = inner.contains("property");
            continue;
        }
        let mut item = Item::default();
        if let Some(rest) = inner.strip_prefix("class ") {
            item.name = rest.split(['(', ':']).next().unwrap_or(rest).into();
            class.clone_from(&item.name);
        } else if let Some(rest) = inner.strip_prefix("def ") {
            let mut signature = String::from(rest);
            while !ends(&signature) {
                let next = lines.next().with_context(|| format!("{rest}: its end is missing"))?;
                signature += &format!("\n{}", next.get(depth..).unwrap_or_default());
            }
            let name = rest.split('(').next().unwrap_or(rest);
            item.name = if depth == 0 { name.into() } else { format!("{class}.{name}") };
            if !is_property {
                item.signature =
                    without_self(signature.trim_end_matches("...").trim_end().trim_end_matches(':'));
            }
        } else {
            continue;
        }
        is_property = false;
        if lines.peek().is_some_and(|line| line.trim_start().starts_with("\"\"\"")) {
            item.documentation = docstring(&mut lines);
        }
        found.push(item);
    }
    Ok(found)
}

/// Whether a signature is whole: all brackets closed, and the colon, or the rest of a stub, there.
fn ends(signature: &str) -> bool {
    let count = |wanted: char| signature.chars().filter(|&c| c == wanted).count();
    count('(') == count(')') && (signature.ends_with(':') || signature.ends_with(": ..."))
}

/// The object or the class itself is not something to give.
fn without_self(signature: &str) -> String {
    let mut text = signature.to_string();
    for own in ["self", "cls"] {
        for (written, left) in [("(#, ", "("), ("(#)", "()"), ("(\n    #,\n", "(\n")] {
            text = text.replacen(&written.replace('#', own), left, 1);
        }
    }
    text
}

fn docstring<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut text = Vec::new();
    let mut indent = 0;
    for line in lines {
        let is_first = text.is_empty();
        if is_first {
            indent = line.len() - line.trim_start().len();
        }
        let line = line.get(indent..).unwrap_or_default();
        let line = if is_first { &line[3..] } else { line };
        match line.strip_suffix("\"\"\"") {
            Some(last) => {
                text.push(last.trim_end().into());
                break;
            }
            None => text.push(line.trim_end().into()),
        }
    }
    text
}

/// A docstring as Markdown: examples in fences, arguments in a table.
fn markdown(documentation: &[String]) -> String {
    let mut text = String::new();
    let paragraphs = documentation.split(String::is_empty).filter(|lines| !lines.is_empty());
    for lines in paragraphs {
        text.push('\n');
        if lines[0].starts_with(">>>") {
            text += &format!("```python\n{}\n```\n", lines.join("\n"));
        } else if lines[0] == "Args:" {
            text += &table(["argument", "meaning"], arguments(&lines[1..]));
        } else {
            text += &format!("{}\n", plain(&lines.join("\n")));
        }
    }
    text
}

/// The lines of `Args:`: a name, or several, a colon and what it means; what is indented further goes on.
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

/// Text without the roles of links, code in single backticks.
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
    fn sources_are_read() {
        let items = items(SOURCE).unwrap();
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
        assert!(super::items("def f(\n    a,\n").is_err());
    }

    /// What the package offers has its section.
    #[test]
    fn every_name_is_described() {
        let page = python().unwrap();
        let package = include_str!("../../../../python/superpose/__init__.py");
        let (_, names) = package.split_once("__all__ = [").unwrap();
        let names: Vec<&str> =
            names.split('"').skip(1).step_by(2).filter(|name| *name != "__version__").collect();
        assert!(names.len() >= 13, "{names:?}");
        for name in names {
            assert!(page.contains(&format!("\n### {name}\n")), "{name}");
        }
    }
}
