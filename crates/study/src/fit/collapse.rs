//! Data collapse: curves of accuracy against samples coincide when the samples are divided by each curve's critical number.
//!
//! The quality is the share of squares that the rescaling explains: one minus the squares about a common monotone curve, over the same
//! without rescaling. The common curve is the isotonic regression of all points (pool adjacent violators), which assumes no shape.

use serde::{Deserialize, Serialize};

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The divisor of its sizes: the predicted product or a critical value.
    pub scale: f64,
    /// Pairs of size and accuracy, in any order; accuracy rises with the size.
    pub points: Vec<(f64, f64)>,
}

/// How well curves collapse.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Collapse {
    /// Share of the squares about the common curve that the rescaling explains: 1 for a perfect collapse, 0 if the scales have no
    /// effect.
    pub quality: f64,
}

/// Measures the collapse of curves; `None` without points or with an invalid scale.
pub fn collapse(lines: &[Line]) -> Option<Collapse> {
    let good = |x: f64| x > 0.0 && x.is_finite();
    let points = |scale: fn(&Line) -> f64| {
        let logs = |line: &Line| {
            let points = line.points.iter().filter(|(x, y)| good(*x) && y.is_finite());
            points.map(|&(x, y)| (libm::log(x / scale(line)), y)).collect()
        };
        let mut points: Vec<(f64, f64)> = lines.iter().map(logs).collect::<Vec<Vec<_>>>().concat();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let plain = points(|_| 1.0);
    if plain.is_empty() || !lines.iter().all(|line| good(line.scale)) {
        return None;
    }
    let (residual, plain) = (squares(&points(|line| line.scale)), squares(&plain));
    Some(Collapse { quality: if plain > 0.0 { 1.0 - residual / plain } else { 0.0 } })
}

/// Returns the sum of squares about the isotonic regression of points, given in order.
fn squares(points: &[(f64, f64)]) -> f64 {
    // Blocks of mean, count and squares about the mean.
    let mut blocks: Vec<(f64, f64, f64)> = Vec::new();
    for &(_, y) in points {
        let mut block = (y, 1.0, 0.0);
        while let Some(&(mean, count, about)) = blocks.last() {
            if mean <= block.0 {
                break;
            }
            blocks.pop();
            let total = count + block.1;
            let between = (mean - block.0).powi(2) * count * block.1 / total;
            block = ((mean * count + block.0 * block.1) / total, total, about + block.2 + between);
        }
        blocks.push(block);
    }
    blocks.iter().map(|block| block.2).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(scale: f64) -> Line {
        let points = (0..20).map(|i| {
            let x = scale * (0.3 * f64::from(i) - 3.0).exp();
            (x, 1.0 / (1.0 + (scale / x).powi(2)))
        });
        Line { scale, points: points.collect() }
    }

    #[test]
    fn curves_of_one_shape_collapse() {
        let lines: Vec<Line> = [10.0, 70.0, 300.0, 4000.0].map(curve).to_vec();
        let found = collapse(&lines).unwrap();
        assert!(found.quality > 0.9999, "{found:?}");
        let wrong: Vec<Line> = lines.iter().map(|l| Line { scale: 1.0, ..l.clone() }).collect();
        assert!(collapse(&wrong).unwrap().quality.abs() < 1e-12);
    }

    #[test]
    fn isotonic_regression_pools_violators() {
        // Of 1, 3, 2 the last two become 2.5; of 3, 2, 1 all become 2.
        for (values, expected) in [([1.0, 3.0, 2.0], 0.5), ([3.0, 2.0, 1.0], 2.0)] {
            assert!((squares(&values.map(|y| (0.0, y))) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn invalid_curves_have_no_collapse() {
        assert_eq!(collapse(&[]), None);
        for (scale, x) in [(f64::NAN, 1.0), (1.0, f64::NAN)] {
            assert_eq!(collapse(&[Line { scale, points: vec![(x, 0.5)] }]), None);
        }
    }
}
