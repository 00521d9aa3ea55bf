//! Where the formulas have been checked against simulation, and how far they were off.

use superpose_core::config::Embedding;

use crate::point::Point;

/// Vocabularies of the validation.
pub const CHECKED_VOCAB: (f64, f64) = (100.0, 4000.0);
/// Dimensions of the validation.
pub const CHECKED_DIM: (f64, f64) = (16.0, 512.0);
/// Lengths of the validation.
pub const CHECKED_LENGTH: (f64, f64) = (2.0, 512.0);
/// Rms error of three-step accuracy there, seed noise taken off.
pub const CHECKED_ERROR: f64 = 0.010;
/// The range in words.
pub const CHECKED_RANGE: &str =
    "attention-only model, Gaussian embeddings, V 100 to 4,000, d 16 to 512, L 2 to 512";

/// Rms error to expect of the accuracy at a point. Outside the range of the validation it is not known, and the reason
/// says what lies outside.
pub fn expected_error(point: &Point) -> Result<f64, String> {
    let mut outside = Vec::new();
    if point.width.is_some() {
        outside.push("the MLP".to_owned());
    }
    if point.embedding != Embedding::Gaussian {
        outside.push(format!("{} embeddings", point.embedding));
    }
    for (symbol, value, (low, high)) in [
        ("V", point.vocab, CHECKED_VOCAB),
        ("d", point.dim, CHECKED_DIM),
        ("L", point.length, CHECKED_LENGTH),
    ] {
        if !(low..=high).contains(&value) {
            outside.push(format!("{symbol} = {value}"));
        }
    }
    if outside.is_empty() {
        return Ok(CHECKED_ERROR);
    }
    let verb = if outside.len() == 1 { "lies" } else { "lie" };
    Err(format!("extrapolated: {} {verb} outside what was checked ({CHECKED_RANGE})", outside.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::gaussian;

    #[test]
    fn inside_and_outside() {
        assert_eq!(expected_error(&gaussian(512.0, 128.0, 16.0, 8192.0)), Ok(CHECKED_ERROR));
        let text = expected_error(&gaussian(1e6, 128.0, 1e5, 1e12)).unwrap_err();
        assert!(text.starts_with("extrapolated: V = 1000000, L = 100000 lie outside"), "{text}");
        let mlp = Point { width: Some(9.0), ..gaussian(512.0, 128.0, 16.0, 8192.0) };
        assert!(expected_error(&mlp).unwrap_err().contains("the MLP lies"));
    }
}
