//! Which size makes a run too large: for refusals that say what to change, and to what.

use superpose_core::config::{Config, Settings};

/// The size that an estimate owes most to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess {
    /// Its name.
    pub size: &'static str,
    /// Its value.
    pub value: usize,
    /// A value that would do with the others as they are, near the largest; absent where none was found.
    pub most: Option<usize>,
}

/// A size of the settings, where they have it.
type Size = fn(&mut Settings) -> Option<&mut usize>;

const SIZES: [(&str, Size); 8] = [
    ("samples", |settings| Some(&mut settings.samples)),
    ("vocab", |settings| Some(&mut settings.vocab)),
    ("dim", |settings| Some(&mut settings.dim)),
    ("width", |settings| settings.width.as_mut()),
    ("length", |settings| Some(&mut settings.length)),
    ("noise_vocab", |settings| settings.noise_vocab.as_mut()),
    ("test_samples", |settings| Some(&mut settings.test_samples)),
    ("repeats", |settings| Some(&mut settings.repeats)),
];

impl Excess {
    /// Finds it: half of which size lowers the estimate most, and how large it may be for the estimate to be `allowed`. Estimates grow
    /// with every size but for their blocks, so what is found is tried.
    pub fn find(config: &Config, allowed: f64, estimate: impl Fn(&Config) -> f64) -> Excess {
        // None where the settings have no such size, or the others do not bear the value.
        let with = |size: Size, value: usize| {
            let mut settings = (**config).clone();
            *size(&mut settings)? = value;
            settings.check().ok()
        };
        let (name, size, value, _) = SIZES
            .into_iter()
            .filter_map(|(name, size)| Some((name, size, *size(&mut (**config).clone())?)))
            .map(|(name, size, value)| {
                let half = with(size, value / 2).map_or(f64::INFINITY, |half| estimate(&half));
                (name, size, value, half)
            })
            .min_by(|a, b| a.3.total_cmp(&b.3))
            .unwrap_or(("samples", SIZES[0].1, config.samples, f64::INFINITY));
        let (mut low, mut high) = (0, value);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            // One that is too small for the others is not too large.
            let fits = with(size, middle).is_none_or(|config| estimate(&config) <= allowed);
            if fits { low = middle } else { high = middle }
        }
        let fits = |value: &usize| with(size, *value).is_some_and(|config| estimate(&config) <= allowed);
        Excess { size: name, value, most: [two_digits(low), low].into_iter().find(fits) }
    }

    /// A refusal that names it.
    pub fn refusal(&self, why: &str) -> String {
        let Excess { size, value, most } = self;
        let most = most.map_or(String::new(), |most| format!("; {size} up to {most} would do"));
        format!("{size} = {value}: {why}{most}")
    }
}

/// The number rounded down to two digits.
fn two_digits(x: usize) -> usize {
    let unit = 10_usize.pow(x.checked_ilog10().unwrap_or(0).saturating_sub(1));
    x / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::estimated_seconds;
    use crate::memory::run_bytes;
    use superpose_core::config::EmbeddingSettings;

    fn bytes(config: &Config) -> f64 {
        run_bytes(config, 2, false, false)
    }

    #[test]
    fn the_size_that_takes_most_is_named() {
        let usual = Settings::default();
        for (settings, name) in [
            (Settings { samples: 2_000_000_000, ..usual.clone() }, "samples"),
            (Settings { test_samples: 1_000_000_000, ..usual.clone() }, "test_samples"),
            (Settings { vocab: 50_000_000, ..usual.clone() }, "vocab"),
            (Settings { noise_vocab: Some(50_000_000), ..usual.clone() }, "noise_vocab"),
            (Settings { dim: 20_000, ..usual.clone() }, "dim"),
            (Settings { width: Some(10_000_000), ..usual.clone() }, "width"),
            (Settings { length: 500_000_000, ..usual.clone() }, "length"),
        ] {
            let config = settings.check().unwrap();
            let excess = Excess::find(&config, 1e9, bytes);
            assert_eq!(excess.size, name);
            // With what is named as allowed it fits, and with little more it does not.
            let (_, size) = SIZES.into_iter().find(|known| known.0 == name).unwrap();
            let at = |value: usize| {
                let mut settings = (*config).clone();
                *size(&mut settings).unwrap() = value;
                bytes(&settings.check().unwrap())
            };
            let most = excess.most.unwrap();
            assert!(at(most) <= 1e9 && at(most + most / 9 + 1) > 1e9, "{name} {most}");
        }
    }

    #[test]
    fn what_does_not_bear_the_change_has_no_value_that_would_do() {
        let settings = Settings {
            vocab: 19_000,
            dim: 20_000,
            embedding: EmbeddingSettings::Orthonormal,
            ..Settings::default()
        };
        let excess = Excess::find(&settings.check().unwrap(), 1e6, bytes);
        assert_eq!(excess.most, None);
        assert!(excess.refusal("too much").ends_with("too much"), "{excess:?}");
    }

    #[test]
    fn also_of_time() {
        let config =
            Settings { samples: 10_000_000, length: 100_000, ..Settings::default() }.check().unwrap();
        let excess = Excess::find(&config, 60.0, |config| estimated_seconds(config, true));
        assert!(["samples", "length"].contains(&excess.size));
        assert!(excess.refusal("x").contains(" up to "), "{excess:?}");
    }

    #[test]
    fn two_digits_are_rounded_down() {
        assert_eq!([0, 7, 99, 101, 1999].map(two_digits), [0, 7, 99, 100, 1900]);
    }
}
