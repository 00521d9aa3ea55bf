//! CSV: the one function that joins fields into lines.

/// Appends a line of comma-separated fields, quoting those that hold a comma, a quotation mark or a line break.
pub fn line<X: AsRef<str>>(text: &mut String, fields: impl IntoIterator<Item = X>) {
    for (i, field) in fields.into_iter().enumerate() {
        if i > 0 {
            text.push(',');
        }
        match field.as_ref() {
            field if field.contains(['"', ',', '\n', '\r']) => {
                *text += &format!("\"{}\"", field.replace('"', "\"\""));
            }
            field => *text += field,
        }
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn only_fields_that_need_it_are_quoted() {
        let mut text = String::new();
        line(&mut text, ["plain", "a, b", "say \"x\"", "", "two\nlines"]);
        assert_eq!(text, "plain,\"a, b\",\"say \"\"x\"\"\",,\"two\nlines\"\n");
    }
}
