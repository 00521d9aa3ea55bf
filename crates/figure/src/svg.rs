//! Writing SVG. Every number that is written is finite and short, every text is escaped, and no element has an
//! identifier, so that several figures can stand in one page.

use std::fmt::Write;

use crate::text::{self, Height};
use crate::theme::Palette;

/// Fonts by name, most machines having one of the first; the bundled one is what PNG figures find.
const FONTS: &str = "Helvetica, Arial, 'Liberation Sans', 'Figure Sans', sans-serif";

/// A point on the page, in pixels.
pub(crate) type Spot = (f64, f64);

/// Which end of a text stands at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Type<'a> {
    pub size: f64,
    pub color: &'a str,
    pub anchor: Anchor,
    pub bold: bool,
    /// Turned to read upwards.
    pub upwards: bool,
    /// A rim of this colour that sets it off from what lies below.
    pub rim: Option<&'a str>,
}

impl<'a> Type<'a> {
    pub fn new(size: f64, color: &'a str) -> Self {
        Self { size, color, anchor: Anchor::Start, bold: false, upwards: false, rim: None }
    }

    pub fn anchor(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stroke<'a> {
    pub color: &'a str,
    pub width: f64,
    /// Lengths of dash and gap; empty for a solid line.
    pub dashes: &'a str,
}

impl<'a> Stroke<'a> {
    pub fn new(color: &'a str, width: f64) -> Self {
        Self { color, width, dashes: "" }
    }

    fn attributes(&self) -> String {
        let mut text = format!("stroke=\"{}\" stroke-width=\"{}\"", self.color, number(self.width));
        if !self.dashes.is_empty() {
            let _ = write!(text, " stroke-dasharray=\"{}\"", self.dashes);
        }
        text
    }
}

/// A drawing that grows.
pub(crate) struct Svg {
    out: String,
}

impl Svg {
    pub fn new(width: f64, height: f64, palette: &Palette, title: &str) -> Self {
        let (width, height, title) = (number(width), number(height), text::escape(title));
        let out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\" font-family=\"{FONTS}\">\n<title>{title}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n",
            palette.background
        );
        Self { out }
    }

    pub fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }

    /// What `draw` draws, moved.
    pub fn moved(&mut self, (x, y): Spot, draw: impl FnOnce(&mut Self)) {
        let _ = writeln!(self.out, "<g transform=\"translate({} {})\">", number(x), number(y));
        draw(self);
        self.out.push_str("</g>\n");
    }

    /// What `draw` draws, cut off outside a rectangle at the origin.
    pub fn cut(&mut self, width: f64, height: f64, draw: impl FnOnce(&mut Self)) {
        let (width, height) = (number(width), number(height));
        let _ = writeln!(self.out, "<svg width=\"{width}\" height=\"{height}\" overflow=\"hidden\">");
        draw(self);
        self.out.push_str("</svg>\n");
    }

    /// What `draw` draws, without softened edges: neighbouring cells then leave no seam.
    pub fn crisp(&mut self, draw: impl FnOnce(&mut Self)) {
        self.out.push_str("<g shape-rendering=\"crispEdges\">\n");
        draw(self);
        self.out.push_str("</g>\n");
    }

    pub fn rect(&mut self, (x, y): Spot, width: f64, height: f64, fill: &str, opacity: f64) {
        let _ = write!(
            self.out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"",
            number(x),
            number(y),
            number(width.max(0.0)),
            number(height.max(0.0)),
        );
        if opacity < 1.0 {
            let _ = write!(self.out, " fill-opacity=\"{}\"", number(opacity));
        }
        self.out.push_str("/>\n");
    }

    pub fn line(&mut self, from: Spot, to: Spot, stroke: Stroke) {
        self.path(&[from, to], stroke);
    }

    pub fn path(&mut self, spots: &[Spot], stroke: Stroke) {
        if spots.len() > 1 {
            let data = outline(spots);
            let attributes = stroke.attributes();
            let _ = writeln!(
                self.out,
                "<path d=\"{data}\" fill=\"none\" {attributes} stroke-linejoin=\"round\"/>"
            );
        }
    }

    /// A closed shape, filled, with an outline if it has a stroke.
    pub fn shape(&mut self, spots: &[Spot], fill: &str, opacity: f64, stroke: Option<Stroke>) {
        if spots.len() > 2 {
            let data = outline(spots);
            let _ = write!(self.out, "<path d=\"{data}Z\" fill=\"{fill}\"");
            if opacity < 1.0 {
                let _ = write!(self.out, " fill-opacity=\"{}\"", number(opacity));
            }
            if let Some(stroke) = stroke {
                let _ = write!(self.out, " {}", stroke.attributes());
            }
            self.out.push_str("/>\n");
        }
    }

    pub fn circle(&mut self, (x, y): Spot, radius: f64, fill: &str, stroke: Option<Stroke>) {
        let (x, y, radius) = (number(x), number(y), number(radius));
        let _ = write!(self.out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{fill}\"");
        if let Some(stroke) = stroke {
            let _ = write!(self.out, " {}", stroke.attributes());
        }
        self.out.push_str("/>\n");
    }

    /// A label with its baseline at the spot.
    pub fn text(&mut self, (x, y): Spot, label: &str, set: Type) {
        let (x, y) = (number(x), number(y));
        let _ = write!(self.out, "<text ");
        let _ = match set.upwards {
            true => write!(self.out, "transform=\"translate({x} {y}) rotate(-90)\""),
            false => write!(self.out, "x=\"{x}\" y=\"{y}\""),
        };
        let _ = write!(self.out, " font-size=\"{}\" fill=\"{}\"", number(set.size), set.color);
        match set.anchor {
            Anchor::Start => {}
            Anchor::Middle => self.out.push_str(" text-anchor=\"middle\""),
            Anchor::End => self.out.push_str(" text-anchor=\"end\""),
        }
        if set.bold {
            self.out.push_str(" font-weight=\"bold\"");
        }
        if let Some(rim) = set.rim {
            let _ = write!(
                self.out,
                " stroke=\"{rim}\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\""
            );
        }
        self.out.push('>');
        let mut raised = 0.0;
        for (part, height) in text::parts(label) {
            let part = text::escape(part);
            let wanted = match height {
                Height::Line => 0.0,
                Height::Raised => -0.36 * set.size,
                Height::Lowered => 0.22 * set.size,
            };
            if wanted == raised && height == Height::Line {
                self.out.push_str(&part);
                continue;
            }
            let _ = write!(self.out, "<tspan dy=\"{}\"", number(wanted - raised));
            if height != Height::Line {
                let _ = write!(self.out, " font-size=\"{}\"", number(set.size * text::SMALLER));
            }
            let _ = write!(self.out, ">{part}</tspan>");
            raised = wanted;
        }
        self.out.push_str("</text>\n");
    }
}

fn outline(spots: &[Spot]) -> String {
    let mut data = String::with_capacity(12 * spots.len());
    for (i, &(x, y)) in spots.iter().enumerate() {
        let _ = write!(data, "{}{} {}", if i == 0 { "M" } else { "L" }, number(x), number(y));
    }
    data
}

/// A number with at most two decimals. What is not finite becomes 0; what is far off the page stays off it.
pub(crate) fn number(x: f64) -> String {
    let x = if x.is_finite() { x.clamp(-1e5, 1e5) } else { 0.0 };
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_finite_and_short() {
        for (x, text) in [
            (0.0, "0"),
            (-0.001, "0"),
            (1.5, "1.5"),
            (10.0, "10"),
            (2.0 / 3.0, "0.67"),
            (f64::NAN, "0"),
            (f64::INFINITY, "0"),
            (-1e300, "-100000"),
        ] {
            assert_eq!(number(x), text);
        }
    }
}
