//! The range in which the formulas were validated by simulation, and their error there (theory: validation).

use superpose_core::config::Embedding;

use crate::attention::lock_rate;
use crate::critical::Parameter::{self, Dim, Length, Vocab, Width};
use crate::point::Point;

/// A validated range of sizes, with Gaussian embeddings.
#[derive(Clone, Copy, Debug)]
pub struct Checked {
    /// The range in words.
    pub words: &'static str,
    /// Rms error of three-step accuracy in the range, without seed noise, where the memory limits recall.
    pub error: f64,
    /// The same where attention limits it: with a lock rate below 0.95.
    pub loose_error: f64,
    /// Smallest and largest value of every size.
    ranges: &'static [(Parameter, f64, f64)],
}

/// From this lock rate on the memory limits recall.
const LOCKED: f64 = 0.95;

const ATTENTION: Checked = Checked {
    words: "attention-only model, Gaussian embeddings, V 100 to 4,000, d 16 to 512, L 2 to 512",
    error: 0.006,
    loose_error: 0.016,
    ranges: &[(Vocab, 100.0, 4000.0), (Dim, 16.0, 512.0), (Length, 2.0, 512.0)],
};

const MLP: Checked = Checked {
    words: "attention-MLP model, Gaussian embeddings, V 100 to 1,000, d 16 to 128, L 2 to 128, m 64 to 2,048",
    error: 0.020,
    loose_error: 0.020,
    ranges: &[(Vocab, 100.0, 1000.0), (Dim, 16.0, 128.0), (Length, 2.0, 128.0), (Width, 64.0, 2048.0)],
};

/// The validated range of the model with or without an MLP.
pub fn checked(has_mlp: bool) -> Checked {
    if has_mlp { MLP } else { ATTENTION }
}

/// Expected rms error of the predicted accuracy at a point.
///
/// # Errors
/// Outside the validated range the error is unknown; the message names the values outside.
pub fn expected_error(point: &Point) -> Result<f64, String> {
    let checked = checked(point.width.is_some());
    let mut outside = Vec::new();
    if point.embedding != Embedding::Gaussian {
        outside.push(format!("{} embeddings", point.embedding));
    }
    for &(parameter, low, high) in checked.ranges {
        let value = parameter.of(point).unwrap_or(low);
        if !(low..=high).contains(&value) {
            outside.push(format!("{} = {value}", parameter.symbol()));
        }
    }
    if outside.is_empty() {
        let locked = lock_rate(point) >= LOCKED;
        return Ok(if locked { checked.error } else { checked.loose_error });
    }
    let verb = if outside.len() == 1 { "lies" } else { "lie" };
    Err(format!("extrapolated: {} {verb} outside what was checked ({})", outside.join(", "), checked.words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::gaussian;

    #[test]
    fn error_is_known_inside_the_validated_range_only() {
        assert_eq!(expected_error(&gaussian(512.0, 128.0, 16.0, 8192.0)), Ok(ATTENTION.error));
        assert_eq!(expected_error(&gaussian(300.0, 40.0, 60.0, 2000.0)), Ok(ATTENTION.loose_error));
        let text = expected_error(&gaussian(1e6, 128.0, 1e5, 1e12)).unwrap_err();
        assert!(text.starts_with("extrapolated: V = 1000000, L = 100000 lie outside"), "{text}");
        let mlp = Point { width: Some(99.0), ..gaussian(512.0, 128.0, 16.0, 8192.0) };
        assert_eq!(expected_error(&mlp), Ok(MLP.error));
        let wide = Point { width: Some(9999.0), ..mlp };
        assert!(expected_error(&wide).unwrap_err().contains("m = 9999 lies"));
    }
}
