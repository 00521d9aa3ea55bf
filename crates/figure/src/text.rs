//! Text: its width, line breaks, superscripts and subscripts, and escaping.
//!
//! A label may contain `^{...}` (raised) and `_{...}` (lowered), as in `10^{3}` or `N_{c}`; everything else is literal.
//! Widths are those of Arial, Helvetica and the bundled font, slightly enlarged: a browser without these fonts may use a
//! wider one, and labels must not overlap there either.

/// Sizes of text in pixels.
pub(crate) mod size {
    pub const FIGURE_TITLE: f64 = 15.0;
    pub const TITLE: f64 = 13.0;
    pub const LABEL: f64 = 12.0;
    pub const SMALL: f64 = 11.0;
}

/// Size of raised and lowered parts relative to the label.
pub(crate) const SMALLER: f64 = 0.72;
/// Safety factor for fonts that are wider than the measured ones.
const SAFETY: f64 = 1.08;
/// Width of bold text relative to regular text.
const BOLD: f64 = 1.07;

/// Widths of the characters from space to `~`, in thousandths of the size.
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
    556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
    500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469,
    556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
    278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// Vertical position of a part of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Height {
    Line,
    Raised,
    Lowered,
}

/// Splits a label into parts on, above and below the line.
pub(crate) fn parts(label: &str) -> Vec<(&str, Height)> {
    let mut parts = Vec::new();
    let mut rest = label;
    while !rest.is_empty() {
        let opening = rest.find("^{").into_iter().chain(rest.find("_{")).min();
        let closed = opening.and_then(|open| Some((open, open + rest[open..].find('}')?)));
        let Some((open, close)) = closed else {
            parts.push((rest, Height::Line));
            break;
        };
        if open > 0 {
            parts.push((&rest[..open], Height::Line));
        }
        let height = if rest[open..].starts_with('^') { Height::Raised } else { Height::Lowered };
        if open + 2 < close {
            parts.push((&rest[open + 2..close], height));
        }
        rest = &rest[close + 1..];
    }
    parts
}

/// Width of a label in pixels, rounded up by the safety factor.
pub(crate) fn width(label: &str, size: f64, bold: bool) -> f64 {
    let mut sum = 0.0;
    for (part, height) in parts(label) {
        let scale = if height == Height::Line { 1.0 } else { SMALLER };
        sum += scale * part.chars().map(character_width).sum::<f64>();
    }
    sum * size * SAFETY * if bold { BOLD } else { 1.0 }
}

/// Width of the widest label of an axis.
pub(crate) fn widest(ticks: &[(f64, String)]) -> f64 {
    ticks.iter().map(|(_, label)| width(label, size::SMALL, false)).fold(0.0, f64::max)
}

fn character_width(character: char) -> f64 {
    let thousandths = match character {
        ' '..='~' => WIDTHS[character as usize - ' ' as usize],
        '\u{b7}' | '\u{b9}' | '\u{b2}' | '\u{b3}' => 333,
        '\0'..'\u{2000}' => 720,
        '\u{2000}'..'\u{2e80}' => 780,
        _ => 1050,
    };
    f64::from(thousandths) / 1000.0
}

/// Breaks a label between words into lines no wider than `room`. A word that is wider gets a line of its own.
pub(crate) fn lines(label: &str, size: f64, bold: bool, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in label.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size, bold) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A label without the markup of raised and lowered parts, for screen readers.
pub(crate) fn plain(label: &str) -> String {
    parts(label).into_iter().map(|(part, _)| part).collect()
}

/// Text for an XML attribute or element: reserved characters are escaped, forbidden ones are removed.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\0'..' ' | '\u{7f}'..'\u{a0}' | '\u{fffe}' | '\u{ffff}' => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_raised_and_lowered() {
        assert_eq!(
            parts("N d^{1.5} > L_{0}"),
            [("N d", Height::Line), ("1.5", Height::Raised), (" > L", Height::Line), ("0", Height::Lowered)]
        );
        assert_eq!(parts("10^{"), [("10^{", Height::Line)]);
        assert_eq!(parts("mean_bias"), [("mean_bias", Height::Line)]);
        assert_eq!(parts("a^{}b"), [("a", Height::Line), ("b", Height::Line)]);
        assert_eq!(plain("10^{3}"), "103");
    }

    #[test]
    fn widths_are_slightly_above_those_of_arial() {
        let ours = width("samples N", 10.0, false);
        let arial = 10.0 * (500 + 556 + 833 + 556 + 222 + 556 + 500 + 278 + 722) as f64 / 1000.0;
        assert!(ours > arial && ours < 1.1 * arial, "{ours} {arial}");
        assert!(width("samples", 10.0, true) > width("samples", 10.0, false));
        assert!(width("10^{3}", 10.0, false) < width("103", 10.0, false));
    }

    #[test]
    fn lines_are_no_wider_than_the_room() {
        let text = "Critical number of samples against the dimension, by length of the sequence";
        let lines = lines(text, 12.0, false, 150.0);
        assert!(lines.len() > 2 && lines.iter().all(|line| width(line, 12.0, false) <= 150.0));
        assert_eq!(lines.join(" "), text);
        assert!(super::lines("", 12.0, false, 10.0).is_empty());
        assert_eq!(super::lines("unbreakable", 12.0, false, 10.0).len(), 1);
    }

    #[test]
    fn reserved_characters_are_escaped() {
        assert_eq!(escape("a < b & \"c\" > d\u{0}\u{1b}\n"), "a &lt; b &amp; &quot;c&quot; &gt; d ");
    }
}
