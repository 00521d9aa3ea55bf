//! Publication-quality figures for the report, the commands and the web page.
//!
//! A [`Figure`] has panels side by side; a panel is a [`Chart`] with two axes (points with intervals, lines, heat maps,
//! regions) or [`Bars`]. [`Figure::svg`] returns text, [`Figure::png`] bytes. The crate reads and writes no files
//! and does not know what the numbers mean.
//!
//! - Measured values are points with intervals, predicted values are lines.
//! - Labels cover no data, ticks are round and do not overlap, and nothing is cut off.
//! - Colours are suitable for colour-blind readers, in a light and a dark theme.
//! - Equal data give equal bytes. Values that are not finite are left out; a panel without finite values shows "no data".
//!
//! A figure serialises to its data, so that another library can draw it. Labels may contain superscripts `^{...}` and subscripts `_{...}`, as in `"N d^{2}"`.

mod bars;
mod chart;
mod figure;
mod frame;
mod legend;
mod place;
mod png;
mod scale;
mod svg;
mod text;
mod theme;
mod ticks;

pub use bars::{Bar, Bars};
pub use chart::{Cell, Chart, Point, Region, Series};
pub use figure::{Figure, Panel};
pub use png::PngError;
pub use scale::Axis;
pub use theme::Theme;
