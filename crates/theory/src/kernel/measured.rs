//! A kernel given by measured statistics of a real or learned embedding matrix (theory: MLP).

use serde::{Deserialize, Serialize};

use super::Query;
use crate::quadrature::{Rule, chi_square};

/// Measured statistics of a kernel and of output embeddings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Mean of `K(w, v)` over w != v.
    pub kappa: f64,
    /// Mean of `K(v, v) - kappa_v`.
    pub xi: f64,
    /// Standard deviation of `K(v, v) - kappa_v` over v.
    pub xi_spread: f64,
    /// Variance of `K(w, v)` over w != v, averaged over v.
    pub s2: f64,
    /// Mean square cosine of two output embeddings, in place of `1/d`.
    pub output_coherence: f64,
    /// Standard deviation of `|z_out|^2` over its mean: `sqrt(2/d)` for Gaussian embeddings, 0 on the sphere.
    pub output_spread: f64,
}

impl Measured {
    /// Queries of different xi. A chi-square distribution with the measured spread keeps xi positive. Long keys overlap
    /// more, so s2 is proportional to xi.
    pub(crate) fn queries(&self) -> Vec<Query> {
        let relative = (self.xi_spread / self.xi).powi(2);
        let rule = if relative > 0.0 && relative.is_finite() {
            chi_square(2.0 / relative, 5)
        } else {
            Rule::certain(1.0)
        };
        let Measured { kappa, xi, s2, .. } = *self;
        let query = |&(scale, weight): &(f64, f64)| {
            let (xi, s2) = (xi * scale, s2 * scale);
            Query { weight, kappa, xi, s2, mlp_noise: 0.0 }
        };
        rule.points.iter().map(query).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    #[test]
    fn summary_equals_the_measured_statistics() {
        let (kappa, xi, xi_spread, s2, output_coherence) = (0.3, 0.8, 0.2, 0.01, 0.02);
        let measured = Measured { kappa, xi, xi_spread, s2, output_coherence, output_spread: 0.0 };
        let summary = Kernel { queries: measured.queries() }.summary();
        assert!((summary.xi - 0.8).abs() < 1e-12 && (summary.xi_spread - 0.2).abs() < 1e-12);
        assert!((summary.kappa - 0.3).abs() < 1e-12 && (summary.s2 - 0.01).abs() < 1e-12);
        assert_eq!(Measured { xi_spread: 0.0, ..measured }.queries().len(), 1);
    }
}
