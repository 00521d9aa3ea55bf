//! Figures as in a good paper, for the report, the commands and the page.
//!
//! A [`Figure`] is panels side by side; a panel is a [`Chart`] in two axes (points with intervals, lines, bands, heat
//! maps, regions) or [`Bars`]. [`Figure::svg`] gives text, [`Figure::png`] bytes; nothing here reads or writes
//! files, or knows what the numbers mean.
//!
//! - Measured values are points with their intervals, predicted ones lines.
//! - Words cover no data, ticks are round and never crowded, and nothing is cut off.
//! - Colours are safe for colour-blind readers, light and dark.
//! - The same data give the same bytes. Values that are not finite are left out; a panel without any says "no data".
//!
//! Labels may hold `^{...}` and `_{...}` for what is raised and lowered: `"N d^{2}"`.

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
