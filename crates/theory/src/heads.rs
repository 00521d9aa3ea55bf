//! Inner products of head outputs under uniform attention (theory: MLP).

use crate::point::Point;

/// Expected inner products of head outputs. Samples share tokens by chance: any two positions hold the same token with
/// probability `1/V`.
pub(crate) struct Heads {
    /// `|h|^2`: `1/L + t/L^2`, and `1/V` for every two positions.
    pub square: f64,
    /// `h . h'` of samples with different labels: `t/L^2`, and `1/V` for every two positions but the informative ones.
    pub apart: f64,
    /// `h . h'` of samples with the same label: `1/L^2` more.
    pub alike: f64,
}

impl Heads {
    pub fn of(point: &Point) -> Heads {
        let Point { vocab, length, .. } = *point;
        let t = point.trigger.t();
        let positions = length * length;
        let apart = (1.0 - 1.0 / positions) / vocab + t / positions;
        let square = (length + t) / positions + (1.0 - 1.0 / length) / vocab;
        Heads { square, apart, alike: apart + 1.0 / positions }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::gaussian;

    #[test]
    fn single_position_is_the_token_itself() {
        let heads = Heads::of(&gaussian(100.0, 20.0, 1.0, 50.0));
        assert_eq!((heads.square, heads.apart, heads.alike), (1.0, 0.0, 1.0));
    }
}
