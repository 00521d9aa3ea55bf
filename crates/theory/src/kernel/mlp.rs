//! The attention-MLP kernel (theory: MLP).
//!
//! Averaged over the first layer, `K(w, v) = sum_q c_q(|k_w|) c_q(|k_v|) rho^q`, rho the cosine of the keys.
//! Its mean and variance over w are taken over the exact distribution of (|k_w|, rho), not by a delta method, because for
//! He_2 and He_3 the first orders vanish. The m features are a random sample around that average, which adds MLP noise.
//! Given the query, only the part that differs between the other facts counts:
//!
//! - to `s2`: `E[phi(g . k_v)^2 Var_w phi(g . k_w)] / m`, g a row of the first layer,
//! - to `xi`: `Var(phi(g . k_v)^2 - phi(g . k_v) E_w phi(g . k_w)) / m`.

use superpose_core::config::{Activation, Trigger};

use super::hermite::{Feature, polynomial, products};
use super::{Query, key_places};
use crate::point::Point;
use crate::quadrature::{HALF_LINE, Rule, chi_square, cosine, hermite};

/// A possible key: its components along the trigger and across it.
struct Place {
    weight: f64,
    along: f64,
    across: f64,
    square: f64,
    feature: Feature,
}

/// A kind of query for any width: the m features are averaged, so their noise is proportional to 1/m.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Share of queries of this kind.
    weight: f64,
    /// Mean of `K(w, v)` over the other facts w.
    kappa: f64,
    /// Mean of `K(v, v)`, `E[phi^2]`.
    square: f64,
    /// Variance of the averaged `K(w, v)` over w.
    averaged: f64,
    /// MLP noise in `s2` times m.
    noise: f64,
    /// Variance of `xi` by the first layer times m.
    variance: f64,
}

/// The kinds of queries at a point, for any width.
pub fn kinds(point: &Point) -> Vec<Kind> {
    let places = places(point);
    let angles = angles(point);
    let shared = Shared::of(point, &places);
    let kind = |query: &Place| {
        let pairs = pairs(query, &places, &angles);
        let kappa: f64 = pairs.iter().map(|[weight, kernel, _]| weight * kernel).sum();
        let squares: f64 = pairs.iter().map(|[weight, _, squares]| weight * squares).sum();
        Kind {
            weight: query.weight,
            kappa,
            square: query.feature.square(),
            averaged: pairs.iter().map(|[weight, kernel, _]| weight * (kernel - kappa).powi(2)).sum(),
            noise: (squares - shared.square(query)).max(0.0),
            variance: shared.xi_variance(query),
        }
    };
    places.iter().map(kind).collect()
}

impl Kind {
    /// The queries of this kind with an MLP of the given width.
    pub fn queries(self, width: f64) -> impl Iterator<Item = Query> {
        let variance = self.variance / width;
        // K(v, v) is a mean of squares over the width: positive and skewed, so a chi-square distribution describes
        // it better than a normal one. MLP noise is proportional to it.
        let sizes = if variance > 0.0 {
            chi_square(2.0 * self.square * self.square / variance, 3)
        } else {
            Rule::certain(1.0)
        };
        sizes.points.into_iter().map(move |(size, weight)| self.query(width, size, weight))
    }

    /// The query of mean size: averages over the queries of this kind.
    pub fn mean(self, width: f64) -> Query {
        self.query(width, 1.0, 1.0)
    }

    /// The query of this kind with a `K(v, v)` of `size` times its mean.
    fn query(self, width: f64, size: f64, weight: f64) -> Query {
        let mlp_noise = self.noise / width * size;
        Query {
            weight: self.weight * weight,
            kappa: self.kappa,
            xi: self.square * size - self.kappa,
            s2: self.averaged * (1.0 - 1.0 / width) + mlp_noise,
            mlp_noise,
        }
    }
}

fn places(point: &Point) -> Vec<Place> {
    let place = |[a, cosine, weight]: [f64; 3]| {
        let along = point.trigger.t() + a.sqrt() * cosine;
        let across = (a * (1.0 - cosine * cosine)).max(0.0).sqrt();
        let square = along * along + across * across;
        Place { weight, along, across, square, feature: Feature::of(point.activation, square) }
    };
    key_places(point).into_iter().map(place).collect()
}

/// The cosine between the parts of two keys across the trigger.
fn angles(point: &Point) -> Rule {
    match (point.orthonormal(), point.trigger) {
        (true, _) => Rule::certain(0.0),
        (false, Trigger::Keys) => cosine(point.dim, 8),
        (false, Trigger::Values) => cosine(point.dim - 1.0, 5),
    }
}

/// For every pair of a query and another key: its weight, and `E[phi phi']` and `E[phi^2 phi'^2]` over the first layer.
fn pairs(query: &Place, places: &[Place], angles: &Rule) -> Vec<[f64; 3]> {
    let mut pairs = Vec::with_capacity(places.len() * angles.points.len());
    for other in places {
        let kernel = products(&query.feature.coefficients, &other.feature.coefficients);
        let squares = products(&query.feature.squares, &other.feature.squares);
        let size = (query.square * other.square).sqrt().max(f64::MIN_POSITIVE);
        for &(angle, weight) in &angles.points {
            let rho = (query.along * other.along + query.across * other.across * angle) / size;
            let rho = rho.clamp(-1.0, 1.0);
            pairs.push([other.weight * weight, polynomial(&kernel, rho), polynomial(&squares, rho)]);
        }
    }
    pairs
}

/// What a row g of the first layer shows of all keys at once, `shared(g) = E_w phi(g . k_w)`: it moves kappa
/// and not the difference between facts, so it is taken out of the MLP noise.
///
/// It varies a little with the length of g, whose square has variance 2/d around its mean, and so does the
/// query's feature. To first order that multiplies second Hermite coefficients, named `second` below.
enum Shared {
    /// Keys are independent, and every row sees nearly the same.
    Same { mean: f64, second: f64, overlap: f64 },
    /// Keys share the trigger: given `s = g . z_trig` their features are independent, `phi(s + x)`. At keys
    /// of mean length; these are small terms, scaled to the query's length by `E[phi^2]`.
    Trigger {
        /// `E[phi^2]`
        feature_square: f64,
        /// `E[phi(g . k_v)^2 shared(g)^2]`
        square: f64,
        /// `Var(phi(g . k_v)^2 - phi(g . k_v) shared(g))`
        xi_variance: f64,
    },
}

impl Shared {
    fn of(point: &Point, places: &[Place]) -> Shared {
        let over = |f: &dyn Fn(&Feature) -> f64| places.iter().map(|p| p.weight * f(&p.feature)).sum::<f64>();
        match point.trigger {
            Trigger::Keys => {
                let (mean, second) = (over(&Feature::mean), over(&|f| f.coefficients[2]));
                Shared::Same { mean, second, overlap: point.overlap() }
            }
            Trigger::Values => Shared::by_trigger(point.activation, point.overlap()),
        }
    }

    fn by_trigger(activation: Activation, overlap: f64) -> Shared {
        let phi: Vec<(f64, f64)> =
            HALF_LINE.iter().map(|&(y, _)| (activation.value(y), activation.value(-y))).collect();
        let (mut feature_square, mut square, mut gap, mut gap_square) = (0.0, 0.0, 0.0, 0.0);
        for &(s, weight) in &hermite(12).points {
            let mut given = GivenTrigger::default();
            for (&(up, down), &(y, density)) in phi.iter().zip(HALF_LINE.iter()) {
                given.add(y, s, density, up);
                given.add(-y, s, density, down);
            }
            let GivenTrigger { powers: [first, second, third, fourth], bends } = given;
            feature_square += weight * second;
            square += weight * shared_square(second, first, bends[0], bends[1], overlap);
            gap += weight * (second - first * first);
            gap_square += weight * (fourth - 2.0 * first * third + first * first * second);
        }
        Shared::Trigger { feature_square, square, xi_variance: (gap_square - gap * gap).max(0.0) }
    }

    /// `E[phi(g . k_v)^2 shared(g)^2]`
    fn square(&self, query: &Place) -> f64 {
        let feature = &query.feature;
        match *self {
            Shared::Same { mean, second, overlap } => {
                shared_square(feature.square(), mean, second, feature.squares[2], overlap)
            }
            Shared::Trigger { feature_square, square, .. } => square * feature.square() / feature_square,
        }
    }

    /// `Var(phi(g . k_v)^2 - phi(g . k_v) shared(g))`
    fn xi_variance(&self, query: &Place) -> f64 {
        match *self {
            Shared::Same { mean, .. } => {
                let [second, third, fourth] = query.feature.powers;
                let gap = second - mean * query.feature.mean();
                (fourth - 2.0 * mean * third + mean * mean * second - gap * gap).max(0.0)
            }
            Shared::Trigger { feature_square, xi_variance, .. } => {
                xi_variance * (query.feature.square() / feature_square).powi(2)
            }
        }
    }
}

/// `E[phi^2 (shared + bend (|g|^2/d - 1) / sqrt 2)^2]`, where `phi^2` has the second Hermite coefficient
/// `square_bend`.
fn shared_square(square: f64, shared: f64, bend: f64, square_bend: f64, overlap: f64) -> f64 {
    square * shared * shared + overlap * (square * bend * bend + 2.0 * shared * bend * square_bend)
}

/// Averages over x of a feature `phi(s + x)`.
#[derive(Default)]
struct GivenTrigger {
    /// `E[phi^k]`, k = 1 to 4.
    powers: [f64; 4],
    /// Second Hermite coefficients of phi and `phi^2`.
    bends: [f64; 2],
}

impl GivenTrigger {
    /// Adds the point y = s + x with the standard normal weight of y: the kink of phi stays at the end of a
    /// half line.
    fn add(&mut self, y: f64, s: f64, density: f64, value: f64) {
        let bend = ((y - s).powi(2) - 1.0) / 2.0_f64.sqrt();
        let mut power = density * libm::exp(y * s - 0.5 * s * s);
        for (k, sum) in self.powers.iter_mut().enumerate() {
            power *= value;
            *sum += power;
            if let Some(sum) = self.bends.get_mut(k) {
                *sum += power * bend;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use superpose_core::config::Embedding;

    use super::*;
    use crate::kernel::{Kernel, Summary};
    use crate::point::gaussian;
    use crate::testing::{Dice, dot, unit_length};

    fn point(activation: Activation, embedding: Embedding, trigger: Trigger, dim: f64, width: f64) -> Point {
        Point { activation, embedding, trigger, width: Some(width), ..gaussian(1e3, dim, 8.0, 1e4) }
    }

    #[test]
    fn he2_has_the_closed_form() {
        let (d, m) = (200.0, 3e4);
        for (embedding, interference) in [(Embedding::Gaussian, 3.0), (Embedding::Sphere, 2.0)] {
            let s = Kernel::of(&point(Activation::He2, embedding, Trigger::Keys, d, m)).summary();
            // Next orders in 1/d are left out of the closed form.
            let difference = s.s2 - s.mlp_noise - interference / (d * d);
            assert!(difference.abs() < 10.0 / d.powi(3), "{embedding} {s:?}");
            assert!((s.mlp_noise * m - 1.0).abs() < 20.0 / d, "{embedding} {s:?}");
            // About 2/sqrt(d) relative from the lengths; 14/m from the first layer.
            let spread = if embedding == Embedding::Gaussian { 8.0 / d } else { 0.0 } + 14.0 / m;
            assert!((s.xi_spread.powi(2) / spread - 1.0).abs() < 0.2, "{embedding} {s:?}");
        }
    }

    #[test]
    fn identity_is_the_linear_kernel_and_noise() {
        let (d, m) = (50.0, 400.0);
        for trigger in [Trigger::Keys, Trigger::Values] {
            for embedding in [Embedding::Gaussian, Embedding::Sphere, Embedding::Orthonormal] {
                let mlp = point(Activation::Identity, embedding, trigger, d, m);
                let (s, linear) =
                    (Kernel::of(&mlp).summary(), Kernel::of(&Point { width: None, ..mlp }).summary());
                assert!((s.kappa - linear.kappa).abs() < 1e-10, "{s:?} {linear:?}");
                assert!((s.xi - linear.xi).abs() < 1e-10, "{s:?} {linear:?}");
                let averaged = (s.s2 - s.mlp_noise) / (1.0 - 1.0 / m);
                assert!((averaged - linear.s2).abs() < 1e-10, "{s:?} {linear:?}");
            }
        }
    }

    #[test]
    fn relu_keeps_its_linear_part() {
        let d = 100.0;
        let s = Kernel::of(&point(Activation::Relu, Embedding::Sphere, Trigger::Keys, d, 1e9)).summary();
        assert!((s.s2 * d * 16.0 - 1.0).abs() < 0.05, "{s:?}");
        assert!((s.kappa - 0.5 / std::f64::consts::PI).abs() < 1e-3, "{s:?}");
    }

    #[test]
    fn orthonormal_keys_leave_mlp_noise_alone() {
        for trigger in [Trigger::Keys, Trigger::Values] {
            let mlp = point(Activation::Gelu, Embedding::Orthonormal, trigger, 900.0, 50.0);
            let s = Kernel::of(&mlp).summary();
            assert!((s.s2 - s.mlp_noise).abs() < 1e-15 && s.s2 > 0.0, "{s:?}");
        }
    }

    /// The statistics of keys and first layers that were drawn. The trigger has length 1, as the formulas
    /// take it.
    fn simulate(point: &Point, draws: usize, dice: &mut Dice) -> Summary {
        let (dim, width, tokens) = (point.dim as usize, point.width.unwrap() as usize, 60);
        let mut xis = Vec::new();
        let (mut kappa, mut s2) = (0.0, 0.0);
        for _ in 0..draws {
            let trigger = unit_length(dice.row(dim, 1.0));
            let rows: Vec<Vec<f64>> = (0..width).map(|_| dice.row(dim, 1.0)).collect();
            let mut features = |_| -> Vec<f64> {
                let mut key = dice.row(dim, 1.0 / dim as f64);
                if point.embedding == Embedding::Sphere {
                    key = unit_length(key);
                }
                key.iter_mut().zip(&trigger).for_each(|(k, z)| *k += point.trigger.t() * z);
                let feature = |g: &Vec<f64>| point.activation.value(dot(g, &key)) / (width as f64).sqrt();
                rows.iter().map(feature).collect()
            };
            let features: Vec<Vec<f64>> = (0..tokens).map(&mut features).collect();
            for v in 0..tokens {
                let others: Vec<f64> =
                    (0..tokens).filter(|&w| w != v).map(|w| dot(&features[w], &features[v])).collect();
                let mean = others.iter().sum::<f64>() / others.len() as f64;
                kappa += mean;
                s2 += others.iter().map(|k| (k - mean).powi(2)).sum::<f64>() / (others.len() - 1) as f64;
                xis.push(dot(&features[v], &features[v]) - mean);
            }
        }
        let count = xis.len() as f64;
        let xi = xis.iter().sum::<f64>() / count;
        // The mean over w is itself a sample of 59, which adds to the spread.
        let spread = xis.iter().map(|x| (x - xi).powi(2)).sum::<f64>() / count - s2 / count / 59.0;
        Summary { kappa: kappa / count, xi, xi_spread: spread.sqrt(), s2: s2 / count, mlp_noise: 0.0 }
    }

    #[test]
    fn every_activation_agrees_with_simulation() {
        let mut dice = Dice(5);
        for &activation in Activation::ALL {
            for trigger in [Trigger::Keys, Trigger::Values] {
                for embedding in [Embedding::Gaussian, Embedding::Sphere] {
                    let point = point(activation, embedding, trigger, 24.0, 120.0);
                    let (s, seen) = (Kernel::of(&point).summary(), simulate(&point, 60, &mut dice));
                    let name = format!("{activation} {embedding} {trigger}: {s:?} against {seen:?}");
                    // All keys share the trigger, so a draw of it and of the first layer counts once, and the
                    // powers that the polynomials take have long tails.
                    let polynomial = matches!(activation, Activation::He2 | Activation::He3);
                    let slack = if polynomial { 2.0 + 4.0 * trigger.t() } else { 1.0 + trigger.t() };
                    let allowed = 0.015 * slack * (s.kappa.abs() + s.xi);
                    assert!((s.kappa - seen.kappa).abs() < allowed, "kappa {name}");
                    assert!((s.xi / seen.xi - 1.0).abs() < 0.03 * slack, "xi {name}");
                    assert!((s.s2 / seen.s2 - 1.0).abs() < 0.06 * slack, "s2 {name}");
                    assert!((s.xi_spread / seen.xi_spread - 1.0).abs() < 0.06 * slack, "spread {name}");
                }
            }
        }
    }
}
