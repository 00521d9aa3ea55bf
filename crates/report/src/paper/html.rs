//! The report as one HTML file that opens offline, in light and dark, on a phone and on paper.

use std::fmt::Write;

use superpose_figure::{Figure, Theme};

use super::{ANSWER, Report, SET_UP, SYMBOLS, TITLE};
use crate::html::table;
use crate::markup::{escape, html};
use crate::study::Section;

const STYLE: &str = include_str!("style.css");
const DIAGRAM: &str = include_str!("diagram.svg");

impl Report<'_> {
    /// The report as one HTML file.
    pub fn html(&self) -> String {
        let (scale, seed) = (escape(&self.scale), self.seed);
        let mut text = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{TITLE} Superpose, scale {scale}</title><style>{STYLE}</style></head><body>\n<header><h1>{TITLE}</h1>\n<p class=\"by\">A study with Superpose, scale {scale}, seed {seed}. Task and model: arXiv 2603.15923.</p></header>\n<main>\n<p class=\"finding\">{}</p>\n",
            html(ANSWER)
        );
        text += "<nav aria-label=\"Contents\"><ul>\n";
        let fixed = [("set-up", "Set-up".to_owned()), ("results", "Results".to_owned())];
        let numbered = (1..).zip(self.sections);
        let sections = numbered.map(|(i, section)| (section.id, format!("{i}. {}", escape(section.title))));
        let made = ("made", "How this was made".to_owned());
        for (id, title) in fixed.into_iter().chain(sections).chain([made]) {
            let _ = writeln!(text, "<li><a href=\"#{id}\">{title}</a></li>");
        }
        text += "</ul></nav>\n<section id=\"set-up\"><h2>Set-up</h2>\n";
        let _ = writeln!(text, "<p>{}</p>\n{DIAGRAM}", SET_UP[0]);
        SET_UP[1..].iter().for_each(|paragraph| text += &format!("<p>{paragraph}</p>\n"));
        text += "<dl>\n";
        SYMBOLS
            .iter()
            .for_each(|(symbol, meaning)| text += &format!("<dt>{symbol}</dt><dd>{meaning}</dd>\n"));
        let _ = writeln!(
            text,
            "</dl></section>\n<section id=\"results\"><h2>Results</h2>\n<p>{}</p>",
            html(&self.summary())
        );
        text += "<table class=\"results\"><thead><tr><th>section</th><th>claim</th><th>measured</th><th>predicted</th><th>verdict</th></tr></thead><tbody>\n";
        for (number, section, claim) in self.claims() {
            let [what, measured, predicted, verdict] =
                [&claim.claim, &claim.measured, &claim.predicted, &claim.verdict].map(|cell| html(cell));
            let (id, class) = (section.id, claim.agreement);
            let _ = writeln!(
                text,
                "<tr><td><a href=\"#{id}\">{number}</a></td><td>{what}</td><td>{measured}</td><td>{predicted}</td><td class=\"{class}\">{verdict}</td></tr>"
            );
        }
        text += "</tbody></table></section>\n";
        let mut figures = 0;
        for (i, section) in self.sections.iter().enumerate() {
            text += &self.section(i + 1, section, &mut figures);
        }
        text += "<section id=\"made\"><h2>How this was made</h2>\n<dl class=\"made\">\n";
        self.facts.iter().for_each(|(name, value)| {
            text += &format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(value))
        });
        text + "</dl></section>\n</main></body></html>\n"
    }

    fn section(&self, number: usize, section: &Section, figures: &mut usize) -> String {
        let (id, title, finding) = (section.id, escape(section.title), html(&section.headline));
        let mut text =
            format!("<section id=\"{id}\"><h2>{number}. {title}</h2>\n<p class=\"finding\">{finding}</p>\n");
        for picture in &section.pictures {
            *figures += 1;
            let [light, dark] = [Theme::Light, Theme::Dark].map(|theme| panels(&picture.figure, theme));
            let caption = html(&picture.caption);
            let _ = writeln!(
                text,
                "<figure id=\"figure-{figures}\"><div class=\"panels light\">{light}</div><div class=\"panels dark\">{dark}</div><figcaption><b>Figure {figures}.</b> {caption}</figcaption></figure>"
            );
        }
        let _ = writeln!(text, "<p>{}</p>", html(&section.sentences.join(" ")));
        for shown in &section.tables {
            let (caption, table) = (html(&shown.caption), table(&shown.grid()));
            let _ = writeln!(
                text,
                "<details><summary>Table: {caption}</summary><div class=\"wide\">{table}</div></details>"
            );
        }
        text + &format!(
            "<p class=\"command\"><code>{}</code></p></section>\n",
            escape(&self.command(section))
        )
    }
}

/// The panels of a figure as drawings of their own, so that they stand below one another on a narrow screen.
fn panels(figure: &Figure, theme: Theme) -> String {
    figure.apart().iter().map(|panel| panel.svg(theme)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Claim;

    fn section() -> Section {
        let claims = vec![Claim {
            claim: "N < V^{2}".into(),
            measured: "1".into(),
            predicted: "2".into(),
            verdict: "differs".into(),
            agreement: "differs",
        }];
        let (headline, sentences) = ("<script>".into(), vec!["x & y".into()]);
        Section { id: "sizes", title: "a < b", sentences, headline, claims, ..Section::default() }
    }

    #[test]
    fn text_is_escaped_and_nothing_is_fetched() {
        let sections = [section()];
        let report = Report {
            scale: "quick".into(),
            seed: 3,
            sections: &sections,
            facts: vec![("seed".into(), "3".into())],
        };
        let page = report.html();
        for part in [
            "a &lt; b",
            "x &amp; y",
            "&lt;script&gt;",
            "N &lt; V<sup>2</sup>",
            "href=\"#sizes\"",
            "id=\"sizes\"",
            "--seed 3 --only sizes",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("href=\"http"));
        assert!(page.contains("<p>Of 1 row, 1 differs: N &lt; V<sup>2</sup> (section 1).</p>"));
        let markdown = report.markdown();
        assert!(markdown.contains("| 1 | N &lt; V<sup>2</sup> | 1 | 2 | differs |"), "{markdown}");
        assert!(report.latex().contains("1 & N < V$^{2}$ & 1 & 2 & differs \\\\\n"), "{}", report.latex());
    }

    #[test]
    fn summary_has_no_empty_parts() {
        let untested = Claim { agreement: "none", ..Claim::default() };
        let agrees = Claim { agreement: "agrees", ..Claim::default() };
        for (claims, summary) in [
            (vec![untested.clone()], "Of 1 row, 1 without a verdict."),
            (vec![untested, agrees], "Of 2 rows, 1 without a verdict, 1 agrees, none differs."),
        ] {
            let sections = [Section { claims, ..section() }];
            let report = Report { scale: "quick".into(), seed: 3, sections: &sections, facts: Vec::new() };
            assert_eq!(report.summary(), summary);
        }
    }
}
