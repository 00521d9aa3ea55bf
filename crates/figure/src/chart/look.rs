//! The look of series: colours, markers and dashes, assigned by name in the order of the series.

use super::{Chart, DASHES, Series};
use crate::legend::Paint;
use crate::theme::CATEGORIES;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Look {
    pub paint: Paint,
    /// Number of the marker.
    pub marker: usize,
    pub dashes: &'static str,
}

impl Chart {
    pub(super) fn looks(&self) -> Vec<Look> {
        // The name and the explicit colour of series that look alike.
        let mut slots: Vec<(&str, Option<Paint>)> = Vec::new();
        let mut of_series: Vec<usize> = Vec::new();
        for series in &self.series {
            let named = !series.name.is_empty();
            let same = slots.iter().position(|slot| named && slot.0 == series.name);
            let before = of_series.last().copied().filter(|_| !named);
            let slot = same.or(before).unwrap_or_else(|| {
                slots.push((&series.name, None));
                slots.len() - 1
            });
            // The explicit colour of an unnamed series applies to that series alone.
            if before.is_none() {
                slots[slot].1 = slots[slot].1.or(series.color);
            }
            of_series.push(slot);
        }
        let without_color = |slots: &[(&str, Option<Paint>)]| slots.iter().filter(|s| s.1.is_none()).count();
        let look = |(series, &marker): (&Series, &usize)| {
            let turn = without_color(&slots[..marker]);
            let paint = match series.color.or(slots[marker].1) {
                Some(paint) => paint,
                None if self.filled() => Paint::Ink,
                None if self.ordered => Paint::Step(turn, without_color(&slots)),
                None => Paint::Category(turn),
            };
            // Dashes distinguish lines that colours do not: lines over cells, and lines after the last colour.
            let round = match paint {
                Paint::Ink => turn,
                Paint::Category(index) => index / CATEGORIES,
                _ => 0,
            };
            Look { paint, marker, dashes: series.dashes.unwrap_or(DASHES[round % DASHES.len()]) }
        };
        self.series.iter().zip(&of_series).map(look).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Cell};

    fn chart() -> Chart {
        Chart::new("", Axis::linear(""), Axis::linear(""))
    }

    fn line(name: &str) -> Series {
        Series::line(name, [(0.0, 0.0), (1.0, 1.0)])
    }

    #[test]
    fn series_of_one_name_look_alike() {
        let looks = chart().with(line("a")).with(line("b")).with(line("a")).with(line("")).looks();
        assert_eq!(looks[0], looks[2]);
        assert_eq!(looks[0], looks[3]);
        assert_eq!(looks[1].paint, Paint::Category(1));
    }

    #[test]
    fn explicit_colours_are_not_counted() {
        let looks = chart().ordered().with(line("a").muted()).with(line("b")).with(line("c")).looks();
        assert_eq!([looks[1].paint, looks[2].paint], [Paint::Step(0, 2), Paint::Step(1, 2)]);
        let looks = chart().with(line("a")).with(line("").color(4)).with(line("a")).looks();
        let paints: Vec<Paint> = looks.iter().map(|look| look.paint).collect();
        assert_eq!(paints, [Paint::Category(0), Paint::Category(4), Paint::Category(0)]);
    }

    #[test]
    fn dashes_distinguish_repeated_colours() {
        let many = (0..9).fold(chart(), |chart, i| chart.with(line(&i.to_string())));
        assert_eq!([many.looks()[6].dashes, many.looks()[7].dashes], ["", "6 4"]);
        let over = chart().cells("", [Cell::new((0.0, 1.0), (0.0, 1.0), 0.5)]);
        let looks = over.with(line("a")).with(line("b")).with(line("c").dashed()).looks();
        assert_eq!([looks[0].dashes, looks[1].dashes, looks[2].dashes], ["", "6 4", "6 4"]);
        assert!(looks.iter().all(|look| look.paint == Paint::Ink));
    }
}
