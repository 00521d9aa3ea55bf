//! Memory accuracy compared with a slow reference and with exact values.

use superpose_core::config::{Activation, Embedding, Trigger};

use super::*;
use crate::normal::{cdf_power, density};
use crate::point::gaussian;
use crate::testing::chi_square_grid;

/// The same average by grids over every count, length and z, with the exact power of F. Attention-only, trigger in the keys,
/// d large enough that the length of u does not vary much.
fn slow(point: &Point, samples: f64) -> f64 {
    let (d, v) = (point.dim, point.vocab);
    let per_fact = samples / v;
    let counts = binomial(samples, 1.0 / v, Detail::Every);
    let own_fact = d / v;
    let across = chi_square_grid(d * (1.0 + own_fact) / (1.0 + 4.0 * own_fact), 19);
    let squares = chi_square_grid(d, 31);
    let y = crate::normal::Maximum::of(v - 1.0).rule.mean(|y| y);
    let mut accuracy = 0.0;
    for &(a, a_weight) in &squares {
        let query = Query { weight: 1.0, kappa: 0.0, xi: a, s2: a / d, mlp_noise: 0.0 };
        let loose = Loose::tight();
        let variance =
            (1.0 + v / d) * loose.stored(per_fact).noise(&query, &loose, 1.0 / d, v).iter().sum::<f64>();
        let [third, fourth] = cumulants(&query, moments(per_fact, &loose));
        let noise = Noise::new(variance, third, fourth);
        let tau2 = noise.variance / (1.0 + own_fact);
        accuracy += a_weight
            * counts.mean(|n| {
                let signal = a * n / per_fact;
                let total = noise.variance + signal * signal / d;
                let signal = signal - noise.fourth / total.powf(1.5) * (y * y - 3.0) * y / 24.0;
                let mut sum = 0.0;
                for &(b, b_weight) in &squares {
                    for i in -17..=17 {
                        let z = 0.3 * f64::from(i);
                        let rho = signal * b.sqrt() + tau2.sqrt() * z;
                        for &(g, g_weight) in &across {
                            let h = tau2 * ((1.0 + own_fact) * g - 1.0 / d);
                            let x = b.sqrt() * rho / (rho * rho / d + h).sqrt();
                            sum += b_weight * g_weight * 0.3 * density(z) * cdf_power(x, v - 1.0);
                        }
                    }
                }
                sum
            });
    }
    accuracy
}

#[test]
fn agrees_with_a_slow_reference() {
    for (vocab, dim, samples) in
        [(200.0, 60.0, 150.0), (2000.0, 150.0, 4000.0), (100_000.0, 900.0, 300_000.0)]
    {
        let point = gaussian(vocab, dim, 8.0, samples);
        let (fast, exact) = (Memory::new(&point).accuracy(samples), slow(&point, samples));
        assert!((fast - exact).abs() < 1e-4, "V = {vocab}: {fast} against {exact}");
    }
}

#[test]
fn orthonormal_keys_need_only_coverage() {
    let point = Point { embedding: Embedding::Orthonormal, ..gaussian(500.0, 502.0, 8.0, 1.0) };
    let memory = Memory::new(&point);
    for per_fact in [0.1, 1.0, 3.0] {
        let unseen = (1.0 - 1.0 / 500.0_f64).powf(500.0 * per_fact);
        let exact = 1.0 - unseen + unseen / 500.0;
        assert!((memory.accuracy(500.0 * per_fact) - exact).abs() < 1e-6, "{per_fact}");
    }
}

#[test]
fn orthonormal_keys_with_the_trigger_in_the_values_need_larger_counts() {
    let (embedding, trigger) = (Embedding::Orthonormal, Trigger::Values);
    let point = Point { embedding, trigger, ..gaussian(50.0, 52.0, 8.0, 1.0) };
    let memory = Memory::new(&point);
    assert!(memory.accuracy(1e6) > 0.9999);
    let few = memory.accuracy(50.0);
    assert!((0.1..0.3).contains(&few), "{few}");
}

#[test]
fn noise_terms_equal_the_closed_form() {
    let (v, d, n) = (300.0, 50.0, 2000.0);
    let point = Point { trigger: Trigger::Values, ..gaussian(v, d, 8.0, n) };
    let noise = Memory::new(&point).noise(n);
    let label = 1.0 / d + 1.0 / v;
    let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
    close(noise.signal, 1.0 / (v * v));
    close(noise.mean_bias, label / n);
    close(noise.interference, label * 2.0 / d / v);
    close(noise.gradient_noise, label * 2.0 / d / n);
    close(noise.output_overlap, 1.0 / (v * v * d));
    assert_eq!(noise.mlp_noise, 0.0);
}

#[test]
fn wider_he2_layers_store_more() {
    let at = |activation, width| {
        let point = Point { width: Some(width), activation, ..gaussian(2000.0, 100.0, 8.0, 1e5) };
        Memory::new(&point).accuracy(1e5)
    };
    let widths = [100.0, 300.0, 1000.0, 3000.0].map(|width| at(Activation::He2, width));
    assert!(widths.is_sorted() && widths[3] > 0.9, "{widths:?}");
    // A linear layer of any width is limited by the dimension.
    let linear = at(Activation::Identity, 1e6);
    assert!(linear < 0.2, "{linear}");
}
