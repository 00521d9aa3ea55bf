use superpose_core::config::{Activation, Embedding, Trigger};

use super::*;
use crate::critical::Recall;

fn request(facts: f64, length: f64, accuracy: f64) -> Request {
    let (dim, width, activation, samples, max_parameters) = (None, None, None, None, None);
    let (embedding, trigger) = (Embedding::Gaussian, Trigger::Keys);
    Request { facts, length, accuracy, dim, width, activation, embedding, trigger, samples, max_parameters }
}

fn reached(plan: &Plan) -> f64 {
    plan.prediction.measures[Measure::Accuracy].unwrap()
}

#[test]
fn cheapest_model_reaches_the_accuracy() {
    let plan = plan(&request(2000.0, 64.0, 0.9));
    let cheapest = plan.cheapest.unwrap();
    assert!(reached(&plan) >= 0.9 && cheapest.parameters == Some(cheapest.dim * cheapest.dim));
    assert!(plan.curve.len() > 5 && plan.curve[0] == cheapest);
    // More dimensions, fewer samples.
    for pair in plan.curve.windows(2) {
        assert!(pair[1].dim > pair[0].dim && pair[1].samples <= pair[0].samples, "{pair:?}");
    }
    assert_eq!(plan.error, Some(0.004));
}

#[test]
fn fewer_samples_need_more_dimensions() {
    let few = plan(&Request { samples: Some(30_000.0), ..request(2000.0, 64.0, 0.9) });
    let any = plan(&request(2000.0, 64.0, 0.9));
    let (few, any) = (few.cheapest.unwrap(), any.cheapest.unwrap());
    assert!(few.dim > any.dim && few.samples.unwrap() <= 30_000.0, "{few:?} {any:?}");
}

#[test]
fn plans_reach_the_scale_of_real_models() {
    for samples in [None, Some(1e12)] {
        let plan = plan(&Request { samples, ..request(1e6, 1e5, 0.99) });
        let cheapest = plan.cheapest.unwrap();
        assert!(reached(&plan) >= 0.99 && cheapest.dim > 1e3 && cheapest.samples.unwrap() > 1e6);
        assert!(plan.error.is_none() && plan.error_reason.unwrap().starts_with("extrapolated"));
        assert!(plan.tightest.unwrap().margin().is_finite());
    }
}

#[test]
fn mlp_trades_width_for_dimension() {
    let plan = plan(&Request { activation: Some(Activation::He2), ..request(1000.0, 16.0, 0.9) });
    let cheapest = plan.cheapest.unwrap();
    assert_eq!(cheapest.parameters, Some(cheapest.dim * cheapest.width.unwrap()));
    let widths: Vec<f64> = plan.curve.iter().filter_map(|row| row.width).collect();
    assert!(widths.len() > 4 && widths.windows(2).all(|w| w[1] <= w[0]), "{widths:?}");
    assert!(plan.curve.iter().all(|row| cost(row) >= cost(&cheapest)));
    let point = Point { width: cheapest.width, ..plan.request.point(cheapest.dim) };
    assert!(Recall::new(&point).accuracy(16.0, cheapest.samples.unwrap()) >= 0.9);
}

#[test]
fn limits_that_forbid_every_model_are_reported() {
    let plan = plan(&Request { max_parameters: Some(1000.0), ..request(2000.0, 64.0, 0.9) });
    assert!(plan.cheapest.is_none() && plan.curve.iter().all(|row| !row.allowed && row.samples.is_some()));
    let plan = super::plan(&Request { dim: Some(20.0), ..request(2000.0, 64.0, 0.9) });
    assert!(plan.cheapest.is_none() && plan.curve[0].forbids.is_some());
}

/// A model whose attention is too loose for the accuracy can still select a context that holds the informative token.
#[test]
fn loose_attention_must_keep_more_tokens() {
    let limits = Request { dim: Some(200.0), samples: Some(3000.0), ..request(300.0, 400.0, 0.9) };
    let loose = plan(&limits);
    let (keep, measures) = (loose.keep.unwrap(), loose.prediction.measures);
    let [memory, kept] =
        [Measure::MemoryAccuracy, Measure::KeptRate].map(|measure| measures[measure].unwrap());
    assert!(reached(&loose) < 0.9 && keep > 1.0 && keep < 400.0, "{keep}");
    assert!(kept * memory >= 0.9, "{kept} {memory}");
    assert_eq!(plan(&request(2000.0, 64.0, 0.9)).keep, Some(1.0));
    let small = plan(&Request { dim: Some(20.0), ..request(2000.0, 64.0, 0.9) });
    assert_eq!((small.keep, small.prediction.measures[Measure::KeptRate]), (None, Some(1.0)));
}
