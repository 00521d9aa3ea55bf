//! Recall at many lengths and numbers of samples with one memory, for searches that evaluate it repeatedly.

use std::borrow::Cow;

use superpose_core::Measure;

use super::Parameter;
use crate::attention::Scores;
use crate::memory::Memory;
use crate::point::Point;
use crate::predict::predict_measure;
use crate::recall::Nodes;

/// Three-step recall of a model with fixed vocabulary, dimension and width; its memory is set up once.
#[derive(Clone, Debug)]
pub struct Recall {
    point: Point,
    /// Not used under Zipf's law.
    memory: Memory,
    nodes: Nodes,
}

impl Recall {
    /// Sets up the model at a point. Its number of samples is not used.
    pub fn new(point: &Point) -> Recall {
        Recall { point: *point, memory: Memory::new(point), nodes: Nodes::of(point) }
    }

    /// The accuracy at a length and number of samples.
    pub fn accuracy(&self, length: f64, samples: f64) -> f64 {
        self.accuracy_or_bound(length, samples, 0.0)
    }

    /// The accuracy where it reaches `target`; elsewhere a number between the accuracy and `target`. Where the lock rate is
    /// below the target the memory accuracy is not computed.
    pub fn accuracy_or_bound(&self, length: f64, samples: f64, target: f64) -> f64 {
        let point = Point { length, samples, ..self.point };
        recall_or_bound(&point, target, &self.nodes_at(&point), || Cow::Borrowed(&self.memory))
    }

    /// The same at points that differ from this model's in one parameter; the parts that they share are computed once.
    pub(super) fn along(&self, parameter: Parameter, target: f64) -> impl FnMut(f64) -> f64 {
        move |value| {
            let point = parameter.set(&self.point, value);
            recall_or_bound(&point, target, &self.nodes_at(&point), || match parameter {
                Parameter::Length | Parameter::Samples => Cow::Borrowed(&self.memory),
                _ => Cow::Owned(self.memory.moved(&point)),
            })
        }
    }

    /// Attention at a point, which depends on its vocabulary and length.
    fn nodes_at(&self, point: &Point) -> Cow<'_, Nodes> {
        match (point.vocab, point.length) == (self.point.vocab, self.point.length) {
            true => Cow::Borrowed(&self.nodes),
            false => Cow::Owned(Nodes::of(point)),
        }
    }
}

fn recall_or_bound<'a>(
    point: &Point,
    target: f64,
    nodes: &Nodes,
    memory: impl FnOnce() -> Cow<'a, Memory>,
) -> f64 {
    if !point.zipf.is_uniform() {
        return predict_measure(Measure::Accuracy, point).unwrap_or(f64::NAN);
    }
    let weights = nodes.weights(point, &Scores::of(point));
    let lock_rate = weights.lock_rate();
    match lock_rate < target {
        true => lock_rate.max(1.0 / point.vocab),
        false => nodes.recall(&memory(), &weights, point.samples),
    }
}

#[cfg(test)]
mod tests {
    use superpose_core::config::{Activation, Embedding, Trigger};

    use super::*;
    use crate::point::gaussian;
    use crate::predict_at;

    #[test]
    fn recall_equals_the_prediction() {
        for &trigger in Trigger::ALL {
            for embedding in [Embedding::Gaussian, Embedding::Sphere, Embedding::Orthonormal] {
                for (length, samples) in [(1.0, 50.0), (16.0, 8192.0), (300.0, 4000.0), (300.0, 30.0)] {
                    let point = Point { trigger, embedding, ..gaussian(200.0, 202.0, length, samples) };
                    let expected = predict_at(&point).measures[Measure::Accuracy].unwrap();
                    let found = Recall::new(&point).accuracy(length, samples);
                    assert!((found - expected).abs() < 1e-9, "{point:?}: {found} {expected}");
                }
            }
        }
        let mlp =
            Point { width: Some(900.0), activation: Activation::He2, ..gaussian(200.0, 64.0, 9.0, 5e3) };
        let expected = predict_at(&mlp).measures[Measure::Accuracy].unwrap();
        assert_eq!(Recall::new(&mlp).accuracy(9.0, 5e3), expected);
    }

    #[test]
    fn bound_is_between_accuracy_and_target() {
        for length in [50.0, 200.0, 800.0] {
            let recall = Recall::new(&gaussian(200.0, 64.0, 1.0, 1.0));
            let (exact, bound) =
                (recall.accuracy(length, 3000.0), recall.accuracy_or_bound(length, 3000.0, 0.9));
            assert!(bound == exact || (exact..0.9).contains(&bound), "L = {length}: {exact} {bound}");
        }
    }
}
