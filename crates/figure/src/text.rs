//! Text: how much room it takes, how it is broken into lines, and raised or lowered parts.
//!
//! A label may hold `^{...}` (raised) and `_{...}` (lowered), as in `10^{3}` or `N_{c}`; anything else is taken as it
//! is. Widths are those of Arial, Helvetica and the bundled font, a little enlarged: a browser that has none of
//! them takes a wider font, and nothing may overlap there either.

/// Sizes of text in pixels.
pub(crate) mod size {
    pub const FIGURE_TITLE: f64 = 15.0;
    pub const TITLE: f64 = 13.0;
    pub const LABEL: f64 = 12.0;
    pub const SMALL: f64 = 11.0;
}

/// Raised and lowered parts are this much smaller.
pub(crate) const SMALLER: f64 = 0.72;
/// Room for fonts that are wider than ours.
const CAUTION: f64 = 1.08;
/// Bold against regular.
const BOLD: f64 = 1.07;

/// Widths of the characters from space to `~`, in thousandths of the size.
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
    556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
    500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469,
    556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
    278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// Where a part of a label stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Height {
    Line,
    Raised,
    Lowered,
}

/// The parts of a label.
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

/// Width of a label in pixels, rather too much than too little.
pub(crate) fn width(label: &str, size: f64, bold: bool) -> f64 {
    let mut sum = 0.0;
    for (part, height) in parts(label) {
        let scale = if height == Height::Line { 1.0 } else { SMALLER };
        sum += scale * part.chars().map(character_width).sum::<f64>();
    }
    sum * size * CAUTION * if bold { BOLD } else { 1.0 }
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

/// Breaks a label between words into lines no wider than `room`. A word that is wider keeps its line to itself.
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

/// A label without the marks of raised and lowered parts, for readers that are told rather than shown.
pub(crate) fn plain(label: &str) -> String {
    parts(label).into_iter().map(|(part, _)| part).collect()
}

/// Text that can stand in an attribute or an element: what XML reserves is escaped, what it forbids is left out.
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
    fn raised_and_lowered() {
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
    fn widths_are_those_of_arial_and_some() {
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
    fn escaped() {
        assert_eq!(escape("a < b & \"c\" > d\u{0}\u{1b}\n"), "a &lt; b &amp; &quot;c&quot; &gt; d ");
    }
}
