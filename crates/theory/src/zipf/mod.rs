//! Predictions for tokens by Zipf's law (theory: Zipf).
//!
//! Facts are used with the probabilities `p_v`, other tokens occur with `q_w`, both powers of the rank. Three things differ from uniform
//! tokens. A fact's signal is proportional to how often it is used. Frequent labels have larger coefficients, so wrong labels do not
//! race on equal terms. And the scores of step 2 have a mean that grows with a token's frequency, so that frequent tokens take the
//! attention of other facts. Facts are grouped into a few tens of classes by rank; all results are sums over classes.
//!
//! The formulas are for the attention-only model with overlapping embeddings.

mod attention;
mod classes;
mod memory;
pub(crate) mod muon;
mod one_step;
mod race;
mod scores;

use serde::{Deserialize, Serialize};
use superpose_core::{Measure, Measures};

use crate::kernel::Kernel;
use crate::noise::LogitNoise;
use crate::point::Point;
use crate::predict::{Noise, Prediction, dominant_of};
use attention::{Rate, rates};
use classes::Class;
use scores::Scores;

/// Accuracies under Zipf's law in which every fact has the same weight: shares of facts that are known. The measures themselves weigh
/// facts by their use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ByFact {
    /// Recall.
    pub accuracy: Option<f64>,
    /// Recall with attention placed on the informative position.
    pub memory_accuracy: Option<f64>,
    /// Recall from the first gradient.
    pub one_step_accuracy: Option<f64>,
}

impl ByFact {
    /// Takes back the prediction of a measure.
    pub(crate) fn remove(&mut self, measure: Measure) {
        match measure {
            Measure::Accuracy => self.accuracy = None,
            Measure::MemoryAccuracy => self.memory_accuracy = None,
            Measure::OneStepAccuracy => self.one_step_accuracy = None,
            _ => {}
        }
    }
}

/// A point with its classes and scores.
pub(crate) struct Zipfian {
    point: Point,
    scores: Scores,
}

impl Zipfian {
    pub fn new(point: &Point) -> Zipfian {
        Zipfian { point: *point, scores: Scores::of(point) }
    }

    /// The mean of something by class, weighted by how often facts are used.
    fn by_use(&self, values: impl IntoIterator<Item = f64>) -> f64 {
        let used = self.scores.classes.iter().map(|class| class.count * class.fact);
        used.zip(values).map(|(share, value)| share * value).sum::<f64>().clamp(0.0, 1.0)
    }

    /// The rates of attention; with `soft`, as drawn by the softmax.
    fn rates(&self, soft: bool) -> Vec<Vec<Rate>> {
        let Point { length, lead, .. } = self.point;
        let unit = self.scores.trigger.abs() / (lead * libm::log(length + 1.0));
        rates(&self.scores, length, unit, soft)
    }

    fn mean_rate(&self, rates: &[Vec<Rate>]) -> f64 {
        self.by_use(rates.iter().map(|rates| rates.iter().map(|rate| rate.weight * rate.locked).sum()))
    }

    /// The mean of something by class, with the same weight for all facts.
    fn by_fact(&self, values: impl IntoIterator<Item = f64>) -> f64 {
        let shares = self.scores.classes.iter().map(|class| class.count / self.point.vocab);
        shares.zip(values).map(|(share, value)| share * value).sum::<f64>().clamp(0.0, 1.0)
    }

    /// The predicted accuracy of each class; `None` for measures of other kinds.
    fn accuracies(&self, measure: Measure) -> Option<Vec<f64>> {
        let Zipfian { point, scores } = self;
        let classes = &scores.classes;
        match measure {
            Measure::Accuracy => Some(memory::recalled(point, classes, &self.rates(false))),
            Measure::MemoryAccuracy => Some(memory::recalled(point, classes, &memory::placed(classes))),
            Measure::OneStepAccuracy => Some(one_step::readable(point, classes)),
            Measure::LockRate
            | Measure::KeptRate
            | Measure::AttentionMass
            | Measure::Top5Accuracy
            | Measure::Margin => None,
        }
    }

    /// The predicted value of a measure; `None` when there is no formula for it.
    pub fn measure(&self, measure: Measure) -> Option<f64> {
        let point = &self.point;
        match measure {
            Measure::Accuracy | Measure::MemoryAccuracy | Measure::OneStepAccuracy => {
                self.accuracies(measure).map(|accuracies| self.by_use(accuracies))
            }
            Measure::LockRate => Some(self.mean_rate(&self.rates(false))),
            Measure::AttentionMass => Some(self.mean_rate(&self.rates(true))),
            Measure::KeptRate => point.keep.is_none_or(|keep| keep >= point.length).then_some(1.0),
            Measure::Top5Accuracy | Measure::Margin => None,
        }
    }

    /// The share of uses of facts that no sample shows.
    fn unseen(&self) -> f64 {
        let unseen =
            |class: &Class| libm::exp(self.point.samples * libm::log1p(-class.fact.min(1.0 - 1e-12)));
        self.by_use(self.scores.classes.iter().map(unseen))
    }

    /// Variances of the terms of a logit, for a fact with the mean frequency of a use.
    fn logits(&self) -> LogitNoise {
        let Point { vocab, samples, .. } = self.point;
        let (t, overlap) = (self.point.trigger.t(), self.point.overlap());
        let squares: f64 =
            self.scores.classes.iter().map(|class| class.count * class.fact * class.fact).sum();
        let wrong = overlap + 1.0 / vocab;
        let signal = squares * squares;
        LogitNoise {
            signal,
            mean_bias: wrong * t * (squares - 1.0 / vocab + 1.0 / samples),
            interference: wrong * (1.0 + t) * overlap * squares,
            gradient_noise: wrong * (1.0 + t) * overlap / samples,
            output_overlap: signal * overlap,
            mlp_noise: 0.0,
        }
    }

    /// All predictions.
    pub fn predict(&self) -> Prediction {
        let accuracies = Measures::from_fn(|measure| self.accuracies(measure));
        let measures = Measures::from_fn(|measure| match &accuracies[measure] {
            Some(accuracies) => Some(self.by_use(accuracies.iter().copied())),
            None => self.measure(measure),
        });
        let by_fact = |measure| {
            let accuracies: Option<&Vec<f64>> = accuracies[measure].as_ref();
            accuracies.map(|accuracies| self.by_fact(accuracies.iter().copied()))
        };
        let (logits, scores) = (self.logits(), self.scores.noise());
        let memory_accuracy = measures[Measure::MemoryAccuracy].unwrap_or(0.0);
        let lock_rate = measures[Measure::LockRate];
        Prediction {
            dominant: dominant_of(self.unseen(), memory_accuracy, lock_rate, &logits, Some(&scores)),
            kernel: Some(Kernel::of(&self.point).summary()),
            noise: Noise { logits: Some(logits), scores: Some(scores) },
            by_fact: Some(ByFact {
                accuracy: by_fact(Measure::Accuracy),
                memory_accuracy: by_fact(Measure::MemoryAccuracy),
                one_step_accuracy: by_fact(Measure::OneStepAccuracy),
            }),
            measures,
            ..Prediction::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use superpose_core::config::{Embedding, Trigger};

    use super::*;
    use crate::point::{Zipf, gaussian};
    use crate::predict_at;

    const MEASURES: [Measure; 4] =
        [Measure::Accuracy, Measure::MemoryAccuracy, Measure::OneStepAccuracy, Measure::LockRate];

    fn at(point: Point, facts: f64, noise: f64) -> Point {
        Point { zipf: Zipf { facts, noise }, ..point }
    }

    /// Means over 16 seeds of an independent simulation in NumPy, at points that the formulas were developed with.
    #[test]
    fn predictions_agree_with_simulation() {
        for (vocab, dim, length, samples, trigger, exponent, seen) in [
            (560.0, 70.0, 29.0, 45793.0, Trigger::Keys, 0.87, [0.096, 0.408, 0.187, 0.116]),
            (465.0, 58.0, 6.0, 738.0, Trigger::Keys, 0.36, [0.260, 0.261, 0.122, 1.000]),
            (390.0, 191.0, 18.0, 3735.0, Trigger::Values, 1.2, [0.242, 0.279, 0.304, 0.246]),
            (241.0, 216.0, 10.0, 5101.0, Trigger::Keys, 1.92, [0.581, 0.894, 0.643, 0.544]),
        ] {
            let point = Point { trigger, ..gaussian(vocab, dim, length, samples) };
            let prediction = predict_at(&at(point, exponent, exponent));
            assert!(prediction.gaps.is_empty() && prediction.dominant.is_some());
            for (measure, seen) in MEASURES.into_iter().zip(seen) {
                let predicted = prediction.measures[measure].unwrap();
                assert!(
                    (predicted - seen).abs() < 0.045,
                    "V = {vocab}, {measure}: {predicted}, simulated {seen}"
                );
            }
        }
    }

    #[test]
    fn small_exponents_are_close_to_uniform_tokens() {
        for (length, samples) in [(8.0, 3000.0), (100.0, 1500.0)] {
            let point = gaussian(300.0, 100.0, length, samples);
            let (uniform, zipf) = (predict_at(&point), predict_at(&at(point, 1e-6, 1e-6)));
            for measure in MEASURES {
                let (a, b) = (uniform.measures[measure].unwrap(), zipf.measures[measure].unwrap());
                assert!((a - b).abs() < 0.05, "L = {length}, {measure}: {a} and {b}");
            }
        }
    }

    /// Frequent facts are recalled more often, so the share of facts is below the share of uses; without an exponent the two are equal.
    #[test]
    fn accuracy_by_fact_is_below_that_by_use() {
        let point = gaussian(300.0, 100.0, 8.0, 3000.0);
        for (exponent, least) in [(1e-6, 0.0), (1.0, 0.2)] {
            let prediction = Zipfian::new(&at(point, exponent, exponent)).predict();
            let ByFact { accuracy, memory_accuracy, one_step_accuracy } = prediction.by_fact.unwrap();
            for (measure, by_fact) in [
                (Measure::Accuracy, accuracy),
                (Measure::MemoryAccuracy, memory_accuracy),
                (Measure::OneStepAccuracy, one_step_accuracy),
            ] {
                let below = prediction.measures[measure].unwrap() - by_fact.unwrap();
                assert!((least - 1e-5..0.8).contains(&below), "s = {exponent}, {measure}: {below}");
            }
        }
    }

    /// Frequent noise tokens take the attention; uniform ones do not.
    #[test]
    fn frequent_noise_tokens_take_the_attention() {
        let point = gaussian(400.0, 200.0, 16.0, 20_000.0);
        let lock = |noise: f64| Zipfian::new(&at(point, 1.0, noise)).measure(Measure::LockRate).unwrap();
        assert!(lock(0.0) > 0.95 && lock(1.0) < 0.5, "{} {}", lock(0.0), lock(1.0));
    }

    #[test]
    fn predictions_are_finite_at_all_sizes() {
        for (vocab, dim, length, samples) in
            [(2.0, 1.0, 1.0, 1.0), (3.0, 5.0, 2.0, 1e9), (1e9, 1e4, 1e6, 1e3), (1e6, 64.0, 2.0, 1e12)]
        {
            for &trigger in Trigger::ALL {
                for (facts, noise) in [(0.3, 0.3), (10.0, 10.0), (0.0, 2.0), (2.0, 0.0)] {
                    let point = Point {
                        trigger,
                        embedding: Embedding::Sphere,
                        ..gaussian(vocab, dim, length, samples)
                    };
                    let zipfian = Zipfian::new(&at(point, facts, noise));
                    for measure in MEASURES.into_iter().chain([Measure::AttentionMass]) {
                        let share = zipfian.measure(measure).unwrap();
                        assert!(
                            (0.0..=1.0).contains(&share),
                            "{measure} {share} at {point:?}, {facts}, {noise}"
                        );
                    }
                }
            }
        }
    }
}
