//! Sinusoidal and rotary position encodings (Vaswani et al. 2017; Su et al. 2021).

use crate::backend::Real;

/// Ratio of the fastest to the slowest angle, the customary value.
const BASE: f64 = 10_000.0;

/// The angle by which pair `pair` of `pairs` turns per position.
fn frequency(pair: usize, pairs: usize) -> f64 {
    libm::pow(BASE, -(pair as f64) / pairs as f64)
}

/// Row i: sines and cosines of i in pairs, scaled to length 1 (without its last entry where `dim` is odd).
pub fn sinusoidal<T: Real>(length: usize, dim: usize) -> Vec<T> {
    let pairs = dim.div_ceil(2);
    let scale = (2.0 / dim as f64).sqrt();
    let entry = |i: usize, column: usize| {
        let angle = i as f64 * frequency(column / 2, pairs);
        scale * if column.is_multiple_of(2) { libm::sin(angle) } else { libm::cos(angle) }
    };
    (0..length).flat_map(|i| (0..dim).map(move |c| (i, c))).map(|(i, c)| T::from_f64(entry(i, c))).collect()
}

/// Cosine and sine of the angle by which each pair of `size` entries turns at position i of `length`, a row per position: the
/// position's distance from the end times the pair's angle.
pub fn turns(length: usize, size: usize) -> Vec<[f64; 2]> {
    let pairs = size / 2;
    let angle = |i: usize, j: usize| (length - i) as f64 * frequency(j, pairs);
    let all = (0..length).flat_map(|i| (0..pairs).map(move |j| (i, j)));
    all.map(|(i, j)| [libm::cos(angle(i, j)), libm::sin(angle(i, j))]).collect()
}

/// Turns pairs of entries `(x[2j], x[2j + 1])` by `distance` times the pair's angle; an odd last entry stays.
pub fn turn(x: &mut [f64], distance: f64) {
    let pairs = x.len() / 2;
    for (j, pair) in x.chunks_exact_mut(2).enumerate() {
        let angle = distance * frequency(j, pairs);
        let (sin, cos) = (libm::sin(angle), libm::cos(angle));
        (pair[0], pair[1]) = (cos * pair[0] - sin * pair[1], sin * pair[0] + cos * pair[1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_length_one_and_turns_keep_it() {
        let rows: Vec<f64> = sinusoidal(9, 6);
        for row in rows.chunks(6) {
            assert!((row.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12);
            let mut there = row.to_vec();
            turn(&mut there, 3.0);
            turn(&mut there, -3.0);
            assert!(there.iter().zip(row).all(|(a, b)| (a - b).abs() < 1e-15));
        }
        // A turn of a sinusoidal row is the row of another position, in pairs of (cos, sin).
        let swap = |row: &[f64]| row.chunks(2).flat_map(|p| [p[1], p[0]]).collect::<Vec<f64>>();
        let mut moved = swap(&rows[2 * 6..3 * 6]);
        turn(&mut moved, 5.0);
        assert!(moved.iter().zip(swap(&rows[7 * 6..8 * 6])).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
