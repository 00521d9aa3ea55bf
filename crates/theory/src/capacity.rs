//! The best linear memory: how many facts a `d x d` matrix can store (theory: capacity).
//!
//! A fact is stored if its key is mapped into a cone, the vectors whose largest product with a value is that with the right one.
//! A random linear map has all `n` keys in their cones up to about the n at which the mean squared distances of `n` normal vectors
//! from the cones add up to the number of parameters, `d^2`. That distance is the mean number of wrong values that tie with the right
//! one in the vector of the cone that is nearest to a normal vector. Its law is known exactly: Gaussian values are a random
//! projection of orthonormal ones, and values of equal lengths are a beta polytope with the exponent `alpha = d - 2`.

use std::f64::consts::FRAC_PI_2;

use superpose_core::random::normal_quantile;

use crate::normal::{cdf, density};

/// Below this dimension the formulas are not used: the range of angles is too coarse for them.
pub const MIN_DIM: usize = 8;

/// Gauss's rule with three points between 0 and 1.
const GAUSS: [(f64, f64); 3] =
    [(0.112_701_665_379_258_3, 5.0 / 18.0), (0.5, 8.0 / 18.0), (0.887_298_334_620_741_7, 5.0 / 18.0)];

/// The law of a value's product with a direction, which has the density `cos^alpha(s/sqrt(alpha))` in the scaled angle s.
struct Law {
    alpha: f64,
    step: f64,
    /// Logarithms of the unnormalised density at equidistant angles, symmetric about 0.
    ln_density: Vec<f64>,
    /// Logarithms of the probability of a smaller angle.
    ln_below: Vec<f64>,
    /// Logarithm of the density's norm.
    ln_norm: f64,
    /// Logarithm of the probability that k wrong values all tie with the right one if there are no others, for k = 0, 1, ...
    ln_all_tie: Vec<f64>,
}

impl Law {
    const POINTS: usize = 512;

    /// `alpha = d - 2` for values of equal lengths. Gaussian values are the limit of large alpha.
    fn new(alpha: f64) -> Law {
        let end = f64::min(24.0, FRAC_PI_2 * alpha.sqrt() * (1.0 - 1e-12));
        let step = end / Law::POINTS as f64;
        let ln_density =
            |i: f64| alpha * libm::log(libm::cos((i - Law::POINTS as f64) * step / alpha.sqrt()));
        let mut below = vec![0.0];
        for i in 0..2 * Law::POINTS {
            let area = GAUSS.map(|(at, part)| part * step * libm::exp(ln_density(i as f64 + at)));
            below.push(below[i] + area.iter().sum::<f64>());
        }
        let norm = below[2 * Law::POINTS];
        // From the nearer tail: large powers need `1 - F` with full relative accuracy.
        let ln_below = (0..=2 * Law::POINTS).map(|i| match i <= Law::POINTS {
            true => libm::log(below[i] / norm),
            false => libm::log1p(-below[2 * Law::POINTS - i] / norm),
        });
        Law {
            alpha,
            step,
            ln_density: (0..=2 * Law::POINTS).map(|i| ln_density(i as f64)).collect(),
            ln_below: ln_below.collect(),
            ln_norm: libm::log(norm),
            ln_all_tie: vec![0.0],
        }
    }

    /// `sum f(i) step` over all angles, of logarithms.
    fn integral(&self, f: impl Fn(usize) -> f64) -> f64 {
        (0..self.ln_density.len()).map(|i| libm::exp(f(i))).sum::<f64>() * self.step
    }

    /// The probability that `count` further values are below k + 1 values that tie.
    fn others_below(&self, k: usize, count: f64) -> f64 {
        let tie = |i: usize| (k + 1) as f64 * self.ln_density[i];
        self.integral(|i| tie(i) + if count > 0.0 { count * self.ln_below[i] } else { 0.0 })
            / self.integral(tie)
    }

    /// `ln E[A(x)^k]` with `A(x) = 1/2 + i int_0^x cosh^alpha` normalised, x of the density `cosh^-(alpha (k + 1) + 2)`: the mean angle
    /// of a random simplex at a vertex (Kabluchko 2021). The contour is shifted to the saddle point at `i s`, where it does not
    /// oscillate.
    fn all_tie(&self, k: usize) -> f64 {
        let (root, power) = (self.alpha.sqrt(), (k + 1) as f64 + 2.0 / self.alpha);
        let above = |i: usize| self.ln_below[2 * Law::POINTS - i];
        let height = |i: usize| k as f64 * above(i) - power * self.ln_density[i];
        // Beyond the range of floats a tail is 0.
        let angles = (Law::POINTS..2 * Law::POINTS).filter(|&i| above(i).is_finite());
        let saddle = angles.min_by(|&i, &j| height(i).total_cmp(&height(j)));
        let saddle = saddle.unwrap_or(Law::POINTS);
        let shift = (saddle - Law::POINTS) as f64 * self.step / root;
        let (sin, cos) = libm::sincos(shift);
        // Logarithm and argument of `cosh^alpha(x + i shift)`.
        let cosh = |x: f64| {
            let (re, im) = (libm::cosh(x / root) * cos, libm::sinh(x / root) * sin);
            (self.alpha * libm::log(libm::hypot(re, im)), self.alpha * libm::atan2(im, re))
        };
        // Both symmetric halves of the contour; the first point belongs to both.
        let (step, points) = (0.02, 450);
        let (mut re, mut im) = (libm::exp(above(saddle)), 0.0);
        let (mut sum, mut norm) = (0.0, 0.0);
        for i in 0..points {
            let x = i as f64 * step;
            let (ln, argument) = cosh(x);
            let modulus = k as f64 * libm::log(libm::hypot(re, im)) - power * ln - height(saddle);
            let phase = k as f64 * libm::atan2(im, re) - power * argument;
            let weight = if i == 0 { 0.5 } else { 1.0 };
            sum += weight * libm::exp(modulus) * libm::cos(phase);
            norm += weight * libm::exp(-power * self.alpha * libm::log(libm::cosh(x / root)));
            for (at, part) in GAUSS {
                let (ln, argument) = cosh(x + step * at);
                let (s, c) = libm::sincos(argument);
                let size = step * part * libm::exp(ln - self.ln_norm);
                re -= size * s;
                im += size * c;
            }
        }
        height(saddle) + libm::log(sum / norm)
    }

    /// The mean number of wrong values, of `facts - 1`, that tie with the right one, in `dim` dimensions.
    fn ties(&mut self, facts: f64, dim: usize) -> f64 {
        let wrong = facts - 1.0;
        let (mut mean, mut total, mut ln_subsets) = (0.0, 0.0, 0.0);
        for k in 0..dim.min(libm::ceil(wrong) as usize) {
            if k == self.ln_all_tie.len() {
                self.ln_all_tie.push(self.all_tie(k));
            }
            let count = wrong - k as f64;
            let share = libm::exp(ln_subsets + self.ln_all_tie[k]) * self.others_below(k, count);
            mean += k as f64 * share;
            total += share;
            if share < 1e-10 && k as f64 > mean {
                return mean;
            }
            ln_subsets += libm::log(count / (k + 1) as f64);
        }
        // Otherwise all dimensions are used: the nearest vector of the cone is 0.
        mean + f64::max(0.0, 1.0 - total) * dim as f64
    }
}

/// The number of facts that the best linear memory of this dimension stores, each with a label of its own, in half of all draws of
/// keys and values. `equal_lengths`: whether all values have the same length, as on the sphere; otherwise they are Gaussian. `None`
/// below [`MIN_DIM`].
pub fn linear_capacity(dim: usize, equal_lengths: bool) -> Option<f64> {
    if dim < MIN_DIM {
        return None;
    }
    let mut law = Law::new(if equal_lengths { (dim - 2) as f64 } else { 1e8 });
    let parameters = libm::pow(dim as f64, 2.0);
    let (mut low, mut high) = (libm::log(dim as f64), libm::log(parameters));
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        let facts = libm::exp(middle);
        match facts * law.ties(facts, dim) < parameters {
            true => low = middle,
            false => high = middle,
        }
    }
    Some(libm::exp((low + high) / 2.0))
}

/// What the right label must exceed for a fact to count as recalled from a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// The mean of the best logits of the list.
    Mean,
    /// The last logit of the list: the right label is one of its labels.
    Last,
}

/// Facts over parameters that the best linear memory stores if the right label must be in a list of this share of many labels:
/// `1/E[(kappa - G)_+^2]` for a standard normal G.
pub fn list_load(share: f64, list: List) -> f64 {
    let last = normal_quantile(1.0 - share);
    let kappa = match list {
        List::Mean => density(last) / share,
        List::Last => last,
    };
    1.0 / ((1.0 + kappa * kappa) * cdf(kappa) + kappa * density(kappa))
}

/// Bits that an answer tells about the label of a fact, of `labels` equally frequent ones, if it is right with the probability
/// `accuracy` and otherwise any other label: the mutual information of label and answer, and by Fano's inequality the least that any
/// answers of this accuracy tell. 0 where guessing is as good.
pub fn stored_bits(accuracy: f64, labels: usize) -> f64 {
    let others = labels as f64 - 1.0;
    if accuracy * (others + 1.0) <= 1.0 {
        return 0.0;
    }
    let term = |share: f64, among: f64| if share > 0.0 { share * libm::log2(share / among) } else { 0.0 };
    libm::log2(others + 1.0) + term(accuracy, 1.0) + term(1.0 - accuracy, others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use superpose_core::random::{Stream, Words, normals};

    /// The shares of all numbers of ties add up to 1, with equal and with Gaussian lengths.
    #[test]
    fn shares_of_ties_add_up() {
        for (alpha, dim, facts) in [(14.0, 16, 66.0), (62.0, 64, 590.0), (1e8, 64, 565.0)] {
            let mut law = Law::new(alpha);
            law.ties(facts, dim);
            let mut ln_subsets = 0.0;
            let mut total = 0.0;
            for k in 0..law.ln_all_tie.len() {
                let count = facts - 1.0 - k as f64;
                total += (ln_subsets + law.ln_all_tie[k]).exp() * law.others_below(k, count);
                ln_subsets += (count / (k + 1) as f64).ln();
            }
            assert!((total - 1.0).abs() < 1e-6, "alpha = {alpha}: {total}");
        }
    }

    /// Gaussian values tie as often as orthonormal ones, for which the nearest vector of the cone is a mean of the largest numbers.
    #[test]
    fn ties_are_those_of_a_simulation() {
        let (facts, draws) = (66, 20_000);
        let mut total = 0.0;
        for draw in 0..draws {
            let mut numbers = vec![0.0; facts];
            normals(&Words::new(7, Stream::Test, draw), &mut numbers);
            let (mut sum, mut ties) = (numbers[0], 0);
            numbers[1..].sort_by(|x, y| y.total_cmp(x));
            while ties + 1 < facts && numbers[ties + 1] > sum / (ties + 1) as f64 {
                ties += 1;
                sum += numbers[ties];
            }
            total += ties as f64;
        }
        let (simulated, predicted) = (total / draws as f64, Law::new(1e8).ties(facts as f64, 1000));
        assert!((simulated / predicted - 1.0).abs() < 0.02, "{simulated} {predicted}");
    }

    /// Facts stored by training until all are right, with 95% intervals (docs/theory/capacity.md).
    #[test]
    fn capacity_is_that_of_trained_memories() {
        for (dim, equal, low, high) in
            [(8, true, 23.4, 24.3), (8, false, 22.1, 23.0), (11, true, 37.3, 38.5), (16, true, 64.9, 67.2)]
        {
            let facts = linear_capacity(dim, equal).unwrap();
            assert!((low..high).contains(&facts), "d = {dim}: {facts}");
        }
        assert_eq!(linear_capacity(7, true), None);
    }

    /// `n log n / d^2` falls towards 1/2, slowly.
    #[test]
    fn capacity_tends_to_the_known_limit() {
        let ratios = [16, 64, 256, 4096].map(|dim| {
            let facts = linear_capacity(dim, true).unwrap();
            facts * facts.ln() / (dim as f64).powi(2)
        });
        assert!(ratios.windows(2).all(|pair| pair[1] < pair[0]), "{ratios:?}");
        assert!(ratios[3] > 0.5 && ratios[3] < 0.75, "{ratios:?}");
    }

    #[test]
    fn list_loads_are_the_published_ones() {
        for (share, mean, last) in [(0.5, 0.658, 2.0), (0.1, 0.246, 0.384), (0.01, 0.123, 0.156)] {
            assert!((list_load(share, List::Mean) - mean).abs() < 6e-4);
            assert!((list_load(share, List::Last) - last).abs() < 6e-4);
        }
    }

    #[test]
    fn bits_of_guesses_are_none() {
        assert_eq!(stored_bits(1.0, 8), 3.0);
        assert_eq!(stored_bits(0.125, 8), 0.0);
        assert_eq!(stored_bits(0.0, 8), 0.0);
        assert!((stored_bits(0.75, 2) - 0.188_722).abs() < 1e-6);
    }
}
