//! Attention on tokens with Zipf frequencies, to leading order (theory: optimiser): the largest score of a token beside that of the
//! trigger, with the trigger in the keys and unlimited data.
//!
//! Step 2 adds `a_i g . (v_i - h)` to the coefficient of the token at position i. Let `sigma_v` be `g . z_v` for a sample of fact v, and
//! 0 for all other tokens: `p_v / L` up to a factor after a gradient step, and the same for all facts after Muon's. With n the number of
//! positions that hold v, `n - 1` binomial, the coefficients are
//!
//! - trigger: `sum_v p_v sigma_v (1 - E n_v / L) / L`,
//! - token w: `p_w sigma_w E[n_w (1 - n_w / L)] / L - p_w (1 - 1/L) sum_(v != w) p_v sigma_v E n_v / L`.
//!
//! Where a token's coefficient exceeds the trigger's, attention goes to that token wherever it occurs.

use superpose_core::config::EarlyRule;

/// The largest coefficient of a token over that of the trigger; above 1 attention misses the trigger. `None` for a rule without a
/// formula.
pub fn frequent_token_score(vocab: usize, length: usize, exponent: f64, rule: EarlyRule) -> Option<f64> {
    let weight = |v: usize| libm::pow((v + 1) as f64, -exponent);
    let total: f64 = (0..vocab).map(weight).sum();
    let l = length as f64;
    // Probability, strength, and the first two moments of the number of positions.
    let facts = (0..vocab).map(|v| {
        let p = weight(v) / total;
        let strength = match rule {
            EarlyRule::Gradient => Some(p),
            EarlyRule::Muon => Some(1.0),
            EarlyRule::Sign | EarlyRule::Newton => None,
        };
        let n = 1.0 + (l - 1.0) * p;
        Some((p, p * strength?, n, n * n + (l - 1.0) * p * (1.0 - p)))
    });
    let facts: Vec<(f64, f64, f64, f64)> = facts.collect::<Option<_>>()?;
    let trigger: f64 = facts.iter().map(|(_, strength, n, _)| strength * (1.0 - n / l) / l).sum();
    let others: f64 = facts.iter().map(|(_, strength, n, _)| strength * n / l).sum();
    let token = |&(p, strength, n, squares): &(f64, f64, f64, f64)| {
        strength * (n - squares / l) / l - p * (1.0 - 1.0 / l) * (others - strength * n / l)
    };
    Some(facts.iter().map(token).fold(f64::NEG_INFINITY, f64::max) / trigger)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_strengths_help_the_trigger_and_exponents_and_lengths_harm_it() {
        let ratio = |length, exponent, rule| frequent_token_score(256, length, exponent, rule).unwrap();
        for rule in [EarlyRule::Gradient, EarlyRule::Muon] {
            assert!(ratio(16, 0.0, rule).abs() < 0.01);
            for exponent in [0.5, 1.0, 1.5] {
                assert!(ratio(16, exponent, rule) < ratio(16, exponent + 0.5, rule));
                assert!(ratio(16, exponent, rule) < ratio(32, exponent, rule));
                assert!(ratio(16, exponent, EarlyRule::Muon) < ratio(16, exponent, EarlyRule::Gradient));
            }
        }
        assert_eq!(frequent_token_score(256, 16, 1.0, EarlyRule::Sign), None);
    }
}
