//! The colours of a figure.
//!
//! Categories have the colours of Okabe and Ito, which colour-blind readers can distinguish, lightened for the dark theme.
//! The sequential scale is that of the web page's map (`crates/web/page/js/colour.js`): even steps in lightness from the background
//! to deep blue, or to pale yellow in the dark. Colour is never the only difference between series: markers and dashes differ too.

/// The colour theme of a figure: light for paper, dark for a dark page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark ink on white.
    #[default]
    Light,
    /// Light ink on near-black.
    Dark,
}

pub(crate) const CATEGORIES: usize = 7;

pub(crate) struct Palette {
    pub background: &'static str,
    pub ink: &'static str,
    pub axis: &'static str,
    pub grid: &'static str,
    /// Colour of cells without a value.
    pub missing: &'static str,
    pub categories: [&'static str; CATEGORIES],
    scale: Scale,
    /// The part of the sequential scale that is visible on this background.
    ramp: (f64, f64),
}

const LIGHT: Palette = Palette {
    background: "#ffffff",
    ink: "#1a1a1a",
    axis: "#4d4d4d",
    grid: "#ebebeb",
    missing: "#d9d9d9",
    categories: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#707070"],
    scale: TO_BLUE,
    ramp: (0.52, 1.0),
};

const DARK: Palette = Palette {
    background: "#15181d",
    ink: "#e8e8e8",
    axis: "#a6abb3",
    grid: "#2a2f37",
    missing: "#3a3f47",
    categories: ["#56b4e9", "#f07f3c", "#2dbe94", "#de9bc1", "#f0b429", "#f0e442", "#b0b0b0"],
    scale: TO_YELLOW,
    ramp: (0.5, 1.0),
};

/// The sequential scale at equal steps from 0 to 1.
type Scale = [u32; 11];

const TO_BLUE: Scale = [
    0xf3f0e7, 0xd2e7d9, 0xb2decb, 0x8cccc5, 0x64b9be, 0x4e9bb4, 0x397faa, 0x326699, 0x2b4e89, 0x293c72,
    0x252a5c,
];

const TO_YELLOW: Scale = [
    0x191e27, 0x1f2c41, 0x24395b, 0x254e70, 0x236384, 0x2c7e8f, 0x379899, 0x69b198, 0x92ca93, 0xc8dd9b,
    0xfaf0a3,
];

impl Theme {
    pub(crate) fn palette(self) -> &'static Palette {
        match self {
            Theme::Light => &LIGHT,
            Theme::Dark => &DARK,
        }
    }
}

impl Palette {
    /// Colour of category `index`, modulo the number of colours.
    pub fn category(&self, index: usize) -> &'static str {
        self.categories[index % CATEGORIES]
    }

    /// Colour of step `index` out of `count` steps of one quantity.
    pub fn step(&self, index: usize, count: usize) -> String {
        let share = if count > 1 { index as f64 / (count - 1) as f64 } else { 0.0 };
        self.sequential(self.ramp.0 + (self.ramp.1 - self.ramp.0) * share)
    }

    /// The colour of a value on the sequential scale; values are clamped to 0..=1.
    pub fn sequential(&self, value: f64) -> String {
        let last = self.scale.len() - 1;
        let place = value.clamp(0.0, 1.0) * last as f64;
        let below = (place as usize).min(last - 1);
        let share = place - below as f64;
        let mix = |byte: usize| {
            let [a, b] = [below, below + 1].map(|i| f64::from(self.scale[i].to_be_bytes()[byte]));
            (a + (b - a) * share).round() as u8
        };
        format!("#{:02x}{:02x}{:02x}", mix(1), mix(2), mix(3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequential_scale_is_clamped() {
        let palette = Theme::Light.palette();
        let colours = [-1.0, 0.0, 0.5, 1.0, 7.0].map(|value| palette.sequential(value));
        assert_eq!(colours, ["#f3f0e7", "#f3f0e7", "#4e9bb4", "#252a5c", "#252a5c"]);
        assert_eq!(Theme::Dark.palette().sequential(1.0), "#faf0a3");
    }

    #[test]
    fn steps_span_the_ramp() {
        let palette = Theme::Light.palette();
        assert_eq!(palette.step(0, 1), palette.step(0, 5));
        assert_eq!(palette.step(4, 5), palette.sequential(1.0));
        assert_eq!(palette.category(7), palette.category(0));
    }

    /// Relative luminance of a colour, as WCAG defines it.
    fn luminance(colour: &str) -> f64 {
        let channel = |i: usize| {
            let value = f64::from(u8::from_str_radix(&colour[i..i + 2], 16).unwrap()) / 255.0;
            if value <= 0.03928 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    #[test]
    fn steps_stand_out_from_the_background() {
        for theme in [Theme::Light, Theme::Dark] {
            let palette = theme.palette();
            for index in 0..5 {
                let mut pair = [luminance(&palette.step(index, 5)), luminance(palette.background)];
                pair.sort_by(f64::total_cmp);
                let contrast = (pair[1] + 0.05) / (pair[0] + 0.05);
                assert!(contrast >= 3.0, "{theme:?}, step {index}: contrast {contrast:.2}");
            }
        }
    }
}
