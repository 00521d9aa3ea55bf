use superpose_core::config::{Activation, Embedding};

use super::*;
use crate::noise::Term;
use crate::point::gaussian;
use crate::predict::Part;

fn accuracy(point: &Point) -> f64 {
    Recall::new(point).accuracy(point.length, point.samples)
}

#[test]
fn critical_values_exist_and_separate_their_neighbours() {
    let base = gaussian(512.0, 200.0, 64.0, 1e4);
    let mlp = Point { width: Some(3000.0), activation: Activation::He2, length: 16.0, ..base };
    for (point, expected) in [(base, 4), (mlp, 5)] {
        let mut solved = 0;
        for &parameter in Parameter::ALL {
            let Some(value) = critical(&point, parameter, 0.5).value() else { continue };
            let outside = if parameter.helps() { value - 1.0 } else { value + 1.0 };
            assert!(accuracy(&parameter.set(&point, value)) >= 0.5, "{parameter} = {value}");
            assert!(accuracy(&parameter.set(&point, outside)) < 0.5, "{parameter} = {outside}");
            solved += 1;
        }
        assert_eq!(solved, expected);
    }
}

#[test]
fn unreachable_accuracy_names_the_limiting_term() {
    // A memory of 64 x 64 numbers cannot hold 10,000 facts, whatever the data.
    let small = gaussian(10_000.0, 64.0, 8.0, 1e6);
    let Critical::Unreachable { end, accuracy, dominant: Some(dominant) } =
        critical(&small, Parameter::Samples, 0.5)
    else {
        panic!("reachable");
    };
    assert!(end == 1e15 && accuracy < 0.1);
    assert_eq!((dominant.part, dominant.term), (Part::Memory, Term::Interference));
    // More dimensions do not help with facts that occur in no sample.
    let few = gaussian(10_000.0, 64.0, 8.0, 1000.0);
    let unseen = critical(&few, Parameter::Dim, 0.5);
    let text = unseen.reason(Parameter::Dim).unwrap_or_default();
    assert!(text.contains("coverage in the memory"), "{text}");
}

#[test]
fn attention_only_model_has_no_critical_width() {
    let point = gaussian(512.0, 200.0, 64.0, 1e4);
    assert_eq!(critical(&point, Parameter::Width, 0.5), Critical::Absent);
}

#[test]
fn orthonormal_embeddings_need_the_minimal_dimension() {
    let point = Point { embedding: Embedding::Orthonormal, ..gaussian(500.0, 502.0, 16.0, 1e5) };
    assert_eq!(critical(&point, Parameter::Dim, 0.9), Critical::At(502.0));
    assert_eq!(critical(&point, Parameter::Vocab, 0.9), Critical::Unlimited { limit: 500.0 });
}
