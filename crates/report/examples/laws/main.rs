//! Compares the leading-order laws with the closed form and with simulation, and draws the local exponents of critical N:
//! `cargo run --release -p superpose-report --example laws -- STORE.sqlite docs/figures/exponents.svg`
//! (about ten minutes on two cores; repeated runs use the store). The tables are those of `docs/theory/laws.md`.
#![allow(clippy::unwrap_used)]

mod figure;

use std::error::Error;

use superpose_core::config::{Activation, EmbeddingSettings, Trigger};
use superpose_core::{Measure, Settings};
use superpose_figure::Theme;
use superpose_lab::cell::Runner;
use superpose_lab::interval::Interval;
use superpose_lab::store::Store;
use superpose_lab::threshold::{Criterion, Question, SearchError, find, shares};
use superpose_theory::conditions::{Condition, Subject};
use superpose_theory::critical::Parameter;
use superpose_theory::laws::Law;
use superpose_theory::noise::Term;
use superpose_theory::predict::Part;
use superpose_theory::{Point, critical, predict_at};

use Activation::{He2, Relu};
use Measure::{Accuracy, OneStepAccuracy};
use Trigger::{Keys, Values};

const ACCURACIES: [f64; 2] = [0.5, 0.99];

/// A model without its sizes.
#[derive(Clone, Copy)]
struct Model {
    name: &'static str,
    measure: Measure,
    trigger: Trigger,
    activation: Option<Activation>,
    orthonormal: bool,
    /// Sizes V, d, L, m that are simulated.
    simulated: &'static [[usize; 4]],
}

const PLAIN: Model = Model {
    name: "",
    measure: Accuracy,
    trigger: Keys,
    activation: None,
    orthonormal: false,
    simulated: &[],
};

/// The laws of the table.
const MODELS: [Model; 9] = [
    Model {
        name: "one step",
        measure: OneStepAccuracy,
        simulated: &[[256, 96, 16, 0], [256, 128, 64, 0], [512, 192, 64, 0], [150, 200, 16, 0]],
        ..PLAIN
    },
    Model {
        name: "one step, values",
        measure: OneStepAccuracy,
        trigger: Values,
        simulated: &[[150, 140, 32, 0], [150, 140, 192, 0]],
        ..PLAIN
    },
    Model {
        name: "three steps, keys",
        simulated: &[
            [200, 100, 8, 0],
            [200, 100, 128, 0],
            [300, 160, 256, 0],
            [150, 200, 8, 0],
            [150, 200, 128, 0],
        ],
        ..PLAIN
    },
    Model {
        name: "three steps, values",
        trigger: Values,
        simulated: &[
            [150, 140, 32, 0],
            [150, 140, 192, 0],
            [256, 200, 16, 0],
            [100, 240, 16, 0],
            [100, 240, 128, 0],
        ],
        ..PLAIN
    },
    Model {
        name: "three steps, He2, keys",
        activation: Some(He2),
        simulated: &[
            [150, 60, 4, 400],
            [150, 60, 8, 400],
            [150, 60, 16, 400],
            [300, 80, 8, 600],
            [100, 100, 8, 2000],
        ],
        ..PLAIN
    },
    Model {
        name: "three steps, ReLU, keys",
        activation: Some(Relu),
        simulated: &[[150, 120, 4, 1000], [150, 120, 32, 1000], [300, 120, 8, 1500], [100, 200, 16, 2000]],
        ..PLAIN
    },
    Model {
        name: "one step, ReLU, keys",
        measure: OneStepAccuracy,
        activation: Some(Relu),
        simulated: &[[150, 120, 2, 1000], [150, 120, 4, 1000], [200, 160, 4, 1000], [100, 240, 2, 2000]],
        ..PLAIN
    },
    Model {
        name: "one step, orthonormal",
        measure: OneStepAccuracy,
        orthonormal: true,
        simulated: &[[200, 202, 8, 0], [200, 202, 50, 0], [200, 202, 200, 0], [100, 102, 400, 0]],
        ..PLAIN
    },
    Model {
        name: "three steps, orthonormal",
        orthonormal: true,
        simulated: &[[200, 202, 8, 0], [200, 202, 128, 0], [100, 102, 512, 0], [400, 402, 32, 0]],
        ..PLAIN
    },
];

impl Model {
    fn settings(&self, [vocab, dim, length, width]: [usize; 4]) -> Settings {
        let embedding =
            if self.orthonormal { EmbeddingSettings::Orthonormal } else { EmbeddingSettings::default() };
        Settings {
            vocab,
            dim,
            length,
            samples: 1,
            width: self.activation.map(|_| width),
            activation: self.activation.unwrap_or(Relu),
            embedding,
            trigger: self.trigger,
            // One-step accuracy is computed over all facts, not over test sequences.
            test_samples: if self.measure == OneStepAccuracy { 256 } else { 4096 },
            ..Settings::default()
        }
    }

    fn question(&self, sizes: [usize; 4], accuracy: f64) -> Question {
        let config = self.settings(sizes).check().unwrap();
        Question::new(config, Parameter::Samples, self.measure, Criterion::Mean, accuracy).unwrap()
    }

    /// The law, where its needs hold.
    fn law(&self, sizes: [usize; 4], accuracy: f64) -> Option<Law> {
        let law = Law::of(&Point::from(&self.settings(sizes)), self.measure, accuracy)?;
        law.failing().is_none().then_some(law)
    }

    /// Sizes with different multiples of the capacity, for the comparison with the closed form.
    fn grid(&self) -> Vec<[usize; 4]> {
        let mut grid = Vec::new();
        for vocab in [256, 1024, 4096] {
            for margin in [2.5, 5.0, 10.0, 20.0] {
                for length in [4, 16, 64, 256] {
                    let needed = 2.0 * vocab as f64 * (vocab as f64).ln();
                    let t = if self.measure == Accuracy { self.trigger.t() } else { 0.0 };
                    let dim = match self.activation {
                        _ if self.orthonormal => vocab + 2,
                        Some(He2) => ((margin * needed).powf(0.5) * 0.7) as usize,
                        _ => (margin * needed * (1.0 + t)).sqrt() as usize,
                    };
                    let width = (margin * needed / dim as f64) as usize * 2;
                    grid.push([vocab, dim, length, width.max(dim)]);
                }
            }
        }
        grid.dedup();
        grid
    }
}

fn measure(runner: &mut Runner<'_>, question: &Question, half_width: f64) -> Option<Interval> {
    let plan = question.plan(&question.predicted(), half_width, question.range(), 300);
    let run =
        |cells: &[_]| -> Result<_, SearchError> { shares(runner, cells, question.measure, &mut |_| ()) };
    find(question, plan, run).unwrap().0.interval()
}

/// The middle and the 10% and 90% quantiles.
fn spread(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let at =
        |share: f64| values.get((share * values.len().saturating_sub(1) as f64).round() as usize).copied();
    match (at(0.5), at(0.1), at(0.9)) {
        (Some(middle), Some(low), Some(high)) => format!("{middle:.2} ({low:.2} to {high:.2})"),
        _ => "-".into(),
    }
}

/// Ranges of the smallest ratio of the two sides of the needs.
const MARGINS: [f64; 5] = [2.0, 4.0, 8.0, 16.0, f64::INFINITY];

/// Closed form over law on the grid of every model, by the margin of the needs.
fn finite_size() {
    println!("| law | accuracy | margin 2 to 4 | 4 to 8 | 8 to 16 | above 16 |\n|---|---|---|---|---|---|");
    for model in &MODELS {
        for accuracy in ACCURACIES {
            let mut ratios = [const { Vec::new() }; 4];
            for sizes in model.grid() {
                let Some(law) = model.law(sizes, accuracy) else { continue };
                let margin = law.needs.iter().map(Condition::margin).fold(f64::INFINITY, f64::min);
                let bin = MARGINS.windows(2).position(|ends| ends[0] <= margin && margin <= ends[1]);
                if let (Some(bin), Some(n)) = (bin, model.question(sizes, accuracy).predicted().value) {
                    ratios[bin].push(n / law.binding().samples);
                }
            }
            let [a, b, c, d] = ratios.map(spread);
            println!("| {} | {accuracy} | {a} | {b} | {c} | {d} |", model.name);
        }
    }
}

/// Searches with more tokens in a run are left out; a sample of an MLP of width m counts as m/8 tokens.
const MAX_COST: f64 = 2e6;

/// Measured critical N of every model over its law.
fn simulated(runner: &mut Runner<'_>) {
    println!("\n| law | V | d | L | m | accuracy | binds | law N | closed form N | measured N | over law |");
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for model in &MODELS {
        for &sizes in model.simulated {
            for accuracy in ACCURACIES {
                let question = model.question(sizes, accuracy);
                let law = Law::of(&Point::from(&model.settings(sizes)), model.measure, accuracy).unwrap();
                let (binds, n) = (law.binding().subject, law.samples().unwrap_or(f64::NAN));
                let [v, d, l, m] = sizes;
                let predicted = question.predicted().value;
                let cheap = predicted.is_some_and(|n| n * l.max(m / 8) as f64 <= MAX_COST);
                let seen = if cheap { measure(runner, &question, 0.05) } else { None };
                let predicted = predicted.map_or("-".into(), |n| n.to_string());
                let show = |x: &Interval, n: f64, digits: usize| {
                    let [mean, low, high] = [x.mean / n, x.low / n, x.high / n];
                    format!("{mean:.digits$} ({low:.digits$} to {high:.digits$})")
                };
                let (samples, ratio) =
                    seen.map_or(("-".into(), "-".into()), |x| (show(&x, 1.0, 0), show(&x, n, 2)));
                let m = if m == 0 { "".into() } else { m.to_string() };
                println!(
                    "| {} | {v} | {d} | {l} | {m} | {accuracy} | {binds} | {n:.0} | {predicted} | {samples} | {ratio} |",
                    model.name
                );
            }
        }
    }
}

/// The smallest length from which on something holds.
fn first_length(holds: impl Fn(usize) -> bool) -> f64 {
    let (mut low, mut high) = (1, 1 << 17);
    while high - low > 1 {
        let middle = ((low * high) as f64).sqrt().round().clamp(low as f64 + 1.0, high as f64 - 1.0) as usize;
        if holds(middle) { high = middle } else { low = middle }
    }
    high as f64
}

/// Boundaries between regimes in the closed form, in units of their leading powers.
fn boundaries() {
    println!("\n| boundary | accuracy | length over its leading power | over the law's |\n|---|---|---|---|");
    for accuracy in ACCURACIES {
        let (mut keys, mut values, mut pays) = (Vec::new(), Vec::new(), Vec::new());
        let (mut noisy, mut all) = (0, 0);
        for model in [Model { trigger: Keys, ..PLAIN }, Model { trigger: Values, ..PLAIN }] {
            let mut grid = model.grid();
            grid.iter_mut().for_each(|sizes| sizes[2] = 1);
            grid.dedup();
            // Near the capacity no regime is developed.
            grid.retain(|&sizes| model.law(sizes, accuracy).is_some_and(|law| law.needs[0].margin() > 4.0));
            for [vocab, dim, ..] in grid {
                let sizes = |length| [vocab, dim, length, 0];
                let samples = |length| {
                    let point = Point::from(&model.settings(sizes(length)));
                    let samples = critical(&point, Parameter::Samples, accuracy).value();
                    samples.map(|samples| Point { samples, ..point })
                };
                let limit = |length| predict_at(&samples(length).unwrap()).dominant;
                if samples(2).is_none() {
                    continue;
                }
                let at =
                    first_length(|length| limit(length).is_some_and(|limit| limit.part == Part::Attention));
                let law = first_length(|length| {
                    model.law(sizes(length), accuracy).unwrap().binding().subject == Subject::Attention
                });
                let (v, d) = (vocab as f64, dim as f64);
                match model.trigger {
                    Keys => keys.push([at / (d.powf(0.75) * v.powf(0.25)), at / law]),
                    Values => {
                        values.push([at / (v.powf(0.75) * d.powf(0.25)), at / law]);
                        let first = Model { measure: OneStepAccuracy, ..model };
                        let one = |length| first.question(sizes(length), accuracy).predicted().value;
                        pays.push(
                            first_length(|l| one(l).is_none_or(|n| n > samples(l).unwrap().samples)) / d,
                        );
                    }
                }
                for length in [4, 16, 64, 256, 1024] {
                    all += 1;
                    noisy +=
                        usize::from(limit(length).is_some_and(|limit| limit.term == Term::GradientNoise));
                }
            }
        }
        for (name, ratios) in [("keys: d^0.75 V^0.25", keys), ("values: V^0.75 d^0.25", values)] {
            let [power, law] = [0, 1].map(|i| spread(ratios.iter().map(|ratio| ratio[i]).collect()));
            println!("| attention limits recall, {name} | {accuracy} | {power} | {law} |");
        }
        println!("| three steps need fewer samples than one, values: d | {accuracy} | {} | |", spread(pays));
        println!(
            "| gradient noise is the largest noise at critical N | {accuracy} | {noisy} of {all} sizes | |"
        );
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, svg] = &arguments[..] else { return Err("give a store and an SVG file".into()) };
    let mut runner = Runner::new(2).with_results(Store::open(store.as_ref())?);
    finite_size();
    boundaries();
    simulated(&mut runner);
    std::fs::write(svg, figure::exponents_of_samples(&mut runner).svg(Theme::Light))?;
    Ok(())
}
