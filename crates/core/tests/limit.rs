//! The infinitesimal regime is the limit of the exact one (theory: setting).

use crate::common::{Setting, distance};
use superpose_core::backend::Backend;
use superpose_core::config::{Activation, Precision, Regime, Settings, Trigger};

/// Distances in `M1 / eta`, `W1` at fixed lead and `(M2 - M1) / eta2` between the exact regime and the limit.
fn distances(settings: &Settings, eta: f64) -> [f64; 3] {
    let backend = Backend::single();
    let limit = Setting::<f64>::new(settings.clone()).run(&backend);
    let exact =
        Setting::<f64>::new(Settings { regime: Regime::Exact, eta, ..settings.clone() }).run(&backend);
    let m1: Vec<f64> = exact.m1.iter().map(|x| x / eta).collect();
    let m2: Vec<f64> = exact.m2.iter().zip(&exact.m1).map(|(m2, m1)| (m2 - m1) / exact.eta2).collect();
    [distance(&m1, &limit.m1), distance(&exact.w1, &limit.w1), distance(&m2, &limit.m2)]
}

#[test]
fn differences_shrink_linearly_in_eta() {
    for trigger in [Trigger::Values, Trigger::Keys] {
        for width in [None, Some(40)] {
            let settings = Settings {
                vocab: 24,
                dim: 12,
                length: 6,
                samples: 300,
                width,
                activation: Activation::Gelu,
                trigger,
                precision: Precision::F64,
                ..Settings::default()
            };
            let [_, w_coarse, m_coarse] = distances(&settings, 1e-1);
            let [m1, w_fine, m_fine] = distances(&settings, 1e-3);
            // Step 1 starts from a uniform softmax in both regimes: only rounding differs.
            assert!(m1 < 1e-14, "m1 {m1}");
            for (name, coarse, fine) in [("w1", w_coarse, w_fine), ("m2", m_coarse, m_fine)] {
                let ratio = coarse / fine;
                assert!((90.0..110.0).contains(&ratio), "{name}: {coarse:e} / {fine:e} = {ratio}");
            }
        }
    }
}
