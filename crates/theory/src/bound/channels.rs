//! The channels of the attention-MLP model's first gradient, by signal-to-noise ratio (`docs/theory/bound.md`, 6).
//!
//! Divided by the learning rate the gradient is `(1/N) sum_n c_n psi(h_n)^T`, c the centred output embedding of the label. Given the
//! informative token v, `psi(h) = mu_v + e`: the signal is `mu_v` less its mean, the noise e. With u the part of h that
//! varies, of square length `1/L`, a feature is `phi(s + |u| z)`, where the shift s comes from the trigger and the mean token. Its Hermite orders, of energies `a_q^2 = E_s[c_q(s)^2]`, are uncorrelated. Two sequences with the same informative token
//! have parts u with a cosine of `1/L` in the mean, unrelated ones of 0, both with a spread of about `1/sqrt(d)`, so
//!
//! ```text
//! signal  S_q = a_q^2 (E rho^q - E rho_0^q),     noise  T_q = a_q^2 (1 - E rho^q).
//! ```
//!
//! Order q has `F_q = C(d + q - 1, q)` dimensions, and its ratio decreases with q, about as `L^-q`. A layer of width m resolves
//! the lowest orders, as long as their dimensions fit into m; all higher orders are mixed, as signal and noise spread evenly over
//! m. A channel with given energies carries the most information if they are spread evenly, so the sum over channels is an upper
//! bound for Gaussian noise.

use superpose_core::config::Activation;

use crate::normal::density;
use crate::point::Point;
use crate::quadrature::{Rule, cosine, hermite};

/// Number of Hermite orders; higher ones count as noise.
const ORDERS: usize = 12;

/// Numbers of the gradient that share a signal-to-noise ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Channel {
    /// How many numbers.
    pub numbers: f64,
    /// The ratio with one sample for every fact.
    pub ratio: f64,
}

/// Energies of one Hermite order, or of all orders.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Energy {
    /// Energy of the informative token's contribution to the mean features, for a width of 1.
    pub signal: f64,
    /// Energy of the variation given the informative token, for a width of 1.
    pub noise: f64,
}

pub(super) fn channels(point: &Point, width: f64) -> Vec<Channel> {
    let Point { vocab, dim, .. } = *point;
    let (orders, rest) = energies(point);
    let outputs = dim.min(vocab);
    let mut left = width;
    let mut resolved = Vec::new();
    let mut mixed = Energy { signal: 0.0, noise: rest };
    let mut open = true;
    let total: f64 = orders.iter().map(|order| order.signal + order.noise).sum::<f64>() + rest;
    for (q, order) in (1..).zip(&orders) {
        // An order that the activation does not have takes no dimensions.
        if order.signal + order.noise <= 1e-13 * total {
            continue;
        }
        let room = dimensions(dim, q).min(dimensions(vocab, q));
        open = open && room < left;
        if open {
            left -= room;
            resolved.push((room, *order));
        } else {
            mixed.signal += order.signal;
            mixed.noise += order.noise;
        }
    }
    let floor = Energy { signal: mixed.signal / width, noise: mixed.noise / width };
    let channel = |(room, order): (f64, Energy)| {
        let inputs = room.min(vocab);
        let signal = order.signal / inputs + floor.signal;
        Channel { numbers: outputs * inputs, ratio: signal / (order.noise / room + floor.noise) }
    };
    let mut channels: Vec<Channel> = resolved.into_iter().map(channel).collect();
    if mixed.signal > 0.0 {
        let inputs = left.min(vocab);
        let ratio = floor.signal * left / inputs / floor.noise;
        channels.push(Channel { numbers: outputs * inputs, ratio });
    }
    channels
}

/// Energies by order, from the first on, and the energy of the orders beyond.
fn energies(point: &Point) -> ([Energy; ORDERS], f64) {
    let share = 1.0 / point.length;
    let shift = point.trigger.t() * share * share + 1.0 / point.vocab;
    let (squares, total) = squares(point.activation, share.sqrt(), shift.sqrt());
    let spread = if point.orthonormal() { Rule::certain(0.0) } else { cosine(point.dim, 8) };
    let mut orders = [Energy::default(); ORDERS];
    for (q, (order, &square)) in (1..).zip(orders.iter_mut().zip(&squares[1..])) {
        let same = spread.mean(|x| (share + (1.0 - share * share).sqrt() * x).powi(q));
        let other = spread.mean(|x| x.powi(q));
        *order = Energy { signal: square * (same - other).max(0.0), noise: square * (1.0 - same).max(0.0) };
    }
    (orders, (total - squares.iter().sum::<f64>()).max(0.0))
}

/// `E_s[c_q(s)^2]` of `phi(shift s + size z)`, q from 0 on, and `E[phi^2]`.
fn squares(activation: Activation, size: f64, shift: f64) -> ([f64; ORDERS + 1], f64) {
    /// Steps per unit of z, and units to either side; the error from a kink is 1e-4.
    const STEPS: i32 = 24;
    const REACH: i32 = 8;
    let mut squares = [0.0; ORDERS + 1];
    let mut total = 0.0;
    for &(s, weight) in &hermite(7).points {
        let mut coefficients = [0.0; ORDERS + 1];
        for i in -REACH * STEPS..=REACH * STEPS {
            let z = f64::from(i) / f64::from(STEPS);
            let value = activation.value(shift * s + size * z);
            let part = value * density(z) / f64::from(STEPS);
            total += weight * value * part;
            let (mut before, mut current) = (0.0, 1.0);
            for (q, c) in coefficients.iter_mut().enumerate() {
                *c += part * current;
                let q = q as f64;
                (before, current) = (current, (z * current - q.sqrt() * before) / (q + 1.0).sqrt());
            }
        }
        squares.iter_mut().zip(coefficients).for_each(|(square, c)| *square += weight * c * c);
    }
    (squares, total)
}

/// Dimension of the symmetric tensors of order q: `C(n + q - 1, q)`.
fn dimensions(n: f64, q: i32) -> f64 {
    (0..q).map(|k| (n + f64::from(k)) / f64::from(k + 1)).product()
}

#[cfg(test)]
mod tests {
    use superpose_core::config::Trigger;

    use super::*;
    use crate::point::gaussian;
    use crate::testing::{Dice, dot};

    #[test]
    fn wide_identity_equals_the_attention_only_model() {
        let point = Point { activation: Activation::Identity, ..gaussian(300.0, 40.0, 10.0, 1.0) };
        let found = channels(&point, 500.0);
        assert_eq!(found.len(), 1);
        assert!((found[0].numbers - 1600.0).abs() < 1e-9);
        assert!((found[0].ratio * 9.0 - 1.0).abs() < 1e-6, "{found:?}");
        // A layer narrower than the dimension has fewer numbers.
        assert!((channels(&point, 20.0)[0].numbers - 800.0).abs() < 1e-9);
    }

    #[test]
    fn he2_has_lower_ratios_and_more_numbers() {
        let point = Point { activation: Activation::He2, ..gaussian(3000.0, 40.0, 10.0, 1.0) };
        let found = channels(&point, 300.0);
        let mixed = found.last().unwrap();
        assert!((0.8..1.5).contains(&(mixed.ratio * 99.0)), "{found:?}");
        assert!(found.iter().map(|c| c.numbers).sum::<f64>() <= 40.0 * 300.0 + 1e-6);
    }

    /// Energies of features of drawn sequences: the mean of `psi psi'` over pairs with the same informative token, over
    /// unrelated pairs, and of each with itself.
    #[test]
    fn energies_agree_with_drawn_features() {
        let mut dice = Dice(11);
        let (vocab, dim, width) = (150, 24, 400);
        for (activation, trigger, length) in [
            (Activation::Relu, Trigger::Keys, 8),
            (Activation::Gelu, Trigger::Values, 5),
            (Activation::Tanh, Trigger::Values, 16),
            (Activation::He2, Trigger::Keys, 4),
            (Activation::He2, Trigger::Values, 4),
            (Activation::He3, Trigger::Keys, 4),
            (Activation::Abs, Trigger::Keys, 4),
        ] {
            let (mut same, mut other, mut own, mut pairs) = (0.0, 0.0, 0.0, 0.0);
            for _ in 0..3 {
                let rows: Vec<Vec<f64>> = (0..width).map(|_| dice.row(dim, 1.0)).collect();
                let tokens: Vec<Vec<f64>> = (0..vocab).map(|_| dice.row(dim, 1.0 / dim as f64)).collect();
                let mark = dice.row(dim, 1.0 / dim as f64);
                let features = |v: usize, dice: &mut Dice| -> Vec<f64> {
                    let mut head: Vec<f64> = (0..dim).map(|i| tokens[v][i] + trigger.t() * mark[i]).collect();
                    for _ in 1..length {
                        let w = (dice.unit() * vocab as f64) as usize % vocab;
                        head.iter_mut().zip(&tokens[w]).for_each(|(h, x)| *h += x);
                    }
                    head.iter_mut().for_each(|h| *h /= length as f64);
                    rows.iter().map(|g| activation.value(dot(g, &head))).collect()
                };
                // Inner products of sums over sequences are sums over all pairs of sequences.
                const MANY: usize = 12;
                let (mut all, mut within, mut squares) = (vec![0.0; width], 0.0, 0.0);
                for v in 0..vocab {
                    let mut sum = vec![0.0; width];
                    for _ in 0..MANY {
                        let feature = features(v, &mut dice);
                        squares += dot(&feature, &feature);
                        sum.iter_mut().zip(&feature).for_each(|(sum, x)| *sum += x);
                    }
                    within += dot(&sum, &sum);
                    all.iter_mut().zip(&sum).for_each(|(all, x)| *all += x);
                }
                let (n, v) = (MANY as f64, vocab as f64);
                same += (within - squares) / (v * n * (n - 1.0)) / width as f64;
                other += (dot(&all, &all) - within) / (v * (v - 1.0) * n * n) / width as f64;
                own += squares / (v * n) / width as f64;
                pairs += 1.0;
            }
            let seen = Energy { signal: (same - other) / pairs, noise: (own - same) / pairs };
            let point =
                Point { activation, trigger, ..gaussian(vocab as f64, dim as f64, length as f64, 1.0) };
            let (orders, rest) = energies(&point);
            let signal = orders.iter().map(|order| order.signal).sum::<f64>() / seen.signal;
            let noise = (orders.iter().map(|order| order.noise).sum::<f64>() + rest) / seen.noise;
            println!("{activation} {trigger} L = {length}: signal {signal:.3}, noise {noise:.3}");
            assert!(
                [signal, noise].iter().all(|x| (0.82..1.2).contains(x)),
                "{activation}: {signal} {noise}"
            );
        }
    }
}
