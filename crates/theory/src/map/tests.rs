use superpose_core::config::{Activation, Trigger};

use super::*;
use crate::critical::Recall;
use crate::point::gaussian;
use crate::predict_at;

/// The largest difference from cell by cell predictions, on every third cell.
fn worst(point: &Point, rows: &Axis, columns: &Axis) -> (f64, usize) {
    let map = fill(point, rows.clone(), columns.clone(), 2);
    let mut worst = 0.0_f64;
    for (c, &column) in columns.values.iter().enumerate().step_by(3) {
        for (r, &row) in rows.values.iter().enumerate().step_by(3) {
            let point = rows.parameter.set(&columns.parameter.set(point, column), row);
            let exact = Recall::new(&point).accuracy(point.length, point.samples);
            worst = worst.max((map.at(r, c) - exact).abs());
        }
    }
    (worst, map.computed)
}

/// Checks all pairs of axes over the validated range.
fn every_pair(model: Point) {
    let mut axes = vec![
        Axis::logarithmic(Parameter::Samples, 100.0, 1e6, 64),
        Axis::logarithmic(Parameter::Dim, 16.0, 512.0, 64),
        Axis::logarithmic(Parameter::Length, 2.0, 512.0, 64),
        Axis::logarithmic(Parameter::Vocab, 100.0, 4000.0, 64),
    ];
    if model.width.is_some() {
        axes.push(Axis::logarithmic(Parameter::Width, 32.0, 8192.0, 64));
    }
    for &trigger in Trigger::ALL {
        let point = Point { trigger, ..model };
        for (i, rows) in axes.iter().enumerate() {
            for columns in &axes[i + 1..] {
                let (worst, computed) = worst(&point, rows, columns);
                let case = format!("{} by {}, {trigger}", rows.parameter, columns.parameter);
                println!("{case}: worst {worst:.4}, computed {computed}");
                assert!(worst < 0.005, "{case}: {worst}, computed {computed}");
            }
        }
    }
}

#[test]
fn attention_only_maps_are_within_half_a_percent() {
    every_pair(gaussian(512.0, 128.0, 32.0, 20_000.0));
}

fn every_pair_with_mlp(activation: Activation) {
    every_pair(Point { width: Some(1024.0), activation, ..gaussian(512.0, 128.0, 32.0, 20_000.0) });
}

/// An even activation, whose lock rates have the sharpest edges.
#[test]
fn he2_maps_are_within_half_a_percent() {
    every_pair_with_mlp(Activation::He2);
}

/// An odd activation.
#[test]
fn tanh_maps_are_within_half_a_percent() {
    every_pair_with_mlp(Activation::Tanh);
}

/// An activation with all Hermite orders.
#[test]
fn relu_maps_are_within_half_a_percent() {
    every_pair_with_mlp(Activation::Relu);
}

/// The limiting term of a cell is that of the prediction there, except in a few cells where two terms are about equal.
#[test]
fn limiting_terms_agree_with_predictions() {
    let rows = Axis::logarithmic(Parameter::Length, 2.0, 2000.0, 24);
    let columns = Axis::logarithmic(Parameter::Samples, 100.0, 1e6, 24);
    for width in [None, Some(300.0)] {
        let (activation, trigger) = (Activation::Gelu, Trigger::Values);
        let point = Point { width, activation, trigger, ..gaussian(300.0, 100.0, 32.0, 20_000.0) };
        let map = fill(&point, rows.clone(), columns.clone(), 2);
        let mut seen = Vec::new();
        let mut different = 0;
        for (c, &samples) in columns.values.iter().enumerate() {
            for (r, &length) in rows.values.iter().enumerate() {
                let dominant = map.dominant[c * rows.values.len() + r];
                different +=
                    usize::from(dominant != predict_at(&Point { length, samples, ..point }).dominant);
                if !seen.contains(&dominant) {
                    seen.push(dominant);
                }
            }
        }
        assert!(seen.len() >= 3, "the map has several parts: {seen:?}");
        assert!(different <= 3, "{different} of {} cells differ", map.dominant.len());
    }
}

#[test]
fn result_does_not_depend_on_threads_or_axis_order() {
    let point = gaussian(300.0, 64.0, 16.0, 3000.0);
    let samples = Axis::logarithmic(Parameter::Samples, 100.0, 1e5, 13);
    let dims = Axis::logarithmic(Parameter::Dim, 16.0, 256.0, 9);
    let one = fill(&point, samples.clone(), dims.clone(), 1);
    assert_eq!(one, fill(&point, samples.clone(), dims.clone(), 3));
    let other = fill(&point, dims, samples, 2);
    for r in 0..13 {
        for c in 0..9 {
            assert_eq!(one.at(r, c), other.at(c, r));
        }
    }
}

#[test]
fn repeated_axis_values_are_allowed() {
    let point = Point { width: Some(100.0), ..gaussian(300.0, 64.0, 16.0, 3000.0) };
    let widths = [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 5.0, 8.0, 40.0, 300.0, 300.0, 300.0, 300.0];
    let rows = Axis { parameter: Parameter::Width, values: widths.to_vec() };
    let columns = Axis::logarithmic(Parameter::Samples, 100.0, 1e5, 11);
    let (worst, _) = worst(&point, &rows, &columns);
    assert!(worst < 0.005, "{worst}");
    let map = fill(&point, rows, columns, 1);
    assert!((0..11).all(|c| (map.at(11, c) - map.at(14, c)).abs() < 0.005));
}

#[test]
fn single_cell_map_equals_the_prediction() {
    let point = gaussian(300.0, 64.0, 16.0, 3000.0);
    let axis = |parameter, value| Axis { parameter, values: vec![value] };
    let map = fill(&point, axis(Parameter::Samples, 3000.0), axis(Parameter::Dim, 64.0), 2);
    assert!((map.at(0, 0) - Recall::new(&point).accuracy(16.0, 3000.0)).abs() < 1e-12);
}
