//! Leading-order conditions for accuracy near 1 (theory: memory, attention, one step): products of sizes that must be large.

use std::fmt;

use serde::{Deserialize, Serialize};
use superpose_core::Measure;

use crate::kernel::Summary;
use crate::laws::{Law, Term};
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
        /// Samples against the overlap of keys, multiplied by uneven counts of facts.
        GradientNoise = "gradient_noise",
        /// Width of the MLP against the noise of its random first layer.
        MlpNoise = "mlp_noise",
        /// Samples and dimension against the mean bias of the token scores.
        Attention = "attention",
        /// The same against the noise that pairs of samples add to the token scores.
        AttentionPairs = "attention_pairs",
        /// Samples and dimension for reading the facts from the first gradient alone.
        OneStep = "one_step",
        /// The lock rate of one round against the one above which a second round raises it.
        Rounds = "rounds",
    }
);

/// A condition `left > right` for accuracy near 1, to leading order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// The subject of the condition.
    pub subject: Subject,
    /// The condition in symbols, for example `d^2 > 2 (V + d) log V`.
    pub statement: String,
    /// Value of the left side.
    pub left: f64,
    /// Value of the right side.
    pub right: f64,
}

impl Condition {
    /// Left side over right side: above 1 the condition holds. Where the right side is 0 it is infinite or 0.
    pub fn margin(&self) -> f64 {
        match self.right > 0.0 {
            true => self.left / self.right,
            false if self.holds() => f64::INFINITY,
            false => 0.0,
        }
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

/// The conditions that apply at a point with the given kernel: the laws of three steps and of one, with a number of samples at which
/// all but 1/e of the facts occur in a sample.
pub fn conditions(point: &Point, kernel: &Summary) -> Vec<Condition> {
    let law = |measure| Law::with(point, kernel, measure, 1.0 - libm::exp(-1.0));
    let enough = |Term { subject, formula, samples }| {
        let statement = format!("N > {formula}");
        Condition { subject, statement, left: point.samples, right: samples }
    };
    let mut list = Vec::new();
    if let Some(Law { terms, needs, .. }) = law(Measure::Accuracy) {
        list.extend(terms.into_iter().map(enough));
        list.extend(needs);
    }
    // Coverage and capacity are those of three steps, or weaker.
    if let Some(Law { terms, needs, .. }) = law(Measure::OneStepAccuracy) {
        let first = terms.into_iter().map(enough).chain(needs);
        list.extend(first.filter(|condition| condition.subject == Subject::OneStep));
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
        assert!(
            text.contains(&"capacity: d^2 > 2 (V + d) log V, 40000 against 16579, holds".into()),
            "{text:?}"
        );
        let last = "one_step: N > 2 L (1 + L/V) (1 + V/d)^2 log V, 50000 against 8085, holds";
        assert_eq!(text.last().unwrap(), last);
    }

    #[test]
    fn only_applicable_conditions_are_listed() {
        let subjects = |point| at(point).iter().map(|c| c.subject).collect::<Vec<_>>();
        let keys = gaussian(1000.0, 200.0, 16.0, 5e4);
        assert!(!subjects(keys).contains(&Subject::MeanBias));
        let values = Point { trigger: Trigger::Values, ..keys };
        assert!(subjects(values).contains(&Subject::MeanBias));
        let orthonormal = Point { embedding: Embedding::Orthonormal, dim: 1002.0, ..keys };
        assert_eq!(subjects(orthonormal), [Subject::Coverage, Subject::AttentionPairs, Subject::OneStep]);
        let mlp = Point { width: Some(4000.0), activation: Activation::He2, ..keys };
        assert_eq!(subjects(mlp).iter().filter(|&&subject| subject == Subject::OneStep).count(), 2);
    }

    #[test]
    fn he2_condition_counts_parameters() {
        let (d, m) = (300.0, 2000.0);
        let mlp = Point { width: Some(m), activation: Activation::He2, ..gaussian(1000.0, d, 16.0, 5e4) };
        let list = at(mlp);
        let noise = list.iter().find(|c| c.subject == Subject::MlpNoise).unwrap();
        assert!(noise.statement.starts_with("m d > 2.") && noise.statement.ends_with(" (V + d) log V"));
        assert!((noise.margin() / (m * d / (2.0 * 1300.0 * 1000.0_f64.ln())) - 1.0).abs() < 0.1, "{noise}");
    }
}
