//! Recall at many lengths and numbers of samples with one memory: what a search asks for again and again.

use super::Parameter;
use crate::attention::LockLaw;
use crate::memory::Memory;
use crate::point::Point;
use crate::recall::{Stored, Weights, recall};

/// Three-step recall of a model whose vocabulary, dimension and width stay; its memory is set up once.
#[derive(Clone, Debug)]
pub struct Recall {
    point: Point,
    memory: Memory,
}

impl Recall {
    /// Of the model at a point; its length and number of samples are not used.
    pub fn new(point: &Point) -> Recall {
        Recall { point: *point, memory: Memory::new(point) }
    }

    /// The accuracy at a length after a number of samples.
    pub fn accuracy(&self, length: f64, samples: f64) -> f64 {
        self.accuracy_or_bound(length, samples, 0.0)
    }

    /// The accuracy where it reaches `target`; where it does not, a number from the accuracy to `target`. Where the
    /// lock rate settles the question the memory is not asked.
    pub fn accuracy_or_bound(&self, length: f64, samples: f64, target: f64) -> f64 {
        let weights = Weights::of(&LockLaw::of(&Point { length, samples, ..self.point }));
        if weights.lock_rate() < target {
            return weights.lock_rate().max(self.memory.chance());
        }
        recall(&self.memory, &weights, samples)
    }

    /// The same at points that differ in one parameter from this model's; what they have in common is not set up again.
    pub(super) fn along(&self, parameter: Parameter, target: f64) -> impl FnMut(f64) -> f64 {
        // What is stored does not depend on the length of sequences.
        let mut stored = Stored::new(&self.memory, self.point.samples);
        move |value| {
            let point = parameter.set(&self.point, value);
            let weights = Weights::of(&LockLaw::of(&point));
            if weights.lock_rate() < target {
                return weights.lock_rate().max(1.0 / point.vocab);
            }
            match parameter {
                Parameter::Length => stored.recall(&weights),
                _ => recall(&self.memory.moved(&point), &weights, point.samples),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use superpose_core::config::{Activation, Embedding, Trigger};

    use super::*;
    use crate::point::gaussian;
    use crate::predict_at;

    #[test]
    fn is_what_predict_says() {
        for &trigger in Trigger::ALL {
            for embedding in [Embedding::Gaussian, Embedding::Sphere, Embedding::Orthonormal] {
                for (length, samples) in [(1.0, 50.0), (16.0, 8192.0), (300.0, 4000.0), (300.0, 30.0)] {
                    let point = Point { trigger, embedding, ..gaussian(200.0, 202.0, length, samples) };
                    let expected = predict_at(&point).measures[superpose_core::Measure::Accuracy].unwrap();
                    let found = Recall::new(&point).accuracy(length, samples);
                    assert!((found - expected).abs() < 1e-9, "{point:?}: {found} {expected}");
                }
            }
        }
        let mlp =
            Point { width: Some(900.0), activation: Activation::He2, ..gaussian(200.0, 64.0, 9.0, 5e3) };
        let expected = predict_at(&mlp).measures[superpose_core::Measure::Accuracy].unwrap();
        assert_eq!(Recall::new(&mlp).accuracy(9.0, 5e3), expected);
    }

    #[test]
    fn a_bound_lies_between_accuracy_and_target() {
        for length in [50.0, 200.0, 800.0] {
            let recall = Recall::new(&gaussian(200.0, 64.0, 1.0, 1.0));
            let (exact, bound) =
                (recall.accuracy(length, 3000.0), recall.accuracy_or_bound(length, 3000.0, 0.9));
            assert!(bound == exact || (exact..0.9).contains(&bound), "L = {length}: {exact} {bound}");
        }
    }
}
