//! The page: one HTML file that opens offline.

use std::fmt::Write;

use superpose_figure::Theme;

use crate::Section;

/// What a page says about how it was made: names and values.
pub type Facts = Vec<(String, String)>;

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --faint: #666; --rule: #ddd; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --paper: #16181c; --faint: #9aa0a6; --rule: #3a3d42; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 76rem; margin: 0 auto; padding: 1rem 1.5rem 4rem; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; border-top: 1px solid var(--rule); padding-top: 1.5rem; }
p, li { max-width: 60rem; } figure { margin: 1.5rem 0; overflow-x: auto; } figcaption, caption { color: var(--faint); font-size: .9rem; text-align: left; padding: .3rem 0; }
svg { max-width: 100%; height: auto; } .dark { display: none; }
@media (prefers-color-scheme: dark) { .dark { display: block; } .light { display: none; } }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; } th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th { text-align: left; } td.number { text-align: right; } details { margin: 1rem 0; } summary { cursor: pointer; color: var(--faint); }
";

/// Text inside HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Rows above which a table is folded.
const LONG: usize = 30;

/// The whole page.
pub fn page(title: &str, sections: &[Section], facts: &Facts) -> String {
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title><style>{STYLE}</style></head><body>\n<h1>{0}</h1>\n",
        escape(title)
    );
    text += "<p>How many facts a one-layer transformer with random, overlapping embeddings learns to recall, measured and predicted. Every threshold is the number of samples at which mean accuracy over seeds crosses 0.5. Intervals cover 95%. \"Agrees\" means that the interval of the measured over the predicted value holds 1, or that of a fitted exponent the closed form's.</p>\n<ul>\n";
    for section in sections {
        let _ = writeln!(text, "<li>{}</li>", escape(&section.headline));
    }
    text += "</ul>\n";
    for (i, section) in sections.iter().enumerate() {
        let _ = writeln!(text, "<h2>{}. {}</h2>", i + 1, escape(section.title));
        for sentence in &section.sentences {
            let _ = writeln!(text, "<p>{}</p>", escape(sentence));
        }
        for picture in &section.pictures {
            text += "<figure>";
            for (class, theme) in [("light", Theme::Light), ("dark", Theme::Dark)] {
                let _ = write!(text, "<div class=\"{class}\">{}</div>", picture.figure.svg(theme));
            }
            let _ = writeln!(text, "<figcaption>{}</figcaption></figure>", escape(&picture.caption));
        }
        for table in &section.tables {
            let html = table.html(escape);
            if table.rows.len() > LONG {
                let _ =
                    writeln!(text, "<details><summary>{}</summary>{html}</details>", escape(&table.caption));
            } else {
                text += &html;
            }
        }
    }
    text += "<h2>How this was made</h2>\n<table><tbody>\n";
    for (name, value) in facts {
        let _ = writeln!(text, "<tr><th>{}</th><td>{}</td></tr>", escape(name), escape(value));
    }
    text + "</tbody></table>\n</body></html>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_nothing_is_fetched() {
        let section = Section {
            title: "a < b",
            sentences: vec!["x & y".into()],
            pictures: Vec::new(),
            tables: Vec::new(),
            headline: "<script>".into(),
        };
        let html = page("t", &[section], &vec![("seed".into(), "0".into())]);
        assert!(html.contains("a &lt; b") && html.contains("x &amp; y") && html.contains("&lt;script&gt;"));
        assert!(!html.contains("<script") && !html.contains("src=") && !html.contains("href="));
    }
}
