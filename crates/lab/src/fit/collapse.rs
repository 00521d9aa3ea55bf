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
    let good = |&(x, y): &(f64, f64)| x > 0.0 && x.is_finite() && y.is_finite();
    let logs = |line: &Line, scale: f64| -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> =
            line.points.iter().filter(|p| good(p)).map(|&(x, y)| ((x / scale).ln(), y)).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let measure = |rescaled: bool| {
        let curves: Vec<Vec<(f64, f64)>> =
            lines.iter().map(|line| logs(line, if rescaled { line.scale } else { 1.0 })).collect();
        let crossings: Vec<f64> = curves.iter().filter_map(|curve| crossing(curve, level)).collect();
        let mut all: Vec<(f64, f64)> = curves.concat();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        (squares(&all), deviation(&crossings), crossings.len(), all.len())
    };
    if lines.iter().any(|line| !(line.scale > 0.0 && line.scale.is_finite())) {
        return None;
    }
    let (residual, spread, crossing, count) = measure(true);
    let (plain, plain_spread, ..) = measure(false);
    if count == 0 {
        return None;
    }
    let quality = if plain > 0.0 { 1.0 - residual / plain } else { 0.0 };
    let count = count as f64;
    Some(Collapse {
        residual: residual / count,
        plain: plain / count,
        quality,
        spread,
        plain_spread,
        crossing,
    })
}

/// Returns where a curve first crosses a level, by interpolation.
fn crossing(curve: &[(f64, f64)], level: f64) -> Option<f64> {
    let pair = curve.windows(2).find(|pair| pair[0].1 < level && pair[1].1 >= level)?;
    let share = (level - pair[0].1) / (pair[1].1 - pair[0].1);
    Some(pair[0].0 + share * (pair[1].0 - pair[0].0))
}

fn deviation(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    if values.len() < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count;
    Some((values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt())
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
        // 1, 3, 2: the last two become 2.5.
        assert!((squares(&[(0.0, 1.0), (1.0, 3.0), (2.0, 2.0)]) - 0.5).abs() < 1e-12);
        // 3, 2, 1: all become 2.
        assert!((squares(&[(0.0, 3.0), (1.0, 2.0), (2.0, 1.0)]) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn invalid_curves_have_no_collapse() {
        assert_eq!(collapse(&[], 0.5), None);
        assert_eq!(collapse(&[Line { scale: f64::NAN, points: vec![(1.0, 0.5)] }], 0.5), None);
        assert_eq!(collapse(&[Line { scale: 1.0, points: vec![(f64::NAN, 0.5)] }], 0.5), None);
    }
}
