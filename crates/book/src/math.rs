//! Formulas of the book: LaTeX between dollar signs becomes MathML, which browsers render without scripts.

use anyhow::bail;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use pulldown_latex::config::{DisplayMode, RenderConfig};
use pulldown_latex::{Storage, push_mathml};

/// Replaces the formulas of a Markdown page, `$...$` in the text and `$$...$$` on their own, by MathML. Dollar signs in code
/// and before digits remain.
///
/// # Errors
/// The first formula that is not valid LaTeX, with the reason, or a dollar sign without a partner.
pub fn typeset(page: &str) -> anyhow::Result<String> {
    let options = Options::ENABLE_MATH | Options::ENABLE_TABLES;
    let (mut typeset, mut end) = (String::with_capacity(page.len()), 0);
    let mut in_code = false;
    for (event, range) in Parser::new_ext(page, options).into_offset_iter() {
        let (formula, display_mode) = match event {
            Event::InlineMath(formula) => (formula, DisplayMode::Inline),
            Event::DisplayMath(formula) => (formula, DisplayMode::Block),
            Event::Start(Tag::CodeBlock(_)) | Event::End(TagEnd::CodeBlock) => {
                in_code = !in_code;
                continue;
            }
            Event::Text(_) if !in_code => {
                for (place, _) in page[range.clone()].match_indices('$') {
                    let rest = &page[range.start + place..];
                    if !rest[1..].starts_with(|next: char| next.is_ascii_digit()) {
                        bail!("{}: a dollar sign without a partner", rest.lines().next().unwrap_or(rest));
                    }
                }
                continue;
            }
            _ => continue,
        };
        typeset.push_str(&page[end..range.start]);
        typeset.push_str(&mathml(&formula, display_mode)?);
        end = range.end;
    }
    typeset.push_str(&page[end..]);
    Ok(typeset)
}

fn mathml(formula: &str, display_mode: DisplayMode) -> anyhow::Result<String> {
    let storage = Storage::new();
    let events: Vec<_> = match pulldown_latex::Parser::new(formula, &storage).collect() {
        Ok(events) => events,
        Err(fault) => bail!("{formula}: {fault}"),
    };
    let mut mathml = String::new();
    let events = events.into_iter().map(Ok::<_, std::fmt::Error>);
    push_mathml(&mut mathml, events, RenderConfig { display_mode, ..RenderConfig::default() })?;
    // What pulldown-latex 0.8 writes that is not XML.
    for (found, valid) in [("\"minsize", "\" minsize"), ("><</", ">&lt;</"), ("&nbsp;", "&#160;")] {
        mathml = mathml.replace(found, valid);
    }
    if let Err(fault) = roxmltree::Document::parse(&mathml) {
        bail!("{formula}: {fault}");
    }
    Ok(escape(&mathml))
}

/// Writes punctuation between tags as character references, so that Markdown does not read it as markup.
fn escape(mathml: &str) -> String {
    let mut escaped = String::with_capacity(mathml.len());
    let mut in_tag = false;
    for c in mathml.chars() {
        match c {
            '<' => in_tag = true,
            '>' => in_tag = false,
            _ if !in_tag && c.is_ascii_punctuation() && !"&#;".contains(c) => {
                escaped.push_str(&format!("&#{};", u32::from(c)));
                continue;
            }
            _ => {}
        }
        escaped.push(if c == '\n' { ' ' } else { c });
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_mathml() {
        let page = typeset("With $x_1$ and\n\n$$\\frac{d}{V} < 1$$\n\n| $a$ |\n|---|\n| $b^2$ |\n").unwrap();
        assert_eq!(page.matches("<math").count(), 4, "{page}");
        assert!(page.starts_with("With <math") && !page.contains('$'), "{page}");
        assert!(page.contains("<msub><mi>x</mi><mn>1</mn></msub>"), "{page}");
        assert!(typeset("$\\bigl( x \\bigr)$").unwrap().contains("\" minsize="));
        assert!(page.contains("display=\"block\"") && page.contains("<mfrac>"), "{page}");
    }

    #[test]
    fn code_and_prices_stay() {
        for page in
            ["`$x$` stays", "```text\n$ superpose run $x$\n```\n", "from $5 to $6", "    $x$ in a block"]
        {
            assert_eq!(typeset(page).unwrap(), page);
        }
    }

    #[test]
    fn punctuation_is_no_markup() {
        let page = typeset("$a * b$ and $c * [d](e)$").unwrap();
        assert!(!page.contains('*') && !page.contains('[') && !page.contains('('), "{page}");
    }

    #[test]
    fn invalid_formula_is_an_error() {
        for formula in ["\\frac{1}", "\\nocommand", "{x", "x^1^2"] {
            let error = typeset(&format!("As ${formula}$ shows")).unwrap_err().to_string();
            assert!(error.contains(formula), "{error}");
        }
    }
}
