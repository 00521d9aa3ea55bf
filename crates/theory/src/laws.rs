//! Leading-order laws of the critical number of samples (`docs/theory/laws.md`).
//!
//! A law belongs to a model and a number of steps. The critical number of samples is the largest of its terms, one for each noise
//! that data reduces, and no number of samples is enough unless its needs hold. Each term is the number of samples at which the
//! signal equals that noise times `sqrt(2 log V)`, the size of the largest of V normal numbers (`sqrt(2 log L)` in the attention).
//! The terms hold for any d/V: `V + d` is V times the sum of the overlap `1/d` and the part `1/V` of a label's own fact, times d.

use serde::{Deserialize, Serialize};
use superpose_core::Measure;
use superpose_core::config::Trigger;

use crate::attention::Gradient;
use crate::conditions::{Condition, Subject};
use crate::critical::Parameter;
use crate::kernel::{Kernel, Summary};
use crate::one_step::mlp_variances;
use crate::point::Point;

/// A number of samples that one noise requires.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// The noise.
    pub subject: Subject,
    /// The number of samples in symbols, for example `2 V (V + d) log V/d`.
    pub formula: String,
    /// Its value.
    pub samples: f64,
}

/// The law of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Law {
    /// The model and the number of steps.
    pub name: String,
    /// Required numbers of samples.
    pub terms: Vec<Term>,
    /// Conditions that do not involve the number of samples.
    pub needs: Vec<Condition>,
}

impl Law {
    /// The law of recall or of one-step accuracy at a point, for an accuracy above 0 and below 1; `None` for other measures and, with
    /// orthonormal embeddings, for an MLP and for three steps with the trigger in the values. The number of samples of the point is not used.
    pub fn of(point: &Point, measure: Measure, accuracy: f64) -> Option<Law> {
        Law::with(point, &Kernel::of(point).summary(), measure, accuracy)
    }

    /// The same for a kernel.
    pub(crate) fn with(point: &Point, kernel: &Summary, measure: Measure, accuracy: f64) -> Option<Law> {
        if !point.zipf.is_uniform() {
            return None;
        }
        let (orthonormal, mlp) = (point.orthonormal(), point.width.is_some());
        let steps = match measure {
            Measure::OneStepAccuracy => "one step",
            Measure::Accuracy => "three steps",
            _ => return None,
        };
        let embedding = if orthonormal { ", orthonormal" } else { "" };
        let layer = point.width.map_or(String::new(), |_| format!(", MLP with {}", point.activation));
        let name = format!("{steps}{embedding}{layer}, trigger in {}", point.trigger);
        let mut law = Law { name, terms: Vec::new(), needs: Vec::new() };
        let unseen = -libm::log1p(-accuracy);
        law.term(Subject::Coverage, format!("{}V", coefficient(unseen)), unseen * point.vocab);
        match (measure, orthonormal, mlp) {
            (_, true, true) => return None,
            (Measure::Accuracy, true, false) if point.trigger == Trigger::Values => return None,
            (Measure::OneStepAccuracy, true, false) => law.counted_one_step(point),
            (Measure::OneStepAccuracy, false, false) => {
                law.one_step(point);
                law.capacity(point, "2", 1.0 / point.dim);
            }
            (Measure::OneStepAccuracy, false, true) => law.one_step_mlp(point),
            (_, true, false) => law.counted_attention(point),
            (_, false, _) => {
                law.memory(point, kernel);
                law.attention(point);
            }
        }
        Some(law)
    }

    /// The term that requires the most samples.
    pub fn binding(&self) -> &Term {
        let largest = self.terms.iter().max_by(|a, b| a.samples.total_cmp(&b.samples));
        largest.expect("every law has the term of coverage")
    }

    /// The need that fails, if one does.
    pub fn failing(&self) -> Option<&Condition> {
        self.needs.iter().find(|need| !need.holds())
    }

    /// The critical number of samples; `None` where a need fails.
    pub fn samples(&self) -> Option<f64> {
        self.failing().is_none().then(|| self.binding().samples)
    }

    /// The law's local exponents of d, L and V at a point.
    pub fn exponents(point: &Point, measure: Measure, accuracy: f64) -> Option<[f64; 3]> {
        exponents(point, |point| Some(Law::of(point, measure, accuracy)?.binding().samples))
    }

    fn term(&mut self, subject: Subject, formula: String, samples: f64) {
        self.terms.push(Term { subject, formula, samples });
    }

    fn need(&mut self, subject: Subject, statement: String, left: f64, right: f64) {
        self.needs.push(Condition { subject, statement, left, right });
    }

    fn one_step(&mut self, point: &Point) {
        let Point { vocab, dim, length, .. } = *point;
        let overlap_factor = 1.0 + vocab / dim;
        let samples = 2.0 * length * (1.0 + length / vocab) * overlap_factor.powi(2) * libm::log(vocab);
        self.term(Subject::OneStep, "2 L (1 + L/V) (1 + V/d)^2 log V".into(), samples);
    }

    /// The count of the right label, of mean `(N/V) (1 + L/V)`, against the largest of V Poisson numbers of mean `N L/V^2`, by
    /// Chernoff's bound.
    fn counted_one_step(&mut self, point: &Point) {
        let Point { vocab, length, .. } = *point;
        let x = vocab / length;
        let rate = (1.0 + x) * libm::log1p(x) - x;
        let formula = "(1 + L/V) V x log V/((1 + x) log(1 + x) - x), x = V/L".into();
        let samples = (1.0 + length / vocab) * vocab * x * libm::log(vocab) / rate;
        self.term(Subject::OneStep, formula, samples);
    }

    fn one_step_mlp(&mut self, point: &Point) {
        let Point { vocab, dim, length, .. } = *point;
        let Some([fixed, per_sample]) = mlp_variances(point) else {
            return self.need(Subject::OneStep, "signal > 0".into(), 0.0, 0.0);
        };
        let overlap_factor = 1.0 + vocab / dim;
        let unit = length * overlap_factor;
        let formula = format!("{}L V (V + d) log V/d", coefficient(2.0 * per_sample / unit));
        self.term(Subject::OneStep, formula, 2.0 * per_sample * vocab * libm::log(vocab));
        let right = 2.0 * fixed * dim * libm::log(vocab);
        let statement = format!("d > {}(V + d) log V", coefficient(2.0 * fixed / overlap_factor));
        self.need(Subject::OneStep, statement, dim, right);
    }

    /// Interference, which data does not reduce: the variance of the kernel over the squared signal, in symbols `factor` over d
    /// without an MLP.
    fn capacity(&mut self, point: &Point, factor: &str, variance: f64) {
        let Point { vocab, dim, .. } = *point;
        let (symbol, power) = power(point);
        let right = 2.0 * variance * (power / dim) * (vocab + dim) * libm::log(vocab);
        self.need(Subject::Capacity, format!("{symbol} > {factor} (V + d) log V"), power, right);
    }

    fn memory(&mut self, point: &Point, kernel: &Summary) {
        let Point { vocab, dim, .. } = *point;
        let (log, xi2) = (libm::log(vocab), kernel.xi.powi(2));
        let unit = 2.0 * (vocab + dim) * log / dim;
        let (factor, variance) = match (point.width, point.trigger) {
            (Some(_), _) => ("2 (s2/xi^2)", kernel.s2 / xi2),
            (None, Trigger::Values) => ("4", 2.0 / dim),
            (None, Trigger::Keys) => ("2", 1.0 / dim),
        };
        self.capacity(point, factor, variance);
        self.need(Subject::OutputOverlap, "d > 2 log V".into(), dim, 2.0 * log);
        if let Some(width) = point.width {
            let noise = width * kernel.mlp_noise / xi2;
            let statement = format!("m d > {}(V + d) log V", coefficient(2.0 * noise));
            self.need(Subject::MlpNoise, statement, width * dim, noise * dim * unit);
        }
        let common = kernel.kappa.powi(2) / xi2;
        if common > 1e-6 {
            let formula = format!("{}V (V + d) log V/d", coefficient(2.0 * common));
            self.term(Subject::MeanBias, formula, common * vocab * unit);
        }
        let formula = format!("{factor} V (V + d) log V/{}", power(point).0);
        self.term(Subject::GradientNoise, formula, variance * vocab * unit);
    }

    fn attention(&mut self, point: &Point) {
        let Point { vocab, dim, length, .. } = *point;
        let Gradient { same_label, own, pair, .. } = Gradient::of(point);
        if same_label <= 0.0 {
            // Step 2 gives the trigger no score, or a negative one.
            return self.need(Subject::Attention, "score of the trigger > 0".into(), same_label, 0.0);
        }
        let c = dim / vocab;
        let m3 = 1.0 + c * (3.0 + c);
        let unit = length * (2.0 * libm::log(length.max(2.0))).sqrt() / libm::pow(dim, 1.5);
        let bias = own.abs() / same_label;
        let formula = format!("{}L^2 sqrt(2 (V + 3 d + d^2/V) log L)/d^1.5", coefficient(bias));
        self.term(Subject::Attention, formula, bias * unit * length * (vocab * m3).sqrt());
        let pairs = pair.sqrt() / same_label;
        let formula = format!("{}L (V + d) sqrt(2 (1 + 2 d/V) log L)/d^1.5", coefficient(pairs));
        self.term(Subject::AttentionPairs, formula, pairs * unit * (vocab + dim) * (1.0 + 2.0 * c).sqrt());
    }

    fn counted_attention(&mut self, point: &Point) {
        let Point { vocab, length, .. } = *point;
        let square = (1.0 + 0.5 * length / vocab) * libm::log(length.max(2.0)) / vocab;
        let formula = "2 L sqrt((1 + L/2V) log L/V)".into();
        self.term(Subject::AttentionPairs, formula, 2.0 * length * square.sqrt());
    }
}

/// What the capacity compares with the number of facts: `d^2`, or `d` with an MLP, whose kernel variance depends on d.
fn power(point: &Point) -> (&'static str, f64) {
    if point.width.is_some() { ("d", point.dim) } else { ("d^2", point.dim * point.dim) }
}

/// A factor in a formula with three digits; nothing for 1.
fn coefficient(x: f64) -> String {
    if (x - 1.0).abs() < 1e-9 {
        return String::new();
    }
    let digits = (2.0 - libm::log10(x.abs().max(1e-9)).floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{x:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} ")
}

/// Local exponents of d, L and V in a number of samples: differences of its logarithm over a factor of 1.2.
pub fn exponents(point: &Point, samples: impl Fn(&Point) -> Option<f64>) -> Option<[f64; 3]> {
    const STEP: f64 = 1.2;
    let at = |parameter: Parameter, factor: f64| {
        samples(&parameter.set(point, factor * parameter.of(point)?)).map(libm::log)
    };
    let exponent = |parameter| {
        let half = STEP.sqrt();
        Some((at(parameter, half)? - at(parameter, 1.0 / half)?) / libm::log(STEP))
    };
    Some([exponent(Parameter::Dim)?, exponent(Parameter::Length)?, exponent(Parameter::Vocab)?])
}

#[cfg(test)]
mod tests {
    use superpose_core::config::{Activation, Embedding};

    use super::*;
    use crate::attention::Scores;
    use crate::critical::critical;
    use crate::point::gaussian;

    fn recall(point: &Point) -> Law {
        Law::of(point, Measure::Accuracy, 0.5).unwrap()
    }

    fn term(law: &Law, subject: Subject) -> f64 {
        law.terms.iter().find(|term| term.subject == subject).unwrap().samples
    }

    /// At the number of samples of an attention term its noise times `sqrt(2 log L)` equals the trigger's score.
    #[test]
    fn attention_terms_are_those_of_the_scores() {
        let keys = gaussian(400.0, 150.0, 60.0, 1.0);
        let mlp = |activation| Point { width: Some(1e12), activation, ..keys };
        for point in [keys, Point { dim: 900.0, ..keys }, mlp(Activation::He2), mlp(Activation::Relu)] {
            let law = recall(&point);
            let at = |samples: f64| Scores::of(&Point { samples, ..point });
            let reach = (2.0 * point.length.ln()).sqrt();
            let samples = term(&law, Subject::Attention);
            let scores = at(samples);
            let ratio = scores.mean_bias * reach / scores.from_pairs;
            let finite: f64 = [point.length, point.vocab, samples].iter().map(|x| 1.0 - 1.0 / x).product();
            assert!((ratio * finite - 1.0).abs() < 0.02, "{point:?}: {ratio}");
            // For a length below d, the other terms of the gradient noise are at most of that size.
            let scores = at(1e9);
            let pairs = scores.gradient_noise * 1e9 * reach / scores.from_pairs;
            let ratio = pairs / term(&law, Subject::AttentionPairs);
            assert!((0.95..2.0).contains(&ratio), "{point:?}: {ratio}");
        }
    }

    #[test]
    fn exponents_are_those_of_the_binding_term() {
        let point = |dim, length| gaussian(1e6, dim, length, 1.0);
        let keys = point(1e4, 1e5);
        let values = Point { trigger: Trigger::Values, length: 10.0, ..keys };
        for (point, measure, expected) in [
            (keys, Measure::Accuracy, [-1.5, 2.0, 0.5]),
            (Point { length: 10.0, ..keys }, Measure::Accuracy, [0.0, 0.0, 1.0]),
            (values, Measure::Accuracy, [-1.0, 0.0, 2.0]),
            (point(1e4, 100.0), Measure::OneStepAccuracy, [-2.0, 1.0, 2.0]),
        ] {
            let found = Law::exponents(&point, measure, 0.5).unwrap();
            let close = found.iter().zip(expected).all(|(x, y)| (x - y).abs() < 0.12);
            assert!(close, "{point:?}: {found:?} against {expected:?}");
        }
    }

    /// The same for orthonormal embeddings, with many samples.
    #[test]
    fn counted_attention_is_that_of_the_scores() {
        for length in [8.0, 512.0, 5000.0_f64] {
            let point = gaussian(400.0, 402.0, length, 1e6);
            let point = Point { embedding: Embedding::Orthonormal, ..point };
            let needed = term(&recall(&point), Subject::AttentionPairs);
            let scores = Scores::of(&point);
            // Without the noise of the token's own fact, which the law leaves out.
            let own = 2.0 * scores.from_pairs.powi(2) * (1.0 + 2.0 * point.coverage());
            let pairs = ((scores.gradient_noise * point.samples).powi(2) - own).sqrt();
            let ratio = pairs * (2.0 * length.ln()).sqrt() / needed;
            assert!((ratio - 1.0).abs() < 0.01, "{length}: {ratio}");
        }
    }

    /// In long sequences counts are normal, and dimensions beyond V lead to the law of orthonormal embeddings.
    #[test]
    fn one_step_has_the_orthonormal_limit() {
        let wide = gaussian(300.0, 1e9, 3e5, 1.0);
        let counted = Point { embedding: Embedding::Orthonormal, dim: 302.0, ..wide };
        let at = |point| term(&Law::of(point, Measure::OneStepAccuracy, 0.5).unwrap(), Subject::OneStep);
        assert!((at(&wide) / at(&counted) - 1.0).abs() < 1e-3);
    }

    #[test]
    fn failing_need_leaves_no_number_of_samples() {
        let small = gaussian(10_000.0, 64.0, 8.0, 1.0);
        assert_eq!(recall(&small).samples(), None);
        assert_eq!(critical(&small, Parameter::Samples, 0.5).value(), None);
    }

    #[test]
    fn coefficients_have_three_digits() {
        let shown = [1.0, 2.0, 0.436_21, 0.695_2, 4.605_17, 123.4, 1234.5].map(coefficient);
        assert_eq!(shown, ["", "2 ", "0.436 ", "0.695 ", "4.61 ", "123 ", "1234 "]);
    }
}
