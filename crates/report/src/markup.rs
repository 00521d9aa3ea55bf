//! The one mark in sentences: `d^{-1.9}` and `d^2` are raised, as in the labels of figures.

/// Rewrites a text: `raise` gets what is raised, `plain` the rest.
fn rewrite(text: &str, plain: impl Fn(&str) -> String, raise: impl Fn(&str) -> String) -> String {
    let mut parts = text.split('^');
    let mut out = plain(parts.next().unwrap_or_default());
    for part in parts {
        let number =
            part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit() || ".-".contains(c)).len();
        let (raised, rest) = match part.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some(braced) => braced,
            None => part.split_at(part[..number].trim_end_matches(['.', '-']).len()),
        };
        out += &(if raised.is_empty() { plain("^") } else { raise(raised) } + &plain(rest));
    }
    out
}

/// Replaces the characters that HTML gives a meaning.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Replaces the minus sign of negative numbers and the square root, which a keyboard lacks.
fn typeset(text: &str, minus: &str, root: &str) -> String {
    let mut out = String::new();
    let mut before = ' ';
    for (i, c) in text.char_indices() {
        let number = text[i + c.len_utf8()..].starts_with(|next: char| next.is_ascii_digit());
        match c {
            '-' if number && " (".contains(before) => out += minus,
            other => out.push(other),
        }
        before = c;
    }
    out.replace("sqrt(", root)
}

/// The text as HTML; Markdown takes the same.
pub(crate) fn html(text: &str) -> String {
    rewrite(&typeset(text, "−", "√("), escape, |raised| {
        format!("<sup>{}</sup>", escape(raised).replace('-', "−"))
    })
}

/// The text for a terminal.
pub fn plain(text: &str) -> String {
    rewrite(text, str::to_owned, |raised| format!("^{raised}"))
}

/// The text for LaTeX.
pub(crate) fn latex(text: &str) -> String {
    let special = |text: &str| {
        let escaped = text.chars().map(|c| match c {
            '\\' => "\\textbackslash{}".to_owned(),
            '%' | '&' | '$' | '#' | '_' | '{' | '}' => format!("\\{c}"),
            '^' => "\\textasciicircum{}".to_owned(),
            '~' => "\\textasciitilde{}".to_owned(),
            '×' => "$\\times$".to_owned(),
            '−' => "$-$".to_owned(),
            '√' => "$\\surd$".to_owned(),
            other => other.to_string(),
        });
        escaped.collect::<String>()
    };
    rewrite(&typeset(text, "−", "√("), special, |raised| format!("$^{{{}}}$", raised.replace('−', "-")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raised_text_is_raised_everywhere() {
        let text = "N & d^{-1.9} and V^{1.8}";
        assert_eq!(html(text), "N &amp; d<sup>−1.9</sup> and V<sup>1.8</sup>");
        assert_eq!(plain(text), "N & d^-1.9 and V^1.8");
        assert_eq!(latex(text), "N \\& d$^{-1.9}$ and V$^{1.8}$");
        assert_eq!(html("√2 -1.87 (-2.1 to 3), 8-bit"), "√2 −1.87 (−2.1 to 3), 8-bit");
        assert_eq!(latex("-1 sqrt(2)"), "$-$1 $\\surd$(2)");
        assert_eq!(html("2^{ without an end"), "2^{ without an end");
        assert_eq!(html("L^2 sqrt(d^2/V)/d^1.5. x^"), "L<sup>2</sup> √(d<sup>2</sup>/V)/d<sup>1.5</sup>. x^");
    }
}
