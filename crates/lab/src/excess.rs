//! Finds the size to reduce in a run that is too large, and a value that fits, for error messages.

use superpose_core::config::{Config, Settings};

/// The size that contributes most to an estimate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess {
    /// Its name.
    pub size: &'static str,
    /// Its value.
    pub value: usize,
    /// A value that fits with the other sizes unchanged, near the largest such value; absent if none was found.
    pub max: Option<usize>,
}

/// Accesses a size of the settings; `None` if they do not have it.
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
    /// Finds the size whose halving lowers the estimate most, of those that can be reduced far enough, and the largest value at which the estimate is at most `allowed`.
    /// Estimates are nearly but not exactly monotone, so the value found is checked.
    pub fn find(config: &Config, allowed: f64, estimate: impl Fn(&Config) -> f64) -> Excess {
        // None if the settings have no such size or the value is invalid beside the others.
        let with = |size: Size, value: usize| {
            let mut settings = (**config).clone();
            *size(&mut settings)? = value;
            settings.check().ok()
        };
        let halved = |(name, size): (&'static str, Size)| {
            let value = *size(&mut (**config).clone())?;
            let half = with(size, value / 2).map_or(f64::INFINITY, |half| estimate(&half));
            Some((name, size, value, half))
        };
        let mut sizes: Vec<_> = SIZES.into_iter().filter_map(halved).collect();
        sizes.sort_by(|a, b| a.3.total_cmp(&b.3));
        let mut found = sizes.into_iter().map(|(name, size, value, _)| {
            let (mut low, mut high) = (0, value);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                // An invalid value is too small for the other sizes, hence not too large.
                let fits = with(size, middle).is_none_or(|config| estimate(&config) <= allowed);
                if fits { low = middle } else { high = middle }
            }
            let fits = |value: &usize| with(size, *value).is_some_and(|config| estimate(&config) <= allowed);
            Excess { size: name, value, max: [two_digits(low), low].into_iter().find(fits) }
        });
        let largest = found.next().expect("every configuration has samples");
        // One repeat may already be too long: then another size is named, which can be reduced far enough.
        if largest.max.is_some() {
            largest
        } else {
            found.find(|other| other.max.is_some()).unwrap_or(largest)
        }
    }

    /// Returns an error message that names the size.
    pub fn message(&self, why: &str) -> String {
        let Excess { size, value, max } = self;
        let hint = max.map_or(String::new(), |max| format!("; {size} up to {max} would fit"));
        format!("{size} = {value}: {why}{hint}")
    }
}

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
    fn largest_contribution_is_named() {
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
            // The value named fits, and a slightly larger one does not.
            let (_, size) = SIZES.into_iter().find(|known| known.0 == name).unwrap();
            let at = |value: usize| {
                let mut settings = (*config).clone();
                *size(&mut settings).unwrap() = value;
                bytes(&settings.check().unwrap())
            };
            let max = excess.max.unwrap();
            assert!(at(max) <= 1e9 && at(max + max / 9 + 1) > 1e9, "{name} {max}");
        }
    }

    #[test]
    fn no_value_is_named_if_none_fits() {
        let embedding = EmbeddingSettings::Orthonormal;
        let settings = Settings { vocab: 19_000, dim: 20_000, embedding, ..Settings::default() };
        let excess = Excess::find(&settings.check().unwrap(), 1e6, bytes);
        assert_eq!(excess.max, None);
        assert!(excess.message("too much").ends_with("too much"), "{excess:?}");
    }

    #[test]
    fn time_estimates_work_too() {
        let settings = Settings { samples: 10_000_000, length: 100_000, ..Settings::default() };
        let seconds = |config: &Config| estimated_seconds(config, true);
        let excess = Excess::find(&settings.check().unwrap(), 60.0, seconds);
        assert!(["samples", "length"].contains(&excess.size));
        assert!(excess.message("x").contains(" up to "), "{excess:?}");
    }

    #[test]
    fn repeats_are_not_named_where_one_is_too_long() {
        let settings = Settings { samples: 2_000_000_000, repeats: 3, ..Settings::default() };
        let seconds = |config: &Config| estimated_seconds(&config.repeat(0), true) * config.repeats as f64;
        let config = settings.check().unwrap();
        assert!(seconds(&config.repeat(0)) > 60.0);
        let excess = Excess::find(&config, 60.0, seconds);
        assert!(excess.size == "samples" && excess.max.is_some(), "{excess:?}");
    }

    #[test]
    fn two_digits_are_rounded_down() {
        assert_eq!([0, 7, 99, 101, 1999].map(two_digits), [0, 7, 99, 100, 1900]);
    }
}
