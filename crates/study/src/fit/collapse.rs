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
    /// Mean square about the common curve after dividing sizes by the scales.
    pub residual: f64,
    /// Mean square about the common curve without rescaling.
    pub plain: f64,
    /// Share of squares explained, `1 - residual/plain`: 1 for a perfect collapse, 0 if the scales have no effect.
    pub quality: f64,
    /// Standard deviation over curves of the logarithm of the rescaled size at which they cross the level; `None` if fewer than two
    /// cross it.
    pub spread: Option<f64>,
    /// The same without rescaling.
    pub plain_spread: Option<f64>,
    /// Number of curves that cross the level.
    pub crossing: usize,
}

/// Measures the collapse of curves and their spread at a level; `None` without points or with an invalid scale.
pub fn collapse(lines: &[Line], level: f64) -> Option<Collapse> {
    let good = |x: f64| x > 0.0 && x.is_finite();
    let sorted = |mut points: Vec<(f64, f64)>| {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let measure = |scale: fn(&Line) -> f64| {
        let logs = |line: &Line| {
            let points = line.points.iter().filter(|(x, y)| good(*x) && y.is_finite());
            sorted(points.map(|&(x, y)| (libm::log(x / scale(line)), y)).collect())
        };
        let curves: Vec<Vec<(f64, f64)>> = lines.iter().map(logs).collect();
        let crossings: Vec<f64> = curves.iter().filter_map(|curve| crossing(curve, level)).collect();
        let all = sorted(curves.concat());
        (squares(&all), deviation(&crossings), crossings.len(), all.len())
    };
    let (residual, spread, crossing, count) = measure(|line| line.scale);
    let (plain, plain_spread, ..) = measure(|_| 1.0);
    if count == 0 || !lines.iter().all(|line| good(line.scale)) {
        return None;
    }
    let quality = if plain > 0.0 { 1.0 - residual / plain } else { 0.0 };
    let (residual, plain) = (residual / count as f64, plain / count as f64);
    Some(Collapse { residual, plain, quality, spread, plain_spread, crossing })
}

/// Returns where a curve first crosses a level, by interpolation.
fn crossing(curve: &[(f64, f64)], level: f64) -> Option<f64> {
    let pair = curve.windows(2).find(|pair| pair[0].1 < level && pair[1].1 >= level)?;
    let share = (level - pair[0].1) / (pair[1].1 - pair[0].1);
    Some(pair[0].0 + share * (pair[1].0 - pair[0].0))
}

fn deviation(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (values.len() >= 2).then(|| variance.sqrt())
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
        let found = collapse(&lines, 0.5).unwrap();
        assert!(found.quality > 0.9999 && found.spread.unwrap() < 1e-3, "{found:?}");
        assert!(found.plain_spread.unwrap() > 2.0 && found.crossing == 4);
        let wrong: Vec<Line> = lines.iter().map(|l| Line { scale: 1.0, ..l.clone() }).collect();
        assert!(collapse(&wrong, 0.5).unwrap().quality.abs() < 1e-12);
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
        assert_eq!(collapse(&[], 0.5), None);
        for (scale, x) in [(f64::NAN, 1.0), (1.0, f64::NAN)] {
            assert_eq!(collapse(&[Line { scale, points: vec![(x, 0.5)] }], 0.5), None);
        }
    }
}
