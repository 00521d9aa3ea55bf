//! The ranges in which the formulas were validated by simulation, and their error there (theory: validation).

use superpose_core::config::Embedding;

use crate::attention::lock_rate;
use crate::critical::Parameter::{self, Dim, Length, Vocab, Width};
use crate::point::{Point, Zipf};
use crate::recall::MIN_TIGHT_LEAD;

/// Where the formulas of a model were validated, with Gaussian embeddings.
#[derive(Clone, Copy, Debug)]
pub struct Checked {
    /// The ranges in words.
    pub words: &'static str,
    ranges: &'static [Validated],
}

/// A validated range of sizes.
#[derive(Clone, Copy, Debug)]
struct Validated {
    /// Rms error of three-step accuracy in the range, without seed noise, with a lock rate of at least 0.95.
    error: f64,
    /// The same with a lower lock rate.
    loose_error: f64,
    /// Smallest and largest value of every size.
    sizes: &'static [(Parameter, f64, f64)],
}

/// The lock rate at which the validation divides its cells.
const LOCKED: f64 = 0.95;

const ATTENTION: Checked = Checked {
    words: "attention-only model, Gaussian embeddings, V 100 to 4,000, d 16 to 512, L 2 to 512; at fewer points V 20,000 to 1,000,000, d 512 to 8,192, L 4 to 4,096",
    ranges: &[
        Validated {
            error: 0.006,
            loose_error: 0.016,
            sizes: &[(Vocab, 100.0, 4000.0), (Dim, 16.0, 512.0), (Length, 2.0, 512.0)],
        },
        Validated {
            error: LARGE_ERROR,
            loose_error: LARGE_ERROR,
            sizes: &[(Vocab, 20_000.0, 1e6), (Dim, 512.0, 8192.0), (Length, 4.0, 4096.0)],
        },
    ],
};

/// Rms error of the attention-only cells of `docs/validation/large.csv` with the trigger in the values.
const LARGE_ERROR: f64 = 0.020;

const MLP: Checked = Checked {
    words: "attention-MLP model, Gaussian embeddings, V 100 to 1,000, d 16 to 128, L 2 to 128, m 64 to 2,048",
    ranges: &[Validated {
        error: 0.020,
        loose_error: 0.020,
        sizes: &[(Vocab, 100.0, 1000.0), (Dim, 16.0, 128.0), (Length, 2.0, 128.0), (Width, 64.0, 2048.0)],
    }],
};

/// Tokens by Zipf's law.
const ZIPF: Checked = Checked {
    words: "attention-only model, Gaussian embeddings, tokens and facts with one exponent of Zipf's law from 0.3 to 2, V 129 to 1,425, d 24 to 400, L 3 to 128, N 0.4 V to 100 V",
    ranges: &[Validated {
        error: ZIPF_ERROR,
        loose_error: ZIPF_ERROR,
        sizes: &[(Vocab, 129.0, 1425.0), (Dim, 24.0, 400.0), (Length, 3.0, 128.0)],
    }],
};

/// Rms error of the cells of `docs/validation/zipf.csv`.
const ZIPF_ERROR: f64 = 0.01;

/// Input embeddings of the caller: the errors of `docs/validation/rows.csv`.
const ROWS: Checked = Checked {
    words: "attention-only model, 60 matrices with spectra of power laws, shared means and near-duplicates, V 60 to 800, d 32 to 384, L 4 to 32, N from V to 100 V",
    ranges: &[Validated {
        error: 0.025,
        loose_error: 0.042,
        sizes: &[(Vocab, 60.0, 800.0), (Dim, 32.0, 384.0), (Length, 4.0, 32.0)],
    }],
};

/// Where the model with or without an MLP was validated with random embeddings.
pub fn checked(has_mlp: bool) -> Checked {
    if has_mlp { MLP } else { ATTENTION }
}

/// Where the formulas that hold at a point were validated.
pub fn checked_at(point: &Point) -> Checked {
    match (point.rows, point.zipf.is_uniform()) {
        (Some(_), _) => ROWS,
        (None, true) => checked(point.width.is_some()),
        (None, false) => ZIPF,
    }
}

/// Expected rms error of the predicted accuracy at a point.
///
/// # Errors
/// Outside the validated ranges the error is unknown; the message names the values outside the nearest one.
pub fn expected_error(point: &Point) -> Result<f64, String> {
    let checked = checked_at(point);
    let outside = |range: &Validated| -> Vec<String> {
        let sizes = range.sizes.iter().filter_map(|&(parameter, low, high)| {
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
    };
    let mut nearest: Option<Vec<String>> = None;
    for range in checked.ranges {
        let outside = outside(range);
        if outside.is_empty() {
            let tight = !point.zipf.is_uniform() || lock_rate(point) >= LOCKED;
            return Ok(if tight { range.error } else { range.loose_error });
        }
        if nearest.as_ref().is_none_or(|nearest| outside.len() < nearest.len()) {
            nearest = Some(outside);
        }
    }
    let outside = nearest.unwrap_or_default();
    let verb = if outside.len() == 1 && !outside[0].starts_with("exponents") { "lies" } else { "lie" };
    Err(format!("extrapolated: {} {verb} outside what was checked ({})", outside.join(", "), checked.words))
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
        assert_eq!(expected_error(&gaussian(512.0, 128.0, 16.0, 8192.0)), Ok(0.006));
        assert_eq!(expected_error(&gaussian(300.0, 40.0, 60.0, 2000.0)), Ok(0.016));
        assert_eq!(expected_error(&gaussian(1e5, 2048.0, 64.0, 1e6)), Ok(LARGE_ERROR));
        let soft = Point { lead: 1.0, ..gaussian(512.0, 128.0, 16.0, 8192.0) };
        assert!(expected_error(&soft).unwrap_err().starts_with("extrapolated: lead = 1 lies"));
        let text = expected_error(&gaussian(1e6, 128.0, 1e5, 1e12)).unwrap_err();
        assert!(text.starts_with("extrapolated: V = 1000000, L = 100000 lie outside"), "{text}");
        let text = expected_error(&gaussian(1e4, 600.0, 16.0, 1e5)).unwrap_err();
        assert!(text.starts_with("extrapolated: V = 10000 lies outside"), "{text}");
        let mlp = Point { width: Some(99.0), ..gaussian(512.0, 128.0, 16.0, 8192.0) };
        assert_eq!(expected_error(&mlp), Ok(0.020));
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
    }
}
