//! Properties of critical values and plans: a critical value separates sizes that reach the accuracy from those that do not,
//! longer sequences need more samples, and every number is finite.

use crate::common::{any_point, size};
use proptest::prelude::*;
use superpose_core::Measure;
use superpose_core::config::{Activation, Embedding, Trigger};
use superpose_theory::critical::{Critical, Parameter, Recall, critical};
use superpose_theory::plan::{Request, plan};
use superpose_theory::{Point, Zipf};

fn accuracy(point: &Point) -> f64 {
    Recall::new(point).accuracy(point.length, point.samples)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn critical_values_separate_their_neighbours(point in any_point(1e9, 1e6, 1e6, 1e9), target in 0.05..0.99) {
        for &parameter in Parameter::ALL {
            let (first, last) = parameter.range(&point);
            let solved = critical(&point, parameter, target);
            prop_assert_eq!(solved.value().is_none(), solved.reason(parameter).is_some());
            match solved {
                Critical::At(value) => {
                    prop_assert!(value.fract() == 0.0 && (first..=last).contains(&value));
                    let inside = accuracy(&parameter.set(&point, value));
                    prop_assert!(inside >= target - 1e-9, "{parameter} = {value}: {inside} < {target}");
                    let next = if parameter.helps() { value - 1.0 } else { value + 1.0 };
                    if (first..=last).contains(&next) {
                        let outside = accuracy(&parameter.set(&point, next));
                        prop_assert!(outside < target + 1e-9, "{parameter} = {next}: {outside} >= {target}");
                    }
                }
                Critical::Unreachable { end, accuracy, .. } => {
                    prop_assert!(end.is_finite() && accuracy < target + 1e-9, "{parameter}: {accuracy}");
                }
                Critical::Unlimited { limit } => {
                    prop_assert!(!parameter.helps() && accuracy(&parameter.set(&point, limit)) >= target);
                }
                Critical::Absent | Critical::Fixed => {}
            }
        }
    }

    /// The trigger is in the keys. (In the values it adds to its own score, which increases with the sequence length.)
    #[test]
    fn longer_sequences_need_more_samples(
        vocab in size(20.0, 1e5),
        relative in 1.5..20.0_f64,
        length in size(2.0, 1e4),
        factor in 1.5..4.0_f64,
        sphere in any::<bool>(),
    ) {
        let log = vocab.ln();
        let point = Point {
            vocab,
            dim: (relative * 4.0 * vocab * log).sqrt().max(20.0 * log).round(),
            length,
            samples: 1.0,
            width: None,
            activation: Activation::Relu,
            embedding: if sphere { Embedding::Sphere } else { Embedding::Gaussian },
            trigger: Trigger::Keys,
            keep: None,
            lead: 4.0,
            zipf: Zipf::default(),
            rows: None,
        };
        let needed = |length: f64| critical(&Point { length, ..point }, Parameter::Samples, 0.5).value();
        let (short, long) = (needed(length).unwrap(), needed((length * factor).round()).unwrap());
        prop_assert!(long >= short * 0.99, "{short} then {long}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn plans_are_valid_everywhere(
        facts in size(2.0, 1e9),
        length in size(1.0, 1e9),
        accuracy in 0.05..0.999,
        dim in proptest::option::of(size(1.0, 1e6)),
        activation in proptest::option::of(proptest::sample::select(Activation::ALL)),
        samples in proptest::option::of(size(1.0, 1e15)),
        max_parameters in proptest::option::of(size(1.0, 1e12)),
        trigger in proptest::sample::select(Trigger::ALL),
    ) {
        let request = Request {
            facts, length, accuracy, dim, width: None, activation, embedding: Embedding::Gaussian, trigger,
            samples, max_parameters,
        };
        let plan = plan(&request);
        prop_assert!(!plan.curve.is_empty());
        for row in &plan.curve {
            let numbers = [Some(row.dim), row.width, row.parameters, row.samples];
            prop_assert!(numbers.iter().flatten().all(|x| x.is_finite() && *x >= 1.0), "{row:?}");
        }
        if let Some(cheapest) = plan.cheapest {
            prop_assert!(cheapest.parameters <= max_parameters.or(Some(f64::INFINITY)));
            prop_assert!(cheapest.samples <= samples.or(Some(f64::INFINITY)));
            let reached = plan.prediction.measures[Measure::Accuracy].unwrap();
            prop_assert!(reached >= accuracy - 1e-9, "{reached} < {accuracy}");
        }
    }
}
