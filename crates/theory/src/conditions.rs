//! Leading-order conditions for accuracy near 1 (theory: memory, attention, one step): products of sizes that must be large.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::attention::Gradient;
use crate::kernel::Summary;
use crate::point::Point;

superpose_core::words!(
    /// The subject of a condition.
    Subject {
        /// Every fact must occur in a sample.
        Coverage = "coverage",
        /// Trained parameters against the number of facts.
        Capacity = "capacity",
        /// Overlap of the right label's output embedding with the wrong ones.
        OutputOverlap = "output_overlap",
        /// Samples against the component that all keys have in common.
        MeanBias = "mean_bias",
        /// Width of the MLP against the noise of its random first layer.
        MlpNoise = "mlp_noise",
        /// Samples and dimension against the sequence length.
        Attention = "attention",
        /// Samples and dimension for reading the facts from the first gradient alone.
        OneStep = "one_step",
    }
);

/// A condition `left > right` for accuracy near 1, to leading order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// The subject of the condition.
    pub subject: Subject,
    /// The condition in symbols, for example `N d^2 > 2 L V^2 log V`.
    pub statement: String,
    /// Value of the left side.
    pub left: f64,
    /// Value of the right side.
    pub right: f64,
}

impl Condition {
    /// Left side over right side: above 1 the condition holds.
    pub fn margin(&self) -> f64 {
        self.left / self.right
    }

    /// Whether the condition holds.
    pub fn holds(&self) -> bool {
        self.left > self.right
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.holds() { "holds" } else { "fails" };
        let (left, right) = (rounded(self.left), rounded(self.right));
        write!(f, "{}: {}, {left} against {right}, {verdict}", self.subject, self.statement)
    }
}

/// A number with about three digits, with an exponent where it is very large or very small.
fn rounded(x: f64) -> String {
    match x.abs() {
        size if size != 0.0 && !(1e-3..1e6).contains(&size) => format!("{x:.2e}"),
        ..100.0 => format!("{x:.2}"),
        _ => format!("{x:.0}"),
    }
}

/// The conditions that apply at a point with the given kernel.
pub fn conditions(point: &Point, kernel: &Summary) -> Vec<Condition> {
    let Point { vocab, dim, length, samples, .. } = *point;
    let log = libm::log(vocab);
    let (t, mlp) = (point.trigger.t(), point.width.is_some());
    let mut list = Vec::new();
    let mut add = |subject, statement: &str, left: f64, right: f64| {
        list.push(Condition { subject, statement: statement.to_owned(), left, right });
    };
    add(Subject::Coverage, "N > V", samples, vocab);
    if !point.orthonormal() {
        let xi2 = kernel.xi * kernel.xi;
        if mlp {
            let right = 2.0 * (kernel.s2 / xi2) * vocab * log;
            add(Subject::Capacity, "d > 2 (s2/xi^2) V log V", dim, right);
        } else {
            let symbols = if t > 0.0 { "d^2 > 4 V log V" } else { "d^2 > 2 V log V" };
            add(Subject::Capacity, symbols, dim * dim, 2.0 * (1.0 + t) * vocab * log);
        }
        add(Subject::OutputOverlap, "d > 2 log V", dim, 2.0 * log);
        if mlp {
            let right = 2.0 * (kernel.mlp_noise / xi2) * vocab * log;
            add(Subject::MlpNoise, "d > 2 (mlp_noise/xi^2) V log V", dim, right);
        }
        let common = (kernel.kappa / kernel.xi).powi(2);
        if common > 1e-6 {
            let symbols = if mlp { "N d > 2 (kappa/xi)^2 V^2 log V" } else { "N d > 2 V^2 log V" };
            add(Subject::MeanBias, symbols, samples * dim, 2.0 * common * vocab * vocab * log);
        }
        let Gradient { same_label, own, .. } = Gradient::of(point);
        if same_label > 0.0 {
            let own_over = if mlp { "(own/same_label) " } else { "" };
            let symbols = format!("N d^1.5 > {own_over}L^2 sqrt(2 V log L)");
            let right = length * length * (2.0 * vocab * libm::log(length.max(2.0))).sqrt();
            add(Subject::Attention, &symbols, samples * dim.powf(1.5), (own / same_label).abs() * right);
        }
    }
    if !mlp && point.orthonormal() {
        add(Subject::OneStep, "N > 2 L log V", samples, 2.0 * length * log);
    } else if !mlp {
        let right = 2.0 * length * vocab * vocab * log;
        add(Subject::OneStep, "N d^2 > 2 L V^2 log V", samples * dim * dim, right);
    }
    list
}

#[cfg(test)]
mod tests {
    use superpose_core::config::{Activation, Embedding, Trigger};

    use super::*;
    use crate::kernel::Kernel;
    use crate::point::gaussian;

    fn at(point: Point) -> Vec<Condition> {
        conditions(&point, &Kernel::of(&point).summary())
    }

    #[test]
    fn conditions_are_displayed_with_values() {
        let list = at(gaussian(1000.0, 200.0, 16.0, 50_000.0));
        let text: Vec<String> = list.iter().map(ToString::to_string).collect();
        assert_eq!(text[0], "coverage: N > V, 50000 against 1000, holds");
        assert_eq!(text[1], "capacity: d^2 > 2 V log V, 40000 against 13816, holds");
        assert_eq!(text.last().unwrap(), "one_step: N d^2 > 2 L V^2 log V, 2.00e9 against 2.21e8, holds");
    }

    #[test]
    fn only_applicable_conditions_are_listed() {
        let subjects = |point| at(point).iter().map(|c| c.subject).collect::<Vec<_>>();
        let keys = gaussian(1000.0, 200.0, 16.0, 5e4);
        assert!(!subjects(keys).contains(&Subject::MeanBias));
        let values = Point { trigger: Trigger::Values, ..keys };
        assert!(subjects(values).contains(&Subject::MeanBias));
        let orthonormal = Point { embedding: Embedding::Orthonormal, dim: 1002.0, ..keys };
        assert_eq!(subjects(orthonormal), [Subject::Coverage, Subject::OneStep]);
        let mlp = Point { width: Some(4000.0), activation: Activation::He2, ..keys };
        assert!(!subjects(mlp).contains(&Subject::OneStep));
    }

    #[test]
    fn he2_condition_counts_parameters() {
        let (d, m) = (300.0, 2000.0);
        let mlp = Point { width: Some(m), activation: Activation::He2, ..gaussian(1000.0, d, 16.0, 5e4) };
        let list = at(mlp);
        let noise = list.iter().find(|c| c.subject == Subject::MlpNoise).unwrap();
        // m d against 2 V log V.
        assert!((noise.margin() / (m * d / (2.0 * 1000.0 * 1000.0_f64.ln())) - 1.0).abs() < 0.1, "{noise}");
    }
}
