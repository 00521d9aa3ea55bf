//! A small SVG writer.
//!
//! All numbers are finite and have at most two decimals, all text is escaped, and no element has an identifier, so that
//! several figures can be embedded in one page.

use std::fmt::Write;

use crate::place::Rect;
use crate::text::{self, Height};
use crate::theme::Palette;

/// Font families. Most machines have one of the first; PNG rendering uses the bundled "Figure Sans".
const FONTS: &str = "Helvetica, Arial, 'Liberation Sans', 'Figure Sans', sans-serif";

/// A point on the page, in pixels.
pub(crate) type Spot = (f64, f64);

/// Which end of a text is at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The style of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Type<'a> {
    pub size: f64,
    pub color: &'a str,
    pub anchor: Anchor,
    pub bold: bool,
    /// Whether the text is rotated to read upwards.
    pub upwards: bool,
    /// Colour of a rim that separates the text from what is drawn below it.
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
        let dashes = match self.dashes {
            "" => String::new(),
            dashes => format!(" stroke-dasharray=\"{dashes}\""),
        };
        format!("stroke=\"{}\" stroke-width=\"{}\"{dashes}", self.color, number(self.width))
    }
}

/// An SVG document under construction.
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

    fn element(&mut self, tag: &str, attributes: &str, draw: impl FnOnce(&mut Self)) {
        let _ = writeln!(self.out, "<{tag} {attributes}>");
        draw(self);
        let _ = writeln!(self.out, "</{tag}>");
    }

    /// Draws with the origin moved to a spot.
    pub fn moved(&mut self, (x, y): Spot, draw: impl FnOnce(&mut Self)) {
        self.element("g", &format!("transform=\"translate({} {})\"", number(x), number(y)), draw);
    }

    /// Draws a group with a class, by which a page finds its elements.
    pub fn group(&mut self, class: &str, draw: impl FnOnce(&mut Self)) {
        self.element("g", &format!("class=\"{class}\""), draw);
    }

    /// Draws with everything cut off outside a rectangle at the origin.
    pub fn cut(&mut self, width: f64, height: f64, draw: impl FnOnce(&mut Self)) {
        let (width, height) = (number(width), number(height));
        self.element("svg", &format!("width=\"{width}\" height=\"{height}\" overflow=\"hidden\""), draw);
    }

    /// Draws without antialiasing, so that neighbouring cells leave no seam.
    pub fn crisp(&mut self, draw: impl FnOnce(&mut Self)) {
        self.element("g", "shape-rendering=\"crispEdges\"", draw);
    }

    /// Ends a filled element with its outline.
    fn end(&mut self, stroke: Option<Stroke>) {
        let outline = stroke.map_or(String::new(), |stroke| format!(" {}", stroke.attributes()));
        let _ = writeln!(self.out, "{outline}/>");
    }

    pub fn rect(&mut self, (x, y): Spot, width: f64, height: f64, fill: &str, opacity: f64) {
        let (x, y, width, height) = (number(x), number(y), number(width.max(0.0)), number(height.max(0.0)));
        let place = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
        let _ = write!(self.out, "<rect {place} fill=\"{fill}\"");
        if opacity < 1.0 {
            let _ = write!(self.out, " fill-opacity=\"{}\"", number(opacity));
        }
        self.end(None);
    }

    /// Rectangles that are filled as one shape: where they meet or overlap, a fill that is not opaque has no seam.
    pub fn rects(&mut self, rects: impl Iterator<Item = Rect>, fill: &str, opacity: f64) {
        let _ = write!(self.out, "<path fill=\"{fill}\" fill-opacity=\"{}\" d=\"", number(opacity));
        for Rect { x, y, width, height } in rects {
            let (x, y, width, height) = (number(x), number(y), number(width), number(height));
            let _ = write!(self.out, "M{x} {y}h{width}v{height}h-{width}z");
        }
        self.out.push_str("\"/>\n");
    }

    pub fn line(&mut self, from: Spot, to: Spot, stroke: Stroke) {
        self.path(&[from, to], stroke);
    }

    /// A line with caps at both ends; `cap` is half of a cap.
    pub fn interval(&mut self, from: Spot, to: Spot, cap: (f64, f64), stroke: Stroke) {
        self.line(from, to, stroke);
        for (x, y) in [from, to] {
            self.line((x - cap.0, y - cap.1), (x + cap.0, y + cap.1), stroke);
        }
    }

    pub fn path(&mut self, spots: &[Spot], stroke: Stroke) {
        if spots.len() > 1 {
            let (data, style) = (outline(spots), stroke.attributes());
            let _ =
                writeln!(self.out, "<path d=\"{data}\" fill=\"none\" {style} stroke-linejoin=\"round\"/>");
        }
    }

    /// A filled polygon, with an outline if there is a stroke.
    pub fn shape(&mut self, spots: &[Spot], fill: &str, stroke: Option<Stroke>) {
        let _ = write!(self.out, "<path d=\"{}Z\" fill=\"{fill}\"", outline(spots));
        self.end(stroke);
    }

    pub fn circle(&mut self, (x, y): Spot, radius: f64, fill: &str, stroke: Option<Stroke>) {
        let (x, y, radius) = (number(x), number(y), number(radius));
        let _ = write!(self.out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{fill}\"");
        self.end(stroke);
    }

    /// A label with its baseline at the spot.
    pub fn text(&mut self, (x, y): Spot, label: &str, set: Type) {
        let (x, y) = (number(x), number(y));
        let place = match set.upwards {
            true => format!("transform=\"translate({x} {y}) rotate(-90)\""),
            false => format!("x=\"{x}\" y=\"{y}\""),
        };
        let anchor = match set.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let bold = if set.bold { " font-weight=\"bold\"" } else { "" };
        let (size, color) = (number(set.size), set.color);
        let _ = write!(self.out, "<text {place} font-size=\"{size}\" fill=\"{color}\"{anchor}{bold}");
        if let Some(rim) = set.rim {
            let _ = write!(self.out, " stroke=\"{rim}\" stroke-width=\"3\" stroke-linejoin=\"round\"");
            self.out.push_str(" paint-order=\"stroke\"");
        }
        self.out.push('>');
        let small = format!(" font-size=\"{}\"", number(set.size * text::SMALLER));
        let mut raised = 0.0;
        for (part, height) in text::parts(label) {
            let part = text::escape(part);
            let (shift, size) = match height {
                Height::Line => (0.0, ""),
                Height::Raised => (-0.36 * set.size, small.as_str()),
                Height::Lowered => (0.22 * set.size, small.as_str()),
            };
            if shift == raised && height == Height::Line {
                self.out.push_str(&part);
                continue;
            }
            let _ = write!(self.out, "<tspan dy=\"{}\"{size}>{part}</tspan>", number(shift - raised));
            raised = shift;
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

/// A coordinate with at most two decimals. Values that are not finite become 0; large ones are clamped.
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
        let numbers = [0.0, -0.001, 1.5, 10.0, 2.0 / 3.0, f64::NAN, f64::INFINITY, -1e300].map(number);
        assert_eq!(numbers, ["0", "0", "1.5", "10", "0.67", "0", "0", "-100000"]);
    }
}
