//! The ranges in which the formulas were validated by simulation, and their error there (theory: validation).

use superpose_core::config::{Embedding, Trigger};

use crate::attention::lock_rate;
use crate::critical::Parameter::{self, Dim, Length, Vocab, Width};
use crate::point::{Point, Zipf};
use crate::recall::MIN_TIGHT_LEAD;
use crate::words::grouped;

/// The ranges in which the formulas of a model were validated.
#[derive(Clone, Copy, Debug)]
struct Checked {
    /// The model in words.
    model: &'static str,
    ranges: &'static [Validated],
}

/// A validated range of sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Validated {
    /// Rms error of three-step accuracy in the range, without seed noise, with a lock rate of at least 0.95.
    error: f64,
    /// The same with a lower lock rate.
    loose_error: f64,
    /// The trigger that it is for; absent: both.
    trigger: Option<Trigger>,
    /// Smallest and largest value of every size.
    sizes: &'static [(Parameter, f64, f64)],
}

/// The lock rate at which the validation divides its cells.
const LOCKED: f64 = 0.95;

const ATTENTION: Checked = Checked {
    model: "attention-only model, Gaussian embeddings",
    ranges: &[
        // `docs/validation/crossing.csv` and `crossing_shared_seeds.csv` together.
        Validated {
            error: 0.004,
            loose_error: 0.009,
            trigger: Some(Trigger::Keys),
            sizes: &[(Vocab, 100.0, 4000.0), (Dim, 40.0, 512.0), (Length, 2.0, 512.0)],
        },
        Validated {
            error: 0.010,
            loose_error: 0.024,
            trigger: Some(Trigger::Values),
            sizes: &[(Vocab, 100.0, 4000.0), (Dim, 40.0, 512.0), (Length, 2.0, 512.0)],
        },
        // `docs/validation/middle.csv`.
        Validated {
            error: 0.005,
            loose_error: 0.020,
            trigger: Some(Trigger::Keys),
            sizes: &[(Vocab, 4000.0, 20_000.0), (Dim, 256.0, 1024.0), (Length, 4.0, 256.0)],
        },
        // `docs/validation/large.csv`.
        Validated {
            error: 0.005,
            loose_error: 0.020,
            trigger: Some(Trigger::Keys),
            sizes: &[(Vocab, 20_000.0, 1e6), (Dim, 512.0, 8192.0), (Length, 16.0, 4096.0)],
        },
        // Both of these files.
        Validated {
            error: LARGE_ERROR,
            loose_error: LARGE_ERROR,
            trigger: Some(Trigger::Values),
            sizes: &[(Vocab, 4000.0, 100_000.0), (Dim, 512.0, 8192.0), (Length, 4.0, 4096.0)],
        },
    ],
};

/// Rms error of the attention-only cells of `docs/validation/large.csv` with the trigger in the values, seed noise subtracted.
const LARGE_ERROR: f64 = 0.016;

const MLP: Checked = Checked {
    model: "attention-MLP model, Gaussian embeddings",
    ranges: &[
        // `docs/validation/mlp.csv`.
        Validated {
            error: 0.017,
            loose_error: 0.017,
            trigger: Some(Trigger::Keys),
            sizes: &[(Vocab, 100.0, 1000.0), (Dim, 16.0, 128.0), (Length, 2.0, 128.0), (Width, 64.0, 2048.0)],
        },
        Validated {
            error: 0.045,
            loose_error: 0.045,
            trigger: Some(Trigger::Values),
            sizes: &[(Vocab, 100.0, 210.0), (Dim, 40.0, 128.0), (Length, 2.0, 128.0), (Width, 64.0, 2048.0)],
        },
        // `docs/validation/middle_mlp.csv`, and `large.csv` for the largest sizes.
        Validated {
            error: 0.015,
            loose_error: 0.046,
            trigger: Some(Trigger::Keys),
            sizes: &[
                (Vocab, 1000.0, 20_000.0),
                (Dim, 64.0, 1024.0),
                (Length, 4.0, 64.0),
                (Width, 512.0, 8192.0),
            ],
        },
    ],
};

/// Tokens by Zipf's law.
const ZIPF: Checked = Checked {
    model: "attention-only model, Gaussian embeddings, tokens and facts with one exponent of Zipf's law from 0.3 to 2, N 0.4 V to 100 V",
    ranges: &[Validated {
        error: ZIPF_ERROR,
        loose_error: ZIPF_ERROR,
        trigger: None,
        sizes: &[(Vocab, 129.0, 1425.0), (Dim, 24.0, 400.0), (Length, 3.0, 128.0)],
    }],
};

/// Rms error of the cells of `docs/validation/zipf.csv`.
const ZIPF_ERROR: f64 = 0.01;

/// Input embeddings of the caller: the errors of `docs/validation/rows.csv`, with seed noise.
const ROWS: Checked = Checked {
    model: "attention-only model, 240 matrices with spectra of power laws, shared means and near-duplicates, N from V to 100 V",
    ranges: &[Validated {
        error: 0.025,
        loose_error: 0.057,
        trigger: None,
        sizes: &[(Vocab, 60.0, 800.0), (Dim, 32.0, 384.0), (Length, 4.0, 32.0)],
    }],
};

impl Checked {
    /// Where the formulas that hold at a point were validated.
    fn at(point: &Point) -> Checked {
        match (point.rows, point.zipf.is_uniform(), point.width) {
            (Some(_), ..) => ROWS,
            (None, false, _) => ZIPF,
            (None, true, None) => ATTENTION,
            (None, true, Some(_)) => MLP,
        }
    }

    /// The ranges for the trigger of a point.
    fn ranges(self, point: &Point) -> impl Iterator<Item = &'static Validated> {
        let trigger = point.trigger;
        self.ranges.iter().filter(move |range| range.trigger.is_none_or(|only| only == trigger))
    }
}

impl Validated {
    /// Expected rms error of the predicted accuracy at a point of the range.
    fn error(&self, point: &Point) -> f64 {
        let tight = !point.zipf.is_uniform() || lock_rate(point) >= LOCKED;
        if tight { self.error } else { self.loose_error }
    }

    /// The sizes of the range, such as `V 100 to 4,000, d 40 to 512`.
    pub fn sizes(&self) -> String {
        let size = |&(parameter, low, high): &(Parameter, f64, f64)| {
            format!("{} {} to {}", parameter.symbol(), grouped(low), grouped(high))
        };
        self.sizes.iter().map(size).collect::<Vec<_>>().join(", ")
    }

    /// The values of a point that are outside, in words.
    fn outside(&self, point: &Point) -> Vec<String> {
        let sizes = self.sizes.iter().filter_map(|&(parameter, low, high)| {
            let value = parameter.of(point).unwrap_or(low);
            (!(low..=high).contains(&value)).then(|| format!("{} = {value}", parameter.symbol()))
        });
        let given = point.rows.is_some();
        let kind = (point.embedding != Embedding::Gaussian && !given)
            .then(|| format!("{} embeddings", point.embedding));
        let lead = (point.lead < MIN_TIGHT_LEAD).then(|| format!("lead = {}", point.lead));
        let samples = match (given, point.zipf.is_uniform()) {
            (true, _) => !(1.0..=100.0).contains(&point.coverage()),
            (false, uniform) => !uniform && !(0.4..=100.0).contains(&point.coverage()),
        };
        let samples = samples.then(|| format!("N = {}", point.samples));
        kind.into_iter().chain(sizes).chain(lead).chain(samples).chain(exponent(point)).collect()
    }
}

/// Where the formulas that hold at a point were checked by simulation: up to which sizes, the model, and all ranges.
pub fn checked_words(point: &Point) -> String {
    let checked = Checked::at(point);
    let ranges: Vec<&Validated> = checked.ranges(point).collect();
    let mut largest: Vec<(Parameter, f64)> = Vec::new();
    for &(parameter, _, high) in ranges.iter().flat_map(|range| range.sizes) {
        match largest.iter_mut().find(|(known, _)| *known == parameter) {
            Some((_, most)) => *most = most.max(high),
            None => largest.push((parameter, high)),
        }
    }
    let up_to: Vec<String> = largest
        .iter()
        .map(|(parameter, high)| format!("{} = {}", parameter.symbol(), grouped(*high)))
        .collect();
    let sizes: Vec<String> = ranges.iter().map(|range| range.sizes()).collect();
    format!("checked up to {} ({}: {})", up_to.join(", "), checked.model, sizes.join("; "))
}

/// The first validated range that holds a point.
///
/// # Errors
/// There is none; the message names the values outside the nearest one.
pub fn validated(point: &Point) -> Result<&'static Validated, String> {
    let mut nearest: Option<Vec<String>> = None;
    for range in Checked::at(point).ranges(point) {
        let outside = range.outside(point);
        if outside.is_empty() {
            return Ok(range);
        }
        if nearest.as_ref().is_none_or(|nearest| outside.len() < nearest.len()) {
            nearest = Some(outside);
        }
    }
    let outside = nearest.unwrap_or_default();
    let verb = if outside.len() == 1 && !outside[0].starts_with("exponents") { "lies" } else { "lie" };
    let outside = outside.join(", ");
    Err(format!("extrapolated: {outside} {verb} outside the ranges; {}", checked_words(point)))
}

/// Expected rms error of the predicted accuracy at a point.
///
/// # Errors
/// Outside the validated ranges the error is unknown; the message names the values outside the nearest one.
pub fn expected_error(point: &Point) -> Result<f64, String> {
    validated(point).map(|range| range.error(point))
}

/// An exponent of Zipf's law outside the validated range, in words.
fn exponent(point: &Point) -> Option<String> {
    let Zipf { facts, noise } = point.zipf;
    let validated = point.zipf.is_uniform() || (facts == noise && (0.3..=2.0).contains(&facts));
    (!validated).then(|| format!("exponents {facts} and {noise}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::gaussian;

    #[test]
    fn error_is_known_inside_the_validated_ranges_only() {
        let values = |vocab, dim, length, samples| Point {
            trigger: Trigger::Values,
            ..gaussian(vocab, dim, length, samples)
        };
        assert_eq!(expected_error(&gaussian(512.0, 128.0, 16.0, 8192.0)), Ok(0.004));
        assert_eq!(expected_error(&values(512.0, 128.0, 16.0, 8192.0)), Ok(0.010));
        assert_eq!(expected_error(&gaussian(300.0, 40.0, 60.0, 2000.0)), Ok(0.009));
        assert_eq!(expected_error(&values(1e5, 2048.0, 64.0, 1e6)), Ok(LARGE_ERROR));
        assert_eq!(expected_error(&gaussian(1e6, 6144.0, 16.0, 3e6)), Ok(0.005));
        assert_eq!(expected_error(&gaussian(1e4, 600.0, 16.0, 1e5)), Ok(0.005));
        let soft = Point { lead: 1.0, ..gaussian(512.0, 128.0, 16.0, 8192.0) };
        assert!(expected_error(&soft).unwrap_err().starts_with("extrapolated: lead = 1 lies"));
        let text = expected_error(&gaussian(1e6, 128.0, 1e5, 1e12)).unwrap_err();
        let expected = "extrapolated: V = 1000000, L = 100000 lie outside the ranges; checked up to V = 1,000,000, d = 8,192, L = 4,096 (attention-only model, Gaussian embeddings: V 100 to 4,000, d 40 to 512, L 2 to 512; V 4,000";
        assert!(text.starts_with(expected), "{text}");
        // With the trigger in the values, sizes were checked up to 100,000 facts.
        let text = expected_error(&values(1e6, 6144.0, 16.0, 1e9)).unwrap_err();
        assert!(
            text.starts_with("extrapolated: V = 1000000 lies outside the ranges; checked up to V = 100,000,"),
            "{text}"
        );
        let mlp = Point { width: Some(99.0), ..gaussian(512.0, 128.0, 16.0, 8192.0) };
        assert_eq!(expected_error(&mlp), Ok(0.017));
        let given = Point { rows: Some(crate::rows::random(128.0)), ..gaussian(512.0, 128.0, 16.0, 8192.0) };
        assert_eq!(expected_error(&given), Ok(0.025));
        let text = expected_error(&Point { samples: 1e6, ..given }).unwrap_err();
        assert!(text.starts_with("extrapolated: N = 1000000 lies outside"), "{text}");
        let zipf =
            |facts, noise| Point { zipf: Zipf { facts, noise }, ..gaussian(512.0, 128.0, 16.0, 8192.0) };
        assert_eq!(expected_error(&zipf(1.0, 1.0)), Ok(ZIPF_ERROR));
        assert!(
            expected_error(&zipf(3.0, 3.0)).unwrap_err().starts_with("extrapolated: exponents 3 and 3 lie")
        );
        let wide = Point { width: Some(9999.0), ..mlp };
        assert!(expected_error(&wide).unwrap_err().contains("m = 9999 lies"));
        let large = Point { width: Some(4096.0), ..gaussian(1e4, 512.0, 16.0, 1e5) };
        assert_eq!(expected_error(&large), Ok(0.015));
        assert!(expected_error(&Point { trigger: Trigger::Values, ..large }).is_err());
    }
}
