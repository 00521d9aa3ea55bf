//! The attention-only kernel, `K(w, v) = k_w . k_v` (theory: memory).
//!
//! With a = |z_in[v]|^2 and c = z_in[v] . z_trig, and the trigger in the values (t = 1): `kappa = 1 + c`,
//! `xi = a + c`, `s2 = |k_v|^2 / d = (a + 2 c + 1) / d`. With the trigger in the keys only: `kappa = 0`,
//! `xi = a`, `s2 = a / d`. Orthonormal vectors have `s2 = 0`.

use super::{Query, key_places};
use crate::point::Point;

pub fn queries(point: &Point) -> Vec<Query> {
    let t = point.trigger.t();
    let query = |[a, cosine, weight]: [f64; 3]| {
        let c = t * a.sqrt() * cosine;
        let s2 = (a + 2.0 * c + t).max(0.0) * point.overlap();
        Query { weight, kappa: t + c, xi: a + c, s2, mlp_noise: 0.0 }
    };
    key_places(point).into_iter().map(query).collect()
}

#[cfg(test)]
mod tests {
    use superpose_core::config::{Embedding, Trigger};

    use super::*;
    use crate::kernel::Kernel;
    use crate::point::gaussian;

    #[test]
    fn averages_equal_the_closed_form() {
        let d = 64.0;
        for embedding in
            [Embedding::Gaussian, Embedding::Sphere, Embedding::Rademacher, Embedding::Orthonormal]
        {
            for trigger in [Trigger::Keys, Trigger::Values] {
                let point = Point { embedding, trigger, ..gaussian(50.0, d, 8.0, 1e3) };
                let s = Kernel::of(&point).summary();
                let t = trigger.t();
                let orthonormal = embedding == Embedding::Orthonormal;
                let norms = if embedding == Embedding::Gaussian { 2.0 / d } else { 0.0 };
                let spread = norms + if orthonormal { 0.0 } else { t / d };
                assert!(
                    (s.kappa - t).abs() < 1e-12 && (s.xi - 1.0).abs() < 1e-12,
                    "{embedding} {trigger} {s:?}"
                );
                assert!((s.s2 - if orthonormal { 0.0 } else { (1.0 + t) / d }).abs() < 1e-12, "{s:?}");
                assert!((s.xi_spread.powi(2) - spread).abs() < 1e-12, "{embedding} {trigger} {s:?}");
            }
        }
    }
}
