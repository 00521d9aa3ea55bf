//! Gauss rules: normal, chi-square, the cosine of two random directions, and any discrete distribution.

use super::Rule;
use super::eigen::gauss;

/// The standard normal distribution.
pub(crate) fn hermite(points: usize) -> Rule {
    gauss(vec![0.0; points], (1..points).map(|k| (k as f64).sqrt()).collect())
}

/// `chi-square_freedom / freedom`, the squared length of a Gaussian embedding vector. The rule is computed for the deviation
/// from 1, so that it stays accurate for large degrees of freedom.
pub(crate) fn chi_square(freedom: f64, points: usize) -> Rule {
    let diagonal = (0..points).map(|k| 4.0 * k as f64 / freedom).collect();
    let off = (1..points).map(|k| {
        let k = k as f64;
        (2.0 * k * (2.0 * k - 2.0 + freedom)).sqrt() / freedom
    });
    let mut rule = gauss(diagonal, off.collect());
    rule.points.iter_mut().for_each(|(x, _)| *x = (*x + 1.0).max(0.0));
    rule
}

/// The cosine between a fixed and a random direction in `dim` dimensions: density
/// `(1 - x^2)^((dim - 3) / 2)`.
pub(crate) fn cosine(dim: f64, points: usize) -> Rule {
    let dim = dim.max(1.0);
    let off = (1..points).map(|k| match k {
        1 => 1.0 / dim.sqrt(),
        _ => {
            let k = k as f64;
            (k * (k + dim - 3.0) / ((2.0 * k + dim - 4.0) * (2.0 * k + dim - 2.0))).max(0.0).sqrt()
        }
    });
    gauss(vec![0.0; points], off.collect())
}

/// The Gauss rule of a discrete distribution whose weights have any sum (Stieltjes's procedure).
pub(crate) fn of_points(law: &[(f64, f64)], points: usize) -> Rule {
    let total: f64 = law.iter().map(|p| p.1).sum();
    let (mut diagonal, mut off) = (Vec::with_capacity(points), Vec::with_capacity(points));
    let mut before = vec![0.0; law.len()];
    let mut current = vec![1.0 / total.sqrt(); law.len()];
    let mut coupling = 0.0;
    for _ in 0..points {
        let centre: f64 = law.iter().zip(&current).map(|(p, c)| p.1 * p.0 * c * c).sum();
        diagonal.push(centre);
        let mut square = 0.0;
        for ((p, c), b) in law.iter().zip(&mut current).zip(&mut before) {
            let next = (p.0 - centre) * *c - coupling * *b;
            (*b, *c) = (*c, next);
            square += p.1 * next * next;
        }
        coupling = square.sqrt();
        if coupling <= 0.0 {
            break;
        }
        current.iter_mut().for_each(|c| *c /= coupling);
        off.push(coupling);
    }
    gauss(diagonal, off)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-11 * (1.0 + b.abs()), "{a} against {b}");
    }

    #[test]
    fn moments_of_continuous_rules_are_exact() {
        close(hermite(8).mean(|x| x.powi(14)), 135_135.0);
        for freedom in [1.0, 2.0, 7.0, 64.0, 1e5] {
            let rule = chi_square(freedom, 5);
            let rising = |k: i32| (0..k).map(|i| 1.0 + 2.0 * f64::from(i) / freedom).product::<f64>();
            (0..10).for_each(|k| close(rule.mean(|x| x.powi(k)), rising(k)));
        }
        for dim in [1.0, 2.0, 3.0, 10.0, 1e5] {
            let rule = cosine(dim, 6);
            let even =
                |k: i32| (0..k).map(|i| f64::from(2 * i + 1) / (dim + f64::from(2 * i))).product::<f64>();
            (0..6).for_each(|k| close(rule.mean(|x| x.powi(2 * k)), even(k)));
        }
    }

    #[test]
    fn moments_of_discrete_rules_are_exact() {
        let law: Vec<(f64, f64)> = (0..40).map(|i| (0.1 * f64::from(i), f64::from(i % 7 + 1))).collect();
        let total: f64 = law.iter().map(|p| p.1).sum();
        let rule = of_points(&law, 6);
        for k in 0..12 {
            let direct = law.iter().map(|p| p.1 * p.0.powi(k)).sum::<f64>() / total;
            assert!((rule.mean(|x| x.powi(k)) / direct - 1.0).abs() < 1e-10, "moment {k}");
        }
        let few = of_points(&[(1.0, 2.0), (3.0, 2.0)], 6);
        close(few.mean(|x| x.powi(5)), 122.0);
    }
}
