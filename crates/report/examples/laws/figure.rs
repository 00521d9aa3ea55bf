//! The figure of local exponents.

use superpose_core::Measure;
use superpose_core::config::Trigger;
use superpose_figure::{Axis, Chart, Figure, Series};
use superpose_lab::cell::Runner;
use superpose_theory::critical::Parameter;
use superpose_theory::laws::{Law, exponents};
use superpose_theory::{Point, critical};

use super::{Model, PLAIN, measure};

/// A model whose exponents are drawn: sizes, lengths between which N is measured, lengths at which d and V vary.
struct Plane {
    model: Model,
    sizes: [usize; 2],
    lengths: &'static [usize],
    varied: &'static [usize],
}

const PLANES: [Plane; 2] = [
    Plane { model: PLAIN, sizes: [200, 100], lengths: &[8, 16, 32, 64, 128, 256], varied: &[8, 32, 128] },
    Plane {
        model: Model { trigger: Trigger::Values, ..PLAIN },
        sizes: [150, 140],
        lengths: &[8, 32, 128, 256],
        varied: &[8, 128],
    },
];

/// Exponents of d, L and V against L, one row for each place of the trigger.
pub fn exponents_of_samples(runner: &mut Runner<'_>) -> Figure {
    let mut figure = Figure::new()
        .title("Local exponents of the critical number of samples, recall accuracy one half")
        .note("Points: measured, with 95% intervals. Solid: closed form. Dashed: leading-order law.")
        .columns(3);
    for Plane { model, sizes: [vocab, dim], lengths, varied } in &PLANES {
        let mut seen = |sizes| measure(runner, &model.question(sizes, 0.5), 0.05).unwrap();
        let mut between = |x: f64, [small, large]: [[usize; 4]; 2], factor: f64| {
            let (a, b) = (seen(small), seen(large));
            let slope = (b.mean / a.mean).ln() / factor.ln();
            let half = 0.5 * (a.high / a.low).ln().hypot((b.high / b.low).ln()) / factor.ln();
            (x, slope, slope - half, slope + half)
        };
        let around = |size: usize, factor: f64| (size as f64 * factor).round() as usize;
        let mut points = [Vec::new(), Vec::new(), Vec::new()];
        for &length in *varied {
            let [low, high] = [0.8, 1.25].map(|factor| around(*dim, factor));
            let pair = [low, high].map(|dim| [*vocab, dim, length, 0]);
            points[0].push(between(length as f64, pair, high as f64 / low as f64));
            let [low, high] = [0.75, 1.33].map(|factor| around(*vocab, factor));
            let pair = [low, high].map(|vocab| [vocab, *dim, length, 0]);
            points[2].push(between(length as f64, pair, high as f64 / low as f64));
        }
        for ends in lengths.windows(2) {
            let (middle, factor) = (((ends[0] * ends[1]) as f64).sqrt(), ends[1] as f64 / ends[0] as f64);
            points[1].push(between(middle, [ends[0], ends[1]].map(|l| [*vocab, *dim, l, 0]), factor));
        }
        let at =
            |dim: usize, length: f64| Point { length, ..Point::from(&model.settings([*vocab, dim, 1, 0])) };
        let full = |point: &Point| critical(point, Parameter::Samples, 0.5).value();
        let law = |point: &Point| Law::of(point, Measure::Accuracy, 0.5)?.samples();
        let steps: Vec<f64> = (0..=40).map(|i| 4.0 * 256_f64.powf(f64::from(i) / 40.0)).collect();
        let dims = [*dim, 2 * dim];
        let curves = |samples: &dyn Fn(&Point) -> Option<f64>| {
            dims.map(|dim| steps.iter().map(|&l| (l, exponents(&at(dim, l), samples))).collect::<Vec<_>>())
        };
        let (full, law) = (curves(&full), curves(&law));
        let line = |curve: &[(f64, Option<[f64; 3]>)], i: usize| {
            curve.iter().map(|&(l, all)| (l, all.map_or(f64::NAN, |all| all[i]))).collect::<Vec<_>>()
        };
        for (i, points) in points.into_iter().enumerate() {
            let size = ["d", "L", "V"][i];
            let title = format!("exponent of {size}, trigger in {}, V = {vocab}", model.trigger);
            let y = Axis::linear(format!("d log N/d log {size}"));
            let mut chart =
                Chart::new(title, Axis::log("sequence length L").ticks([4.0, 16.0, 64.0, 256.0, 1024.0]), y);
            for (k, dim) in dims.iter().enumerate() {
                let name = format!("d = {dim}");
                chart = chart.with(Series::line(name.clone(), line(&full[k], i)).color(k));
                if k == 0 {
                    chart = chart.with(Series::points(name.clone(), points.clone()).color(k));
                }
                chart = chart.with(Series::line(name, line(&law[k], i)).color(k).dashed());
            }
            figure = figure.panel(chart);
        }
    }
    figure
}
