//! Gauss rules from three-term recurrences (Golub and Welsch, Mathematics of Computation 23, 1969).

use super::Rule;

/// The Gauss rule of the distribution whose orthonormal polynomials satisfy
/// `x p_k = off[k] p_(k+1) + diagonal[k] p_k + off[k-1] p_(k-1)`.
///
/// Nodes are the eigenvalues of that tridiagonal matrix, weights the squares of the first entries of its
/// eigenvectors. Implicit QL iteration, as in EISPACK's `imtql2`, carrying that first row alone.
pub fn gauss(mut diagonal: Vec<f64>, mut off: Vec<f64>) -> Rule {
    let size = diagonal.len();
    off.truncate(size.saturating_sub(1));
    off.resize(size, 0.0);
    let mut first: Vec<f64> = (0..size).map(|row| f64::from(row == 0)).collect();
    for low in 0..size {
        // Two or three sweeps are enough; the limit guards against numbers that are not finite.
        for _ in 0..50 {
            let high = (low..size - 1)
                .find(|&k| off[k].abs() <= f64::EPSILON * (diagonal[k].abs() + diagonal[k + 1].abs()))
                .unwrap_or(size - 1);
            if high == low {
                break;
            }
            sweep(&mut diagonal, &mut off, &mut first, low, high);
        }
    }
    Rule { points: diagonal.into_iter().zip(first.into_iter().map(|x| x * x)).collect() }
}

/// One QL step on rows `low..=high`.
fn sweep(diagonal: &mut [f64], off: &mut [f64], first: &mut [f64], low: usize, high: usize) {
    let gap = (diagonal[low + 1] - diagonal[low]) / (2.0 * off[low]);
    let mut g = diagonal[high] - diagonal[low] + off[low] / (gap + (gap * gap + 1.0).sqrt().copysign(gap));
    let (mut sine, mut cosine, mut shift) = (1.0, 1.0, 0.0);
    for i in (low..high).rev() {
        let (f, b) = (sine * off[i], cosine * off[i]);
        let radius = (f * f + g * g).sqrt();
        off[i + 1] = radius;
        if radius == 0.0 {
            // The matrix splits into two blocks here.
            diagonal[i + 1] -= shift;
            off[high] = 0.0;
            return;
        }
        (sine, cosine) = (f / radius, g / radius);
        g = diagonal[i + 1] - shift;
        let turn = (diagonal[i] - g) * sine + 2.0 * cosine * b;
        shift = sine * turn;
        diagonal[i + 1] = g + shift;
        g = cosine * turn - b;
        let entry = first[i + 1];
        first[i + 1] = sine * first[i] + cosine * entry;
        first[i] = cosine * first[i] - sine * entry;
    }
    diagonal[low] -= shift;
    off[low] = g;
    off[high] = 0.0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_hermite_rules_are_exact() {
        let rule = gauss(vec![0.0; 2], vec![1.0]);
        let mut points = rule.points;
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!((points[0].0 + 1.0).abs() < 1e-15 && (points[0].1 - 0.5).abs() < 1e-15);
        let rule = gauss(vec![0.0; 3], vec![1.0, 2.0_f64.sqrt()]);
        assert!((rule.mean(|x| x.powi(4)) - 3.0).abs() < 1e-14);
        assert!(rule.points.iter().any(|p| (p.0 - 3.0_f64.sqrt()).abs() < 1e-14));
    }

    #[test]
    fn second_block_of_a_split_matrix_has_no_weight() {
        let rule = gauss(vec![0.0; 4], vec![1.0, 0.0, 0.7]);
        assert!((rule.mean(|_| 1.0) - 1.0).abs() < 1e-15);
        assert!((rule.mean(|x| x.powi(8)) - 1.0).abs() < 1e-14);
    }

    #[test]
    fn single_point_has_all_weight() {
        assert_eq!(gauss(vec![2.5], vec![]).points, vec![(2.5, 1.0)]);
    }
}
