//! The gradient with respect to a head output, which determines the direction of step 2 (theory: MLP).
//!
//! The contribution of sample m to the gradient at sample n is `G(n,m) = d K(h_n, h_m) / d h_n`, K the kernel of the
//! features. For the attention-only model this is `h_m`. With an MLP it is
//! `(1/m) sum_k phi'(w_k . h_n) phi(w_k . h_m) w_k`. Its mean over the first layer is, by Stein's lemma,
//! `E[phi' phi'] h_m + E[phi'' phi] h_n`, both functions of the cosine of the two head outputs; around the mean every
//! direction has the variance `E[phi'^2 phi^2] / m`.
//!
//! Head outputs share tokens by chance ([`Heads`]); for an even phi this determines what is learned.

use superpose_core::config::Activation;

use crate::heads::Heads;
use crate::kernel::{DEGREES, Feature, polynomial, products};
use crate::point::Point;
use crate::quadrature::HALF_LINE;

/// Statistics of the gradient, as multiples of those of the attention-only model.
#[derive(Clone, Copy, Debug)]
pub struct Gradient {
    /// Contribution of pairs of samples with the same label to the trigger's score.
    pub same_label: f64,
    /// Contribution of a sample to its own gradient, along its head output.
    pub own: f64,
    /// Sum of the contributions of two samples to each other, along their head outputs.
    pub mutual: f64,
    /// Contribution of another sample to a sample's gradient, along the latter's own head output.
    pub along_own: f64,
    /// Energy of the gradient of one pair.
    pub pair: f64,
    /// Noise of the first layer.
    pub layer: Layer,
}

/// Variances that the random first layer adds in every direction, each proportional to 1/m.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layer {
    /// Squared mean over samples of each one's contribution to itself: `E[phi phi']^2 / m`.
    pub own_mean: f64,
    /// Squared mean over pairs: `E[phi]^2 E[phi']^2 / m`.
    pub pair_mean: f64,
    /// Variance from one sample, in either role of a pair.
    pub single: f64,
    /// A pair of samples: `E[phi^2] E[phi'^2] / m`.
    pub pair: f64,
    /// A sample with itself: `E[phi^2 phi'^2] / m`.
    pub own: f64,
}

impl Gradient {
    pub fn of(point: &Point) -> Gradient {
        Gradient::of_one_row(point).at_width(point.width)
    }

    /// The gradient of an MLP with one row; the point's dimension and number of samples are not used.
    pub fn of_one_row(point: &Point) -> Gradient {
        if point.width.is_some() {
            return Gradient::through(point);
        }
        let layer = Layer::default();
        Gradient { same_label: 1.0, own: 1.0, mutual: 1.0, along_own: 0.0, pair: 1.0, layer }
    }

    /// The gradient of an MLP of the given width, which averages that many rows.
    pub fn at_width(mut self, width: Option<f64>) -> Gradient {
        let Layer { own_mean, pair_mean, single, pair, own } = &mut self.layer;
        for variance in [own_mean, pair_mean, single, pair, own] {
            *variance /= width.unwrap_or(1.0);
        }
        self
    }

    fn through(point: &Point) -> Gradient {
        let t = point.trigger.t();
        let Heads { square, apart, alike } = Heads::of(point);
        let (apart, alike) = (apart / square, alike / square);
        let head = Head::of(point.activation, square);
        let (by_other, by_own) = (head.by_other(apart), head.by_own(apart));
        let m = &head.moments;
        let own = m.own_slope / square.sqrt();
        let (mean, slope) = (head.feature.mean(), head.slope[0]);
        Gradient {
            same_label: (1.0 + t) * head.by_other(alike) + t * (head.by_own(alike) - by_own - by_other),
            own,
            mutual: by_other + by_own,
            along_own: by_own,
            pair: by_other * by_other + by_own * by_own,
            layer: Layer {
                own_mean: m.product * m.product,
                pair_mean: (mean * slope).powi(2),
                single: single(mean, slope, head.feature.square(), m),
                pair: head.feature.square() * m.slope_square,
                own: m.product_square,
            },
        }
    }
}

/// Variance of `E[phi] phi' + E[phi'] phi` at one head output.
fn single(mean: f64, slope: f64, square: f64, m: &Moments) -> f64 {
    let covariance = m.product - mean * slope;
    let variances = slope * slope * (square - mean * mean) + mean * mean * (m.slope_square - slope * slope);
    (variances + 2.0 * mean * slope * covariance).max(0.0)
}

/// Averages over a row of the first layer, `w . h = |h| z`.
#[derive(Default)]
struct Moments {
    /// `E[phi'^2]`
    slope_square: f64,
    /// `E[phi phi']`
    product: f64,
    /// `E[phi^2 phi'^2]`
    product_square: f64,
    /// `E[phi phi' z]`
    own_slope: f64,
}

/// The activation at the length of a head output.
struct Head {
    feature: Feature,
    /// Hermite coefficients of `phi'`.
    slope: [f64; DEGREES],
    /// Of `phi''`.
    bend: [f64; DEGREES],
    moments: Moments,
}

impl Head {
    fn of(activation: Activation, square: f64) -> Head {
        let length = square.sqrt();
        let feature = Feature::of(activation, square);
        let slope = derivative(&feature.coefficients, length);
        let bend = derivative(&slope, length);
        let mut moments = Moments::default();
        for &(z, weight) in HALF_LINE.iter() {
            for z in [z, -z] {
                let (value, slope) = (activation.value(length * z), activation.slope(length * z));
                moments.slope_square += weight * slope * slope;
                moments.product += weight * value * slope;
                moments.product_square += weight * (value * slope).powi(2);
                moments.own_slope += weight * value * slope * z;
            }
        }
        Head { feature, slope, bend, moments }
    }

    /// `E[phi' phi']` of two head outputs with cosine rho: the component along the other one.
    fn by_other(&self, rho: f64) -> f64 {
        polynomial(&products(&self.slope, &self.slope), rho)
    }

    /// `E[phi'' phi]`: the component along the sample's own head output.
    fn by_own(&self, rho: f64) -> f64 {
        polynomial(&products(&self.bend, &self.feature.coefficients), rho)
    }
}

/// Hermite coefficients of the derivative: `E[f'(l z) He_q(z)] = sqrt(q + 1) c_(q+1) / l`.
fn derivative(coefficients: &[f64; DEGREES], length: f64) -> [f64; DEGREES] {
    let next = |q: usize| coefficients.get(q + 1).map_or(0.0, |c| ((q + 1) as f64).sqrt() * c / length);
    std::array::from_fn(next)
}

#[cfg(test)]
mod tests {
    use superpose_core::config::Trigger;

    use super::*;
    use crate::point::gaussian;

    #[test]
    fn linear_layer_adds_only_noise() {
        for trigger in [Trigger::Keys, Trigger::Values] {
            let (width, activation) = (Some(300.0), Activation::Identity);
            let point = Point { width, activation, trigger, ..gaussian(200.0, 50.0, 10.0, 1e3) };
            let gradient = Gradient::of(&point);
            for multiple in [gradient.same_label, gradient.own, gradient.mutual, gradient.pair] {
                assert!((multiple - 1.0).abs() < 1e-10, "{gradient:?}");
            }
            let square = (10.0 + trigger.t()) / 100.0 + 0.9 / 200.0;
            assert!((gradient.layer.pair * 300.0 - square).abs() < 1e-10, "{gradient:?}");
            assert!(gradient.layer.pair_mean.abs() < 1e-20);
        }
    }

    /// `K = (|h|^2 - 1) (|h'|^2 - 1) / 2 + (h . h')^2` for He_2.
    #[test]
    fn he2_has_the_closed_form() {
        let (vocab, length) = (400.0_f64, 20.0_f64);
        let point =
            Point { width: Some(1e12), activation: Activation::He2, ..gaussian(vocab, 50.0, length, 1e3) };
        let gradient = Gradient::of(&point);
        let square = 1.0 / length + (1.0 - 1.0 / length) / vocab;
        let alike = (1.0 - 1.0 / (length * length)) / vocab + 1.0 / (length * length);
        assert!((gradient.same_label - 2.0 * alike).abs() < 1e-12, "{gradient:?}");
        assert!((gradient.own - (3.0 * square - 1.0)).abs() < 1e-12, "{gradient:?}");
    }
}
