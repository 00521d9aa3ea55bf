//! What the comments in the source say of a type's fields. Sources are formatted, so a line is a field, an attribute or a
//! comment.

use anyhow::{Context, bail};

use super::plain;

/// A field of a struct.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type, as written.
    pub kind: String,
    /// What the comment says.
    pub meaning: String,
    /// Whether its own fields stand in its place.
    pub flattened: bool,
    /// Whether it is left out where there is nothing.
    pub left_out: bool,
}

/// The fields of a struct.
pub fn fields(source: &str, name: &str) -> anyhow::Result<Vec<Field>> {
    let mut fields = Vec::new();
    let (mut meaning, mut attributes) = (String::new(), String::new());
    for line in body(source, "struct", name)? {
        if let Some(comment) = line.strip_prefix("///") {
            meaning += comment;
        } else if line.starts_with("#[") {
            attributes += line;
        } else if let Some((field, kind)) = line.trim_end_matches(',').split_once(": ") {
            let field = field.rsplit(' ').next().unwrap_or(field);
            if meaning.is_empty() {
                bail!("struct {name}: its field {field} has no comment");
            }
            fields.push(Field {
                name: field.into(),
                kind: kind.into(),
                meaning: plain(std::mem::take(&mut meaning).trim()),
                flattened: attributes.contains("flatten"),
                left_out: attributes.contains("skip_serializing_if"),
            });
            attributes.clear();
        }
    }
    Ok(fields)
}

/// The words of a choice declared by `words!`, with what they mean.
pub fn choices(source: &str, name: &str) -> anyhow::Result<Vec<(String, String)>> {
    let (mut choices, mut meaning) = (Vec::new(), String::new());
    for line in body(source, "", name)? {
        if let Some(comment) = line.strip_prefix("///") {
            meaning += comment;
        } else if let Some((_, word)) = line.trim_end_matches(',').split_once(" = ") {
            choices.push((word.trim_matches('"').into(), plain(std::mem::take(&mut meaning).trim())));
        }
    }
    Ok(choices)
}

/// The lines between the braces of a declaration.
fn body<'a>(source: &'a str, keyword: &str, name: &str) -> anyhow::Result<Vec<&'a str>> {
    let declares = |line: &&str| {
        let line = line.trim();
        let words = line.strip_prefix("pub ").unwrap_or(line).strip_prefix(keyword).map(str::trim_start);
        let rest = words.and_then(|words| words.strip_prefix(name));
        rest.is_some_and(|rest| line.ends_with('{') && rest.starts_with([' ', '<']))
    };
    let mut lines = source.lines().skip_while(|line| !declares(line));
    lines.next().with_context(|| format!("there is no {keyword} {name} in the source"))?;
    Ok(lines.map(str::trim).take_while(|line| *line != "}").collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
/// A thing.
pub struct Thing<X> {
    /// Its [`size`],
    /// in words.
    pub size: Option<X>,
    /// More.
    #[serde(flatten)]
    more: More,
}
words! {
    /// Colours.
    Colour {
        /// Like snow.
        White = \"white\",
    }
}";

    #[test]
    fn comments_are_found() {
        let fields = fields(SOURCE, "Thing").unwrap();
        assert_eq!(fields.len(), 2);
        assert_eq!(fields[0].meaning, "Its `size`, in words.");
        assert_eq!((fields[0].kind.as_str(), fields[0].flattened), ("Option<X>", false));
        assert_eq!((fields[1].name.as_str(), fields[1].flattened), ("more", true));
        assert_eq!(choices(SOURCE, "Colour").unwrap(), [("white".into(), "Like snow.".into())]);
        assert!(super::fields(SOURCE, "Other").is_err());
        assert!(super::fields("struct A {\n    b: u8,\n}", "A").is_err());
    }
}
