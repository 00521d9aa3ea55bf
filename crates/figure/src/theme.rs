//! Colours. Categories are those of Okabe and Ito, which colour-blind readers tell apart, lightened on dark ground;
//! the sequential scale is viridis. Colour is never the only signal: markers and dashes differ with it.

/// Light for paper, dark for a dark page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark ink on white.
    #[default]
    Light,
    /// Light ink on near-black.
    Dark,
}

/// Colours of categories in a theme.
pub(crate) const CATEGORIES: usize = 7;

/// The colours of a theme.
pub(crate) struct Palette {
    pub background: &'static str,
    pub ink: &'static str,
    pub axis: &'static str,
    pub grid: &'static str,
    /// Cells without a value.
    pub missing: &'static str,
    pub categories: [&'static str; CATEGORIES],
    /// The part of the sequential scale that shows on this background.
    ramp: (f64, f64),
}

const LIGHT: Palette = Palette {
    background: "#ffffff",
    ink: "#1a1a1a",
    axis: "#4d4d4d",
    grid: "#ebebeb",
    missing: "#d9d9d9",
    categories: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#707070"],
    ramp: (0.0, 0.85),
};

const DARK: Palette = Palette {
    background: "#15181d",
    ink: "#e8e8e8",
    axis: "#a6abb3",
    grid: "#2a2f37",
    missing: "#3a3f47",
    categories: ["#56b4e9", "#f07f3c", "#2dbe94", "#de9bc1", "#f0b429", "#f0e442", "#b0b0b0"],
    ramp: (0.3, 1.0),
};

/// Viridis at equal steps from 0 to 1.
const VIRIDIS: [[u8; 3]; 11] = [
    [68, 1, 84],
    [72, 36, 117],
    [65, 68, 135],
    [53, 95, 141],
    [42, 120, 142],
    [33, 145, 140],
    [34, 168, 132],
    [68, 191, 112],
    [122, 209, 81],
    [189, 223, 38],
    [253, 231, 37],
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
    /// Colour of category `index`; after the last they begin again.
    pub fn category(&self, index: usize) -> &'static str {
        self.categories[index % CATEGORIES]
    }

    /// Colour of step `index` of `count` steps of one quantity.
    pub fn step(&self, index: usize, count: usize) -> String {
        let share = if count > 1 { index as f64 / (count - 1) as f64 } else { 0.0 };
        sequential(self.ramp.0 + (self.ramp.1 - self.ramp.0) * share)
    }
}

/// The sequential scale at a value from 0 to 1; values outside are taken as the nearer end.
pub(crate) fn sequential(value: f64) -> String {
    let last = VIRIDIS.len() - 1;
    let place = value.clamp(0.0, 1.0) * last as f64;
    let below = (place as usize).min(last - 1);
    let share = place - below as f64;
    let mix = |i: usize| {
        let (a, b) = (f64::from(VIRIDIS[below][i]), f64::from(VIRIDIS[below + 1][i]));
        (a + (b - a) * share).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_has_its_ends() {
        assert_eq!(sequential(-1.0), "#440154");
        assert_eq!(sequential(0.0), "#440154");
        assert_eq!(sequential(0.5), "#21918c");
        assert_eq!(sequential(1.0), "#fde725");
        assert_eq!(sequential(7.0), "#fde725");
    }

    #[test]
    fn steps_go_from_end_to_end() {
        let palette = Theme::Light.palette();
        assert_eq!(palette.step(0, 1), palette.step(0, 5));
        assert_eq!(palette.step(4, 5), sequential(0.85));
        assert_eq!(palette.category(7), palette.category(0));
    }
}
